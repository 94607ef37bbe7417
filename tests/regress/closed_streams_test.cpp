// With closed standard streams the job's memory file was descriptor 0, 1 or 2, and what a place printed was written
// into slice 0. So were pipes, files and sockets of every kind: none may have these numbers, however the program was
// started. And a program that closes all descriptors must not meet ours later, nor we what it opened instead.
#include "launch/launch_support.h"

#include "fabric/observe.h"
#include "launch/monitor.h"
#include "launch/output.h"
#include "memory/bell.h"
#include "os/descriptor.h"
#include "rmem/user_faults.h"
#include "stencil/mirrored_ring.h"

#include <situ/base/error.h>
#include <situ/machine/discover.h>
#include <situ/stencil/backing_store.h>
#include <situ/stencil/hdf5.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "support/build_paths.h"
#include "support/forked.h"
#include "support/programs.h"

namespace situ::test {
namespace {

constexpr unsigned in = 1, out = 2, err = 4;

// --- what Situ opens -------------------------------------------------------------------------------------------------

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

// Runs make() in a child whose standard streams are closed. It returns what it made, alive. 0: the streams are closed
// as before.
template <class Make>
int streams_taken_by(Make make) {
  const os::exit_status end = in_forked_child([&]() -> int {
    for (const int stream : {0, 1, 2}) ::close(stream);
    try {
      [[maybe_unused]] const auto made = make();
      ::_exit((is_open(0) ? in : 0) | (is_open(1) ? out : 0) | (is_open(2) ? err : 0));  // while it lives
    } catch (const error& e) {
      return e.code() == errc::not_supported ? 77 : 78;
    }
  });
  if (!end.is_known) return -1000;
  return end.signal != 0 ? -end.signal : end.code;
}

const std::string folder = [] {
  std::string name = testing::TempDir() + "situ-closed-XXXXXX";
  return std::string{::mkdtemp(name.data())};
}();
struct remove_folder : testing::Environment {
  void TearDown() override { std::filesystem::remove_all(folder); }
};
[[maybe_unused]] const auto* const removal = testing::AddGlobalTestEnvironment(new remove_folder);

TEST(closed_streams, are_not_taken_by_what_a_job_opens) {
  EXPECT_EQ(streams_taken_by([] { return detail::job::create({.place_count = 2}); }), 0);
  EXPECT_EQ(streams_taken_by([] {
              auto shared = std::make_unique<detail::job>(detail::job::create({.place_count = 2}));
              auto monitor = std::make_unique<detail::launch_monitor>(shared->control(),
                                                                      detail::launch_monitor::limits{}, nullptr);
              os::child sleeper = fork_child([] { sleep_for_ever(); });
              const pid_t number = sleeper.id();
              monitor->watch(std::move(sleeper), 0, 1);
              ::kill(number, SIGKILL);
              return std::make_pair(std::move(shared), std::move(monitor));
            }),
            0);
  EXPECT_EQ(streams_taken_by([] { return std::make_unique<detail::labelled_output>(3); }), 0);
  EXPECT_EQ(streams_taken_by([] {
              auto slot = std::make_unique<detail::place_slot>();
              auto bell = std::make_unique<detail::bell>(*slot);
              return std::make_pair(std::move(slot), std::move(bell));
            }),
            0);
}

TEST(closed_streams, are_not_taken_by_stores_files_and_libraries) {
  EXPECT_THAT(streams_taken_by([] { return stencil::make_file_store(folder); }), testing::AnyOf(0, 77));
  EXPECT_EQ(streams_taken_by([] { return stencil::mirrored_ring{1 << 16, detail::page_source{}}; }), 0);
  EXPECT_EQ(
      streams_taken_by([] { return stencil::hdf5_file{folder + "/file.h5", stencil::hdf5_file::open_mode::create}; }),
      0);
  EXPECT_EQ(streams_taken_by([] { return machine::discover(); }), 0);
  EXPECT_THAT(streams_taken_by([] { return std::make_unique<rmem::detail::user_faults>(); }), testing::AnyOf(0, 77));
}

// A file that is open for a moment may be met by another thread that prints: the streams are filled meanwhile, and
// closed again.
TEST(closed_streams, are_filled_while_a_library_opens) {
  EXPECT_EQ(streams_taken_by([] {
              const detail::standard_streams_filled filled;
              char byte = 'x';
              for (const int stream : {0, 1, 2}) {
                if (::write(stream, &byte, 1) >= 0 || errno != EBADF) ::_exit(79);
                if (::read(stream, &byte, 1) >= 0 || errno != EBADF) ::_exit(80);
              }
              const int library = ::open("/dev/null", O_RDONLY);
              if (library <= 2) ::_exit(81);
              return 0;
            }),
            0);
}

// --- programs --------------------------------------------------------------------------------------------------------

const std::string situ_program = SITU_TEST_BIN_DIR "/situ";
const std::string probe = SITU_TEST_BIN_DIR "/tests/launch_probe";

struct start {
  const char* name;
  std::vector<std::string> arguments;  // before the mask of closed streams
  std::vector<std::string> environment;
};
// gtest prints parameters by this
void PrintTo(const start& s, std::ostream* to) { *to << s.name; }

class programs_with_closed_streams : public testing::TestWithParam<std::tuple<start, unsigned>> {};

// The probe prints into each closed stream, which must fail as such writes do, and calls its neighbour meanwhile.
TEST_P(programs_with_closed_streams, run_as_with_open_ones) {
  const auto& [how, closed] = GetParam();
  std::vector<std::string> arguments = how.arguments;
  arguments.push_back(std::to_string(closed));
  running_program program{arguments, how.environment, {}, closed};
  const ended_program ended = program.wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
}

INSTANTIATE_TEST_SUITE_P(
    , programs_with_closed_streams,
    testing::Combine(
        testing::Values(
            start{"alone", {probe, "streams"}, {}},
            start{"alone_by_srun", {probe, "streams"}, {"SLURM_STEP_NUM_TASKS=2", "SITU_ALONE=1"}},
            start{"situ_run", {situ_program, "run", "-n", "2", probe, "streams"}, {}},
            start{"in_process", {situ_program, "run", "-n", "2", "--in-process", probe, "streams"}, {}},
            start{"labelled", {situ_program, "run", "-n", "2", "--tag", probe, "streams-labelled"}, {}},
            start{"traced", {situ_program, "run", "-n", "2", "--trace", folder + "/trace.json", probe, "streams"}, {}},
            start{"launch", {probe, "streams-launch"}, {}},
            start{"launch_threads", {probe, "streams-launch-threads"}, {}}),
        testing::Values(out, in, err, in | out | err)),
    [](const auto& info) {
      return std::string{std::get<0>(info.param).name} + "_" + std::to_string(std::get<1>(info.param));
    });

// A daemon closes whatever is open. The mappings are enough; and what it opens afterwards is not closed by us.
TEST(closed_streams, a_place_may_close_all_descriptors_and_open_others) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{probe, "close-all"}, {situ_program, "run", "-n", "3", probe, "close-all"}}) {
    const ended_program ended = run_program(arguments);
    EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  }
}

}  // namespace
}  // namespace situ::test
