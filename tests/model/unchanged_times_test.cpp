// What a change of the model's speed must leave as it is: modelled times, counters and lines told of, for random
// operations of all cores of the machines that are modelled. A change of what is modelled changes these figures: then
// the failing test's message has the new ones.
#include "model/parts/machine_settings.h"
#include "model/parts/modelled_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "support/build_paths.h"

namespace situ::model {
namespace {

// FNV-1a, by words.
class hash {
 public:
  void add(std::uint64_t word) noexcept { sum_ = (sum_ ^ word) * 1099511628211ULL; }
  void add(std::string_view text) noexcept {
    for (const char c : text) add(static_cast<unsigned char>(c));
  }
  [[nodiscard]] std::uint64_t sum() const noexcept { return sum_; }

 private:
  std::uint64_t sum_ = 14695981039346656037ULL;
};

class lines_told_of final : public line_observer {
 public:
  void on_line(std::uint32_t tile, std::uint64_t line, std::uint32_t line_bytes, line_event what,
               bool was_dirty) override {
    for (const std::uint64_t word : {std::uint64_t{tile}, line, std::uint64_t{line_bytes},
                                     std::uint64_t{static_cast<std::uint8_t>(what)}, std::uint64_t{was_dirty}})
      of.add(word);
  }
  hash of;
};

// Operations of cores whose times run apart by little, as an executor lets them.
class random_program {
 public:
  random_program(modelled_machine& machine, std::uint32_t cores) : machine_{machine}, now_(cores, 0) {
    const machine_spec& spec = machine.spec();
    for (std::uint32_t i = 0; i < spec.memories.size(); ++i) {
      if (spec.memories[i].tile != none) {
        has_own_ = true;
        continue;
      }
      machine.map_range(shared_bytes_, shared_bytes_ + memory_bytes, i, i % 3 != 2);
      shared_bytes_ += memory_bytes;
    }
    if (has_own_) machine.map_range(own_at, own_at + memory_bytes, local_memory);
    for (const tile_spec& tile : spec.tiles) has_caches_ &= tile.cores.empty() || !tile.caches.empty();
  }

  void step() {
    const std::uint32_t core = earliest_of_four();
    const std::uint64_t what = next() % 1000;
    time_ps& now = now_[core];
    if (what < 940) {
      access(core, what);
    } else if (what < 955) {
      const std::uint64_t at = address();
      now = machine_.wait_for_all(core, now);
      now = what < 945   ? machine_.write_back(core, at, at + next() % 400, now)
            : what < 950 ? machine_.invalidate(core, at, at + next() % 400, now)
                         : machine_.flush(core, at, at + next() % 40000, now);
    } else if (what < 965) {
      times_.add(machine_.send(core, static_cast<std::uint32_t>(next() % machine_.spec().tiles.size()),
                               static_cast<std::uint32_t>(next() % 600), now));
    } else if (what < 970) {
      times_.add(machine_.dma(core, shared_address(), shared_address(), 1 + next() % 2000, now));
    } else if (what < 980) {
      now = machine_.remote_atomic(core, shared_address(), 8, now);
    } else if (what < 990 && has_caches_) {
      times_.add(machine_.tile_access(machine_.tile_of(core), address(), 8, what % 2 == 0, now));
    } else if (what < 995 && has_caches_) {
      times_.add(machine_.operate_on_line(machine_.tile_of(core), address(), what % 2 == 0, true, now).done);
    } else if (machine_.goes_ahead(core)) {
      now = machine_.branch(core, what % 2 == 0, instruction_, 5000, now);
    } else {
      now += 100'000;
    }
    times_.add(now);
  }

  [[nodiscard]] std::uint64_t times() const noexcept { return times_.sum(); }

 private:
  static constexpr std::uint64_t memory_bytes = std::uint64_t{8} << 20;
  static constexpr std::uint64_t own_at = std::uint64_t{1} << 40;

  std::uint64_t next() noexcept {
    random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return random_ >> 24;
  }
  std::uint32_t earliest_of_four() noexcept {
    auto best = static_cast<std::uint32_t>(next() % now_.size());
    for (int i = 0; i < 3; ++i)
      if (const auto other = static_cast<std::uint32_t>(next() % now_.size()); now_[other] < now_[best]) best = other;
    return best;
  }
  // Half within 64 KiB, the others anywhere; now and then a walk, for prefetchers.
  std::uint64_t shared_address() noexcept {
    const std::uint64_t kind = next() % 8;
    if (kind < 2) return (walk_ += 8) % shared_bytes_;
    return next() % (kind < 6 ? 64 << 10 : shared_bytes_) & ~std::uint64_t{7};
  }
  std::uint64_t address() noexcept {
    if (has_own_ && next() % 8 == 0) return own_at + (next() % (64 << 10) & ~std::uint64_t{7});
    return shared_address();
  }
  void access(std::uint32_t core, std::uint64_t what) {
    const access_kind kind = what < 500   ? access_kind::read
                             : what < 800 ? access_kind::write
                             : what < 900 ? access_kind::fetch
                             : what < 920 ? access_kind::atomic
                             : what < 930 ? access_kind::atomic_read
                                          : access_kind::atomic_write;
    time_ps& now = now_[core];
    instruction_ += next() % 8;
    const auto bytes = static_cast<std::uint32_t>(1 << next() % 4);
    if (machine_.goes_ahead(core)) {
      now = machine_.access_ahead(
          core, {.address = address(), .bytes = bytes, .kind = kind, .instruction = instruction_, .code = what}, now);
      now += 250;
      return;
    }
    // now and then across lines
    const std::uint64_t at = address() + (!is_atomic(kind) && next() % 16 == 0 ? 5 : 0);
    now = machine_.access(core, at, is_atomic(kind) ? 8 : bytes * (next() % 64 == 0 ? 16 : 1), kind, now);
  }

