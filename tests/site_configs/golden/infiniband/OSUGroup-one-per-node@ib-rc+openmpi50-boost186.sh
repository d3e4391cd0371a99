#!/bin/bash
#SBATCH --job-name="rfm_OSUGroup_@HASH@"
#SBATCH --ntasks=2
#SBATCH --ntasks-per-node=1
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=0:15:0
#SBATCH --exclusive
#SBATCH --nodes=2
#SBATCH --partition=compute
#SBATCH --exclusive
#SBATCH --switches=1@10:00
ulimit -S -l hard
export UCX_NET_DEVICES=mlx5_0:1
export UCX_TLS=rc,self,sm
export UCX_POSIX_HUGETLB_MODE=try
export UCX_SYSV_HUGETLB_MODE=try
export MV2_USE_UD_HYBRID=0
export PATH=@SPACK_ENV@/.spack-view/openmpi-5.0.8-k7e5jbz/bin:$PATH
export PMIX_MCA_gds=hash
export OMPI_MCA_pml=ucx
export OMPI_MCA_osc=ucx,sm
export OMPI_MCA_pml_ucx_tls=any
export OMPI_MCA_pml_ucx_devices=any
env | grep -E '^SLURM_(JOB_ID|JOB_UID|JOB_NODELIST|SUBMIT_HOST)=' > allocation.txt
env -u ROUNDTRIP_SLURM_DEADLINE timeout 10 squeue -h -t R,S -w "$SLURM_JOB_NODELIST" -o 'OTHER_JOB=%A|%U|%N' 2> /dev/null >> allocation.txt
srun --mpi=pmix --cpu-bind=cores --distribution=block:block --kill-on-bad-exit=1 sh -c 'echo "ROUNDTRIP RANK ON $(uname -n) $$ ${SLURMD_NODENAME:--}" >&2; witness=$1; shift; LD_PRELOAD="$witness${LD_PRELOAD:+:$LD_PRELOAD}" exec "$@"' sh @SPACK_ENV@/.spack-view/roundtrip-workloads-main-oyeq55b/bin/witness.so @SPACK_ENV@/.spack-view/osu-micro-benchmarks-7.5-6wfkdu5/osu_allreduce -f > osu.txt
status=$?; env -u ROUNDTRIP_SLURM_DEADLINE timeout 10 squeue -h -t R,S -w "$SLURM_JOB_NODELIST" -o 'OTHER_JOB=%A|%U|%N' 2> /dev/null >> allocation.txt; (exit $status)
