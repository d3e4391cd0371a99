# Runs BENCHMARK of CLASS on one rank; fails if what Benchmark::bytes() expects and what the process
# grew by differ by more than a tenth and what MPI and the program itself may take.
# cmake -DPROGRAM=... -DBENCHMARK=LU -DCLASS=W -DFOLDER=... -P memory_test.cmake
file(MAKE_DIRECTORY ${FOLDER})
execute_process(
  COMMAND ${PROGRAM} --benchmark ${BENCHMARK} --class ${CLASS} --samples ${FOLDER}/samples.csv
  COMMAND_ERROR_IS_FATAL ANY)
file(READ ${FOLDER}/run.json run)
foreach(name expected most)
  string(JSON bytes GET "${run}" npb memory ${name}_bytes)
  string(REGEX REPLACE "[.].*" "" ${name} ${bytes})
endforeach()
set(own 1500000)
math(EXPR allowed "${most} / 10 + ${own}")
math(EXPR difference "${most} - ${expected}")
string(REPLACE "-" "" size_of_difference ${difference})
message("expected ${expected} bytes, took ${most}, allowed difference ${allowed}")
if(most EQUAL 0 OR size_of_difference GREATER allowed)
  message(FATAL_ERROR "${BENCHMARK} ${CLASS} is expected to take ${expected} bytes, but takes ${most}")
endif()
