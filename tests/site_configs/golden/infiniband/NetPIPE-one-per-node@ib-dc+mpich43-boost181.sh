#!/bin/bash
#SBATCH --job-name="rfm_NetPIPE_@HASH@"
#SBATCH --ntasks=2
#SBATCH --ntasks-per-node=1
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=0:4:0
#SBATCH --exclusive
#SBATCH --nodes=2
#SBATCH --partition=compute
#SBATCH --exclusive
#SBATCH --switches=1@10:00
ulimit -S -l hard
export UCX_NET_DEVICES=mlx5_0:1
export UCX_TLS=dc,self,sm
export UCX_POSIX_HUGETLB_MODE=try
export UCX_SYSV_HUGETLB_MODE=try
export PATH=@SPACK_ENV@/.spack-view/mpich-4.3.2-ya6ts7a/bin:$PATH
env | grep -E '^SLURM_(JOB_ID|JOB_UID|JOB_NODELIST|SUBMIT_HOST)=' > allocation.txt
env -u ROUNDTRIP_SLURM_DEADLINE timeout 10 squeue -h -t R,S -w "$SLURM_JOB_NODELIST" -o 'OTHER_JOB=%A|%U|%N' 2> /dev/null >> allocation.txt
srun --mpi=pmi2 --cpu-bind=cores --distribution=block:block --kill-on-bad-exit=1 @SPACK_ENV@/.spack-view/roundtrip-workloads-main-eg325fc/bin/netpipe @OPTIONS@
status=$?; env -u ROUNDTRIP_SLURM_DEADLINE timeout 10 squeue -h -t R,S -w "$SLURM_JOB_NODELIST" -o 'OTHER_JOB=%A|%U|%N' 2> /dev/null >> allocation.txt; (exit $status)
