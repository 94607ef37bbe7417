// Hostile traces for `situ model replay`. See model_trace_fuzz.h for what an input is.
#include "fuzz/model_trace_fuzz.h"

#include <situ/base/error.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "model/parts/champsim_trace.h"
#include "model/parts/ramulator_trace.h"

namespace situ::test {
namespace {

using namespace situ::model;

const std::string name = "fuzzed.trace";

[[noreturn]] void find(const char* what) {
  std::fprintf(stderr, "finding: %s\n", what);
  std::abort();
}

void check(std::uint64_t address) {
  if (address >= trace_address_end) find("an address that no machine has");
}

// Reads with `next` until the end, or until something is refused.
template <class Reader, class Record, class Take>
model_trace_outcome read_all(const std::string& bytes, Take take) {
  model_trace_outcome outcome;
  std::istringstream stream{bytes};
  Reader reader{stream, name};
  try {
    for (Record each; reader.next(each); ++outcome.taken) take(reader, each);
  } catch (const error& refused) {
    if (refused.code() != errc::bad_file || !refused.message().starts_with(name)) find("a refusal without the file");
    outcome.is_refused = true;
  }
  return outcome;
}

model_trace_outcome read_text(const std::string& bytes) {
  return read_all<ramulator_reader, ramulator_line>(
      bytes, [](const ramulator_reader& reader, const ramulator_line& each) {
        check(each.address);
        check(each.write_back.value_or(0));
        std::istringstream written{to_text(each, *reader.format())};
        ramulator_reader again{written, name};
        ramulator_line read;
        if (!again.next(read) || again.format() != reader.format() || read != each) find("another line");
      });
}

std::vector<std::byte> seed_of(std::string_view text) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

}  // namespace

model_trace_outcome read_model_trace(std::span<const std::byte> input) {
  if (input.empty()) return {};
  const std::string bytes{reinterpret_cast<const char*>(input.data()) + 1, input.size() - 1};
  if (std::to_integer<int>(input[0]) % 2 != 0) return read_text(bytes);
  return read_all<champsim_reader, champsim_record>(bytes, [](const champsim_reader&, const champsim_record& each) {
    for (const std::uint64_t address : each.source_memory) check(address);
    for (const std::uint64_t address : each.destination_memory) check(address);
  });
}

std::vector<model_trace_seed> model_trace_seeds() {
  const champsim_record record{.ip = 0x401000, .is_branch = 1, .branch_taken = 1, .source_memory = {0x40, 0x80}};
  const std::string_view bytes{reinterpret_cast<const char*>(&record), sizeof(record)};
  return {{"champsim", seed_of("\2" + std::string{bytes} + std::string{bytes}), 2},
          {"dram", seed_of("10x12345680 R\n0x4cbd56c0 W\n"), 2},
          {"load-store", seed_of("1LD 0x40\nST 128\n\nLD 0x80"), 3},
          {"cpu", seed_of("13 20734016\n1 20846400 4207488\n"), 2}};
}

}  // namespace situ::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)situ::test::read_model_trace(std::as_bytes(std::span{data, size}));
  return 0;
}
