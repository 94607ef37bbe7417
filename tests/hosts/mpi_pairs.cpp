// Processes of an MPI job, each of which exchanges a value with each other; rank 0 says how many there are, at how many
// hosts.
#include <mpi.h>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int wrong = 0;
  for (int other = 0; other < size; ++other) {
    const int mine = rank * size + other;
    int theirs = -1;
    MPI_Sendrecv(&mine, 1, MPI_INT, other, 0, &theirs, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wrong += theirs != other * size + rank;
  }
  int all_wrong = 0;
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);

  char name[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  MPI_Get_processor_name(name, &length);
  std::vector<char> names(static_cast<std::size_t>(size) * sizeof name);
  MPI_Gather(name, sizeof name, MPI_CHAR, names.data(), sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    std::set<std::string> hosts;
    for (int i = 0; i < size; ++i) {
      hosts.insert(names.data() + static_cast<std::size_t>(i) * sizeof name);
    }
    std::printf("%d processes, %zu hosts: %s\n", size, hosts.size(),
                all_wrong == 0 ? "all pairs talked" : "values went wrong");
  }
  MPI_Finalize();
  return all_wrong == 0 ? 0 : 1;
}
