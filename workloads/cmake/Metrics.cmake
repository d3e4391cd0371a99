# Reads the metrics that Python reads too, metrics.json of all studies and of each, and sets
# ROUNDTRIP_METRICS to their definitions in C++.
set(metrics_folder ${ROUNDTRIP_WORKLOADS}/../src/roundtrip/studies)
file(GLOB_RECURSE metrics_files CONFIGURE_DEPENDS ${metrics_folder}/metrics.json)
if(NOT metrics_files)
  message(FATAL_ERROR "There is no metrics.json below ${metrics_folder}: "
    "workloads/ is built inside a checkout of Roundtrip")
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${metrics_files})

set(ROUNDTRIP_METRICS "")
foreach(file IN LISTS metrics_files)
  file(READ ${file} metrics)
  string(JSON last LENGTH ${metrics})
  math(EXPR last "${last} - 1")
  foreach(i RANGE ${last})
    string(JSON name MEMBER ${metrics} ${i})
    string(JSON unit GET ${metrics} ${name} unit)
    string(APPEND ROUNDTRIP_METRICS
      "inline constexpr Metric ${name}{.name = \"${name}\", .unit = \"${unit}\"};\n")
  endforeach()
endforeach()
