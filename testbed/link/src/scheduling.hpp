// Being on time on a busy machine.
#pragma once

namespace rtlink {

// Memory that stays, timers without slack, and SCHED_FIFO with `priority` (0: no).  What the system
// refuses is left out.  Returns whether this process is SCHED_FIFO now.
bool schedule_promptly(int priority);

}  // namespace rtlink
