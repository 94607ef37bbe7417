// Memory by intent on a Linux with memories of four kinds. It runs in the guest of guest.py, whose table it knows;
// elsewhere it is skipped (exit code 77). Node 2 is fast, 3 is slow, and the two without processors are nobody's first
// choice.

#include <situ/base/error.h>
#include <situ/machine/orderings.h>
#include <situ/memory/allocate.h>
#include <situ/memory/placement.h>
#include <situ/runtime/runtime.h>
#include <situ/stencil/stencil.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace situ;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
constexpr std::uint64_t page = 4096;

struct node_memory {
  std::uint64_t total = 0;
  std::uint64_t unused = 0;
  [[nodiscard]] double percent_used() const {
    return 100.0 * (1.0 - static_cast<double>(unused) / static_cast<double>(total));
  }
};

node_memory memory_of(std::uint32_t node) {
  std::ifstream file{"/sys/devices/system/node/node" + std::to_string(node) + "/meminfo"};
  node_memory found;
  for (std::string line; std::getline(file, line);) {
    unsigned long long kilobytes = 0;
    if (std::sscanf(line.c_str(), "Node %*u MemTotal: %llu", &kilobytes) == 1) found.total = kilobytes << 10;
    if (std::sscanf(line.c_str(), "Node %*u MemFree: %llu", &kilobytes) == 1) found.unused = kilobytes << 10;
  }
  return found;
}

// What a process that allocated by intent said of it: bytes by node, or an error.
struct told {
  std::map<std::uint32_t, std::uint64_t> bytes;
  std::string error;
  double ns_for_a_page = 0;
  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t all = 0;
    for (const auto& [node, each] : bytes) all += each;
    return all;
  }
};

// A process of its own, a job of one place, that allocates and then holds the memory until this ends.
class holder {
 public:
  // Without an intent, each page is touched.
  holder(std::uint64_t bytes, const intent* what) {
    int said[2]{};
    int go_on[2]{};
    if (::pipe(said) != 0 || ::pipe(go_on) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(go_on[1]);
      hold(bytes, what, said[1], go_on[0]);
      ::_exit(0);
    }
    ::close(said[1]);
    ::close(go_on[0]);
    said_ = said[0];
    go_on_ = go_on[1];
  }
  ~holder() { end(); }
  holder(const holder&) = delete;
  holder& operator=(const holder&) = delete;

  // Waits until it has allocated.
  [[nodiscard]] told listen() const {
    std::string text;
    char part[4096];
    for (ssize_t n = 0; text.find("\nend\n") == std::string::npos && (n = ::read(said_, part, sizeof part)) > 0;)
      text.append(part, static_cast<std::size_t>(n));
    told result;
    if (const auto at = text.find("error "); at != std::string::npos) result.error = text.substr(at + 6);
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
      unsigned node = 0;
      unsigned long long bytes = 0;
      if (std::sscanf(line.c_str(), "node %u %llu", &node, &bytes) == 2) result.bytes[node] += bytes;
      (void)std::sscanf(line.c_str(), "ns %lf", &result.ns_for_a_page);
    }
    return result;
  }
  // Its exit status, as waitpid has it.
  int end() {
    if (pid_ <= 0) return status_;
    (void)!::write(go_on_, "", 1);  // other children have this end, too: closing it would say nothing
    ::close(go_on_);
    ::close(said_);
    ::waitpid(std::exchange(pid_, 0), &status_, 0);
    return status_;
  }

 private:
  static void hold(std::uint64_t bytes, const intent* what, int say, int go_on) {
    char name[] = "numa_guest_test";
    char* arguments[] = {name, nullptr};
    runtime rt{1, arguments};
    try {
      const auto begin = std::chrono::steady_clock::now();
      const ptr<std::byte> block = what == nullptr ? allocate<std::byte>(bytes) : allocate<std::byte>(bytes, *what);
      for (std::uint64_t at = 0; what == nullptr && at < bytes; at += page) block.local()[at] = std::byte{1};
      const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
      for (const memory_part& part : placement(block).parts)
        ::dprintf(say, "node %u %llu\n", part.node, static_cast<unsigned long long>(part.bytes));
      ::dprintf(say, "ns %g\n\nend\n", time.count() / static_cast<double>(bytes / page));
    } catch (const error& bad) {
      ::dprintf(say, "error %s\nend\n", bad.what());
    }
    char none = 0;
    (void)!::read(go_on, &none, 1);
  }

  pid_t pid_ = 0;
  int said_ = -1;
  int go_on_ = -1;
  int status_ = 0;
};

