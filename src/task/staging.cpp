#include "task/staging.h"

#include <situ/base/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "task/graph_core.h"

namespace situ::detail {
namespace {

[[noreturn]] void throw_file_error(const std::string& name, const char* what, int error) {
  throw situ::error{errc::bad_file, fmt::format("{}: {}: {}", name, what, std::strerror(error))};
}

// At a time; a process has 65530 mappings, and a tile takes two.
constexpr std::size_t most_tiles = 20'000;

// Null where there is no room.
std::byte* reserve(std::size_t bytes, int access) noexcept {
  void* const mapped = ::mmap(nullptr, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}

// Moves the pages of a range; its addresses stay, without pages. False where there is no room for another mapping.
bool move_pages_of(std::byte* from, std::byte* to, std::size_t bytes) noexcept {
  return ::mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) != MAP_FAILED;
}

std::size_t whole(std::size_t bytes, std::size_t of) { return (bytes + of - 1) / of * of; }

}  // namespace

staging::staging(graph_core& core, const std::string& file, std::size_t bytes, const staging_options& options)
    : core_{core}, name_{file}, bytes_{bytes}, tile_bytes_{options.tile_bytes}, budget_tiles_{0} {
  if (tile_bytes_ == 0 || tile_bytes_ % page_bytes != 0)
    throw error{errc::bad_argument, fmt::format("tiles of {} bytes: give a multiple of {}", tile_bytes_, page_bytes)};
  budget_tiles_ = options.budget_bytes / tile_bytes_;
  if (budget_tiles_ == 0)
    throw error{errc::bad_argument, fmt::format("a budget of {} bytes holds no tile of {}: give more, or smaller tiles",
                                                options.budget_bytes, tile_bytes_)};
  tiles_.resize(whole(bytes_, tile_bytes_) / tile_bytes_);
  budget_tiles_ = std::min(budget_tiles_, std::max<std::size_t>(tiles_.size(), 1));
  if (budget_tiles_ > most_tiles)
    throw error{errc::bad_argument,
                fmt::format("a budget of {} tiles, each of which is a mapping: give tiles of {} bytes or more",
                            budget_tiles_, whole(options.budget_bytes / most_tiles + 1, page_bytes))};
  for (std::size_t i = budget_tiles_; i-- > 0;) free_frames_.push_back(static_cast<std::uint32_t>(i));
  mapped_bytes_ = std::max<std::size_t>(tiles_.size(), 1) * tile_bytes_;
  file_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) throw_file_error(name_, "cannot be opened", errno);
  const auto give_up = [this](const char* what) {
    const int failed = errno;
    if (base_ != nullptr) ::munmap(base_, mapped_bytes_);
    ::close(file_);
    throw_file_error(name_, what, failed);
  };
  struct stat is{};
  if (::fstat(file_, &is) != 0) give_up("cannot be looked at");
  if (static_cast<std::size_t>(is.st_size) < bytes_ && ::ftruncate(file_, static_cast<off_t>(bytes_)) != 0)
    give_up("cannot be made long enough");
  base_ = reserve(mapped_bytes_, PROT_NONE);
  if (base_ == nullptr) give_up("no addresses for all of it");
  frames_ = reserve(budget_tiles_ * tile_bytes_, PROT_READ | PROT_WRITE);
  if (frames_ == nullptr) give_up("no addresses for its tiles");
  try {
    thread_ = worker{[this] { work(); }};
    core_.add_staging(*this);
  } catch (...) {
    close();
    throw;
  }
}

staging::~staging() {
  core_.settle_all();
  try {
    write_all();
  } catch (...) {  // a destructor throws nothing
  }
  core_.remove_staging(*this);
  close();
}

