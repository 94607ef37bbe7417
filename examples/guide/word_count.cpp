// word_count: a hash table over all places. Each place counts the words of its own lines of a text; equal words meet at
// one owner, in batches that nobody collects by hand.
//
//   situ run -n 4 word_count [FILE]
#include <situ/situ.h>
#include <situ/spread/distributed_map.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::string text_of(const char* path) {
  if (path == nullptr) return "the place and the memory\nthe segment of the place\nmemory is the place\n";
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  situ::distributed_map<std::string, long> counts;

  std::istringstream lines{text_of(argc > 1 ? argv[1] : nullptr)};
  std::uint32_t number = 0;
  for (std::string line; std::getline(lines, line); ++number) {
    if (number % situ::place_count() != situ::here().index()) continue;
    std::istringstream words{line};
    for (std::string word; words >> word;) counts.update(word, [](long& n) { ++n; });
  }
  counts.drain();

  std::vector<std::pair<long, std::string>> own;
  counts.for_each_local([&](const std::string& word, long n) { own.emplace_back(n, word); });
  const auto all = situ::gather(own);  // by place, at place 0
  if (situ::here().index() == 0) {
    std::vector<std::pair<long, std::string>> ranked;
    for (const auto& part : all) ranked.insert(ranked.end(), part.begin(), part.end());
    std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (std::size_t i = 0; i < std::min<std::size_t>(ranked.size(), 10); ++i)
      std::printf("%6ld %s\n", ranked[i].first, ranked[i].second.c_str());
  }
  situ::barrier();
}
