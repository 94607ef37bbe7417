// Data in a file that is not in the page cache, by units of 1 MiB: fetched ahead, touched in place, and all in memory.
#include "slow_memory.h"

#include "os/descriptor.h"
#include "os/mapping.h"
#include "support/job_samples.h"

#include <situ/task/staged_array.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace task_bench {
namespace {

using namespace job_bench;

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t tile = mib / sizeof(double);
constexpr std::uint32_t threads = 2;

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

double polynomial(std::span<const double> xs) {
  double sum = 0;
  for (const double x : xs) {
    double y = 1;
    for (int k = 0; k < 16; ++k) y = y * x + 0.5;
    sum += y;
  }
  return sum;
}

// A file of so many MiB, named nowhere else; removed at the end.
class cold_file {
 public:
  explicit cold_file(std::size_t size)
      : path_{std::filesystem::temp_directory_path() / ("situ_bench_tasks_" + std::to_string(::getpid()))},
        size_{size},
        file_{::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)} {
    if (!file_) give_up("situ_bench_tasks: the file");
    const std::vector<double> some(tile, 0.25);
    for (std::size_t i = 0; i < size_; ++i)
      if (::write(file_.number(), some.data(), mib) != static_cast<ssize_t>(mib)) give_up("situ_bench_tasks: the file");
  }
  ~cold_file() { ::unlink(path_.c_str()); }
  cold_file(const cold_file&) = delete;
  cold_file& operator=(const cold_file&) = delete;

  void cool() const {
    ::fdatasync(descriptor());
    ::posix_fadvise(descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  }
  // Reads all of it into a few buffers, past the page cache, several requests at a time: the fastest way by hand.
  double read() const {
    constexpr std::size_t readers = 4;
    cool();
    const situ::os::descriptor direct{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT)};
    const double begin = now_ns();
    std::vector<std::jthread> all;
    for (std::size_t r = 0; r < readers; ++r)
      all.emplace_back([&, r] {
        void* const buffer = std::aligned_alloc(4096, mib);
        for (std::size_t i = r; i < size_; i += readers)
          if (::pread((direct ? direct : file_).number(), buffer, mib, static_cast<off_t>(i * mib)) !=
              static_cast<ssize_t>(mib))
            give_up("situ_bench_tasks: reading");
        std::free(buffer);
      });
    all.clear();
    return now_ns() - begin;
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int descriptor() const { return file_.number(); }

 private:
  std::string path_;
  std::size_t size_;
  situ::os::descriptor file_;
};

double run(situ::task_graph& graph, const double* data, std::size_t size) {
  double sum = 0;
  const double begin = now_ns();
  for (std::size_t i = 0; i < size; ++i) {
    const std::span<const double> mine{data + i * tile, tile};
    graph.reduce(sum, {situ::reads(mine)}, [mine](double& part) { part = polynomial(mine); });
  }
  graph.wait();
  const double took = now_ns() - begin;
  if (sum == 0) give_up("situ_bench_tasks: a wrong sum");
  return took;
}

}  // namespace

void measure_slow_memory() {
  const std::size_t size = is_quick() ? 8 : 512;
  const cold_file file{size};
  const std::vector<double> memory(size * tile, 0.25);
  samples bound{"bound"}, read{"file"}, fast{"all_in_memory"}, in_place{"in_place"}, staged{"situ"};
  const auto each = [size](double ns) { return ns / static_cast<double>(size); };
  for (int i = 0; i < (is_quick() ? 1 : 5); ++i) {
    situ::task_graph graph{{.threads = threads}};
    read.ns.push_back(each(file.read()));
    fast.ns.push_back(each(run(graph, memory.data(), size)));
    bound.ns.push_back(std::max(read.ns.back(), fast.ns.back()));
    file.cool();
    auto mapped = situ::os::mapping::anywhere(size * mib, PROT_READ, situ::os::backing::shared(file.descriptor()));
    if (!mapped) give_up("situ_bench_tasks: mapping");
    in_place.ns.push_back(each(run(graph, reinterpret_cast<const double*>(mapped.begin()), size)));
    mapped = {};
    file.cool();
    const situ::staged_array<double> a{
        graph, file.path(), size * tile, {.tile_bytes = mib, .budget_bytes = size * mib / 8}};
    staged.ns.push_back(each(run(graph, a.data(), size)));
  }
  print("slow_memory", {bound, read, fast, in_place, staged});
}

}  // namespace task_bench