void staging::close() noexcept {
  {
    const std::scoped_lock lock{mutex_};
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  ::munmap(base_, mapped_bytes_);
  ::munmap(frames_, budget_tiles_ * tile_bytes_);
  ::close(file_);
}

std::size_t staging::bytes_of(std::uint32_t index) const noexcept {
  return std::min(tile_bytes_, bytes_ - index * tile_bytes_);
}

// --- units ----------------------------------------------------------------------------------------------------------

void staging::collect(const declared_access& access, std::vector<staged_tile>& tiles) {
  const auto base = reinterpret_cast<std::uint64_t>(base_);
  for (std::size_t row = 0; row < access.region.rows && access.region.bytes != 0; ++row) {
    const std::uint64_t begin = reinterpret_cast<std::uint64_t>(access.region.begin) + row * access.region.stride;
    const std::uint64_t end = begin + access.region.bytes;
    if (end <= base || base + mapped_bytes_ <= begin) continue;
    if (begin < base || base + bytes_ < end)
      throw error{errc::bad_argument, fmt::format("a unit declares bytes {} to {} of {}, which has {}",
                                                  static_cast<std::int64_t>(begin - base), end - base, name_, bytes_)};
    for (std::uint64_t i = (begin - base) / tile_bytes_; i <= (end - base - 1) / tile_bytes_; ++i) {
      const auto index = static_cast<std::uint32_t>(i);
      const std::uint64_t first = base + i * tile_bytes_;
      const bool is_all = begin <= first && first + bytes_of(index) <= end;
      const staged_tile one{this, index, access.mode != access_mode::read,
                            access.mode != access_mode::write || !is_all};
      const auto known = std::find_if(tiles.begin(), tiles.end(),
                                      [&](const staged_tile& each) { return each.of == this && each.tile == index; });
      if (known == tiles.end()) {
        tiles.push_back(one);
      } else {
        known->is_written |= one.is_written;
        known->is_needed |= one.is_needed;
      }
    }
  }
}

void staging::check(const std::vector<staged_tile>& tiles) const {
  const auto count = static_cast<std::size_t>(
      std::count_if(tiles.begin(), tiles.end(), [this](const staged_tile& each) { return each.of == this; }));
  if (count > budget_tiles_)
    throw error{
        errc::bad_argument,
        fmt::format("a unit declares {} tiles of {}, whose budget holds {} of {} bytes: give a larger budget, or "
                    "declare less in a unit",
                    count, name_, budget_tiles_, tile_bytes_)};
}

void staging::request(work_unit& unit) {
  {
    const std::scoped_lock lock{mutex_};
    wanted_.push_back(&unit);
  }
  changed_.notify_all();
}

void staging::release(const std::vector<staged_tile>& tiles, bool has_failed) noexcept {
  {
    const std::scoped_lock lock{mutex_};
    for (const staged_tile& each : tiles) {
      if (each.of != this) continue;
      tile& it = tiles_[each.tile];
      if (it.is_here && each.is_written && (!has_failed || !it.is_blank)) {
        it.is_changed = true;
        it.is_blank = false;
      }
      unpin(each.tile);
    }
  }
  changed_.notify_all();
}

void staging::pin(std::uint32_t index) {
  tile& it = tiles_[index];
  if (it.pins++ == 0 && it.is_here) idle_.erase(it.idle);
}

void staging::unpin(std::uint32_t index) {
  tile& it = tiles_[index];
  if (--it.pins != 0 || !it.is_here) return;
  if (!it.is_blank) {
    it.idle = idle_.insert(idle_.end(), index);
    return;
  }
  drop(index);
  free_frames_.push_back(it.frame);
  it.is_here = it.is_blank = false;
  --here_;
}

// --- moving ---------------------------------------------------------------------------------------------------------

void staging::transfer(bool out, std::byte* memory, std::size_t at, std::size_t bytes) {
  while (bytes != 0) {
    const ssize_t done = out ? ::pwrite(file_, memory, bytes, static_cast<off_t>(at))
                             : ::pread(file_, memory, bytes, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0)
      throw_file_error(name_, out ? "a tile cannot be written" : "a tile cannot be read", done < 0 ? errno : EIO);
    memory += done;
    at += static_cast<std::size_t>(done);
    bytes -= static_cast<std::size_t>(done);
  }
}

void staging::write(std::uint32_t index) { transfer(true, address_of(index), index * tile_bytes_, bytes_of(index)); }

// The pages of a tile go back to its frame; without room for another mapping, to the system. Its addresses are reserved
// anew, so that they are one mapping again with their neighbours.
void staging::drop(std::uint32_t index) noexcept {
  std::byte* const at = address_of(index);
  if (!move_pages_of(at, frame(tiles_[index].frame), tile_bytes_)) ::madvise(at, tile_bytes_, MADV_DONTNEED);
  if (::mmap(at, tile_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
    ::mprotect(at, tile_bytes_, PROT_NONE);
}

// pre: one is idle.
void staging::evict_oldest(std::unique_lock<std::mutex>& lock) {
  const std::uint32_t index = idle_.front();
  tile& it = tiles_[index];
  idle_.pop_front();
  lock.unlock();
  try {
    if (it.is_changed) write(index);
  } catch (...) {
    lock.lock();
    it.idle = idle_.insert(idle_.begin(), index);
    throw;
  }
  drop(index);
  lock.lock();
  free_frames_.push_back(it.frame);
  if (it.is_changed) moved_.written_bytes += bytes_of(index);
  it.is_here = it.is_changed = false;
  --here_;
}

// pre: pinned, not here, and there is room.
void staging::fetch(std::uint32_t index, bool is_needed, std::unique_lock<std::mutex>& lock) {
  const std::uint32_t from = free_frames_.back();  // one is free: fewer tiles are here than the budget has
  free_frames_.pop_back();
  lock.unlock();
  try {
    if (is_needed) transfer(false, frame(from), index * tile_bytes_, bytes_of(index));
    if (!move_pages_of(frame(from), address_of(index), tile_bytes_))
      throw error{
          errc::out_of_memory,
          fmt::format("{}: no room for the mapping of a tile: {} (vm.max_map_count says how many a process has)", name_,
                      std::strerror(errno))};
  } catch (...) {
    lock.lock();
    free_frames_.push_back(from);
    throw;
  }
  lock.lock();
  tiles_[index].frame = from;
  if (is_needed) moved_.fetched_bytes += bytes_of(index);
  tiles_[index].is_here = true;
  tiles_[index].is_blank = !is_needed;
  moved_.most_bytes = std::max<std::uint64_t>(moved_.most_bytes, ++here_ * tile_bytes_);
}

// All tiles of a unit.
void staging::get(work_unit& unit, std::unique_lock<std::mutex>& lock) {
  std::exception_ptr failure;
  for (const staged_tile& each : *unit.staged) {
    if (each.of != this) continue;
    pin(each.tile);
    if (tiles_[each.tile].is_here || failure) continue;
    try {
      while (here_ == budget_tiles_) {
        changed_.wait(lock, [this] { return !idle_.empty() || here_ < budget_tiles_; });
        if (here_ == budget_tiles_) evict_oldest(lock);
      }
      fetch(each.tile, each.is_needed, lock);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  lock.unlock();
  core_.has_tiles(unit, failure);
  lock.lock();
}

void staging::work() {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_.wait(lock, [this] { return is_stopping_ || !wanted_.empty(); });
    if (wanted_.empty()) return;
    work_unit& next = *wanted_.front();
    wanted_.pop_front();
    get(next, lock);
  }
}

void staging::copy(std::size_t at, void* to, const void* from, std::size_t bytes) {
  if (at > bytes_ || bytes > bytes_ - at)
    throw error{errc::bad_argument, fmt::format("bytes {} to {} of {}, which has {}", at, at + bytes, name_, bytes_)};
  core_.wait();
  const std::scoped_lock lock{mutex_};
  while (bytes != 0) {
    const auto index = static_cast<std::uint32_t>(at / tile_bytes_);
    const std::size_t some = std::min(bytes, (index + std::size_t{1}) * tile_bytes_ - at);
    auto* const out = static_cast<std::byte*>(to);
    const auto* const in = static_cast<const std::byte*>(from);
    const bool is_here = tiles_[index].is_here;
    if (!is_here)
      transfer(from != nullptr, from != nullptr ? const_cast<std::byte*>(in) : out, at, some);
    else if (from != nullptr)
      std::memcpy(base_ + at, in, some);
    else
      std::memcpy(out, base_ + at, some);
    tiles_[index].is_changed |= is_here && from != nullptr;
    if (from != nullptr)
      from = in + some;
    else
      to = out + some;
    at += some;
    bytes -= some;
  }
}

void staging::flush() {
  core_.wait();
  write_all();
}

void staging::write_all() {
  const std::scoped_lock lock{mutex_};
  for (std::uint32_t i = 0; i < tiles_.size(); ++i)
    if (tiles_[i].is_changed) {
      write(i);
      tiles_[i].is_changed = false;
      moved_.written_bytes += bytes_of(i);
    }
}

staging_statistics staging::statistics() const {
  const std::scoped_lock lock{mutex_};
  staging_statistics now = moved_;
  now.resident_bytes = here_ * tile_bytes_;
  return now;
}

// --- what staged_array calls ----------------------------------------------------------------------------------------

void close_staging::operator()(staging* s) const noexcept { delete s; }

staging_owner open_staging(graph_core& core, const std::string& file, std::size_t bytes,
                           const staging_options& options) {
  return staging_owner{new staging{core, file, bytes, options}};
}
std::byte* base_of(const staging& s) noexcept { return s.base(); }
void copy_out(staging& s, std::size_t from, void* to, std::size_t bytes) { s.copy(from, to, nullptr, bytes); }
void copy_in(staging& s, std::size_t to, const void* from, std::size_t bytes) { s.copy(to, nullptr, from, bytes); }
void flush_staging(staging& s) { s.flush(); }
staging_statistics statistics_of(const staging& s) { return s.statistics(); }

}  // namespace situ::detail
