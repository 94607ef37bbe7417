// Which page goes: policies on frames, without memory, kernel or clock, so that a test can hold them to a trace.
//
// A policy knows of frames only what comes in, what goes, and what was touched while it was watched. It asks for frames
// to be watched: then a touch of one is told by touched(), once.
#pragma once

#include <situ/rmem/region.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace situ::rmem::detail {

class replacement_policy {
 public:
  using frame_number = std::uint32_t;
  static constexpr frame_number none = ~frame_number{0};
  virtual ~replacement_policy() = default;
  // A page has come into a frame that was empty.
  virtual void came(frame_number frame, std::uint64_t page) = 0;
  virtual void touched(frame_number frame) = 0;
  virtual void gone(frame_number frame) = 0;
  // Who may go next, of those that `may`; none where none may. Does not take it out: gone() does. Frames that are to be
  // watched from now on are appended to `watch`.
  [[nodiscard]] virtual frame_number choose(const std::function<bool(frame_number)>& may,
                                            std::vector<frame_number>& watch) = 0;
};

// frames: most of them that are full at a time.
[[nodiscard]] std::unique_ptr<replacement_policy> make_replacement_policy(replacement which, std::uint32_t frames);

}  // namespace situ::rmem::detail
