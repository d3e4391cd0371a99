#!/bin/bash
export Boost_ROOT=@TOOLCHAINS@/openmpi41-boost181
export PATH=@TOOLCHAINS@/openmpi41/bin:$PATH
mpirun -np 3 --bind-to none --map-by :OVERSUBSCRIBE @CHECKOUT@/build/openmpi41-boost181/ring/ring --samples samples.csv --processors=2 --budget=30 --precision=2 --end=16777216
