#!/bin/bash
#SBATCH --job-name="rfm_OSU_@HASH@"
#SBATCH --ntasks=2
#SBATCH --ntasks-per-node=1
#SBATCH --output=rfm_job.out
#SBATCH --error=rfm_job.err
#SBATCH --time=0:15:0
#SBATCH --exclusive
#SBATCH --partition=clusterA
export Boost_ROOT=@TOOLCHAINS@/openmpi50-boost181
export OMPI_MCA_btl_tcp_if_include=eth1
export FI_TCP_IFACE=eth1
export FI_UDP_IFACE=eth1
export UCX_NET_DEVICES=eth1
export OMPI_MCA_pml=ob1
export OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl=tcp,sm,self
export PMIX_MCA_gds=hash
env | grep -E '^SLURM_(JOB_ID|JOB_UID|JOB_NODELIST|SUBMIT_HOST)=' > allocation.txt
env -u ROUNDTRIP_SLURM_DEADLINE timeout 10 squeue -h -t R,S -w "$SLURM_JOB_NODELIST" -o 'OTHER_JOB=%A|%U|%N' 2> /dev/null >> allocation.txt
srun --mpi=pmix --kill-on-bad-exit=1 sh -c 'echo "ROUNDTRIP RANK ON $(uname -n) $$ ${SLURMD_NODENAME:--}" >&2; witness=$1; shift; LD_PRELOAD="$witness${LD_PRELOAD:+:$LD_PRELOAD}" exec "$@"' sh @CHECKOUT@/build/openmpi50-boost181/witness/witness.so @TOOLCHAINS@/osu/openmpi50/osu_latency > osu.txt
status=$?; env -u ROUNDTRIP_SLURM_DEADLINE timeout 10 squeue -h -t R,S -w "$SLURM_JOB_NODELIST" -o 'OTHER_JOB=%A|%U|%N' 2> /dev/null >> allocation.txt; (exit $status)
