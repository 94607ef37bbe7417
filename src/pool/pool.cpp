#include <situ/base/error_code.h>
#include <situ/pool/pool.h>

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "pool/open_pool.h"

namespace situ {

pool::pool(std::unique_ptr<detail::open_pool> core) noexcept : core_{std::move(core)} {}
pool::~pool() = default;
pool::pool(pool&&) noexcept = default;
pool& pool::operator=(pool&&) noexcept = default;

pool pool::create(const std::string& path, const pool_options& options) {
  pool made = detail::open_pool::create(path, options);
  if (options.checked) made.check_writes();
  return made;
}
pool pool::open(const std::string& path, pool_access access) { return open(path, pool_opening{.access = access}); }
pool pool::open(const std::string& path, const pool_opening& how) { return detail::open_pool::open(path, how); }
pool pool::open_or_create(const std::string& path, const pool_options& options) {
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) return create(path, options);
  pool opened = open(path);
  if (options.checked) opened.check_writes();
  return opened;
}

void* pool::root_object(std::string_view name, const detail::pool_type& type) const { return core_->root(name, type); }
void pool::sync() { core_->sync(); }
pool_info pool::info() const { return core_->info(); }
void pool::check_writes() { core_->check_writes(); }
pool_findings pool::check() const { return core_->check(); }
pool_findings pool::check_all(std::span<const detail::pool_type> types) const { return core_->check_all(types); }
pool_collected pool::collect_blocks(std::span<const detail::pool_type> types, std::uint64_t most_blocks) {
  return core_->collect(types, most_blocks);
}
void pool::for_each_block(const std::function<void(void*, std::size_t)>& visit) const { core_->for_each_block(visit); }

read_section::read_section(const pool& of) : core_{of.core_.get()} { core_->begin_reading(section_); }
read_section::~read_section() { core_->end_reading(section_); }

transaction::transaction(pool& of) : core_{of.core_.get()}, level_{core_->begin()} {}
transaction::~transaction() {
  if (!is_complete_) core_->abort(level_);
}
void transaction::commit() { core_->commit(level_, is_complete_); }
void transaction::snapshot(const void* at, std::size_t bytes) { core_->snapshot(level_, at, bytes); }
void* transaction::allocate(std::size_t bytes, std::size_t alignment) {
  return core_->allocate(level_, bytes, alignment);
}
void transaction::destroy(void* object) { core_->destroy(level_, object); }
void* transaction::persist_graph(const detail::graph_root& root) { return core_->persist(level_, root); }
bool transaction::unlink(std::string_view name) { return core_->unlink(level_, name); }
void transaction::set_root_object(std::string_view name, const void* object, const detail::pool_type& type) {
  core_->set_root(level_, name, object, type);
}
void transaction::throw_too_many(std::size_t count, std::size_t bytes) {
  throw_error(errc::bad_argument,
              fmt::format("an array of {} objects of {} bytes is no array for a pool", count, bytes));
}

}  // namespace situ
