#include "scheduling.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>

namespace rtlink {

bool schedule_promptly(int priority) {
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  ::mlockall(MCL_CURRENT);
  if (priority == 0) return false;
  sched_param parameters{};
  parameters.sched_priority = priority;
  return ::sched_setscheduler(0, SCHED_FIFO, &parameters) == 0;
}

}  // namespace rtlink
