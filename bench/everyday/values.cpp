// Values that travel by `at`, beside the same written by hand; and what a file that includes situ.h costs to compile.
#include "support/job_samples.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <string_view>

#if defined(SITU_BENCH_WITH_CEREAL)
#include <cereal/archives/binary.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <sstream>
#endif

namespace {

using namespace job_bench;

// --- a struct --------------------------------------------------------------------------------------------------------

struct record {
  std::string name;
  std::vector<int> values;
};

void measure_at_struct() {
  record sent{std::string(30, 'x'), std::vector<int>(100)};
  std::iota(sent.values.begin(), sent.values.end(), 0);
  const std::vector<char> bytes(30 + 100 * sizeof(int), 'x');
  const situ::place other{1};
  const int calls = is_quick() ? 10 : 2000;
  samples plain{"vector_char"}, own{"situ"};
  for (int sample = 0; sample < (is_quick() ? 1 : 200); ++sample) {
    double begin = now_ns();
    for (int i = 0; i < calls; ++i)
      if (situ::at(other, [](const std::vector<char>& given) { return given.size(); }, bytes) != bytes.size())
        std::abort();
    plain.ns.push_back((now_ns() - begin) / calls);
    begin = now_ns();
    for (int i = 0; i < calls; ++i)
      if (situ::at(other, [](const record& given) { return given.name.size() + given.values.size(); }, sent) != 130)
        std::abort();
    own.ns.push_back((now_ns() - begin) / calls);
  }
  print("at_struct", {plain, own});
}

// --- a map -----------------------------------------------------------------------------------------------------------

using table = std::map<std::string, std::vector<int>>;

table make_table(std::size_t entries) {
  table made;
  for (std::size_t i = 0; i < entries; ++i) {
    std::vector<int> values(i % 16);
    std::iota(values.begin(), values.end(), static_cast<int>(i));
    made.emplace("key number " + std::to_string(i * 7919), std::move(values));
  }
  return made;
}
// What the receiver tells, so that all arrive alike.
std::uint64_t sum_of(const table& given) {
  std::uint64_t sum = given.size();
  for (const auto& [key, values] : given) sum += key.size() + values.size();
  return sum;
}

// As somebody writes it who has bytes only: sizes and contents one after the other, into one vector.
void append(std::vector<char>& to, const void* from, std::size_t bytes) {
  const auto* const first = static_cast<const char*>(from);
  to.insert(to.end(), first, first + bytes);
}
std::vector<char> packed_by_hand(const table& given) {
  std::size_t bytes = sizeof(std::uint64_t);
  for (const auto& [key, values] : given) bytes += 8 + key.size() + values.size() * sizeof(int);
  std::vector<char> packed;
  packed.reserve(bytes);
  const std::uint64_t count = given.size();
  append(packed, &count, sizeof count);
  for (const auto& [key, values] : given) {
    const std::uint32_t sizes[] = {static_cast<std::uint32_t>(key.size()), static_cast<std::uint32_t>(values.size())};
    append(packed, sizes, sizeof sizes);
    append(packed, key.data(), key.size());
    append(packed, values.data(), values.size() * sizeof(int));
  }
  return packed;
}
table unpacked_by_hand(std::span<const char> packed) {
  const char* at = packed.data();
  std::uint64_t count = 0;
  std::memcpy(&count, at, sizeof count);
  at += sizeof count;
  table made;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint32_t sizes[2];
    std::memcpy(sizes, at, sizeof sizes);
    at += sizeof sizes;
    std::string key(at, sizes[0]);
    at += sizes[0];
    std::vector<int> values(sizes[1]);
    if (sizes[1] != 0) std::memcpy(values.data(), at, sizes[1] * sizeof(int));
    at += sizes[1] * sizeof(int);
    made.emplace_hint(made.end(), std::move(key), std::move(values));
  }
  return made;
}

template <class Send>
double time_of(const table& sent, Send send) {
  const double begin = now_ns();
  if (send() != sum_of(sent)) std::abort();
  return now_ns() - begin;
}

