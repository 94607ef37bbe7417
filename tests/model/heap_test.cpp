// An object heap on machines/tile64.toml, whose tiles have no coherent caches: reads are fresh, and a store without the
// barrier is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "model/modelled_run.h"

namespace {

using situ::test::modelled_run;
using testing::HasSubstr;
using testing::Not;

modelled_run run(std::vector<std::string> options, const std::string& places,
                 const std::vector<std::string>& arguments) {
  options.insert(options.end(), {"--places", places});
  return situ::test::run_on("tile64", options, "model_heap_objects", arguments);
}

TEST(HeapOnTiles, AStoreWithoutTheBarrierIsAStaleRead) {
  const modelled_run right = run({"--check-coherence"}, "2", {"barrier"});
  EXPECT_EQ(right.result.exit_code, 0) << right.result.err;
  EXPECT_THAT(right.result.out, HasSubstr("10, then 20"));
  EXPECT_THAT(right.result.err, HasSubstr("coherence: 0 stale reads, 0 lost writes"));
  const modelled_run forgotten = run({"--check-coherence"}, "2", {"forgotten"});
  EXPECT_THAT(forgotten.result.out, HasSubstr("10, then 10"));
  EXPECT_THAT(forgotten.result.err, Not(HasSubstr("coherence: 0 stale reads")));
}

TEST(HeapOnTiles, ReadsAreFreshWithEachKindOfObjectsAndTable) {
  for (const char* kind : {"ordinary", "read-mostly"})
    for (const char* table : {"homed", "replicated"}) {
      // With a replicated table a place may read a marked entry from its cache for as long as the second round takes.
      const bool writes = table == std::string{"homed"};
      const modelled_run ran =
          run({"--check-coherence"}, "4", {"lookups", "200", "512", writes ? "100" : "0", kind, table});
      EXPECT_EQ(ran.result.exit_code, 0) << ran.result.err;
      EXPECT_THAT(ran.result.out, HasSubstr(writes ? "2028 read" : "2048 read")) << kind << ' ' << table;
      EXPECT_THAT(ran.result.err, HasSubstr("coherence: 0 stale reads, 0 lost writes")) << kind << ' ' << table;
    }
}

}  // namespace