  modelled_machine& machine_;
  std::vector<time_ps> now_;
  std::uint64_t shared_bytes_ = 0;
  bool has_own_ = false;
  bool has_caches_ = true;
  std::uint64_t walk_ = 0;
  std::uint64_t random_ = 17;
  std::uint64_t instruction_ = 0;
  hash times_;
};

// Hashes of what came out.
struct figures {
  std::uint64_t times = 0;
  std::uint64_t counters = 0;
  std::uint64_t lines = 0;
};

struct expected {
  const char* file;
  std::vector<std::string> settings;  // changed in the file
  std::uint32_t cores;                // that do anything; none: all
  figures hashes;
  friend std::ostream& operator<<(std::ostream& to, const expected& of) {
    to << of.file;
    for (const std::string& setting : of.settings) to << ' ' << setting;
    return of.cores == none ? to : to << " cores " << of.cores;
  }
};

machine_spec machine_of(const expected& of) {
  std::ifstream stream{std::string{SITU_TEST_SOURCE_DIR} + "/../" + of.file};
  const std::string text{std::istreambuf_iterator<char>{stream}, {}};
  return parse_machine(apply_settings(text, of.file, of.settings), of.file);
}

class unchanged_times : public testing::TestWithParam<expected> {};

TEST_P(unchanged_times, of_random_operations) {
  modelled_machine machine{machine_of(GetParam())};
  lines_told_of lines;
  machine.observe(&lines);
  random_program program{machine, std::min(GetParam().cores, machine.core_count())};
  for (int i = 0; i < 400'000; ++i) program.step();
  hash counters;
  counters.add(to_json(machine.counters()));
  EXPECT_EQ(program.times(), GetParam().hashes.times) << std::hex << "0x" << program.times();
  EXPECT_EQ(counters.sum(), GetParam().hashes.counters) << std::hex << "0x" << counters.sum();
  EXPECT_EQ(lines.of.sum(), GetParam().hashes.lines) << std::hex << "0x" << lines.of.sum();
}

constexpr const char* nemesys = "machines/nemesys-4x4-fitted.toml";
INSTANTIATE_TEST_SUITE_P(
    machines, unchanged_times,
    testing::Values(
        expected{
            "machines/nemesys-2x2-fitted.toml", {}, none, {0x920e0974b10c8e5d, 0x554668c2a74403c2, 0xbc900b5f8b203dc4}},
        expected{nemesys, {}, none, {0xebdbeb4674e6a8f5, 0xb9ef16e86012c8c1, 0x4792a0f5fe3a2442}},
        expected{nemesys, {}, 1, {0xfc19c1caf40959a5, 0xeeee4ab3868e5344, 0xc74706053386352a}},
        expected{nemesys, {}, 3, {0xc2decf7603dbbfd1, 0x141f114cf1cbdeef, 0xa7093a61614fea7f}},
        expected{nemesys,
                 {"l1.write_policy=write_back", "l2.size=64KiB"},
                 none,
                 {0xaad4e7f2e2c01165, 0x5d17bb1adc7e9f70, 0x8092c6ae1e92b8ce}},
        expected{nemesys,
                 {"l2.size=64KiB", "l2.ways=16", "adapter.entries=3"},
                 9,
                 {0x79c1b5af954546f9, 0x650114b30dc1f9c3, 0x9c2433d43bc38f6}},
        expected{nemesys,
                 {"l1.write_policy=write_back", "l1.outstanding=4", "l2.outstanding=6", "l2.prefetch_streams=4",
                  "l2.prefetch_lines=4"},
                 12,
                 {0xa8706619e37a0a2d, 0x90d9cae067fb69b0, 0xd22bf895432c9b09}},
        expected{
            "tests/model/measured_host.toml", {}, none, {0xe8c070155492dfd1, 0xa1e3723a00977f95, 0xc59e84daba1a72c8}},
        expected{"tests/model/measured_host.toml", {}, 1, {0x501a0dcbffa477a5, 0x1f856009ef00b0ea, 0xba4537598db83725}},
        expected{
            "tests/model/assumed_host.toml", {}, none, {0xf1a0e04251001538, 0x6ef9fee464fb53ec, 0x12046a253562193e}}));

}  // namespace
}  // namespace situ::model
