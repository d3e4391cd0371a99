// Preloaded into a rootless cluster: a user namespace without a helper refuses
// setgroups(), and slurmctld then exits.  The namespace has only one user and one group.
#include <sys/types.h>

#include <cstddef>

extern "C" {
int setgroups(std::size_t /*count*/, const gid_t* /*groups*/) noexcept {
  return 0;
}
int initgroups(const char* /*user*/, gid_t /*group*/) {
  return 0;
}
}
