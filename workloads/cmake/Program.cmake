# A program that measures: built in the folder of its study, and installed.
#
#   roundtrip_program(NAME SOURCES file... LIBRARIES library...)
function(roundtrip_program name)
  cmake_parse_arguments(PARSE_ARGV 1 program "" "" "SOURCES;LIBRARIES")
  add_executable(${name} ${program_SOURCES})
  target_link_libraries(${name} PRIVATE ${program_LIBRARIES} roundtrip_warnings)
  install(TARGETS ${name} RUNTIME)
endfunction()
