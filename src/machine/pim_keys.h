// The figures of a memory that computes, by their keys in machine files: those of the node, after `computes.`.
#pragma once

#include <situ/machine/pim.h>

#include <cstdint>
#include <string_view>

namespace situ::machine {

// A figure by its key in machine files, which is the name that papers on such memories use.
template <class Value>
struct pim_key {
  std::string_view key;
  Value pim_figures::* value;
};
inline constexpr pim_key<std::uint32_t> pim_counts[] = {{"banks", &pim_figures::banks},
                                                        {"subarrays", &pim_figures::subarrays},
                                                        {"rows", &pim_figures::rows},
                                                        {"columns", &pim_figures::columns},
                                                        {"concurrent_subarrays", &pim_figures::concurrent}};
// Times are written with their unit, as all times in machine files.
inline constexpr pim_key<double> pim_times[] = {{"row_read", &pim_figures::row_read_ns},
                                                {"row_write", &pim_figures::row_write_ns},
                                                {"latch", &pim_figures::logic_ns},
                                                {"shift", &pim_figures::shift_ns},
                                                {"AP", &pim_figures::ap_ns},
                                                {"AAP", &pim_figures::aap_ns},
                                                {"row_count", &pim_figures::row_count_ns}};
// Energies are plain numbers of nJ.
inline constexpr pim_key<double> pim_energies[] = {{"row_read_nJ", &pim_figures::row_read_nj},
                                                   {"row_write_nJ", &pim_figures::row_write_nj},
                                                   {"latch_nJ", &pim_figures::logic_nj},
                                                   {"shift_nJ", &pim_figures::shift_nj},
                                                   {"AP_nJ", &pim_figures::ap_nj},
                                                   {"AAP_nJ", &pim_figures::aap_nj},
                                                   {"extra_row_nJ", &pim_figures::extra_row_nj}};

}  // namespace situ::machine
