#include "graph/message.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "graph/store.h"

namespace situ::detail {
namespace {

constexpr std::size_t root_bytes = sizeof(std::uint64_t);
constexpr std::uint32_t most_alignment = 4096;
constexpr std::size_t tagged_bytes = 2 * sizeof(std::uint64_t);

// Caches the fingerprints of a few types: a program's calls have few, and computing one takes a walk over all types
// that it reaches.
std::uint64_t closure_fingerprint(const type_descriptor& type) {
  thread_local struct {
    const type_descriptor* type;
    std::uint64_t fingerprint;
  } recent[16]{};
  auto& slot = recent[type.index % 16];
  if (slot.type != &type) slot = {&type, deep_fingerprint(type)};
  return slot.fingerprint;
}
std::uint64_t closure_fingerprint(std::span<const graph_root> roots) {
  std::uint64_t sum = roots.size();
  for (const graph_root& root : roots) sum = sum * 0x9e3779b97f4a7c15 + closure_fingerprint(*root.type);
  return sum;
}

template <class... Arguments>
[[noreturn]] void reject(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  throw_error(errc::bad_message, "object graph: " + fmt::format(text, std::forward<Arguments>(arguments)...));
}

[[nodiscard]] std::uint64_t load_word(const std::byte* from) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}
void store_word(std::byte* to, std::uint64_t word) noexcept { std::memcpy(to, &word, sizeof word); }

// Checks an image and turns its offsets into addresses, in one walk over it.
//
// Invariants
//   1. Objects of units < next_ have been met; types_[unit] is the number of the type that starts there, 0 if none
//      does.
//   2. Every object that has been met lies wholly within the image; those before scan_ have been checked and fixed.
//   3. The first tagged_.size() entries of the list of tagged types are those of the objects that have been met, in the
//      order in which each was first met.
class image_reader {
 public:
  image_reader(std::byte* arena, std::uint64_t units, std::uint32_t alignment_units,
               std::span<const std::byte> tagged_list)
      : arena_{arena},
        end_{units},
        alignment_units_{alignment_units},
        tagged_list_{tagged_list},
        types_{types_of(units)} {}

  void* read_root(std::uint64_t offset, const type_descriptor& type) {
    const std::uint64_t unit = reach(offset, type);
    return unit == 0 ? nullptr : arena_ + unit * 8;
  }
  void read_all() {
    while (scan_ < next_) {
      const std::uint16_t number = types_[scan_];
      if (number == 0) {  // padding between objects
        ++scan_;
        continue;
      }
      const type_descriptor& type = *type_table[number];
      std::byte* const object = arena_ + scan_ * 8;
      if (type.kind == object_kind::object) {
        if (has_only_pointers(type)) {
          fix_run(type);
          continue;
        }
        fix_object(object, type);
        if (type.has_containers) add_finalizer(type);
        if (type.has_values) holders_.push_back({object, &type, 1});
        scan_ += type.units;
      } else {
        fix_block(object, type, counts_[count_read_++]);
      }
    }
    if (next_ != end_) reject("{} bytes follow the last object", (end_ - next_) * 8);
    const std::size_t listed = tagged_list_.size() / tagged_bytes;
    if (tagged_.size() != listed) reject("it lists {} tagged types, and has objects of {}", listed, tagged_.size());
  }
  [[nodiscard]] std::uint64_t objects() const noexcept { return objects_; }
  [[nodiscard]] const std::vector<std::uint64_t>& finalizers() const noexcept { return finalizers_; }
  // Returns the objects whose values are not read yet.
  [[nodiscard]] const std::vector<value_holders>& value_holders_met() const noexcept { return holders_; }

 private:
  static std::uint16_t* types_of(std::uint64_t units) {
    thread_local std::vector<std::uint16_t> types;
    if (types.capacity() > most_kept_units && units < most_kept_units) std::vector<std::uint16_t>{}.swap(types);
    types.assign(units, 0);
    return types.data();
  }
  static constexpr std::size_t most_kept_units = std::size_t{8} << 20;

