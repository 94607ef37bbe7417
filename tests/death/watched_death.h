// The death of a place that the others are to be told of within a second: it notes when it dies, they ask whether they
// were told in time.
#pragma once

#include <gtest/gtest.h>

#include "launch/launch_support.h"
#include "support/stalls.h"

namespace situ::test {

class watched_death : public witness {
 public:
  // At a survivor, once it is told.
  [[nodiscard]] testing::AssertionResult is_told_in_time() const { return stalls_.allow(since_death(), told_within); }

 private:
  stall_meter stalls_;
};

}  // namespace situ::test