void measure_map_to_other() {
  const table sent = make_table(is_quick() ? 1000 : 100'000);
  const situ::place other{1};
  samples by_hand{"by_hand"}, own{"situ"};
  [[maybe_unused]] samples cereal_map{"cereal_map"};
  std::vector<double> fastest;
  for (int sample = 0; sample < (is_quick() ? 1 : 15); ++sample) {
    by_hand.ns.push_back(time_of(sent, [&] {
      return situ::at(
          other, [](std::span<const char> bytes) { return sum_of(unpacked_by_hand(bytes)); }, packed_by_hand(sent));
    }));
    fastest.push_back(by_hand.ns.back());
#if defined(SITU_BENCH_WITH_CEREAL)
    cereal_map.ns.push_back(time_of(sent, [&] {
      std::ostringstream packed;
      cereal::BinaryOutputArchive{packed}(sent);
      return situ::at(
          other,
          [](const std::string& bytes) {
            std::istringstream text{bytes};
            table made;
            cereal::BinaryInputArchive{text}(made);
            return sum_of(made);
          },
          packed.str());
    }));
    fastest.back() = std::min(fastest.back(), cereal_map.ns.back());
#endif
    own.ns.push_back(
        time_of(sent, [&] { return situ::at(other, [](const table& given) { return sum_of(given); }, sent); }));
  }
  print("map_to_other", {by_hand, cereal_map});
  samples base = by_hand;
  base.ns.clear();
  print("map_to_other", {base, own}, fastest);
}

// --- compiling -------------------------------------------------------------------------------------------------------

namespace fs = std::filesystem;

const std::string compile = SITU_BENCH_COMPILER " -std=c++20 -I" SITU_BENCH_INCLUDE " -I" SITU_BENCH_GENERATED_INCLUDE;

// The standard headers that Situ's headers name, those that situ.h reaches.
std::set<std::string> standard_headers(const fs::path& folder) {
  const fs::path list = folder / "reached";
  std::set<std::string> found;
  if (std::system((compile + " -M " + (folder / "situ.cpp").string() + " > " + list.string()).c_str()) != 0)
    return found;
  std::ifstream files{list};
  for (std::string word; files >> word;) {
    if (!word.starts_with(SITU_BENCH_INCLUDE)) continue;
    std::ifstream header{word};
    for (std::string line; std::getline(header, line);)
      if (line.starts_with("#include <") && line.find('/') == line.npos && line.find(".h>") == line.npos)
        found.insert(line);
  }
  return found;
}

void measure_include() {
  if (!is_first()) return;
  std::string name = (fs::temp_directory_path() / "situ_bench_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return;
  const fs::path folder = name;
  std::ofstream{folder / "situ.cpp"} << "#include <situ/situ.h>\n";
  {
    std::ofstream all{folder / "standard.cpp"};
    for (const std::string& line : standard_headers(folder)) all << line << "\n";
  }
  // As CMake's target_precompile_headers does it, which `situ new` writes.
  std::ofstream{folder / "precompiled.h"} << "#include <situ/situ.h>\n";
  std::ofstream{folder / "empty.cpp"} << "int main() {}\n";
  const std::string header = (folder / "precompiled.h").string();
  if (std::system((compile + " -x c++-header -o " + header + ".gch " + header).c_str()) != 0) std::abort();
  const auto seconds = [&](const std::string& options, const char* file) {
    const double begin = now_ns();
    if (std::system((compile + options + " -fsyntax-only " + (folder / file).string()).c_str()) != 0) std::abort();
    return now_ns() - begin;
  };
  samples standard{"standard_headers"}, own{"situ"}, above{"above"}, precompiled{"precompiled"};
  for (int sample = 0; sample < (is_quick() ? 1 : 9); ++sample) {
    standard.ns.push_back(seconds("", "standard.cpp"));
    own.ns.push_back(seconds("", "situ.cpp"));
    above.ns.push_back(std::max(1.0, own.ns.back() - standard.ns.back()));  // noise may say less than nothing
    precompiled.ns.push_back(seconds(" -Winvalid-pch -Werror -include " + header, "empty.cpp"));
  }
  print("include_situ", {standard, own, above, precompiled});
  fs::remove_all(folder);
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  if (situ::place_count() != 2) {
    std::fprintf(stderr, "situ_bench_values: two places (situ run -n 2)\n");
    return 2;
  }
  if (is_first() && is_wanted("at_struct")) measure_at_struct();
  if (is_first() && is_wanted("map_to_other")) measure_map_to_other();
  situ::barrier();
  if (is_wanted("include_situ")) measure_include();
  print_end();
  situ::barrier();
}
