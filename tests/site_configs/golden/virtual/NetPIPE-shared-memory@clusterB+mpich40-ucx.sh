#!/bin/bash
#SBATCH --job-name="rfm_NetPIPE_@HASH@"
#SBATCH --ntasks=2
#SBATCH --ntasks-per-node=2
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=0:4:0
#SBATCH --exclusive
#SBATCH --partition=clusterB
export Boost_ROOT=@TOOLCHAINS@/mpich40-boost181
export OMPI_MCA_btl_tcp_if_include=eth1
export FI_TCP_IFACE=eth1
export FI_UDP_IFACE=eth1
export UCX_NET_DEVICES=eth1
export UCX_TLS=tcp,self,posix,sysv
env | grep -E '^SLURM_(JOB_ID|JOB_UID|JOB_NODELIST|SUBMIT_HOST)=' > allocation.txt
env -u ROUNDTRIP_SLURM_DEADLINE timeout 10 squeue -h -t R,S -w "$SLURM_JOB_NODELIST" -o 'OTHER_JOB=%A|%U|%N' 2> /dev/null >> allocation.txt
srun --mpi=pmi2 --kill-on-bad-exit=1 @CHECKOUT@/build/mpich40-boost181/netpipe/netpipe @OPTIONS@
status=$?; env -u ROUNDTRIP_SLURM_DEADLINE timeout 10 squeue -h -t R,S -w "$SLURM_JOB_NODELIST" -o 'OTHER_JOB=%A|%U|%N' 2> /dev/null >> allocation.txt; (exit $status)
