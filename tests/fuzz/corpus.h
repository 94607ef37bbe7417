// The kept corpus of a fuzzer, for the test that replays it without libFuzzer.
#pragma once

#include "support/places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "support/build_paths.h"

namespace situ::test {

// The files of the corpus of that name, in order.
inline std::vector<std::filesystem::path> corpus_files(const std::string& name) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator{SITU_TEST_SOURCE_DIR "/fuzz/corpus/" + name})
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

inline std::vector<std::byte> content_of(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

// Calls `send` with each file of the corpus of that name; how many of them are seeds.
template <class Send>
std::size_t send_corpus(const std::string& name, Send send) {
  std::size_t seeds = 0;
  for (const std::filesystem::path& path : corpus_files(name)) {
    SCOPED_TRACE(path.filename().string());
    send(content_of(path));
    seeds += path.filename().string().starts_with("seed-") ? 1 : 0;
  }
  return seeds;
}

// `input` after one to four changes: a bit, the end cut off, or all of it once more behind.
inline std::vector<std::byte> mutated(const std::vector<std::byte>& input, std::uint64_t seed, std::uint64_t& round) {
  std::vector<std::byte> changed = input;
  for (std::uint64_t times = 1 + mixed(seed, ++round) % 4; times > 0 && !changed.empty(); --times) {
    const std::uint64_t random = mixed(seed + times, round);
    const std::size_t at = random / 64 % changed.size();
    if (random % 16 == 0) {
      changed.resize(at);
    } else if (random % 16 == 1) {
      changed.insert(changed.end(), input.begin(), input.end());
    } else {
      changed[at] ^= std::byte(1U << (random >> 3) % 8);
    }
  }
  return changed;
}

// The main function of such a test: `--write-seeds FOLDER` writes the seeds, each `name` and `input`, as files of a
// corpus.
template <class Seeds>
int replay_main(int argc, char** argv, const Seeds& seeds) {
  if (argc != 3 || std::string_view{argv[1]} != "--write-seeds") {
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
  }
  const std::filesystem::path folder{argv[2]};
  std::filesystem::create_directories(folder);
  for (const auto& seed : seeds) {
    std::ofstream file{folder / ("seed-" + seed.name), std::ios::binary};
    file.write(reinterpret_cast<const char*>(seed.input.data()), static_cast<std::streamsize>(seed.input.size()));
    if (!file.flush()) return 1;
  }
  return 0;
}

}  // namespace situ::test
