// What a guest does with a pool while its machine is cut off, and how the next one looks at what is left.
//
//   pool_subject write POOL LAST [DEVICE [process]]
//                                           from where it stands to transaction LAST; says `done N` after each, and
//                                           marks it in the log of a dm-log-writes device of that name. process: with
//                                           that promise, which a cut of the machine may break
//   pool_subject check POOL LEAST           what transaction N left, of N >= LEAST, to the last byte; says `holds N`
//   pool_subject replay LOG DEVICE SEED COMMAND...
//                                           what the device may hold after a cut: see replay()
//
// What the pool holds after transaction N follows from N alone (book::after), so each state is either one of these or
// torn. Transactions make, change and destroy arrays of many sizes, so the allocator's words change, too.
#include <situ/base/error.h>
#include <situ/pool/pool.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "os/child.h"

namespace {

constexpr std::size_t slot_count = 48;

// Runs a program of PATH; returns true if it says that all is well.
bool is_done(std::vector<std::string> words) {
  const situ::os::exec_texts arguments{std::move(words)};
  situ::os::child child =
      situ::os::child::start({.file = arguments.data()[0], .arguments = arguments, .is_in_path = true});
  if (!child) return false;
  const situ::os::exit_status end = child.wait();
  return end.is_known && end.signal == 0 && end.code == 0;
}

std::uint64_t mix(std::uint64_t value) noexcept {
  value = (value ^ value >> 31) * 0x9e3779b97f4a7c15;
  return (value ^ value >> 29) * 0xbf58476d1ce4e5b9;
}

struct entry {
  std::uint64_t number = 0;
};
struct sheet {
  std::uint64_t made_by = 0;  // the transaction that made it
  std::uint64_t changed_by = 0;
  std::uint64_t count = 0;
  entry* entries = nullptr;
};
struct book {
  std::uint64_t done = 0;
  std::uint64_t sum = 0;
  std::array<sheet*, slot_count> sheets{};
};

// What one transaction does: to which slot, and to how many numbers.
struct step {
  std::size_t slot;
  std::uint64_t count;
  bool changes;  // what is there, else it goes
};
step step_of(std::uint64_t number) noexcept {
  const std::uint64_t random = mix(number);
  return {random % slot_count, 1 + (random >> 8) % ((random >> 40) % 16 == 0 ? 9000 : 90), (random >> 50) % 3 != 0};
}

void do_step(situ::pool& pool, std::uint64_t number) {
  pool.transact([&](situ::transaction& t) {
    book& all = *pool.root<book>("book");
    const step next = step_of(number);
    sheet*& at = all.sheets[next.slot];
    t.change(&all);
    all.done = number;
    all.sum = mix(all.sum + number);
    if (at == nullptr) {
      at = t.make<sheet>(number, number, next.count, t.make_array<entry>(next.count));
      for (std::uint64_t i = 0; i < at->count; ++i) at->entries[i].number = mix(number + i);
    } else if (next.changes) {
      t.change(at).changed_by = number;
      t.set(at->entries[0].number, mix(number));
      t.set(at->entries[at->count - 1].number, mix(~number));
    } else {
      t.destroy(at->entries);
      t.destroy(at);
      at = nullptr;
    }
  });
}

// --- what must be there ---

struct expected {
  std::uint64_t sum = 0;
  struct sheet_state {
    std::uint64_t made_by, changed_by, count;
  };
  std::map<std::size_t, sheet_state> sheets;
};
expected after(std::uint64_t done) {
  expected state;
  for (std::uint64_t number = 1; number <= done; ++number) {
    const step next = step_of(number);
    state.sum = mix(state.sum + number);
    if (const auto at = state.sheets.find(next.slot); at == state.sheets.end()) {
      state.sheets[next.slot] = {number, number, next.count};
    } else if (next.changes) {
      at->second.changed_by = number;
    } else {
      state.sheets.erase(at);
    }
  }
  return state;
}

bool complain(const char* what, std::uint64_t which) {
  std::printf("wrong: %s (%llu)\n", what, static_cast<unsigned long long>(which));
  return false;
}

bool is_right(const sheet& at, const expected::sheet_state& state) {
  if (at.made_by != state.made_by || at.changed_by != state.changed_by || at.count != state.count)
    return complain("the head of a sheet", at.made_by);
  const bool is_changed = state.changed_by != state.made_by;
  for (std::uint64_t i = 0; i < at.count; ++i) {
    std::uint64_t right = mix(state.made_by + i);
    if (is_changed && i == 0) right = mix(state.changed_by);
    if (is_changed && i == at.count - 1) right = mix(~state.changed_by);
    if (at.entries[i].number != right) return complain("a number of a sheet", i);
  }
  return true;
}

bool holds_what_it_should(const situ::pool& pool, std::uint64_t least, std::uint64_t& done) {
  const book* const all = pool.root<book>("book");
  done = all == nullptr ? 0 : all->done;
  if (done < least) return complain("less than was complete", done);
  const expected state = after(done);
  if (all == nullptr) return true;
  if (all->sum != state.sum) return complain("the sum", done);
  for (std::size_t slot = 0; slot < slot_count; ++slot) {
    const auto wanted = state.sheets.find(slot);
    if ((all->sheets[slot] != nullptr) != (wanted != state.sheets.end())) return complain("a slot", slot);
    if (all->sheets[slot] != nullptr && !is_right(*all->sheets[slot], wanted->second)) return false;
  }
  const situ::pool_findings found = pool.check();
  for (const std::string& each : found.damage) std::printf("damaged: %s\n", each.c_str());
  if (!found.damage.empty()) return false;
  const std::uint64_t blocks = 1 + 2 * state.sheets.size();
  return found.blocks == blocks || complain("blocks that nothing reaches", found.blocks);
}

int check(const std::string& path, std::uint64_t least) {
  if (!std::filesystem::exists(path)) return least == 0 ? 0 : (complain("there is no pool", least), 1);
  const situ::pool pool = situ::pool::open(path);
  std::uint64_t done = 0;
  if (!holds_what_it_should(pool, least, done)) return 1;
  const situ::pool_info info = pool.info();
  std::printf("holds %llu (took back %llu ranges; %s, %s)\n", static_cast<unsigned long long>(done),
              static_cast<unsigned long long>(info.restored_ranges), info.medium.c_str(), info.primitive.c_str());
  return 0;
}

int write(const std::string& path, std::uint64_t last, const char* device, situ::pool_promise promise) {
  const situ::pool_options options{.most_bytes = std::uint64_t{16} << 20, .promise = promise};
  situ::pool pool = situ::pool::open_or_create(path, options);
  if (pool.root<book>("book") == nullptr)
    pool.transact([&](situ::transaction& t) { t.set_root("book", t.make<book>()); });
  for (std::uint64_t number = pool.root<book>("book")->done + 1; number <= last; ++number) {
    do_step(pool, number);
    std::printf("done %llu\n", static_cast<unsigned long long>(number));
    std::fflush(stdout);
    if (device != nullptr && !is_done({"dmsetup", "message", device, "0", "mark", std::to_string(number)})) return 1;
  }
  return 0;
}

// --- what dm-log-writes has recorded ---

// The log of dm-log-writes: a head, then for each write a head and its data, in sectors (Documentation/admin-guide/
// device-mapper/log-writes.rst of the kernel).
struct log_head {
  std::uint64_t magic, version, entries;
  std::uint32_t sector_bytes;
};
struct log_entry {
  std::uint64_t sector, sectors, flags, data_bytes;
};
constexpr std::uint64_t log_magic = 0x6a736677736872;
constexpr std::uint64_t flag_flush = 1, flag_fua = 2, flag_discard = 4, flag_mark = 8;

class device_log {
 public:
  explicit device_log(const std::string& path) : descriptor_{::open(path.c_str(), O_RDONLY | O_CLOEXEC)} {
    if (descriptor_ < 0 || !get(&head_, sizeof head_, 0) || head_.magic != log_magic || head_.sector_bytes == 0) {
      std::printf("%s is no log of dm-log-writes\n", path.c_str());
      std::exit(2);
    }
    at_ = head_.sector_bytes;
  }
  ~device_log() { ::close(descriptor_); }
  device_log(const device_log&) = delete;
  device_log& operator=(const device_log&) = delete;

