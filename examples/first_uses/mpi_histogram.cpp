// mpi_histogram: one program with MPI and Situ. MPI deals numbers to its ranks; Situ counts them in a map over all
// ranks, whose entries belong to ranks by their keys; MPI adds up what each rank has, and rank 0 checks the counts.
//
//   mpirun -n 4 mpi_histogram [numbers of each rank, 10000]
#include <mpi.h>
#include <situ/situ.h>
#include <situ/spread/distributed_map.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

namespace {

constexpr int kinds = 50;

// Of all ranks, at rank 0: squares are not evenly spread over the kinds.
std::vector<int> draw_numbers(std::size_t count) {
  std::mt19937 draw{3};
  std::vector<int> numbers(count);
  for (int& each : numbers) {
    const int root = static_cast<int>(draw() % 1000);
    each = root * root % kinds;
  }
  return numbers;
}

// The part that needs Situ; every rank calls it. Returns the counts of the kinds that belong to this rank, others zero.
std::vector<long> count_of_own_kinds(const std::vector<int>& mine) {
  situ::distributed_map<int, long> counts;
  for (const int kind : mine) counts.update(kind, [](long& n) { ++n; });
  counts.drain();
  std::vector<long> own(kinds);
  counts.for_each_local([&](int kind, long n) { own[static_cast<std::size_t>(kind)] = n; });
  situ::barrier();  // a rank that waits in MPI serves no calls: until here all have been served
  return own;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int each_has = argc > 1 ? std::atoi(argv[1]) : 10'000;

  std::vector<int> all, mine(static_cast<std::size_t>(each_has));
  if (rank == 0) all = draw_numbers(static_cast<std::size_t>(each_has) * static_cast<std::size_t>(ranks));
  MPI_Scatter(all.data(), each_has, MPI_INT, mine.data(), each_has, MPI_INT, 0, MPI_COMM_WORLD);

  std::vector<long> own, counts(kinds);
  {
    situ::runtime rt{argc, argv};  // collective: rank i is place i
    own = count_of_own_kinds(mine);
  }
  MPI_Reduce(own.data(), counts.data(), kinds, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);

  bool is_right = true;
  if (rank == 0) {
    std::vector<long> expected(kinds);
    for (const int kind : all) ++expected[static_cast<std::size_t>(kind)];
    is_right = counts == expected;
    std::printf("%d ranks, %zu numbers: the counts are %s\n", ranks, all.size(), is_right ? "right" : "wrong");
  }
  MPI_Finalize();
  return is_right ? 0 : 1;
}
