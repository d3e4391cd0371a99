# Finds Boost.MPI and Boost.Serialization: in Boost_ROOT and nowhere else if that is given.
set(Boost_NO_BOOST_CMAKE ON)
if(DEFINED Boost_ROOT OR DEFINED ENV{Boost_ROOT} OR DEFINED BOOST_ROOT OR DEFINED ENV{BOOST_ROOT})
  set(Boost_NO_SYSTEM_PATHS ON)
endif()
find_package(Boost 1.74 REQUIRED COMPONENTS mpi serialization)
