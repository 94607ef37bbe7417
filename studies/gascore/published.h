// Figures of Willenberg and Chow, FPGA 2013, and which of ours a constant of the model was chosen for.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "support/study.h"

namespace situ::studies::gascore {

inline constexpr double cycles_of_us = 100;  // section 5.1: 100 MHz

// A figure of tables 4 to 7, in microseconds, as printed.
struct published_time {
  double us;
  origin from;
  std::string_view remark;
};

// Tables 4 and 5, for each distance: one way and both ways.
struct published_latency {
  published_time one_way, both_ways;
};

// Three constants were chosen by table 4: 17 cycles on a chip (a short message's states), 7 a hop, and 1 from a count to
// the end of the wait for it.
inline constexpr std::array<published_latency, 3> table_4{{
    {{0.17, origin::calibrated, "the states of a short message"},
     {0.35, origin::calibrated, "a cycle from a count to the end of the wait for it"}},
    {{0.24, origin::calibrated, "7 cycles a hop"}, {0.49, origin::predicted, ""}},
    {{0.31, origin::predicted, ""}, {0.63, origin::predicted, ""}},
}};

// One constant was chosen by table 5: the 12 cycles of one of its figures. One way is a write, both ways a read.
inline constexpr std::array<published_latency, 3> table_5{{
    {{0.29, origin::calibrated, "the states of the memory bus: 12 cycles more"}, {0.47, origin::predicted, ""}},
    {{0.36, origin::predicted, ""}, {0.61, origin::predicted, ""}},
    {{0.43, origin::predicted, ""}, {0.75, origin::predicted, ""}},
}};

// Two constants were chosen by table 6.
struct published_barrier {
  published_time to_node_0, for_all;
};
inline constexpr published_barrier table_6{
    {0.87, origin::calibrated, "a NetIf delivers a packet of four words every 5 cycles"},
    {1.96, origin::calibrated, "a send takes 6 cycles of PAMS"}};
inline constexpr published_barrier table_7{
    {0.62, origin::predicted, ""},
    {1.48, origin::predicted,
     "node 0 sends in the order of the nodes, as in figure 6: the paper does not say it here"}};

// Section 5.3, of figure 10: about half of the optimum is reached between these sizes.
inline constexpr double optimum_mb_s = 400, half_bytes_least = 64, half_bytes_most = 256;

}  // namespace situ::studies::gascore
