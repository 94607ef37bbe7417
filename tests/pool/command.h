// Runs `situ pool` as a user or a script calls it.
#pragma once

#include <string>

#include "support/build_paths.h"
#include "support/programs.h"

namespace situ_pool_test {

using outcome = situ::test::shell_result;

inline outcome run(const std::string& arguments) {
  return situ::test::run_shell(SITU_TEST_BIN_DIR "/situ pool " + arguments);
}

}  // namespace situ_pool_test
