#include <situ/graph/detail/extents.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>
#include <utility>

#include "graph/graph_walk.h"

namespace situ::detail {
namespace {

class extent_walk {
 public:
  graph_extents of(graph_root root) {
    reach(reinterpret_cast<std::uintptr_t>(root.object), root.type);
    while (!to_scan_.empty()) {
      const piece next = to_scan_.back();
      to_scan_.pop_back();
      scan(next);
    }
    merge();
    return std::move(found_);
  }

 private:
  // Adjacent elements of a block; for an object: one element.
  struct piece {
    std::uintptr_t at;
    const type_descriptor* type;
    std::uint64_t count;
  };

  static std::uint64_t word(std::uintptr_t at) noexcept { return load_unit(reinterpret_cast<const std::byte*>(at)); }

  void reach(std::uintptr_t at, const type_descriptor* type) {
    if (at == 0) return;
    if (type->is_tagged) {
      const type_descriptor* const is = find_tagged(word(at));
      if (is == nullptr || !derives_from(*is, *type)) throw_bad_tag(at, word(at), *type);
      type = is;
    }
    // An object and its first part have one address: both are scanned, each once.
    const type_descriptor*& first = met_[at];
    if (first == type) return;
    if (first != nullptr && !met_again_.emplace(at, type).second) return;
    if (first == nullptr) {
      first = type;
      ++found_.objects;
    }
    add({at, type, 1});
  }
  void add(piece one) {
    found_.in_order.push_back({one.at, one.count * one.type->size});
    to_scan_.push_back(one);
  }

  void scan(piece one) {
    const type_descriptor& type = *one.type;
    if (type.kind == object_kind::data_block) return;
    for (std::uint64_t i = 0; i < one.count; ++i) {
      const std::uintptr_t at = one.at + i * type.size;
      if (type.kind == object_kind::pointer_block)
        reach(word(at), type.element);
      else
        scan_object(at, type.kind == object_kind::object_block ? *type.element : type);
    }
  }
  void scan_object(std::uintptr_t at, const type_descriptor& type) {
    for (const simple_pointer& each : type.pointers) reach(word(at + each.offset), each.target);
    scan_others(at, type, type.others);
  }
  void scan_others(std::uintptr_t object, const type_descriptor& type, const std::vector<op>& ops) {
    for (const op& each : ops) {
      const std::uintptr_t at = object + each.offset;
      switch (each.kind) {
        case op_kind::pointer: reach(word(at), each.target); break;
        case op_kind::array: scan_array(at, each); break;
        case op_kind::transient:
        case op_kind::value: break;
        case op_kind::choice: {
          const auto flag = static_cast<unsigned>(*reinterpret_cast<const unsigned char*>(at));
          if (flag >= each.cases->alternatives.size()) throw_bad_choice(type, flag);
          scan_others(object, type, each.cases->alternatives[flag]);
          break;
        }
      }
    }
  }
  void scan_array(std::uintptr_t at, const op& each) {
    const std::uint64_t count = word(at + 8);
    if (count == 0) return;
    ++found_.objects;
    const std::uintptr_t elements = word(at);
    if (each.terminated) found_.in_order.push_back({elements + count * each.target->size, each.target->size});
    add({elements, each.target, count});
  }

  void merge() {
    std::vector<graph_extent>& all = found_.in_order;
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    std::size_t kept = 0;
    for (const graph_extent& each : all) {
      if (kept != 0 && each.begin <= all[kept - 1].begin + all[kept - 1].bytes)
        all[kept - 1].bytes =
            std::max(all[kept - 1].begin + all[kept - 1].bytes, each.begin + each.bytes) - all[kept - 1].begin;
      else
        all[kept++] = each;
    }
    all.resize(kept);
  }

  graph_extents found_;
  std::unordered_map<std::uintptr_t, const type_descriptor*> met_;  // the type as which an address was met first
  std::set<std::pair<std::uintptr_t, const type_descriptor*>> met_again_;
  std::vector<piece> to_scan_;
};

}  // namespace

graph_extents extents_of(graph_root root) { return extent_walk{}.of(root); }

}  // namespace situ::detail
