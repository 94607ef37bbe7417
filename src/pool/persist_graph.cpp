// Copies graphs of ordinary memory into a pool.
#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <string_view>

#include "graph/plan.h"
#include "pool/open_pool.h"

namespace situ::detail {
namespace {

// A level of the transaction that is rolled back unless keep() is called.
class part_of_transaction {
 public:
  explicit part_of_transaction(open_pool& of) : of_{of}, level_{of.begin()} {}
  ~part_of_transaction() {
    if (!is_kept_) of_.abort(level_);
  }
  part_of_transaction(const part_of_transaction&) = delete;
  part_of_transaction& operator=(const part_of_transaction&) = delete;
  [[nodiscard]] std::size_t level() const noexcept { return level_; }
  void keep() { of_.commit(level_, is_kept_); }

 private:
  open_pool& of_;
  std::size_t level_;
  bool is_kept_ = false;
};

[[noreturn]] void throw_not_for_pools(const std::string& path, const type_descriptor& type, std::string_view what,
                                      std::string_view instead) {
  throw_error(errc::not_supported,
              fmt::format("pool {}: an object of type {} in this graph holds {}, whose memory would "
                          "not be the pool's; use {}",
                          path, type.name, what, instead));
}

// Returns the type name of a value that an object with these operations may hold, or an empty name if there is none.
std::string_view value_in(const std::vector<op>& ops) {
  for (const op& each : ops) {
    if (each.kind == op_kind::value) return each.value->type;
    if (each.kind != op_kind::choice) continue;
    for (const auto& alternative : each.cases->alternatives)
      if (const std::string_view found = value_in(alternative); !found.empty()) return found;
  }
  return {};
}

void check_type(const std::string& path, const type_descriptor& type, bool has_values) {
  if (has_values && type.has_values)
    throw_not_for_pools(path, type, value_in(type.element != nullptr ? type.element->others : type.others),
                        "situ::string, situ::vector, situ::array or plain pointers");
  for (const field_description& each : (type.element != nullptr ? *type.element : type).fields)
    if (each.type.find("situ::ptr<") != std::string::npos)
      throw_not_for_pools(path, type, fmt::format("{} {}", each.type, each.name),
                          "a plain pointer, which is followed, or situ::transient, which stays behind");
}

}  // namespace

void* open_pool::persist(std::size_t level, graph_root root) {
  check_level(level);
  const borrowed_plan plan;
  plan->discover(&root, 1, copy_map::automatic, source_check::none);
  plan->visit_types([&](const type_descriptor& type) { check_type(file_.path(), type, plan->has_values()); });
  const write_check::engine_part part{checks_.get()};
  part_of_transaction within{*this};
  void* const copy = plan->scatter(
      [&](std::uint64_t bytes, std::uint32_t alignment, std::uint64_t count, std::byte** to, std::uint64_t distance) {
        heap_.take_many(bytes, alignment, count, to, distance);
        if (checks_ == nullptr) return;
        for (std::uint64_t i = 0; i < count; ++i) checks_->cover(to[i * distance], bytes);
      });
  within.keep();
  return copy;
}

}  // namespace situ::detail
