// Replacement policies, which choose the page to evict. They work on frames, without memory, kernel or clock, so that a
// test can run them on a trace.
//
// A policy learns only which frames were filled and emptied, and which were touched while watched. It asks for frames
// to be watched: then the caller reports the next touch of each by touched(), once.
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
  // Reports that a page was fetched into an empty frame.
  virtual void came(frame_number frame, std::uint64_t page) = 0;
  virtual void touched(frame_number frame) = 0;
  virtual void gone(frame_number frame) = 0;
  // Returns the next victim among frames for which `may` is true; `none` if there is none. It stays in the policy until
  // gone(). Appends the frames to watch from now on to `watch`.
  [[nodiscard]] virtual frame_number choose(const std::function<bool(frame_number)>& may,
                                            std::vector<frame_number>& watch) = 0;
};

// frames: the most that are full at a time.
[[nodiscard]] std::unique_ptr<replacement_policy> make_replacement_policy(replacement which, std::uint32_t frames);

}  // namespace situ::rmem::detail
