# Finds the MPI to build with: the one whose wrapper is CMAKE_CXX_COMPILER, else the first mpicxx in PATH.
#
# FindMPI alone would start from the first `mpiexec` it finds, which may belong to another MPI.
include(CheckCXXSourceCompiles)

if(NOT MPI_CXX_COMPILER)
  check_cxx_source_compiles(
    "#include <mpi.h>\nint main(int argc, char** argv) { return MPI_Init(&argc, &argv); }"
    ROUNDTRIP_COMPILER_IS_MPI_WRAPPER)
  if(ROUNDTRIP_COMPILER_IS_MPI_WRAPPER)
    set(MPI_CXX_COMPILER ${CMAKE_CXX_COMPILER} CACHE FILEPATH "MPI compiler wrapper")
  else()
    find_program(MPI_CXX_COMPILER mpicxx DOC "MPI compiler wrapper")
  endif()
endif()

# The starter beside the wrapper; Debian's wrappers carry the MPI's name as a suffix.
cmake_path(GET MPI_CXX_COMPILER PARENT_PATH mpi_bin)
cmake_path(GET MPI_CXX_COMPILER EXTENSION mpi_suffix)
find_program(MPIEXEC_EXECUTABLE NAMES mpirun${mpi_suffix} mpiexec${mpi_suffix}
  HINTS ${mpi_bin} NO_DEFAULT_PATH DOC "Starts MPI programs (tests only)")

find_package(MPI 3.0 REQUIRED COMPONENTS CXX)

# Ranks that wait inside Open MPI give way to others; of other libraries that is not known, and MPICH's
# poll on: more ranks than cores take it minutes.
include(CheckCXXSymbolExists)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_CXX)
check_cxx_symbol_exists(OPEN_MPI mpi.h ROUNDTRIP_MPI_GIVES_WAY)
check_cxx_symbol_exists(SMPI_H mpi.h ROUNDTRIP_MPI_IS_SMPI)
unset(CMAKE_REQUIRED_LIBRARIES)

# SimGrid's SMPI simulates the ranks: what it replaces is restored where C++ needs the name.
if(ROUNDTRIP_MPI_IS_SMPI)
  if(BUILD_TESTING)
    message(FATAL_ERROR "Tests of workloads/ run on real MPIs: BUILD_TESTING=OFF for SimGrid's SMPI")
  endif()
  add_compile_options(-include ${ROUNDTRIP_WORKLOADS}/core/smpi_names.h)
endif()
