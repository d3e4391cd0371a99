/// Keeps plugins loaded: the MPI library unloads them when it ends, and stacks of leaks would lose
/// the names that the suppressions match.
extern "C" int dlclose(void* /*handle*/) noexcept {
  return 0;
}