  // Returns the unit of the object that an offset names. Checks that the object has the type, or that a new object
  // starts there.
  std::uint64_t reach(std::uint64_t offset, const type_descriptor& declared) {
    if (offset == 0) return 0;
    if (offset % 8 != 0) reject("offset {:#x} is not a multiple of 8", offset);
    const std::uint64_t unit = offset / 8;
    if (unit < next_ && unit >= first_unit && types_[unit] != 0) {
      const type_descriptor& found = *type_table[types_[unit]];
      if (&found != &declared && !(declared.is_tagged && found.is_tagged && derives_from(found, declared)) &&
          !has_at_its_start(unit, found, declared))
        reject("a pointer to {} leads to a {} at offset {:#x}", declared.name, found.name, offset);
      if (found.kind != object_kind::object)
        reject("a pointer to {} leads into a container at offset {:#x}", declared.name, offset);
      return unit;
    }
    const type_descriptor& type = declared.is_tagged ? dynamic_type(unit, declared, offset) : declared;
    expect_next(unit, type, offset);
    begin(unit, type, type.units);
    return unit;
  }
  // Returns whether the object that has been met there has a `part` at its own address. If the part has a header, that
  // is checked later.
  [[nodiscard]] bool has_at_its_start(std::uint64_t unit, const type_descriptor& found,
                                      const type_descriptor& part) const {
    if (!starts_with(found, part)) return false;
    if (!part.is_tagged) return true;
    const type_descriptor* const named = find_tagged(load_word(arena_ + unit * 8));
    return named != nullptr && derives_from(*named, part) && starts_with(found, *named);
  }
  // Returns the type that the header names. Only for headers as they were sent: below next_ there are addresses, which
  // an error message must not show.
  const type_descriptor& dynamic_type(std::uint64_t unit, const type_descriptor& declared, std::uint64_t offset) {
    if (unit < next_) reject("a pointer to {} holds offset {:#x}, where no object starts", declared.name, offset);
    if (unit >= end_) reject("offset {:#x} lies beyond the {} bytes of the image", offset, end_ * 8);
    const std::uint64_t tag = load_word(arena_ + unit * 8);
    const type_descriptor* const type = find_tagged(tag);
    if (type == nullptr || !derives_from(*type, declared))
      reject("tag {:#x} at offset {:#x} names no type that derives from {}", tag, offset, declared.name);
    if (tagged_.empty() || tagged_.back() != type) expect_listed(*type);
    return *type;
  }
  void expect_listed(const type_descriptor& type) {
    if (std::find(tagged_.begin(), tagged_.end(), &type) != tagged_.end()) return;
    const std::size_t at = tagged_.size() * tagged_bytes;
    if (at == tagged_list_.size() || load_word(tagged_list_.data() + at) != type.tag)
      reject("it has objects of {}, which it does not list there among its tagged types", type.name);
    if (load_word(tagged_list_.data() + at + 8) != closure_fingerprint(type))
      reject("{} is laid out differently here: sender and receiver are built from different sources", type.name);
    tagged_.push_back(&type);
  }
  void expect_next(std::uint64_t unit, const type_descriptor& type, std::uint64_t offset) const {
    if (unit != align_units(next_, type.alignment_units))
      reject("a pointer to {} holds offset {:#x}, where no object starts; a new one would start at {:#x}", type.name,
             offset, align_units(next_, type.alignment_units) * 8);
  }
  void begin(std::uint64_t unit, const type_descriptor& type, std::uint64_t units) {
    if (units > end_ || unit > end_ - units)
      reject("a {} of {} bytes at offset {:#x} reaches beyond the {} bytes of the image", type.name, units * 8,
             unit * 8, end_ * 8);
    if (type.alignment_units > alignment_units_)
      reject("a {} is aligned to {} bytes, the message to {} only", type.name, type.alignment, alignment_units_ * 8);
    types_[unit] = type.index;
    next_ = unit + units;
    ++objects_;
  }

