#include "nemesys/table5.h"

#include <situ/base/error.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace situ::studies::nemesys {
namespace {

nlohmann::json kernels_with_copies(double copies) {
  nlohmann::json all = nlohmann::json::array();
  for (const char* const name :
       {"bfsBellmanFord", "bfsDijkstra", "byzantine", "dijkstraRouting", "dominatingSet", "kcommittee",
        "leader_elect_lcr", "leader_elect_hs", "leader_elect_dp", "mis", "mst", "vertexColoring"})
    all.push_back({{"kernel", name},
                   {"validated", true},
                   {"graphs",
                    {{"copies", copies},
                     {"objects", 8.0},
                     {"bytes", 16720.0},
                     {"typical", {{{"objects", {8, 9}}, {"bytes", {16720, 16728}}, {"copies", 1545}}}}}}});
  return {{"kernels", all}};
}

TEST(table5, holds_the_programs_counts_against_the_papers) {
  const study_part part = table5_of(kernels_with_copies(1075).dump());
  ASSERT_EQ(part.rows.size(), 36U);
  EXPECT_EQ(part.rows[0].what, "BF copies");
  EXPECT_DOUBLE_EQ(part.rows[0].deviation().value(), -50);  // 1075 for 2150
  EXPECT_EQ(part.rows[0].remark, "typical: 8 to 9 objects of 16720 to 16728 bytes: 1545");
  EXPECT_EQ(part.rows[35].what, "VC size of a copy");
  EXPECT_EQ(part.rows[35].ours, 16720);
}

TEST(table5, says_what_the_json_lacks) {
  nlohmann::json json = kernels_with_copies(1);
  json["kernels"][11]["validated"] = false;
  EXPECT_THROW(static_cast<void>(table5_of(json.dump())), error);
  json["kernels"].erase(11);
  EXPECT_THROW(static_cast<void>(table5_of(json.dump())), error);
  EXPECT_THROW(static_cast<void>(table5_of("{")), error);
}

}  // namespace
}  // namespace situ::studies::nemesys
