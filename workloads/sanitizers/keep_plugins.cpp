/// The MPI library unloads its plugins when it ends, and with them the names in the stacks of what
/// it leaks, which the suppressions go by.
extern "C" int dlclose(void* /*handle*/) noexcept {
  return 0;
}
