# Runs BENCHMARK of class S on RANKS ranks and fails unless what its timed section sends is what the
# official program sends, or what differences.txt says instead.
# cmake -DLAUNCH="mpirun;-n" -DPROGRAM=... -DBENCHMARK=CG -DRANKS=2 -DDATA=... -DPROFILE=... -P ...
file(REMOVE ${PROFILE})
execute_process(
  COMMAND ${LAUNCH} ${RANKS} ${CMAKE_COMMAND} -E env MESSAGE_PROFILE=${PROFILE}
    ${PROGRAM} --benchmark ${BENCHMARK} --class S
  COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS ${PROFILE} counted)
list(SORT counted)

foreach(name official differences)
  file(STRINGS ${DATA}/${name}.txt lines REGEX "^${BENCHMARK} ${RANKS} ")
  list(FILTER lines EXCLUDE REGEX " itself ")
  list(TRANSFORM lines REPLACE "^${BENCHMARK} ${RANKS} " "")
  list(SORT lines)
  set(${name} "${lines}")
endforeach()
if(NOT official)
  message(FATAL_ERROR "official.txt has nothing of ${BENCHMARK} on ${RANKS} ranks")
endif()
set(expected "${official}")
if(differences)
  set(expected "${differences}")
endif()
if(NOT counted STREQUAL expected)
  string(REPLACE ";" "\n  " counted "${counted}")
  string(REPLACE ";" "\n  " expected "${expected}")
  message(FATAL_ERROR "${BENCHMARK} on ${RANKS} ranks sends (kind bytes calls)\n  ${counted}\n"
    "instead of\n  ${expected}")
endif()
