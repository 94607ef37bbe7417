#include "model/parts/translation_spec.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <string_view>
#include <utility>

namespace situ::model {
namespace {

constexpr std::uint64_t large_page = std::uint64_t{1} << 21;
constexpr std::uint64_t huge_page = std::uint64_t{1} << 30;

class translation_reader {
 public:
  translation_reader(const machine::node_facts& from, const std::vector<cache_spec>& caches, core_spec& to,
                     const std::function<void(const std::string&)>& fail)
      : from_{from}, caches_{caches}, to_{to}, fail_{fail} {}

  void run() {
    to_.walks_through_caches = from_.walks == machine::page_walks::through_caches;
    to_.itlb = read_first("itlb", from_.itlb, to_.fetch_path);
    to_.dtlb = read_first("dtlb", from_.dtlb, to_.data_path);
    read_larger("itlb", to_.itlb, from_.itlb_2m, from_.itlb_1g);
    read_larger("dtlb", to_.dtlb, from_.dtlb_2m, from_.dtlb_1g);
    if (to_.itlb.sets > 0 &&
        (to_.fetch_path.empty() || caches_[to_.fetch_path.front()].kind != machine::cache_kind::instruction))
      fail_("a core with an itlb fetches through an instruction cache; give it one, or remove itlb");
    read_second();
    read_walks();
    read_page_size();
  }

 private:
  [[nodiscard]] tlb_entries read_entries(std::string_view key, const machine::tlb& of) const {
    const std::uint32_t sets = of.entries / of.ways;
    if (of.entries % of.ways != 0 || !std::has_single_bit(sets))
      fail_(fmt::format("{}: {} entries in {} ways are {:.6g} sets; a power of two of them is allowed", key, of.entries,
                        of.ways, static_cast<double>(of.entries) / of.ways));
    return {.sets = sets, .ways = of.ways};
  }
  [[nodiscard]] time_ps time_of(double cycles) const {
    return static_cast<time_ps>(std::llround(cycles * static_cast<double>(to_.period)));
  }

  [[nodiscard]] tlb_spec read_first(std::string_view key, const machine::tlb& of,
                                    const std::vector<std::uint32_t>& path) const {
    if (of == machine::tlb{}) return {};
    if (to_.walks_through_caches && of.walk_cycles > 0)
      fail_(fmt::format("{}: walk is the time of walks that do not go through the caches; remove it, or page_walks",
                        key));
    if (to_.walks_through_caches && of.walk_instructions > 0)
      fail_(fmt::format(
          "{}: walk_instructions are of walks in software, of which walk is the whole time; remove them, or "
          "page_walks",
          key));
    if (of.entries == 0 || of.ways == 0 || of.page_bytes == 0 || (of.walk_cycles <= 0 && !to_.walks_through_caches))
      fail_(fmt::format("{} needs all of {{ entries = 32, ways = 4, page = \"4 KiB\"{} }}", key,
                        to_.walks_through_caches ? "" : ", walk = 30"));
    const tlb_entries entries = read_entries(key, of);
    const std::uint64_t least = path.empty() ? 64 : caches_[path.front()].line_bytes;
    if (!std::has_single_bit(of.page_bytes) || of.page_bytes < least || of.page_bytes > 1U << 31)
      fail_(fmt::format("{}: page is a power of two from {} bytes, a line, to 2 GiB", key, least));
    if (to_.walks_through_caches && of.page_bytes != 4096 && of.page_bytes != large_page && of.page_bytes != huge_page)
      fail_(fmt::format("{}: walks through the caches are of pages of 4 KiB, 2 MiB or 1 GiB; let page be one of these",
                        key));
    return {.sets = entries.sets,
            .ways = entries.ways,
            .page_bytes = static_cast<std::uint32_t>(of.page_bytes),
            .walk_time = time_of(of.walk_cycles),
            .walk_instructions = of.walk_instructions};
  }

