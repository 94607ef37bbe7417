// Addresses for all tiles of a staged array, and frames: pages for as many tiles as are in memory at once.
//
// A tile that is not in memory has addresses without access rights. Pages are never freed: they move between frames and
// tiles (mremap, which copies nothing), so that a tile costs no new pages. Pages of a file stay in it, and are mapped
// at the tile as well. Not thread-safe, except for calls on different tiles and frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "os/mapping.h"
#include "pages/page_source.h"

namespace situ::detail {

enum class tile_access : std::uint8_t { none, reads, all };

class tile_room {
 public:
  // source: provides the frames' pages. name: for errors. Throws bad_argument for a tile that is not whole pages of the
  // source, out_of_memory if there are no addresses, or the source has no room.
  tile_room(std::size_t tiles, std::size_t tile_bytes, std::size_t frames, const page_source& source,
            const std::string& name);
  tile_room(const tile_room&) = delete;
  tile_room& operator=(const tile_room&) = delete;

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::byte* tile(std::size_t i) const noexcept { return base_ + i * tile_bytes_; }
  [[nodiscard]] std::byte* frame(std::size_t i) const noexcept { return frames_.begin() + i * tile_bytes_; }

  // Moves the pages of a frame to a tile, with all rights. Throws out_of_memory if the process has no room for another
  // mapping; then nothing has moved.
  void show(std::size_t tile, std::size_t frame);
  // Moves the pages of a tile back to its frame; without room for another mapping, frees them. pre: all rights.
  void hide(std::size_t tile, std::size_t frame) noexcept;
  // Sets the rights of a tile that is shown.
  void allow(std::size_t tile, tile_access access) noexcept;

 private:
  void map_frames(const page_source& source);

  std::string name_;
  std::size_t tile_bytes_;
  std::size_t bytes_;  // bytes of all addresses
  std::size_t frame_bytes_;
  std::byte* base_ = nullptr;
  file_stretch file_;  // open if the source has files
  budget_share share_;
  os::mapping frames_;
  os::mapping reserved_;  // contains base_, which is a multiple of a huge page
};

}  // namespace situ::detail
