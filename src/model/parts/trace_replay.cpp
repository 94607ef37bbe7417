#include "model/parts/trace_replay.h"

#include <situ/base/error.h>
#include <situ/model/replay.h>

#include "model/parts/counters.h"
#include "model/parts/named_machine.h"
#include "model/parts/ramulator_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <istream>
#include <streambuf>
#include <string_view>
#include <vector>

namespace situ::model {
namespace {

class replayed_core {
 public:
  replayed_core(modelled_machine& machine, std::uint32_t core)
      : machine_{machine}, core_{core}, is_ahead_{machine.goes_ahead(core)} {
    const core_spec& its = machine.spec().cores[core];
    const auto time_of = [&](double cycles) {
      const double taken = its.width > 0 ? 1 / its.width : cycles;
      return static_cast<time_ps>(std::llround(taken * static_cast<double>(its.period)));
    };
    instruction_ = time_of(its.cycles.integer);
    branch_ = time_of(its.cycles.branch);
    if (machine.has_data_cache(core)) line_bytes_ = machine.first_data_cache(core).line_bytes();
  }

  void execute(const champsim_record& of) {
    ++figures_.instructions;
    figures_.branches += of.is_branch;
    now_ += of.is_branch != 0 ? branch_ : instruction_;
    for (const std::uint64_t address : of.source_memory)
      if (address != 0) access(address, access_kind::read, of.ip);
    for (const std::uint64_t address : of.destination_memory)
      if (address != 0) access(address, access_kind::write, of.ip);
  }
  [[nodiscard]] replay_figures end() {
    figures_.time = is_ahead_ ? machine_.wait_for_all(core_, now_) : now_;
    return figures_;
  }

 private:
  void access(std::uint64_t address, access_kind kind, std::uint64_t code) {
    ++(kind == access_kind::read ? figures_.reads : figures_.writes);
    const auto bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(8, line_bytes_ - (address & (line_bytes_ - 1))));
    now_ = is_ahead_ ? machine_.access_ahead(core_,
                                             {.address = address,
                                              .bytes = bytes,
                                              .kind = kind,
                                              .instruction = figures_.instructions,
                                              .code = code},
                                             now_)
                     : machine_.access(core_, address, bytes, kind, now_);
  }

  modelled_machine& machine_;
  std::uint32_t core_;
  bool is_ahead_;
  std::uint64_t line_bytes_ = 64;
  time_ps instruction_ = 0;
  time_ps branch_ = 0;
  time_ps now_ = 0;
  replay_figures figures_;
};

// A stream's bytes, of which the first ones were looked at before; the stream may be a pipe.
class looked_at final : public std::streambuf {
 public:
  explicit looked_at(std::istream& from) : from_{from} { fill(first_bytes); }
  [[nodiscard]] std::string_view first() const noexcept { return {buffer_.data(), static_cast<std::size_t>(filled_)}; }

 protected:
  int_type underflow() override {
    fill(buffer_.size());
    if (from_.bad()) throw std::ios_base::failure("the trace cannot be read");  // the reader's stream becomes bad
    return filled_ == 0 ? traits_type::eof() : traits_type::to_int_type(*gptr());
  }

 private:
  static constexpr std::size_t first_bytes = sizeof(champsim_record);
  void fill(std::size_t bytes) {
    from_.read(buffer_.data(), static_cast<std::streamsize>(bytes));
    filled_ = from_.gcount();
    setg(buffer_.data(), buffer_.data(), buffer_.data() + filled_);
  }
  std::istream& from_;
  std::array<char, 1 << 16> buffer_;
  std::streamsize filled_ = 0;
};

// Returns whether a trace that begins with these bytes is text, and so none of ChampSim's, whose records have 0 or 1 in
// their bytes 8 and 9.
bool is_text(std::string_view first) {
  return std::ranges::all_of(first, [](char each) {
    const auto byte = static_cast<unsigned char>(each);
    return (byte >= ' ' && byte < 127) || byte == '\t' || byte == '\n' || byte == '\r';
  });
}

std::string to_text(const replay_figures& found, const std::string& machine, bool is_of_core) {
  const std::string instructions = is_of_core ? fmt::format("{} instructions", found.instructions)
                                              : fmt::format("{} requests", found.reads + found.writes);
  return fmt::format("situ model: {} replayed on {}, {} branches, {} reads, {} writes, {} ns\n", instructions, machine,
                     found.branches, found.reads, found.writes, found.time / 1000);
}

}  // namespace

replay_figures replay(modelled_machine& machine, std::uint32_t core, champsim_reader& trace) {
  replayed_core runs{machine, core};
  for (champsim_record each; trace.next(each);) runs.execute(each);
  return runs.end();
}

replay_report replay_trace(std::istream& trace, const std::string& trace_name, const std::string& machine,
                           const std::vector<std::string>& settings, std::uint32_t core) {
  if (is_flat(machine))
    throw_error(errc::bad_argument, "flat has no parts that a trace could run on: name a machine's file");
  modelled_machine made{machine_spec_of(machine, settings)};
  const machine_spec& its = made.spec();
  if (core >= made.core_count())
    throw_error(errc::bad_argument,
                fmt::format("{} has {} processors, and none with the number {}", its.name, made.core_count(), core));
  // All bytes are in the first memory that belongs to no tile, or in the first one.
  std::uint32_t memory = 0;
  while (memory < its.memories.size() && its.memories[memory].tile != none) ++memory;
  if (memory == its.memories.size()) memory = 0;
  made.map_range(0, ~std::uint64_t{0}, memory);
  bool is_of_core = true;
  replay_figures found;
  looked_at bytes{trace};
  std::istream stream{&bytes};
  if (is_text(bytes.first())) {
    ramulator_reader reader{stream, trace_name};
    found = replay(made, core, memory, reader);
    is_of_core = reader.format() == ramulator_format::cpu;
  } else {
    champsim_reader reader{stream, trace_name};
    found = replay(made, core, reader);
  }
  std::vector<part_counters> parts = made.counters();
  made.add_prefetched(parts);
  return {
      .text = to_text(found, its.name, is_of_core) + to_text(parts),
      .json = fmt::format("{{\n  \"instructions\": {},\n  \"branches\": {},\n  \"reads\": {},\n  \"writes\": {},\n  "
                          "\"modelled_ps\": {},\n  \"parts\": {}\n}}\n",
                          found.instructions, found.branches, found.reads, found.writes, found.time, to_json(parts))};
}

}  // namespace situ::model