  bool next(log_entry& entry, std::vector<char>& data) {
    if (taken_ == head_.entries || !get(&entry, sizeof entry, at_)) return false;
    ++taken_;
    const bool has_data = (entry.flags & flag_discard) == 0;
    const std::uint64_t bytes = (entry.flags & flag_mark) != 0 ? entry.data_bytes : entry.sectors * 512;
    // What a mark says follows its head in the same sector; what is written is in those behind it.
    data.assign(has_data ? bytes : 0, 0);
    const std::uint64_t from = (entry.flags & flag_mark) != 0 ? at_ + sizeof entry : at_ + head_.sector_bytes;
    if (!data.empty() && !get(data.data(), data.size(), from)) return false;
    at_ += head_.sector_bytes;
    if ((entry.flags & flag_mark) == 0 && has_data)
      at_ += (bytes + head_.sector_bytes - 1) / head_.sector_bytes * head_.sector_bytes;
    return true;
  }

 private:
  bool get(void* to, std::size_t bytes, std::uint64_t at) const {
    return ::pread(descriptor_, to, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
  }
  int descriptor_;
  log_head head_{};
  std::uint64_t at_ = 0;
  std::uint64_t taken_ = 0;
};

struct pending_write {
  std::uint64_t at;
  std::vector<char> data;
};

// ext4 writes its superblock, in the first of these, past its journal, and takes a torn one for damage.
constexpr std::uint64_t whole_bytes = 4096;

class cut_device {
 public:
  cut_device(const std::string& path, std::vector<std::string> command)
      : descriptor_{::open(path.c_str(), O_RDWR | O_CLOEXEC)}, command_{std::move(command)} {}
  ~cut_device() { ::close(descriptor_); }
  cut_device(const cut_device&) = delete;
  cut_device& operator=(const cut_device&) = delete;

