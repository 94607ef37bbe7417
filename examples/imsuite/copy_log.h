// Which object graphs were copied, for a table like the paper's table 5: closures and results, those that stay at their
// place as well, since `at` copies there, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace imsuite {

// How often graphs of one size were copied.
struct copy_count {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::uint64_t copies = 0;
  std::uint64_t between_places = 0;  // of the copies
};

// Counts at this place from start() to stop(). Belongs to the place.
class copy_log {
 public:
  copy_log() = default;
  copy_log(const copy_log&) = delete;
  copy_log& operator=(const copy_log&) = delete;
  ~copy_log() { stop(); }
  void start();
  void stop();
  // The counts of all places, by size, at place 0; empty elsewhere. Collective.
  [[nodiscard]] std::vector<copy_count> collect() const;

 private:
  std::map<std::pair<std::uint64_t, std::uint64_t>, copy_count> counts_;  // by bytes and objects
  bool is_on_ = false;
};

// Graphs of about one size.
struct combination {
  std::uint64_t least_objects, most_objects;
  std::uint64_t least_bytes, most_bytes;
  std::uint64_t copies;
};
struct copy_summary {
  std::uint64_t copies = 0;
  std::uint64_t between_places = 0;
  double objects = 0;  // of a copy, on average
  double bytes = 0;
  std::vector<combination> typical;  // those that make up a twentieth of the copies or more, ascending by size
};
// Put together as in the paper: graphs of as many objects and of one class of size (below 1000 bytes, below 10000,
// larger), and those of one object more where the sizes differ by less than a tenth.
[[nodiscard]] copy_summary summarise(const std::vector<copy_count>& counts);

}  // namespace imsuite
