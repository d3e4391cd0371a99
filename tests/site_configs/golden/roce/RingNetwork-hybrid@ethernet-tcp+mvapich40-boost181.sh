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
#SBATCH --nodes=2
ulimit -S -l hard
export UCX_NET_DEVICES=eth0
export UCX_TLS=tcp,self,sm
export UCX_POSIX_HUGETLB_MODE=try
export UCX_SYSV_HUGETLB_MODE=try
export UCX_IB_GID_INDEX=3
export UCX_IB_TRAFFIC_CLASS=106
export PATH=@SPACK_ENV@/.spack-view/mvapich-4.0-pgchq5x/bin:$PATH
env | grep -E '^SLURM_(JOB_ID|JOB_UID|JOB_NODELIST|SUBMIT_HOST)=' > allocation.txt
env -u ROUNDTRIP_SLURM_DEADLINE timeout 10 squeue -h -t R,S -w "$SLURM_JOB_NODELIST" -o 'OTHER_JOB=%A|%U|%N' 2> /dev/null >> allocation.txt
srun --mpi=pmi2 --cpu-bind=cores --distribution=block:block --kill-on-bad-exit=1 @SPACK_ENV@/.spack-view/roundtrip-workloads-main-5j3pesa/bin/ring --samples samples.csv --budget=30 --precision=2 --end=16777216 --interface=eth0
status=$?; env -u ROUNDTRIP_SLURM_DEADLINE timeout 10 squeue -h -t R,S -w "$SLURM_JOB_NODELIST" -o 'OTHER_JOB=%A|%U|%N' 2> /dev/null >> allocation.txt; (exit $status)
