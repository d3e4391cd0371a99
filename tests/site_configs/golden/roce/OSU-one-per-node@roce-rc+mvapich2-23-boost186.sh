#!/bin/bash
#SBATCH --job-name="rfm_OSU_@HASH@"
#SBATCH --ntasks=2
#SBATCH --ntasks-per-node=1
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=0:15:0
#SBATCH --exclusive
#SBATCH --nodes=2
#SBATCH --partition=compute
#SBATCH --exclusive
ulimit -S -l hard
export UCX_NET_DEVICES=mlx5_0:1
export UCX_TLS=rc,self,sm
export UCX_POSIX_HUGETLB_MODE=try
export UCX_SYSV_HUGETLB_MODE=try
export UCX_IB_GID_INDEX=3
export UCX_IB_TRAFFIC_CLASS=106
export MV2_USE_UD_HYBRID=0
export PATH=@SPACK_ENV@/.spack-view/mvapich2-2.3.7-1-bytndmv/bin:$PATH
export MV2_IBA_HCA=mlx5_0
export MV2_DEFAULT_PORT=1
export MV2_ENABLE_AFFINITY=0
export MV2_USE_HUGEPAGES=1
export MV2_USE_RoCE=1
export MV2_DEFAULT_GID_INDEX=3
env | grep -E '^SLURM_(JOB_ID|JOB_UID|JOB_NODELIST|SUBMIT_HOST)=' > allocation.txt
env -u ROUNDTRIP_SLURM_DEADLINE timeout 10 squeue -h -t R,S -w "$SLURM_JOB_NODELIST" -o 'OTHER_JOB=%A|%U|%N' 2> /dev/null >> allocation.txt
srun --mpi=pmi2 --cpu-bind=cores --distribution=block:block --kill-on-bad-exit=1 sh -c 'echo "ROUNDTRIP RANK ON $(uname -n) $$ ${SLURMD_NODENAME:--}" >&2; witness=$1; shift; LD_PRELOAD="$witness${LD_PRELOAD:+:$LD_PRELOAD}" exec "$@"' sh @SPACK_ENV@/.spack-view/roundtrip-workloads-main-rjqmax5/bin/witness.so @SPACK_ENV@/.spack-view/osu-micro-benchmarks-7.5-aibkhs7/osu_latency > osu.txt
status=$?; env -u ROUNDTRIP_SLURM_DEADLINE timeout 10 squeue -h -t R,S -w "$SLURM_JOB_NODELIST" -o 'OTHER_JOB=%A|%U|%N' 2> /dev/null >> allocation.txt; (exit $status)
