// Two ranks exchange a serialized object over Boost.MPI; rank 0 prints what the toolchain is, a
// line each: ranks, sum received, Boost version, first line of the MPI library's version.
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>
#include <boost/version.hpp>

#include <array>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  const boost::mpi::environment environment(argc, argv);
  const boost::mpi::communicator world;
  if (world.rank() == world.size() - 1) {
    world.send(0, 1, std::vector<std::string>{"1", "20", "300"});
  }
  if (world.rank() == 0) {
    std::vector<std::string> numbers;
    world.recv(world.size() - 1, 1, numbers);
    const int sum = std::accumulate(numbers.begin(), numbers.end(), 0,
                                    [](int a, const std::string& b) { return a + std::stoi(b); });
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string library(text.data());
    std::cout << world.size() << '\n'
              << sum << '\n'
              << BOOST_LIB_VERSION << '\n'
              << library.substr(0, library.find('\n')) << '\n';
  }
}
