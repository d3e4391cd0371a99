#!/bin/bash
export Boost_ROOT=@TOOLCHAINS@/mpich50-boost181
export PATH=@TOOLCHAINS@/mpich50/bin:$PATH
mpiexec -n 3 -bind-to none @CHECKOUT@/build/mpich50-boost181/ring/ring --samples samples.csv --processors=2 --budget=30 --precision=2 --end=16777216
