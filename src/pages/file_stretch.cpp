#include "pages/file_stretch.h"

#include <situ/base/error.h>
#include <situ/base/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

namespace situ::detail {

// A device that this process has open, and its free parts.
class device_memory {
 public:
  explicit device_memory(const memory_kind& kind) : file_{page_file::create(kind, "", 1)} {
    free_.emplace(0, file_.capacity_bytes());
  }
  [[nodiscard]] const page_file& file() const noexcept { return file_; }

  // Takes the first free part that is large enough, and returns its offset. pre: whole units.
  std::uint64_t take(std::uint64_t bytes) {
    const std::lock_guard held{lock_};
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      const auto [at, size] = *it;
      if (size < bytes) continue;
      free_.erase(it);
      if (size > bytes) free_.emplace(at + bytes, size - bytes);
      return at;
    }
    std::uint64_t most = 0;
    for (const auto& [at, size] : free_) most = std::max(most, size);
    throw_error(errc::out_of_memory,
                fmt::format("memory of a device: {} of {} are free in one piece, and {} are needed", format_bytes(most),
                            format_bytes(file_.capacity_bytes()), format_bytes(bytes)));
  }
  void give_back(std::uint64_t at, std::uint64_t bytes) {
    const std::lock_guard held{lock_};
    auto next = free_.emplace(at, bytes).first;
    if (const auto after = std::next(next); after != free_.end() && at + bytes == after->first) {
      next->second += after->second;
      free_.erase(after);
    }
    if (next == free_.begin()) return;
    const auto before = std::prev(next);
    if (before->first + before->second != at) return;
    before->second += next->second;
    free_.erase(next);
  }

 private:
  page_file file_;
  std::mutex lock_;
  std::map<std::uint64_t, std::uint64_t> free_;  // bytes by offset
};

namespace {

// Returns the device, which the process keeps open as long as it has any stretch of it.
std::shared_ptr<device_memory> device_of(const memory_kind& kind) {
  static std::mutex lock;
  static auto& known = *new std::map<std::string, std::weak_ptr<device_memory>>;  // stretches may end after statics do
  const std::lock_guard held{lock};
  std::weak_ptr<device_memory>& entry = known[kind.path];
  std::shared_ptr<device_memory> device = entry.lock();
  if (device == nullptr) entry = device = std::make_shared<device_memory>(kind);
  return device;
}

std::size_t whole_units(std::size_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

file_stretch::file_stretch(const memory_kind& kind, std::size_t bytes, std::string_view what) : file_stretch{} {
  try {
    if (kind.from == memory_kind::source::device) {
      auto device = device_of(kind);
      bytes_ = whole_units(bytes, device->file().unit());
      offset_ = device->take(bytes_);
      device_ = std::move(device);
      file_ = {device_, &device_->file()};
      file_->clear(offset_, bytes_);
      return;
    }
    file_ = std::make_shared<const page_file>(
        page_file::create(kind.has_file() ? kind : memory_kind{}, "situ-pages", bytes));
    bytes_ = whole_units(bytes, file_->unit());
    file_->resize(bytes_);
    file_->reserve(bytes_);
  } catch (const error& bad) {
    throw_error(bad.code(), fmt::format("{}: {}", what, bad.message()));
  }
}

file_stretch::~file_stretch() {
  if (device_ != nullptr) device_->give_back(offset_, bytes_);
}

os::mapping file_stretch::map(std::size_t from, std::size_t bytes) const noexcept {
  return os::mapping::anywhere(bytes, PROT_READ | PROT_WRITE, os::backing::shared(file_->descriptor(), offset_ + from));
}

bool file_stretch::map_over(std::byte* at, std::size_t from, std::size_t bytes) const noexcept {
  return os::map_over(at, bytes, PROT_READ | PROT_WRITE, os::backing::shared(file_->descriptor(), offset_ + from));
}

}  // namespace situ::detail