  // Returns whether objects of the type can be fixed by looking only at their pointers.
  [[nodiscard]] static bool has_only_pointers(const type_descriptor& type) noexcept {
    return type.others.empty() && type.headers.empty() && type.bools.empty() &&
           std::none_of(type.pointers.begin(), type.pointers.end(), [](const simple_pointer& each) {
             return each.target->is_tagged || each.target->alignment_units != 1;
           });
  }
  // Fixes a run of objects of one such type, from scan_ on.
  void fix_run(const type_descriptor& type) {
    const std::vector<simple_pointer>& pointers = type.pointers;
    const bool have_one_target = std::all_of(pointers.begin(), pointers.end(), [&](const simple_pointer& each) {
      return each.target == pointers[0].target;
    });
    switch (have_one_target ? pointers.size() : 0) {
      case 1: return fix_run_of<1>(type, type.units);
      case 2: return fix_run_of<2>(type, type.units);
      case 3: return fix_run_of<3>(type, type.units);
      case 4: return fix_run_of<4>(type, type.units);
      default: return fix_run_of<0>(type, type.units);
    }
  }
  // Does the work of reach(), with all changing state in registers. Pointers 0: any number, to several types.
  template <unsigned Pointers>
  void fix_run_of(const type_descriptor& type, const std::uint64_t stride) {
    struct field {
      std::uint64_t offset;
      std::uint64_t target_units;
      std::uint64_t target_index;
    };
    std::array<field, std::max(Pointers, 1U)> known;
    const auto field_of = [](const simple_pointer& pointer) {
      return field{pointer.offset, pointer.target->units, pointer.target->index};
    };
    for (unsigned i = 0; i < Pointers; ++i) known[i] = field_of(type.pointers[i]);
    const simple_pointer* const pointers = type.pointers.data();
    const std::size_t count = Pointers != 0 ? Pointers : type.pointers.size();
    // Local copies: for all that the compiler knows, a store through a pointer to bytes might change a member.
    std::byte* const arena = arena_;
    std::uint16_t* const types = types_;
    const std::uint64_t end = end_;
    const std::uint16_t index = type.index;
    const auto base = reinterpret_cast<std::uintptr_t>(arena);
    std::uint64_t scan = scan_;
    std::uint64_t next = next_;
    std::uint64_t objects = objects_;
    do {
      std::byte* const object = arena + scan * 8;
      for (std::size_t i = 0; i < count; ++i) {
        const field to = Pointers != 0 ? field{known[i].offset, known[0].target_units, known[0].target_index}
                                       : field_of(pointers[i]);
        const std::uint64_t offset = load_word(object + to.offset);
        if (offset == 0) continue;
        const std::uint64_t unit = std::rotr(offset, 3);  // beyond every unit if it is not a multiple of 8
        if (unit == next && to.target_units <= end - next) {
          types[unit] = static_cast<std::uint16_t>(to.target_index);
          next += to.target_units;
          ++objects;
        } else if (unit >= next || types[unit] != to.target_index) [[unlikely]] {
          next_ = next;
          (void)reach(offset, *pointers[i].target);  // a first part, or invalid; no new object starts there
          next = next_;
        }
        store_word(object + to.offset, base + offset);
      }
      scan += stride;
    } while (scan < next && types[scan] == index);
    scan_ = scan;
    next_ = next;
    objects_ = objects;
  }

  [[nodiscard]] std::uint64_t address(std::uint64_t unit) const noexcept {
    return unit == 0 ? 0 : reinterpret_cast<std::uintptr_t>(arena_) + unit * 8;
  }

