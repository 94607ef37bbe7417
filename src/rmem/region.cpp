#include <situ/rmem/region.h>

#include <situ/base/error.h>
#include <situ/base/log.h>

#include <fmt/format.h>

#include <utility>

#include "rmem/pager.h"

namespace situ::rmem {

region::region(client through, const capability& of, region_options options)
    : pager_{std::make_shared<detail::pager>(std::move(through), of, options)} {}
region::region(region&&) noexcept = default;
region& region::operator=(region&& other) noexcept {
  std::swap(pager_, other.pager_);
  return *this;
}
region::~region() {
  if (pager_ == nullptr) return;
  try {
    pager_->write_back(false);
  } catch (const error& failure) {
    log(log_level::error,
        fmt::format("a region of remote memory ends, and what was changed is lost: {}", failure.message()));
  }
}

std::byte* region::data() const noexcept { return pager_->data(); }
std::uint64_t region::size() const noexcept { return pager_->size(); }
void region::write_back() { pager_->write_back(false); }
void region::refresh() { pager_->write_back(true); }
region_statistics region::counted() const { return pager_->counted(); }

pinned region::pin(std::uint64_t offset, std::uint64_t bytes) {
  const auto [first, pages] = pager_->pages_of(offset, bytes);
  pager_->pin(first, pages);
  return pinned{pager_, first, pages};
}
std::future<void> region::fetch(std::uint64_t offset, std::uint64_t bytes) {
  const auto [first, pages] = pager_->pages_of(offset, bytes);
  return pager_->fetch(first, pages);
}
void region::fetch(std::uint64_t offset, std::uint64_t bytes, std::function<void(std::exception_ptr)> then) {
  const auto [first, pages] = pager_->pages_of(offset, bytes);
  pager_->fetch(first, pages, std::move(then));
}
bool region::is_here(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  if (offset > size() || bytes > size() - offset) return false;
  const auto [first, pages] = pager_->pages_of(offset, bytes);
  return pager_->is_here(first, pages);
}

pinned::pinned(std::shared_ptr<detail::pager> of, std::uint64_t first_page, std::uint64_t pages) noexcept
    : of_{std::move(of)}, first_page_{first_page}, pages_{pages} {}
pinned::pinned(pinned&& other) noexcept = default;
pinned& pinned::operator=(pinned&& other) noexcept {
  std::swap(of_, other.of_);
  std::swap(first_page_, other.first_page_);
  std::swap(pages_, other.pages_);
  return *this;
}
pinned::~pinned() {
  if (of_ != nullptr) of_->unpin(first_page_, pages_);
}

}  // namespace situ::rmem
