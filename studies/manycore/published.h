// Figures to stand beside the study's: those of the paper's text, of a trial with a small model, and those that were
// predicted before a run with several tiles (docs/studies/manycore-heap.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace situ::studies::manycore {

enum class configuration : std::uint8_t {
  small_pages_and_clock,  // pages of 64 KB, a clock call for each baton
  small_pages,
  huge_pages,  // of 16 MB, as all that follow
  methods_read_mostly,
  all_in_one_heap,  // all but contexts read-mostly, and such a receiver gets no baton
  all_split,        // likewise, and each receiver gets it at its home
};
inline constexpr std::size_t configuration_count = 6;
inline constexpr std::array<std::uint32_t, 3> tile_counts{1, 2, 56};

struct range {
  double least, most;
};

// Cycles with 2 and 56 tiles, by those with one.
struct published_ratio {
  configuration of;
  std::uint32_t tiles;
  std::string_view words;  // the paper's
  std::optional<range> paper;
  range trial;
  double predicted;
  std::optional<range> aim;
};
inline constexpr std::array<published_ratio, 12> published_ratios{{
    {configuration::small_pages_and_clock, 2, "tripled; 2.7 simulated", range{2.7, 3}, {1.8, 2.3}, 1.7, range{2, 3.4}},
    {configuration::small_pages, 2, "", std::nullopt, {1.6, 1.9}, 1.45, std::nullopt},
    {configuration::huge_pages, 2, "1.7; later \"perhaps 1.5\"", range{1.5, 1.7}, {1.46, 1.93}, 1.35, range{1.3, 1.9}},
    {configuration::methods_read_mostly, 2, "little improvement", std::nullopt, {1.2, 1.5}, 1.17, std::nullopt},
    {configuration::all_in_one_heap, 2, "1.1", range{1.1, 1.1}, {1.06, 1.17}, 1.06, range{0, 1.15}},
    {configuration::all_split, 2, "", std::nullopt, {1.14, 1.37}, 1.14, range{0, 1.3}},
    {configuration::small_pages_and_clock, 56, "almost twice 2 cores", range{5, 6}, {4.5, 7.9}, 4.0, std::nullopt},
    {configuration::small_pages, 56, "", std::nullopt, {4.2, 7.3}, 3.6, std::nullopt},
    {configuration::huge_pages, 56, "between two and three", range{2, 3}, {4.1, 9.0}, 4.0, range{0, 3}},
    {configuration::methods_read_mostly, 56, "little improvement", std::nullopt, {3.4, 7.9}, 3.6, std::nullopt},
    {configuration::all_in_one_heap, 56, "much better scalability", std::nullopt, {3.1, 7.8}, 3.5, std::nullopt},
    {configuration::all_split, 56, "", std::nullopt, {3.0, 7.4}, 3.4, std::nullopt},
}};

// Batons of one evaluation, in the trial, and so predicted: by configuration all_in_one_heap, by the others.
struct predicted_batons {
  std::uint32_t tiles;
  double in_one_heap, otherwise;
};
inline constexpr std::array<predicted_batons, 2> all_predicted_batons{{{2, 2, 6570}, {56, 62, 12444}}};

// Figure 9, two tiles by one.
inline constexpr double paper_bundles = 2.0, paper_stalls_a_bundle = 1.5;
inline constexpr double predicted_stalls_a_bundle = 0.8;
// Configuration small_pages_and_clock with 56 tiles by the same with two.
inline constexpr double paper_56_by_2 = 2.0, predicted_56_by_2 = 2.4;

// The two settings that are calibrated, so that bundles double from one tile to two, half by each (figures 9, 12).
// Instructions of a miss of the data TLB: the end of the range that the machine's file gives.
inline constexpr std::uint32_t walk_instructions = 150;
// Instructions of a round of the loop that stands for the system call of ioMsecs. The rounds are chosen by each study
// from the bundles of the runs without these calls.
inline constexpr double clock_round_instructions = 3;

// Section 5.4.1: where stalls for data in the L2 grew most, most first.
inline constexpr std::array<std::string_view, 4> paper_functions{"fetchNextBytecode", "invec_SWINT_1 (the clock call)",
                                                                 "the handler of DTLB misses", "fetchClass"};

}  // namespace situ::studies::manycore
