// Six programs of the guide beside the same written with the foundation alone (by_hand/), as a user starts them: each a
// job of two places, timed from its start to its end. What the two print must be the same.
//
//   situ_bench_guide SITU        SITU: the command that starts jobs; the programs lie beside this one
#include "os/child.h"
#include "os/descriptor.h"
#include "os/mapping.h"
#include "support/job_samples.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <utility>

namespace {

using namespace job_bench;

struct guide_case {
  const char* name;
  const char* program;
  std::vector<std::string> quick, whole;  // arguments
};
const guide_case cases[] = {
    {"guide_hash_join", "hash_join", {"20000"}, {"2000000"}},
    {"guide_sample_sort", "sample_sort", {"20000"}, {"4000000"}},
    {"guide_jacobi", "jacobi", {"20", "64"}, {"1000", "1024"}},
    {"guide_tree_search", "tree_search", {"7"}, {"15"}},
    {"guide_pipeline", "pipeline", {"2000"}, {"300000"}},
    {"guide_object_graph", "object_graph", {"2000"}, {"500000"}},
};

struct ended_job {
  double ns;
  std::string output;
};

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "situ_bench_guide: %s\n", what.c_str());
  std::exit(1);
}

ended_job run(std::vector<std::string> command) {
  const std::string file = command[0], program = command.at(6);
  const situ::os::exec_texts arguments{std::move(command)};
  const situ::os::descriptor out = situ::os::memory_file("output");
  if (!out || fcntl(out.number(), F_SETFL, O_APPEND) != 0) give_up("no memory file for what a program prints");
  const double begin = now_ns();
  situ::os::child job = situ::os::child::start({.file = file.c_str(), .arguments = arguments, .output = out.number()});
  if (!job) give_up("cannot run " + file);
  if (!job.wait().is_success()) give_up(program + " failed");
  ended_job ended{now_ns() - begin, {}};
  std::array<char, 4096> text{};
  ssize_t bytes = 0;
  while ((bytes = pread(out.number(), text.data(), text.size(), static_cast<off_t>(ended.output.size()))) > 0)
    ended.output.append(text.data(), static_cast<std::size_t>(bytes));
  return ended;
}

void measure(const guide_case& of, const std::string& situ, const std::filesystem::path& folder) {
  samples by_hand{"by_hand"}, own{"situ"};
  for (int sample = 0; sample < (is_quick() ? 1 : 7); ++sample) {
    const auto job = [&](const std::string& program) {
      std::vector<std::string> command{situ, "run", "-n", "2", "--bind", "core", (folder / program).string()};
      const auto& arguments = is_quick() ? of.quick : of.whole;
      command.insert(command.end(), arguments.begin(), arguments.end());
      return run(command);
    };
    const ended_job first = job(std::string{"by_hand_"} + of.program);
    const ended_job second = job(of.program);
    if (first.output != second.output || first.output.empty())
      give_up(std::string{of.program} + " prints '" + second.output + "', by hand '" + first.output + "'");
    by_hand.ns.push_back(first.ns);
    own.ns.push_back(second.ns);
  }
  print(of.name, {by_hand, own});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) give_up("one argument, the situ command");
  const std::filesystem::path folder = std::filesystem::canonical("/proc/self/exe").parent_path();
  situ::runtime rt{argc, argv};
  for (const guide_case& each : cases)
    if (is_wanted(each.name)) measure(each, argv[1], folder);
  print_end();
}
