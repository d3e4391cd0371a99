// Keeps this process on time on a busy machine.
#pragma once

namespace rtlink {

// Locks memory, sets the least timer slack, and sets SCHED_FIFO with `priority` (0: does not). Goes
// on without what the system refuses.  Returns whether this process now runs under SCHED_FIFO.
bool schedule_promptly(int priority);

}  // namespace rtlink