  void fix_object(std::byte* object, const type_descriptor& type) {
    for (const simple_pointer& each : type.pointers)
      store_word(object + each.offset, address(reach(load_word(object + each.offset), *each.target)));
    if (!type.others.empty()) fix(object, type, type.others);
    if (!type.headers.empty()) check_headers(object, type, type.headers);
    if (!type.bools.empty()) check_bools(object, type, type.bools);
  }
  void check_bools(const std::byte* object, const type_descriptor& owner, const std::vector<bool_run>& bools) const {
    for (const bool_run& each : bools) {
      const std::byte* const begin = object + each.offset;
      const std::byte* const wrong =
          std::find_if(begin, begin + each.count, [](std::byte value) { return value > std::byte{1}; });
      if (wrong != begin + each.count)
        reject("a bool of a {} at offset {:#x} is {}", owner.name, static_cast<std::uint64_t>(wrong - arena_),
               static_cast<unsigned>(*wrong));
    }
  }
  // Checks the headers of objects within objects: if a header named a larger type, a cast would reach beyond the
  // object.
  void check_headers(const std::byte* object, const type_descriptor& owner,
                     const std::vector<part_header>& headers) const {
    for (const part_header& each : headers) check_header(object + each.offset, *each.type, owner);
  }
  void check_header(const std::byte* header, const type_descriptor& type, const type_descriptor& owner) const {
    const std::uint64_t tag = load_word(header);
    if (tag == type.tag || tag == 0) return;  // 0: constructed without situ::derived
    const type_descriptor* const named = find_tagged(tag);
    if (named == nullptr || !derives_from(type, *named))
      reject("tag {:#x} at offset {:#x} names no {}, which is there within a {}", tag,
             static_cast<std::uint64_t>(header - arena_), type.name, owner.name);
  }
  void fix(std::byte* object, const type_descriptor& type, const std::vector<op>& ops) {
    for (const op& each : ops) {
      std::byte* const part = object + each.offset;
      switch (each.kind) {
        case op_kind::pointer: store_word(part, address(reach(load_word(part), *each.target))); break;
        case op_kind::array: fix_array(part, each, type); break;
        case op_kind::transient: std::memset(part, 0, each.bytes); break;
        case op_kind::value: break;  // read at the end, from the bytes after the image
        case op_kind::choice: {
          const auto flag = static_cast<std::size_t>(*part);
          if (flag >= each.cases->alternatives.size())
            reject("an optional or variant of {} at offset {:#x} is in state {} of {}", type.name,
                   static_cast<std::uint64_t>(part - arena_), flag, each.cases->alternatives.size());
          fix(object, type, each.cases->alternatives[flag]);
          check_headers(object, type, each.cases->headers[flag]);
          check_bools(object, type, each.cases->bools[flag]);
          break;
        }
      }
    }
  }
  void fix_array(std::byte* descriptor, const op& each, const type_descriptor& owner) {
    const type_descriptor& block = *each.target;
    const std::uint64_t offset = load_word(descriptor);
    const std::uint64_t count = load_word(descriptor + 8);
    if (count == 0) {
      if (offset != 0) reject("an empty container of a {} has elements at offset {:#x}", owner.name, offset);
      store_word(descriptor + 16, 0);
      return;
    }
    if (count > (end_ * 8) / block.size)
      reject("a container of a {} has {} elements of {} bytes, more than the image of {} bytes can hold", owner.name,
             count, block.size, end_ * 8);
    const std::uint64_t stored = count + each.terminated;
    const std::uint64_t unit = offset / 8;
    if (offset % 8 != 0) reject("offset {:#x} is not a multiple of 8", offset);
    expect_next(unit, block, offset);
    begin(unit, block, (stored * block.size + 7) / 8);
    counts_.push_back(stored);
    if (each.terminated) std::memset(arena_ + offset + count * block.size, 0, block.size);
    store_word(descriptor, address(unit));
    store_word(descriptor + 16, array_descriptor::in_arena | stored * block.size);
  }
  void fix_block(std::byte* block, const type_descriptor& type, std::uint64_t count) {
    if (type.kind == object_kind::data_block) {
      if (!type.bools.empty())
        for (std::uint64_t i = 0; i < count; ++i) check_bools(block + i * type.size, type, type.bools);
    } else if (type.kind == object_kind::pointer_block) {
      for (std::uint64_t i = 0; i < count; ++i)
        store_word(block + i * 8, address(reach(load_word(block + i * 8), *type.element)));
    } else if (type.kind == object_kind::object_block) {
      for (std::uint64_t i = 0; i < count; ++i) fix_object(block + i * type.size, *type.element);
      if (type.element->is_tagged)
        for (std::uint64_t i = 0; i < count; ++i) check_header(block + i * type.size, *type.element, type);
      if (type.has_containers) {
        add_finalizer(type);
        finalizers_.push_back(count);
      }
      if (type.has_values) holders_.push_back({block, type.element, count});
    }
    scan_ += (count * type.size + 7) / 8;
  }
  void add_finalizer(const type_descriptor& type) {
    finalizers_.push_back(scan_ | std::uint64_t{type.index} << type_shift);
  }

