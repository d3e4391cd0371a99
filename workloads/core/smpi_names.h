#pragma once

// SimGrid's compiler wrapper replaces functions of the C library by macros. These names are also
// members of C++ classes, such as exit of CLI::App, and nothing here needs them replaced: memory is
// not shared between simulated ranks, and ranks end only by returning from main. Included before
// every source that is compiled for SMPI.
#include <smpi/smpi_helpers.h>

#undef calloc
#undef exit
#undef free
#undef getopt
#undef getopt_long
#undef getopt_long_only
#undef malloc
#undef realloc