// The kernel's own count of processes that it ended for want of memory.
std::uint64_t kills() {
  std::ifstream file{"/proc/vmstat"};
  std::string name;
  for (std::uint64_t value = 0; file >> name >> value;)
    if (name == "oom_kill") return value;
  return 0;
}

class guest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/sys/devices/system/node/node3")) GTEST_SKIP() << "not the guest of guest.py";
    kills_before_ = kills();
  }
  void TearDown() override {
    EXPECT_EQ(kills(), kills_before_) << "the system ended a process";
    ::unsetenv("SITU_ORDERINGS");
  }
  static void order(const std::string& text) {
    std::ofstream{"/tmp/orderings.toml"} << text;
    ::setenv("SITU_ORDERINGS", "/tmp/orderings.toml", 1);
  }
  static void expect_filled(std::vector<std::uint32_t> nodes, double percent = 90) {
    for (const std::uint32_t node : nodes) EXPECT_NEAR(memory_of(node).percent_used(), percent, 1.0) << "node " << node;
  }

  std::uint64_t kills_before_ = 0;
};

std::string nodes_of(const machine::memory_order& order) {
  std::string text;
  for (const auto& step : order.steps)
    for (const machine::ordered_memory& memory : step) text += std::to_string(memory.node) + " ";
  return text;
}

TEST_F(guest, the_firmware_gives_the_orderings_of_each_initiator) {
  const machine::orderings all = machine::orderings::of_this_machine();
  EXPECT_TRUE(all.complaints().empty()) << all.complaints().front();
  const auto seen = [&](const intent& what, const char* processors) {
    return nodes_of(all.find(what, machine::processor_set::parse(processors)));
  };
  EXPECT_EQ(seen(intent::bandwidth, "0"), "2 0 1 3 ");
  EXPECT_EQ(seen(intent::bandwidth, "1"), "2 1 0 3 ");
  EXPECT_EQ(seen(intent::latency, "0"), "0 2 1 3 ");
  EXPECT_EQ(seen(intent::latency, "1"), "1 0 2 3 ");
  EXPECT_EQ(seen(intent::capacity, "0").substr(0, 2), "3 ");
  EXPECT_EQ(all.find(intent::bandwidth, machine::processor_set::parse("0")).source, "figures");
}

TEST_F(guest, memory_goes_along_the_ordering) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2, 0, 1, 3\"\n");
  holder one{900 * mib, &intent::bandwidth};
  const told where = one.listen();
  EXPECT_EQ(where.error, "");
  EXPECT_EQ(where.sum(), 900 * mib);
  expect_filled({2, 0, 1});
  EXPECT_GT(where.bytes.at(3), 0u);
  EXPECT_LT(memory_of(3).percent_used(), 89);
  EXPECT_EQ(one.end(), 0);
}

TEST_F(guest, a_threshold_can_be_set) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2, 3\"\nfill = 50\n");
  holder one{200 * mib, &intent::bandwidth};
  EXPECT_EQ(one.listen().sum(), 200 * mib);
  expect_filled({2}, 50);
}

TEST_F(guest, two_that_compete_are_both_placed_in_order) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2, 0, 1, 3\"\n");
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE(round);
    holder first{500 * mib, &intent::bandwidth};
    holder second{500 * mib, &intent::bandwidth};
    const told one = first.listen();
    const told other = second.listen();
    EXPECT_EQ(one.error + other.error, "");
    EXPECT_EQ(one.sum() + other.sum(), 1000 * mib);
    expect_filled({2, 0, 1});
    EXPECT_EQ(first.end(), 0);
    EXPECT_EQ(second.end(), 0);
  }
}

TEST_F(guest, past_all_thresholds_is_an_error_with_the_fills) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2, 0\"\n");
  holder one{900 * mib, &intent::bandwidth};
  EXPECT_THAT(one.listen().error,
              AllOf(HasSubstr("no memory of its ordering has room"), HasSubstr("node 2"), HasSubstr("90.0 %")));
  EXPECT_EQ(one.end(), 0);
}

