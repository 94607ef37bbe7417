// The files that an image has open, by number. For one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "os/descriptor.h"

namespace squeak {

class open_files {
 public:
  // Distinguishes this process's numbers from those in an image that another process has written.
  [[nodiscard]] std::uint32_t session() const { return session_; }
  // Opens a file, or makes one if it may be written; returns nothing if the system refuses.
  [[nodiscard]] std::optional<std::uint32_t> open(const std::string& path, bool is_writable);
  // Return false, or nothing, if there is no such file, or if the system refuses. Positions are bytes from the
  // beginning.
  bool close(std::uint32_t number);
  [[nodiscard]] std::optional<std::uint64_t> size(std::uint32_t number) const;
  [[nodiscard]] std::optional<std::uint64_t> position(std::uint32_t number) const;
  bool set_position(std::uint32_t number, std::uint64_t to);
  // Read and write from the position on; return how many bytes.
  [[nodiscard]] std::optional<std::size_t> read(std::uint32_t number, std::span<std::uint8_t> to);
  [[nodiscard]] std::optional<std::size_t> write(std::uint32_t number, std::span<const std::uint8_t> from);
  bool truncate(std::uint32_t number, std::uint64_t to);

 private:
  [[nodiscard]] int descriptor_of(std::uint32_t number) const;

  std::map<std::uint32_t, situ::os::descriptor> files_;
  std::uint32_t next_ = 1;
  std::uint32_t session_ = make_session();
  [[nodiscard]] static std::uint32_t make_session();
};

}  // namespace squeak