  std::byte* const arena_;
  const std::uint64_t end_;
  const std::uint32_t alignment_units_;
  const std::span<const std::byte> tagged_list_;
  std::vector<const type_descriptor*> tagged_;
  std::uint16_t* const types_;
  std::uint64_t scan_ = first_unit;
  std::uint64_t next_ = first_unit;
  std::uint64_t objects_ = 0;
  std::vector<std::uint64_t> counts_;  // of the blocks met, in order
  std::size_t count_read_ = 0;
  std::vector<std::uint64_t> finalizers_;
  std::vector<value_holders> holders_;
};

message_head check_head(std::span<const std::byte> bytes, std::span<const graph_root> roots) {
  message_head head;
  if (bytes.size() < sizeof head) reject("{} bytes are no message: its head has {}", bytes.size(), sizeof head);
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != message_head::expected_magic)
    reject("it starts with {:#x}, not with {:#x}", head.magic, message_head::expected_magic);
  const bool has_values = head.version == message_head::with_values;
  if (!has_values && head.version != message_head::without_values)
    reject("version {}, where this program reads versions {} and {}", head.version, message_head::without_values,
           message_head::with_values);
  if (head.root_count != roots.size()) reject("{} roots, where {} are expected", head.root_count, roots.size());
  if (head.fingerprint != closure_fingerprint(roots))
    reject("its types are not those expected here ({}{}): sender and receiver are built from different sources",
           roots.empty() ? "none" : roots[0].type->name, roots.size() > 1 ? ", ..." : "");
  const std::size_t rest = bytes.size() - sizeof head;
  const std::uint64_t lists =
      std::uint64_t{head.root_count} * root_bytes + std::uint64_t{head.tagged_count} * tagged_bytes;
  if (head.alignment < 16 || head.alignment > most_alignment || (head.alignment & (head.alignment - 1)) != 0)
    reject("an alignment of {}", head.alignment);
  if (lists > rest || head.image_bytes > rest - lists || (!has_values && head.image_bytes != rest - lists) ||
      head.image_bytes % 8 != 0)
    reject("{} bytes hold no head, {} roots, {} tagged types and an image of {}", bytes.size(), head.root_count,
           head.tagged_count, head.image_bytes);
  if (head.objects > head.image_bytes / 8) reject("{} objects in an image of {} bytes", head.objects, head.image_bytes);
  if (head.image_bytes / 8 > side_table::most_values)
    reject("an image of {} bytes is larger than a graph can be", head.image_bytes);
  return head;
}

void set_finalizers(arena& a, const std::vector<std::uint64_t>& words) {
  if (words.empty()) return;
  const store list = allocate_bytes_anywhere((words.size() + 1) * sizeof(std::uint64_t), alignof(std::uint64_t));
  a.finalizers = reinterpret_cast<std::uint64_t*>(list.bytes);
  std::copy(words.begin(), words.end(), a.finalizers);
  a.finalizers[words.size()] = 0;
}

}  // namespace

