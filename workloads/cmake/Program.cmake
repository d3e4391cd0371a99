# A program that measures: built in the folder of its study, and installed.
#
#   roundtrip_program(NAME SOURCES file... LIBRARIES library...)
function(roundtrip_program name)
  cmake_parse_arguments(PARSE_ARGV 1 program "" "" "SOURCES;LIBRARIES")
  add_executable(${name} ${program_SOURCES})
  target_link_libraries(${name} PRIVATE ${program_LIBRARIES} roundtrip_warnings)
  install(TARGETS ${name} EXPORT ${PROJECT_NAME} RUNTIME)
endfunction()

# The installed programs of a project by find_package(PROJECT), as roundtrip::NAME.
function(roundtrip_package)
  install(EXPORT ${PROJECT_NAME} NAMESPACE roundtrip:: FILE ${PROJECT_NAME}-config.cmake
    DESTINATION lib/cmake/${PROJECT_NAME})
endfunction()

# Unit tests that every rank runs: tests NAME.mpi.RANKS, never two at once, they need the cores.
#
#   roundtrip_mpi_tests(NAME RANKS count... SOURCES file... LIBRARIES library...)
function(roundtrip_mpi_tests name)
  cmake_parse_arguments(PARSE_ARGV 1 test "" "" "RANKS;SOURCES;LIBRARIES")
  add_executable(${name}_mpi_tests ${test_SOURCES} ${ROUNDTRIP_WORKLOADS}/core/testing/mpi_main.cpp)
  target_link_libraries(${name}_mpi_tests
    PRIVATE ${test_LIBRARIES} roundtrip_warnings GTest::gtest)
  foreach(ranks IN LISTS test_RANKS)
    add_test(NAME ${name}.mpi.${ranks} COMMAND ${CMAKE_COMMAND} -E env
      OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
      OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
      ${MPIEXEC_EXECUTABLE} -n ${ranks} $<TARGET_FILE:${name}_mpi_tests>)
    set_tests_properties(${name}.mpi.${ranks} PROPERTIES RUN_SERIAL ON TIMEOUT ${within_120s})
  endforeach()
endfunction()
