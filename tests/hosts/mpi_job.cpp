// A program with MPI over several hosts that is one job of Situ as well: before MPI_Init, and after it. Addresses go by
// MPI, data by Situ.
#include <mpi.h>
#include <situ/situ.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace {

using namespace situ;

void must(bool holds, const char* what) {
  if (!holds) throw std::runtime_error{what};
}

// Before MPI there is nobody to tell others an address.
void job_before_mpi(int& argc, char** argv) {
  runtime rt{argc, argv};
  const ptr<long> own = allocate<long>();
  put(own, 1L + here().index());
  barrier();
  must(get(own) == 1L + here().index(), "its own word");
  barrier();
}

void job_beside_mpi(int& argc, char** argv) {
  runtime rt{argc, argv};
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  must(static_cast<int>(here().index()) == rank, "place and rank");
  const std::size_t count = place_count();
  const ptr<long> own = allocate<long>(count);
  std::vector<std::uint64_t> all(count);
  const std::uint64_t address = own.address();
  MPI_Allgather(&address, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
  for (const std::uint64_t each : all)
    put(ptr<long>{reinterpret_cast<long*>(each)} + here().index(),
        static_cast<long>(10 * each % 1000 + here().index()));
  barrier();
  for (std::size_t from = 0; from < count; ++from)
    must(own.local()[from] == static_cast<long>(10 * address % 1000 + from), "what another rank has put");
  long sum = 0;
  const long one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  must(sum == static_cast<long>(count), "a reduction of MPI's");
  barrier();
  if (rank == 0) std::printf("%u places beside MPI\n", place_count());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    job_before_mpi(argc, argv);
    MPI_Init(&argc, &argv);
    job_beside_mpi(argc, argv);
    job_beside_mpi(argc, argv);
    MPI_Finalize();
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mpi_job: %s\n", e.what());
    return 1;
  }
}
