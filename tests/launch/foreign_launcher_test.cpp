// Programs that another launcher started: as such launchers do, by the variables that they set. With a real mpirun:
// tests/mpi.
#include "launch/launch_support.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "support/build_paths.h"
#include "support/programs.h"

namespace {

using namespace situ::test;
using testing::HasSubstr;

const std::string situ_program = SITU_TEST_BIN_DIR "/situ";
const std::string probe = SITU_TEST_BIN_DIR "/tests/launch_probe";

// The variables of task `rank` of `size`, by Open MPI; the jobs of this process and its tests differ by `name`.
std::vector<std::string> open_mpi(int rank, int size, const std::string& name) {
  return {fmt::format("OMPI_COMM_WORLD_RANK={}", rank), fmt::format("OMPI_COMM_WORLD_SIZE={}", size),
          fmt::format("OMPI_COMM_WORLD_LOCAL_SIZE={}", size), fmt::format("PMIX_NAMESPACE={}-{}", name, ::getpid())};
}

// Starts tasks in this order of ranks, a while apart; killed at the end.
class tasks {
 public:
  tasks(const std::vector<int>& ranks, const std::string& name, const std::vector<std::string>& action,
        std::chrono::milliseconds apart = 0ms) {
    for (const int rank : ranks) {
      std::vector<std::string> arguments{probe};
      arguments.insert(arguments.end(), action.begin(), action.end());
      programs_.emplace_back(arguments, open_mpi(rank, static_cast<int>(ranks.size()), name));
      std::this_thread::sleep_for(apart);
    }
  }
  [[nodiscard]] running_program& operator[](std::size_t i) { return programs_[i]; }
  [[nodiscard]] std::vector<ended_program> wait() {
    std::vector<ended_program> ended;
    for (running_program& each : programs_) ended.push_back(each.wait());
    return ended;
  }

 private:
  std::deque<running_program> programs_;
};

TEST(foreign_launcher, its_tasks_become_the_places_of_one_job) {
  const std::vector<int> ranks{2, 0, 1};
  const std::vector<ended_program> ended = tasks{ranks, "one", {"environment"}, 50ms}.wait();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    EXPECT_EQ(ended[i].exit_code, 0) << ended[i].err;
    EXPECT_THAT(ended[i].out, HasSubstr(fmt::format("place {} of 3", ranks[i])));
    EXPECT_EQ(ended[i].err, "");
  }
}

TEST(foreign_launcher, whose_jobs_do_not_meet_each_other) {
  tasks first{{0, 1}, "first", {"environment"}};
  tasks second{{0, 1}, "second", {"environment"}};
  for (tasks* each : {&first, &second})
    for (const ended_program& ended : each->wait()) EXPECT_EQ(ended.exit_code, 0) << ended.err;
}

TEST(foreign_launcher, runtimes_of_its_tasks_follow_each_other) {
  for (const ended_program& ended : tasks{{0, 1}, "again", {"again"}}.wait()) {
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("turn 2"));
  }
}

TEST(foreign_launcher, a_task_that_dies_is_lost) {
  // Its neighbours on either side: the watcher itself, and those that hear of it.
  for (const char* const victim : {"0", "1", "3"}) {
    for (const ended_program& ended : tasks{{0, 1, 2, 3}, "killed", {"kill", victim, "9"}}.wait()) {
      if (ended.exit_code == 128 + 9) continue;
      EXPECT_EQ(ended.exit_code, 1) << victim;
      EXPECT_THAT(ended.err, HasSubstr(fmt::format("place {}: its process ended without leaving the job", victim)));
    }
  }
}

TEST(foreign_launcher, several_that_die_together_are_lost) {
  tasks four{{0, 1, 2, 3}, "two", {"kill", "9"}};  // there is no place 9: they sleep
  for (std::size_t i = 0; i < 4; ++i) ASSERT_TRUE(four[i].wait_for_output("pid "));
  four[1].send(SIGKILL);
  four[2].send(SIGKILL);
  const std::vector<ended_program> ended = four.wait();
  for (const std::size_t survivor : {0U, 3U}) {
    EXPECT_EQ(ended[survivor].exit_code, 1);
    EXPECT_THAT(ended[survivor].err, HasSubstr("its process ended without leaving the job"));
  }
}

TEST(foreign_launcher, tasks_in_which_nobody_can_go_on_are_told) {
  const std::vector<ended_program> ended = tasks{{0, 1}, "stand", {"stand"}}.wait();
  EXPECT_NE(ended[0].exit_code, 0) << "it waits in a barrier; the other one at its end, where main has returned";
  EXPECT_THAT(ended[0].err + ended[1].err, HasSubstr("nobody can go on"));
}

TEST(foreign_launcher, tasks_that_cannot_become_one_job_are_refused) {
  const std::vector<std::vector<std::string>> refused{
      {"OMPI_COMM_WORLD_SIZE=4"},                            // no rank
      {"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=4"},  // not one of them
      {"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2"},
      {"SLURM_STEP_NUM_TASKS=16", "SLURM_PROCID=1", "SLURM_STEP_NUM_NODES=2"},
      {"PMIX_RANK=1"}};
  for (const std::vector<std::string>& environment : refused) {
    const ended_program ended = run_program({probe, "exit"}, environment);
    EXPECT_NE(ended.exit_code, 0) << environment[0];
    EXPECT_THAT(ended.err, HasSubstr(environment[0]));
    EXPECT_THAT(ended.err, HasSubstr("situ run -n"));
    EXPECT_THAT(ended.err, HasSubstr("SITU_ALONE=1"));
  }
}

TEST(foreign_launcher, alone_or_on_purpose_a_task_runs_by_itself) {
  EXPECT_EQ(run_program({probe, "exit"}, {"OMPI_COMM_WORLD_SIZE=1", "PMIX_RANK=0"}).exit_code, 0);
  EXPECT_EQ(run_program({probe, "exit"}, {"SLURM_NTASKS=4", "SLURM_PROCID=0"}).exit_code, 0)
      << "a batch script runs once";
  EXPECT_EQ(run_program({probe, "exit"}, {"OMPI_COMM_WORLD_SIZE=4", "SITU_ALONE=1"}).exit_code, 0);
}

TEST(foreign_launcher, does_not_start_situ_run_several_times) {
  const std::vector<std::string> command{situ_program, "run", "-n", "2", probe, "exit"};
  const ended_program ended = run_program(command, open_mpi(0, 4, "inner"));
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_THAT(ended.err, HasSubstr("without `situ run`"));
  EXPECT_EQ(run_program(command, open_mpi(0, 1, "inner")).exit_code, 0);
}

}  // namespace