  void apply(const pending_write& each) const {
    if (::pwrite(descriptor_, each.data.data(), each.data.size(), static_cast<off_t>(each.at)) !=
        static_cast<ssize_t>(each.data.size())) {
      std::printf("the device takes no %zu bytes at %llu\n", each.data.size(),
                  static_cast<unsigned long long>(each.at));
      std::exit(2);
    }
  }
  // Some of what was on its way, sector by sector, then the command, with what is promised. Afterwards the device is as
  // it was before; the command works on a copy.
  bool try_state(const std::vector<pending_write>& pending, std::uint64_t& random, std::uint64_t promised) {
    std::vector<pending_write> before;
    for (const pending_write& each : pending)
      for (std::uint64_t from = 0; from < each.data.size(); from += each.at == 0 ? whole_bytes : 512) {
        random = mix(random + 1);
        if ((random >> 20) % 2 == 0) continue;
        const std::uint64_t bytes = std::min(each.at == 0 ? whole_bytes : 512, each.data.size() - from);
        before.push_back({each.at + from, std::vector<char>(bytes)});
        if (::pread(descriptor_, before.back().data.data(), bytes, static_cast<off_t>(each.at + from)) < 0)
          return false;
        const auto first = each.data.begin() + static_cast<std::ptrdiff_t>(from);
        apply({each.at + from, {first, first + static_cast<std::ptrdiff_t>(bytes)}});
      }
    ::fsync(descriptor_);
    const bool is_right = run(promised);
    for (auto each = before.rbegin(); each != before.rend(); ++each) apply(*each);
    ++states_;
    return is_right;
  }
  [[nodiscard]] std::uint64_t states() const { return states_; }

 private:
  bool run(std::uint64_t promised) const {
    std::vector<std::string> words = command_;
    words.push_back(std::to_string(promised));
    return is_done(std::move(words));
  }
  int descriptor_;
  std::vector<std::string> command_;
  std::uint64_t states_ = 0;
};

// Writes what was recorded to another device. Before each flush ends, what has not been flushed may be there or not,
// sector by sector: one choice by the seed is tried for each flush, and each whole state after it. COMMAND is called
// with the number of the last transaction that was marked as complete; not before the first mark, which says that the
// file system is there.
int replay(const std::string& log_path, const std::string& device, std::uint64_t seed,
           std::vector<std::string> command) {
  device_log log{log_path};
  cut_device cut{device, std::move(command)};
  std::vector<pending_write> pending;
  std::uint64_t promised = 0;
  std::uint64_t marks_seen = 0;
  log_entry entry{};
  std::vector<char> data;
  const auto settle = [&] {
    for (const pending_write& each : pending) cut.apply(each);
    pending.clear();
  };
  while (log.next(entry, data)) {
    if ((entry.flags & flag_mark) != 0) {
      const std::string said{data.data(), ::strnlen(data.data(), data.size())};
      promised = std::max<std::uint64_t>(promised, std::strtoull(said.c_str(), nullptr, 10));
      ++marks_seen;
      continue;
    }
    if ((entry.flags & flag_flush) != 0) {
      if (marks_seen != 0 && !pending.empty() && !cut.try_state(pending, seed, promised)) return 1;
      settle();
    }
    if (!data.empty()) pending.push_back({entry.sector * 512, data});
    if ((entry.flags & flag_fua) != 0) settle();
  }
  if (!cut.try_state(pending, seed, promised)) return 1;
  std::printf("%llu states of the device, %llu transactions marked, all right\n",
              static_cast<unsigned long long>(cut.states()), static_cast<unsigned long long>(marks_seen));
  return marks_seen == 0 || cut.states() < marks_seen ? 1 : 0;
}

int run(const std::vector<std::string>& words) {
  const auto number = [&](std::size_t i) { return std::strtoull(words.at(i).c_str(), nullptr, 10); };
  if (words.size() >= 3 && words[0] == "write")
    return write(words[1], number(2), words.size() > 3 ? words[3].c_str() : nullptr,
                 words.size() > 4 && words[4] == "process" ? situ::pool_promise::process : situ::pool_promise::machine);
  if (words.size() == 3 && words[0] == "check") return check(words[1], number(2));
  if (words.size() > 4 && words[0] == "replay")
    return replay(words[1], words[2], number(3), {words.begin() + 4, words.end()});
  std::puts("pool_subject write POOL LAST [DEVICE] | check POOL LEAST | replay LOG DEVICE SEED COMMAND...");
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run({arguments + 1, arguments + count});
  } catch (const std::exception& thrown) {
    std::printf("wrong: %s\n", thrown.what());
    return 1;
  }
}
