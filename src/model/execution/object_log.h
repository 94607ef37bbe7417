// The program's objects, and what their accesses cost (`situ model run --objects`): blocks by the code that allocated
// them, static variables, stacks, mappings; and the lines that objects share falsely (parts/false_sharing.h).
//
// A *site* stands for all objects of one origin: blocks that were allocated by the same calls, a variable, the stack of
// a thread. The origin of a block is the stack of calls at its allocation, found by the unwinder: the return addresses
// within the program's own code, since the frames of libraries (operator new, strdup) do not say where a block comes
// from. At the end of the run the innermost of these that is not in a header of the system gives the source line; sites
// of one line are one line of the report.
//
// With this log the engine sees each access (engine::see_hits), so hits cost the host much more; the run stays the same
// to the picosecond. Memory before a block's first byte that the allocator's header takes belongs to the block: an
// allocator's writes to headers share lines with blocks, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/execution/engine.h"
#include "model/parts/false_sharing.h"

namespace situ::model {

enum class object_kind : std::uint8_t { block, mapping, variable, stack, segment, other };

// The costs of accesses to the objects of a site.
struct object_counts {
  std::uint64_t accesses = 0;
  std::uint64_t misses = 0;  // accesses whose line the core's first cache did not have
  std::uint64_t falsely = 0;
  sharing_counts sharing;
  time_ps waited = 0;  // beyond the time of a hit
};

struct object_site {
  object_kind kind = object_kind::other;
  std::string name;                   // empty for blocks and mappings: `calls` say where they come from
  std::vector<std::uintptr_t> calls;  // return addresses within the program, innermost first
  std::uint64_t objects = 0;          // how many there were
  std::uint64_t bytes = 0;            // of those that exist
  std::uint64_t most_bytes = 0;       // at a time
  object_counts counts;
};

class object_log {
 public:
  // line_shift: of all lines of the log, 2^line_shift bytes long, like the longest line of a first cache.
  explicit object_log(std::uint32_t line_shift) : line_shift_{line_shift} {}

  // Notes a new block, whose header begins at `header`, or a mapping. `caller`: the return address of the function that
  // the program has called.
  void add_block(const void* header, const void* block, std::size_t bytes, const void* caller);
  void add_mapping(const void* at, std::size_t bytes, const void* caller);
  void resize(const void* block, std::size_t bytes);
  void remove(const void* block);
  void remove_mappings(const void* at, std::size_t bytes);
  // Forgets where the cores' last accesses were: stacks belong to other threads.
  void threads_changed() { last_.clear(); }
  void add_segment(std::uint32_t place, std::uintptr_t begin, std::uintptr_t end);

  struct noted_access {
    std::uintptr_t address = 0;
    std::size_t bytes = 0;
    access_kind kind = access_kind::read;
    bool is_miss = false;
    sharing_counts sharing;  // that the access has added
    time_ps waited = 0;
  };
  void note(const core& by, const std::vector<thread*>& threads, const noted_access& of);
  // Notes that a core loses the line of this address, or the right to write it.
  void take(std::uintptr_t address) { shared_.take(address >> line_shift_); }
  // Judges what is still open. Call it once, before the report.
  void end();

  [[nodiscard]] const std::vector<object_site>& sites() const noexcept { return sites_; }
  [[nodiscard]] const false_sharing& shared() const noexcept { return shared_; }
  [[nodiscard]] std::uint32_t line_shift() const noexcept { return line_shift_; }
  // An object of which a part lies on a followed line, by its number there.
  struct on_line {
    std::uint32_t site = 0;
    std::uintptr_t begin = 0;
  };
  [[nodiscard]] const on_line& object(std::uint32_t number) const { return on_lines_[number]; }

 private:
  struct range {
    std::uintptr_t begin = 0;  // of the object's bytes; a block's header is before it
    std::uintptr_t end = 0;
    std::uint32_t site = 0;
  };
  struct found_range {
    std::uintptr_t from = 1;
    std::uintptr_t to = 0;
    range object;
  };
  const found_range& find(const core& by, const std::vector<thread*>& threads, std::uintptr_t address);
  found_range look_up(const std::vector<thread*>& threads, std::uintptr_t address);
  std::uint32_t site_of_calls(object_kind kind, const void* caller);
  std::uint32_t named_site(object_kind kind, std::string name, std::uint64_t bytes);
  void add(std::uintptr_t from, const void* at, std::size_t bytes, std::uint32_t site);
  void remove(std::map<std::uintptr_t, range>::iterator which);
  std::uint32_t number_on_line(const range& object);

  std::uint32_t line_shift_;
  std::vector<object_site> sites_;
  std::map<std::pair<object_kind, std::vector<std::uintptr_t>>, std::uint32_t> by_calls_;
  std::map<std::pair<object_kind, std::string>, std::uint32_t> by_name_;
  std::map<std::uintptr_t, range> ranges_;  // blocks, mappings, segments; by where they begin, with their headers
  std::vector<found_range> last_;           // by core: where its last access was
  false_sharing shared_;
  std::vector<on_line> on_lines_;
  std::map<std::pair<std::uint32_t, std::uintptr_t>, std::uint32_t> numbers_;
};

// Null unless the run has asked for it.
extern constinit object_log* the_objects;

}  // namespace situ::model
