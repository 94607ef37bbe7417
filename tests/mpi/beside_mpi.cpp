// Ranks are places: calls of MPI and of Situ one after the other, and mixed. Ends with 1, and a line, where something
// is wrong.
#include <mpi.h>
#include <situ/situ.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "beside_mpi: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int rank_in_mpi() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

void take_turns() {
  const int rank = rank_in_mpi(), places = static_cast<int>(situ::place_count());
  const situ::place next{static_cast<std::uint32_t>((rank + 1) % places)};
  const situ::ptr<int> mine = situ::allocate<int>();
  for (int round = 0; round < 50; ++round) {
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(sum == situ::all_reduce(rank, std::plus<>{}), "the sums differ");
    expect(situ::at(next, [](int n) { return n + rank_in_mpi(); }, round) == round + (rank + 1) % places, "a call");
    situ::barrier();  // who waits in MPI serves no calls
    // Addresses go by MPI, the data by Situ.
    *mine.local() = rank * 1000 + round;
    situ::ptr<int> theirs;
    MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, (rank + places - 1) % places, 0, &theirs, sizeof theirs, MPI_BYTE,
                 (rank + 1) % places, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(situ::get(theirs) == (rank + 1) % places * 1000 + round, "what a neighbour has");
    situ::barrier();
  }
  situ::deallocate(mine);
}

// Some places wait for MPI while others call them: who waits so serves calls.
void wait_for_mpi_while_others_call() {
  const int rank = rank_in_mpi();
  for (int round = 0; round < 50; ++round) {
    if (rank == 0)
      for (std::uint32_t other = 0; other < situ::place_count(); ++other)
        expect(situ::at(situ::place{other}, [] { return rank_in_mpi(); }) == static_cast<int>(other), "a mixed call");
    MPI_Request all = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &all);
    for (int done = 0; MPI_Test(&all, &done, MPI_STATUS_IGNORE), done == 0;) situ::progress();
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int turn = 0; turn < 2; ++turn) {
    situ::runtime rt{argc, argv};
    expect(situ::place_count() == static_cast<std::uint32_t>(size), "there are as many places as ranks");
    expect(situ::here().index() == static_cast<std::uint32_t>(rank_in_mpi()), "a place is not its rank");
    take_turns();
    wait_for_mpi_while_others_call();
  }
  MPI_Finalize();
  return 0;
}