TEST_F(guest, the_last_memory_takes_the_rest_but_never_the_systems_own) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2, 3\"\nno_room = \"last\"\nfill = 60\n");
  {
    holder one{500 * mib, &intent::bandwidth};
    const told where = one.listen();
    EXPECT_EQ(where.error, "");
    expect_filled({2}, 60);
    EXPECT_GT(memory_of(3).percent_used(), 70);
  }
  holder too_much{800 * mib, &intent::bandwidth};
  EXPECT_THAT(too_much.listen().error, HasSubstr("no memory of its ordering has room"));
  EXPECT_EQ(too_much.end(), 0);
}

TEST_F(guest, memories_take_turns) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2*3 + 0, 1\"\n");
  holder one{64 * mib, &intent::bandwidth};
  const told where = one.listen();
  EXPECT_EQ(where.error, "");
  EXPECT_EQ(where.bytes.at(2), 48 * mib);
  EXPECT_EQ(where.bytes.at(0), 16 * mib);
}

// What a process of its own, which reads the orderings anew, says of a dataset of so many bytes.
// The options are made there: a store has a thread.
std::string said_of_dataset(stencil::options (*make)(), std::uint64_t bytes, std::uint32_t node) {
  int said[2]{};
  if (::pipe(said) != 0) std::abort();
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text;
    try {
      stencil::options how = make();
      how.threads = 1;
      const std::uint64_t unused = memory_of(node).unused;
      stencil::context c{std::move(how)};
      const stencil::block<1> line{c, "line"};
      const auto n = static_cast<int>(bytes / sizeof(double));
      const stencil::dataset<double, 1> u{line, "u", {n}};
      stencil::par_loop("fill", line, stencil::range(0, n), [](auto x) { x(0) = 1; }, stencil::write(u));
      const stencil::reduction<double> total{c, "total"};
      stencil::par_loop(
          "total", line, stencil::range(0, n), [](auto x, double& s) { s += x(0); }, stencil::read(u),
          stencil::sum(total));
      text = total.value() == n ? std::to_string((unused - memory_of(node).unused) / mib) : "another sum";
    } catch (const error& bad) {
      text = bad.what();
    }
    (void)!::write(said[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(said[1]);
  std::string text;
  char part[4096];
  for (ssize_t n = 0; (n = ::read(said[0], part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(n));
  ::close(said[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? text : "ended with status " + std::to_string(status);
}

TEST_F(guest, datasets_go_along_the_ordering) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2, 3\"\n");
  const auto how = [] {
    stencil::options o;
    o.run_by = stencil::executor::plain;
    o.memory_intent = intent::bandwidth;
    return o;
  };
  EXPECT_NEAR(std::atof(said_of_dataset(how, 100 * mib, 2).c_str()), 100, 8);
  EXPECT_GT(std::atof(said_of_dataset(how, 300 * mib, 3).c_str()), 60) << "spilt";
  EXPECT_THAT(said_of_dataset(how, 900 * mib, 2), AllOf(HasSubstr("dataset 'u'"), HasSubstr("node 3")));
}

TEST_F(guest, a_store_on_a_full_node_ends_no_process) {
  const auto how = [] {
    stencil::options o;
    o.run_by = stencil::executor::out_of_core;
    o.fast_bytes = 16 * mib;
    o.store = stencil::make_node_store(2);
    return o;
  };
  EXPECT_NEAR(std::atof(said_of_dataset(how, 150 * mib, 2).c_str()), 150, 8);
  EXPECT_THAT(said_of_dataset(how, 400 * mib, 2), HasSubstr("memory of NUMA node 2"));
}

TEST_F(guest, what_a_page_costs) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"0\"\n");
  double touched = 1e18;
  double placed = 1e18;
  for (int i = 0; i < 5; ++i) {  // the first ones are translated as they run
    holder plain{128 * mib, nullptr};
    touched = std::min(touched, plain.listen().ns_for_a_page);
    plain.end();
    holder by_intent{128 * mib, &intent::bandwidth};
    placed = std::min(placed, by_intent.listen().ns_for_a_page);
  }
  std::printf("a page of 4 KiB: touched %.0f ns, placed by intent %.0f ns (%.2f x)\n", touched, placed,
              placed / touched);
  EXPECT_GT(touched, 0);
  EXPECT_GT(placed, 0);
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!std::filesystem::exists("/sys/devices/system/node/node3")) return 77;
  return RUN_ALL_TESTS();
}