  void read_larger(std::string_view first, tlb_spec& beside, const machine::tlb& of_2m,
                   const machine::tlb& of_1g) const {
    const auto read = [&](const char* suffix, const machine::tlb& of, std::uint64_t page_bytes) -> tlb_entries {
      if (of == machine::tlb{}) return {};
      const std::string key = fmt::format("{}_{}", first, suffix);
      if (beside.sets == 0)
        fail_(fmt::format("{} is beside the entries of {}; give the core these, or remove it", key, first));
      if (of.entries == 0 || of.ways == 0) fail_(fmt::format("{} needs both of {{ entries = 32, ways = 4 }}", key));
      if (beside.page_bytes >= page_bytes)
        fail_(fmt::format("{}: the pages of {} are as large already; remove it, or give {} smaller ones", key, first,
                          first));
      return read_entries(key, of);
    };
    beside.of_2m = read("2m", of_2m, large_page);
    beside.of_1g = read("1g", of_1g, huge_page);
  }

  void read_second() const {
    const machine::tlb& of = from_.stlb;
    if (of == machine::tlb{}) return;
    if (of.entries == 0 || of.ways == 0 || of.hit_cycles <= 0)
      fail_(
          "stlb needs all of { entries = 1536, ways = 12, hit = 7 }: hit is in cycles, after a miss of the first "
          "level");
    if (to_.itlb.sets == 0 && to_.dtlb.sets == 0) fail_("stlb is behind an itlb or a dtlb; give the core one of them");
    if (to_.itlb.sets > 0 && to_.dtlb.sets > 0 && to_.itlb.page_bytes != to_.dtlb.page_bytes)
      fail_("itlb and dtlb of a core with an stlb have the same page; write larger pages as itlb_2m or dtlb_2m");
    const tlb_entries entries = read_entries("stlb", of);
    to_.stlb = {.sets = entries.sets,
                .ways = entries.ways,
                .page_bytes = to_.dtlb.sets > 0 ? to_.dtlb.page_bytes : to_.itlb.page_bytes,
                .hit_time = time_of(of.hit_cycles)};
  }

  void read_walks() const {
    if (from_.walks != machine::page_walks::unknown && to_.itlb.sets == 0 && to_.dtlb.sets == 0)
      fail_("page_walks are those of an itlb or a dtlb; give the core one of them, or remove page_walks");
    if (from_.walk_cache > 0 && !to_.walks_through_caches)
      fail_("walk_cache is of walks through the caches; write page_walks = \"through_caches\", or remove it");
    to_.walk_cache = from_.walk_cache;
  }

  void read_page_size() const {
    to_.page_bytes = to_.dtlb.page_bytes;
    const std::uint64_t asked = from_.page_size_bytes;
    if (asked == 0) return;
    if (to_.dtlb.sets == 0) fail_("page_size is that of data, which a dtlb translates; give the core one");
    if (asked != to_.dtlb.page_bytes && (asked < to_.dtlb.page_bytes || (asked != large_page && asked != huge_page)))
      fail_("page_size is that of dtlb, or 2 MiB or 1 GiB if these are larger");
    to_.page_bytes = asked;
  }

  const machine::node_facts& from_;
  const std::vector<cache_spec>& caches_;
  core_spec& to_;
  const std::function<void(const std::string&)>& fail_;
};

}  // namespace

void add_translation(machine::node_facts& to, const machine::node_facts& of) {
  for (const auto& [key, which] : machine::tlb_keys)
    if (to.*which == machine::tlb{}) to.*which = of.*which;
  if (to.walks == machine::page_walks::unknown) to.walks = of.walks;
  if (to.walk_cache == 0) to.walk_cache = of.walk_cache;
  if (to.page_size_bytes == 0) to.page_size_bytes = of.page_size_bytes;
}

void read_translation(const machine::node_facts& from, const std::vector<cache_spec>& caches, core_spec& to,
                      const std::function<void(const std::string& message)>& fail) {
  translation_reader{from, caches, to, fail}.run();
}

}  // namespace situ::model