std::uint64_t message_bytes(const graph_plan& plan, std::size_t roots) noexcept {
  return sizeof(message_head) + roots * root_bytes + plan.tagged_types().size() * tagged_bytes + plan.size().bytes +
         plan.value_bytes();
}

void write_message(const graph_plan& plan, std::span<const graph_root> roots, std::byte* to) {
  if (plan.alignment_bytes() > most_alignment)
    throw_error(
        errc::bad_argument,
        fmt::format("an object aligned to {} bytes cannot be sent as a message: {} at most, or by another transfer",
                    plan.alignment_bytes(), most_alignment));
  const message_head head{.version = plan.has_values() ? message_head::with_values : message_head::without_values,
                          .root_count = static_cast<std::uint16_t>(roots.size()),
                          .image_bytes = plan.size().bytes,
                          .objects = plan.size().objects,
                          .fingerprint = closure_fingerprint(roots),
                          .tagged_count = static_cast<std::uint32_t>(plan.tagged_types().size()),
                          .alignment = plan.alignment_bytes()};
  std::memcpy(to, &head, sizeof head);
  to += sizeof head;
  for (std::size_t i = 0; i < roots.size(); ++i, to += root_bytes) store_word(to, std::uint64_t{plan.root(i)} * 8);
  for (const type_descriptor* type : plan.tagged_types()) {
    store_word(to, type->tag);
    store_word(to + 8, closure_fingerprint(*type));
    to += tagged_bytes;
  }
  front_of(to, plan.size().bytes).prepare(plan.size().bytes);
  plan.write_image(to - sizeof(arena));
  if (!plan.has_values()) return;
  wire_writer writer{to + plan.size().bytes};
  plan.write_values(writer);
}

arena_reference read_message(std::span<const std::byte> bytes, std::span<graph_root> roots) {
  const message_head head = check_head(bytes, roots);
  const std::byte* const offsets = bytes.data() + sizeof head;
  const std::byte* const tagged = offsets + roots.size() * root_bytes;
  const std::byte* const image = tagged + std::uint64_t{head.tagged_count} * tagged_bytes;
  arena_reference made = make_arena(sizeof(arena) + head.image_bytes, head.alignment, head.objects, 0);
  auto* const memory = reinterpret_cast<std::byte*>(made.get());
  std::byte* const objects = memory + sizeof(arena);
  // The sender cannot change the copied bytes while they are checked.
  write_behind(front_of(objects, head.image_bytes), head.image_bytes,
               [&](std::size_t begin, std::size_t end) { std::memcpy(objects + begin, image + begin, end - begin); });
  image_reader reader{memory, first_unit + head.image_bytes / 8, head.alignment / 8, {tagged, image}};
  try {
    for (std::size_t i = 0; i < roots.size(); ++i)
      roots[i].object = reader.read_root(load_word(offsets + i * root_bytes), *roots[i].type);
    reader.read_all();
    if (reader.objects() != head.objects) reject("{} objects, where the head says {}", reader.objects(), head.objects);
    const bool has_values = !reader.value_holders_met().empty();
    if (has_values != (head.version == message_head::with_values))
      reject("version {}, where its objects have {}values", head.version, has_values ? "" : "no ");
    set_finalizers(*made.get(), reader.finalizers());
    if (has_values) {
      const std::span<const std::byte> values =
          bytes.subspan(static_cast<std::size_t>(image - bytes.data()) + head.image_bytes);
      without_finalizers(*made.get(),
                         [&] { construct_values(reader.value_holders_met(), {values.data(), values.size()}); });
    }
  } catch (...) {
    for (graph_root& root : roots) root.object = nullptr;  // its memory is freed with the arena
    throw;
  }
  return made;
}

}  // namespace situ::detail
