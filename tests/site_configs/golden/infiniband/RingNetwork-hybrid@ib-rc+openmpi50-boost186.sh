#!/bin/bash
#SBATCH --job-name="rfm_RingNetwork_@HASH@"
#SBATCH --ntasks=3
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=0:2:30
#SBATCH --exclusive
#SBATCH --nodes=3
#SBATCH --partition=compute
#SBATCH --exclusive
#SBATCH --switches=1@10:00
#SBATCH --nodes=2
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
srun --mpi=pmix --cpu-bind=cores --distribution=block:block --kill-on-bad-exit=1 @SPACK_ENV@/.spack-view/roundtrip-workloads-main-oyeq55b/bin/ring --samples samples.csv --budget=30 --precision=2 --end=16777216 --interface=ib0
status=$?; env -u ROUNDTRIP_SLURM_DEADLINE timeout 10 squeue -h -t R,S -w "$SLURM_JOB_NODELIST" -o 'OTHER_JOB=%A|%U|%N' 2> /dev/null >> allocation.txt; (exit $status)
