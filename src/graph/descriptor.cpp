#include <situ/base/error_code.h>
#include <situ/graph/describe.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <mutex>
#include <numeric>
#include <ostream>
#include <unordered_map>
#include <unordered_set>

namespace situ {
namespace detail {
namespace {

constexpr std::size_t most_types = 65535;

// The registry of types. Numbers are assigned under the lock; a thread that got a number from a descriptor reads
// type_table without it.
struct registry {
  std::recursive_mutex lock;
  std::vector<type_entry*> in_progress;  // entries being filled by the thread that holds the lock
  std::uint32_t depth = 0;
  std::uint32_t count = 0;
  std::unordered_map<std::uint64_t, const type_descriptor*> tagged;
};
registry& all_types() {
  static registry* const types = new registry;  // never destroyed: objects may outlive statics
  return *types;
}

std::uint64_t mix_fields(std::uint64_t hash, std::uint64_t value) noexcept {
  hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
  return hash * 0xbf58476d1ce4e5b9;
}

bool is_of_name(char each) noexcept { return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '_'; }

// Returns a name with its parts replaced as given. Only whole names match: "v1::" is not within "my_v1::".
std::string renamed(std::string_view text, type_renaming names) {
  std::string result;
  while (!text.empty()) {
    const bool is_within = !result.empty() && is_of_name(result.back());
    const auto found = std::find_if(names.begin(), names.end(), [&](const auto& each) {
      const std::string& from = each.first;
      return !from.empty() && text.starts_with(from) && !(is_within && is_of_name(from.front())) &&
             !(text.size() > from.size() && is_of_name(from.back()) && is_of_name(text[from.size()]));
    });
    if (found != names.end()) {
      result += found->second;
      text.remove_prefix(found->first.size());
    } else {
      result += text.front();
      text.remove_prefix(1);
    }
  }
  return result;
}
std::uint64_t hash_name(std::string_view name, std::uint64_t hash, type_renaming names) {
  return names.empty() ? hash_text(name, hash) : hash_text(renamed(name, names), hash);
}

std::uint64_t fingerprint_of(const std::vector<op>& ops, std::uint64_t hash, type_renaming names) {
  for (const op& each : ops) {
    hash = mix_fields(hash,
                      static_cast<std::uint64_t>(each.kind) << 40 | std::uint64_t{each.terminated} << 39 | each.offset);
    hash = mix_fields(hash, each.bytes);
    if (each.target != nullptr) hash = hash_name(each.target->name, hash, names);
    if (each.value != nullptr) hash = hash_name(each.value->type, hash, names);
    if (each.cases == nullptr) continue;
    hash = mix_fields(hash, each.cases->flag_offset);
    for (const auto& alternative : each.cases->alternatives)
      hash = fingerprint_of(alternative, mix_fields(hash, alternative.size()), names);
  }
  return hash;
}

std::uint64_t fingerprint_of(const type_descriptor& type, type_renaming names) {
  std::uint64_t hash = hash_name(type.name, hash_text(""), names);
  hash = mix_fields(hash, std::uint64_t{type.size} << 32 | type.alignment);
  hash = mix_fields(hash, static_cast<std::uint64_t>(type.kind) << 1 | type.is_tagged);
  for (const simple_pointer& each : type.pointers)
    hash = hash_name(each.target->name, mix_fields(hash, each.offset), names);
  hash = fingerprint_of(type.others, hash, names);
  for (const field_description& field : type.fields)
    hash = mix_fields(hash_name(field.type, hash_text(field.name, hash), names),
                      std::uint64_t{field.offset} << 32 | field.bytes);
  return hash;
}

// Returns the parts of [begin, end) that the runs leave out. Sorts the runs.
std::vector<gap> gaps_between(std::vector<value_run>& runs, std::uint32_t begin, std::uint32_t end) {
  std::sort(runs.begin(), runs.end(), [](const value_run& a, const value_run& b) { return a.offset < b.offset; });
  std::vector<gap> gaps;
  for (const value_run& each : runs) {
    if (each.offset > begin) gaps.push_back({begin, each.offset - begin, 0});
    if (each.bits != 0xff) gaps.push_back(each);
    begin = std::max(begin, each.offset + each.bytes);
  }
  if (begin < end) gaps.push_back({begin, end - begin, 0});
  return gaps;
}

// Returns `times` copies of gaps, `distance` bytes apart, as gaps of words.
std::vector<word_gap> by_words(const std::vector<gap>& gaps, std::uint64_t distance, std::uint64_t times) {
  std::vector<word_gap> words;
  const auto keep = [&](std::uint64_t byte, std::uint8_t bits) {
    const auto offset = static_cast<std::uint32_t>(byte & ~std::uint64_t{7});
    if (words.empty() || words.back().offset != offset) words.push_back({offset, 1, ~std::uint64_t{0}});
    words.back().kept &= ~(static_cast<std::uint64_t>(static_cast<std::uint8_t>(~bits)) << byte % 8 * 8);
  };
  for (std::uint64_t i = 0; i < times; ++i)
    for (const gap& each : gaps)
      for (std::uint64_t byte = 0; byte < each.bytes; ++byte) keep(i * distance + each.offset + byte, each.bits);
  std::size_t kept = 0;  // merges adjacent words of which no bit is kept
  for (const word_gap& each : words) {
    if (kept != 0 && each.kept == 0 && words[kept - 1].kept == 0 &&
        words[kept - 1].offset + words[kept - 1].words * 8 == each.offset) {
      ++words[kept - 1].words;
    } else {
      words[kept++] = each;
    }
  }
  words.resize(kept);
  return words;
}

void find_gaps_of_choices(std::vector<op>& ops) {
  for (op& each : ops) {
    if (each.kind != op_kind::choice) continue;
    choice& cases = *each.cases;
    for (std::size_t i = 0; i < cases.alternatives.size(); ++i) {
      cases.values[i].push_back({cases.flag_offset, 1});
      cases.gaps.push_back(gaps_between(cases.values[i], cases.offset, cases.offset + cases.bytes));
      find_gaps_of_choices(cases.alternatives[i]);
    }
  }
}

// Sets the gaps of a type. Those of a block of objects are its element's, whose values are complete already.
void find_gaps(type_descriptor& type) {
  find_gaps_of_choices(type.others);
  const type_descriptor& element = type.kind == object_kind::object_block ? *type.element : type;
  type.has_choices = std::any_of(element.others.begin(), element.others.end(),
                                 [](const op& each) { return each.kind == op_kind::choice; });
  if (type.kind == object_kind::pointer_block) return;
  const std::uint64_t distance = type.kind == object_kind::object ? std::uint64_t{type.units} * 8 : type.size;
  type.gap_period = std::lcm(distance, std::uint64_t{8});
  std::vector<value_run> values = element.values;
  type.gaps = by_words(gaps_between(values, 0, type.size), distance, type.gap_period / distance);
  type.has_gaps = !type.gaps.empty() || type.has_choices;
}

void finish(registry& types, type_entry& entry) {
  type_descriptor& type = entry.type;
  if (type.kind == object_kind::object_block) {
    type.has_containers = type.element->has_containers;
    type.has_values = type.element->has_values;
  }
  find_gaps(type);
  std::sort(type.pointers.begin(), type.pointers.end(),
            [](const simple_pointer& a, const simple_pointer& b) { return a.offset < b.offset; });
  type.fingerprint = fingerprint_of(type, {});
  if (type.is_tagged) types.tagged.emplace(type.tag, &type);
}

void gather_targets(const std::vector<op>& ops, std::vector<const type_descriptor*>& found) {
  for (const op& each : ops) {
    if (each.target != nullptr) found.push_back(each.target);
    if (each.cases != nullptr)
      for (const auto& alternative : each.cases->alternatives) gather_targets(alternative, found);
  }
}

// Returns the type and all types that its declared pointers reach, in the order of a walk.
std::vector<const type_descriptor*> types_reached_from(const type_descriptor& type) {
  std::vector<const type_descriptor*> reached{&type};
  std::unordered_set<const type_descriptor*> seen{&type};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const type_descriptor& each = *reached[i];
    std::vector<const type_descriptor*> found;
    for (const simple_pointer& pointer : each.pointers) found.push_back(pointer.target);
    gather_targets(each.others, found);
    if (each.element != nullptr) found.push_back(each.element);
    for (const type_descriptor* target : found)
      if (seen.insert(target).second) reached.push_back(target);
  }
  return reached;
}

}  // namespace

constinit const type_descriptor* type_table[65536]{};

void make_known(type_entry& entry, const type_facts& facts, void (*fill)(type_descriptor&)) {
  registry& types = all_types();
  const std::lock_guard guard{types.lock};
  if (entry.is_begun) return;
  entry.is_begun = true;
  type_descriptor& type = entry.type;
  type.name = facts.name;
  type.tag = facts.tag;
  type.size = static_cast<std::uint32_t>(facts.size);
  type.alignment = static_cast<std::uint32_t>(facts.alignment);
  type.units = static_cast<std::uint32_t>((facts.size + 7) / 8);
  type.alignment_units = static_cast<std::uint32_t>((facts.alignment + 7) / 8);
  type.is_tagged = facts.is_tagged;
  if (types.count == most_types)
    throw_error(errc::bad_argument, fmt::format("more than {} types in object graphs", most_types));
  if (facts.size > 0xffff'fff0)
    throw_error(errc::bad_argument,
                fmt::format("an object of type {} has {} bytes: more than 4 GiB cannot travel as one object",
                            facts.name, facts.size));
  type.index = static_cast<std::uint16_t>(++types.count);
  type.mask.assign(type.units, 0);
  type_table[type.index] = &type;
  types.in_progress.push_back(&entry);
  ++types.depth;
  fill(type);
  if (--types.depth != 0) return;
  // All types that the outermost type asked for have their names now, so their fingerprints can be computed; only then
  // other threads may see them.
  for (type_entry* each : types.in_progress) finish(types, *each);
  for (type_entry* each : types.in_progress) {
    const std::vector<const type_descriptor*> reached = types_reached_from(each->type);
    each->type.reaches_values =
        std::any_of(reached.begin(), reached.end(), [](const type_descriptor* other) { return other->has_values; });
  }
  for (type_entry* each : types.in_progress) each->is_ready.store(true, std::memory_order_release);
  types.in_progress.clear();
}

const type_descriptor* find_tagged(std::uint64_t tag) noexcept {
  // A cache of a few types, so that the lock is rarely taken; descriptors are never removed.
  thread_local struct {
    std::uint64_t tag;
    const type_descriptor* type;
  } recent[16]{};
  auto& slot = recent[(tag ^ tag >> 32) % 16];
  if (slot.type != nullptr && slot.tag == tag) return slot.type;
  registry& types = all_types();
  const std::lock_guard guard{types.lock};
  const auto found = types.tagged.find(tag);
  if (found == types.tagged.end()) return nullptr;
  slot = {tag, found->second};
  return found->second;
}

bool derives_from(const type_descriptor& type, const type_descriptor& base) noexcept {
  return &type == &base || base.tag == name_hash<object>() ||
         std::find(type.bases.begin(), type.bases.end(), &base) != type.bases.end();
}

bool starts_with(const type_descriptor& type, const type_descriptor& part) noexcept {
  return std::any_of(type.first_parts.begin(), type.first_parts.end(), [&](const type_descriptor* first) {
    return derives_from(*first, part) || starts_with(*first, part);
  });
}

bool is_instance(std::uint64_t tag, const type_descriptor& of) noexcept {
  const type_descriptor* const type = find_tagged(tag);
  return type != nullptr && derives_from(*type, of);
}

std::uint64_t deep_fingerprint(const type_descriptor& type) {
  std::uint64_t hash = 0;
  for (const type_descriptor* each : types_reached_from(type)) hash = mix_fields(hash, each->fingerprint);
  return hash;
}

std::uint64_t deep_fingerprint(const type_descriptor& type, type_renaming names) {
  if (names.empty()) return deep_fingerprint(type);
  std::uint64_t hash = 0;
  for (const type_descriptor* each : types_reached_from(type)) hash = mix_fields(hash, fingerprint_of(*each, names));
  return hash;
}

// --- layout_builder ---

void layout_builder::pointer(std::size_t offset, const type_descriptor& target) {
  value(offset, 8);
  into_.mask[offset / 8] = 1;
  const auto at = static_cast<std::uint32_t>(offset);
  if (&ops_ == &into_.others) {
    into_.pointers.push_back({at, &target});
  } else {
    ops_.push_back({.kind = op_kind::pointer, .offset = at, .target = &target});
  }
}

void layout_builder::array(std::size_t offset, const type_descriptor& block, bool terminated, bool in_pool) {
  value(offset, 24);
  into_.mask[offset / 8] = 3;
  into_.mask[offset / 8 + 1] = block.kind == object_kind::data_block ? 0 : 1;
  into_.has_containers = true;
  ops_.push_back({.kind = op_kind::array,
                  .terminated = terminated,
                  .in_pool = in_pool,
                  .offset = static_cast<std::uint32_t>(offset),
                  .target = &block});
}

void layout_builder::transient(std::size_t offset, std::size_t bytes) {
  value(offset, bytes);  // zero in every copy, so a message need not clear it
  for (std::size_t word = offset / 8; word < (offset + bytes + 7) / 8; ++word) into_.mask[word] = 2;
  ops_.push_back({.kind = op_kind::transient,
                  .offset = static_cast<std::uint32_t>(offset),
                  .bytes = static_cast<std::uint32_t>(bytes)});
}

// Adds a value. Its bytes do not count as values: a message has zeroes in their place.
void layout_builder::copied_value(std::size_t offset, const value_functions& functions) {
  into_.has_containers = into_.has_values = true;
  ops_.push_back({.kind = op_kind::value, .offset = static_cast<std::uint32_t>(offset), .value = &functions});
}

void layout_builder::boolean(std::size_t offset) {
  if (bools_.empty() || bools_.back().offset + bools_.back().count != offset)
    bools_.push_back({static_cast<std::uint32_t>(offset), 0});
  ++bools_.back().count;
}

void layout_builder::value(std::size_t offset, std::size_t bytes, std::uint8_t bits) {
  const auto at = static_cast<std::uint32_t>(offset);
  const auto count = static_cast<std::uint32_t>(bytes);
  if (!values_.empty() && values_.back().offset + values_.back().bytes == at && values_.back().bits == bits) {
    values_.back().bytes += count;
  } else {
    values_.push_back({at, count, bits});
  }
}

void layout_builder::value_bits(std::size_t offset, const std::vector<std::byte>& bits) {
  for (std::size_t i = 0; i < bits.size(); ++i)
    if (bits[i] != std::byte{0}) value(offset + i, 1, static_cast<std::uint8_t>(bits[i]));
}

detail::choice& layout_builder::choice(std::size_t offset, std::size_t bytes, std::size_t flag_offset,
                                       std::size_t alternatives) {
  value(offset, bytes);
  // never freed, like the descriptor
  auto* const cases = new detail::choice{.flag_offset = static_cast<std::uint32_t>(flag_offset),
                                         .offset = static_cast<std::uint32_t>(offset),
                                         .bytes = static_cast<std::uint32_t>(bytes),
                                         .values = std::vector<std::vector<value_run>>(alternatives),
                                         .gaps = {},
                                         .alternatives = std::vector<std::vector<op>>(alternatives),
                                         .headers = std::vector<std::vector<part_header>>(alternatives),
                                         .bools = std::vector<std::vector<bool_run>>(alternatives)};
  ops_.push_back({.kind = op_kind::choice, .offset = static_cast<std::uint32_t>(flag_offset), .cases = cases});
  return *cases;
}

void layout_builder::field(std::string name, std::string_view type, std::size_t offset, std::size_t bytes) {
  into_.fields.push_back(
      {std::move(name), std::string{type}, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes)});
}

void layout_builder::base(const type_descriptor& base) {
  into_.bases.push_back(&base);
  into_.bases.insert(into_.bases.end(), base.bases.begin(), base.bases.end());
}

std::size_t find_flag(std::string_view type, const std::vector<std::vector<std::byte>>& images,
                      std::size_t payload_bytes) {
  for (std::size_t at = payload_bytes; at < images[0].size(); ++at) {
    bool tells = true;
    for (std::size_t i = 0; i < images.size(); ++i) tells &= images[i][at] == static_cast<std::byte>(i);
    if (tells) return at;
  }
  throw_error(
      errc::bad_argument,
      fmt::format(
          "{} has no byte behind its value that tells its alternatives apart: such a type cannot travel in a graph",
          type));
}

std::string take_name(std::string_view& names) {
  const std::size_t end = names.find(',');
  std::string_view name = names.substr(0, end);
  names.remove_prefix(end == std::string_view::npos ? names.size() : end + 1);
  while (name.starts_with(' ')) name.remove_prefix(1);
  while (name.ends_with(' ')) name.remove_suffix(1);
  return std::string{name};
}

// "... [with auto Value = (& nowhere<T>.field_holder<T>::value.T::NAME); ..."
std::string name_in_address(std::string_view text) {
  const std::size_t end = text.find(')', text.find("Value = ("));
  const std::size_t last = text.substr(0, text.rfind("; std::string_view")).rfind(')');
  const std::string_view upto = text.substr(0, last == std::string_view::npos ? end : last);
  return std::string{upto.substr(upto.rfind("::") + 2)};
}

}  // namespace detail

// --- type_layout ---

namespace {
constexpr const char* mask_digits[] = {"00", "01", "10", "11"};

std::string mask_of(const std::vector<std::uint8_t>& mask, std::size_t first, std::size_t end) {
  std::string text;
  for (std::size_t word = first; word < std::min(end, mask.size()); ++word) {
    if (!text.empty()) text += ' ';
    text += mask_digits[mask[word]];
  }
  return text;
}
}  // namespace

std::string type_layout::mask() const { return mask_of(type_->mask, 0, type_->mask.size()); }

std::string type_layout::text() const {
  std::string text =
      fmt::format("{}: {} bytes, aligned to {}, mask {}\n", type_->name, type_->size, type_->alignment, mask());
  if (type_->fields.empty()) return text;
  std::size_t mask_width = 4;
  std::size_t name_width = 4;
  for (const auto& field : type_->fields) {
    mask_width =
        std::max(mask_width, mask_of(type_->mask, field.offset / 8, (field.offset + field.bytes + 7) / 8).size());
    name_width = std::max(name_width, field.name.size());
  }
  text += fmt::format("  offset  bytes  {:<{}}  {:<{}}  type\n", "mask", mask_width, "name", name_width);
  for (const auto& field : type_->fields) {
    text += fmt::format("  {:>6}  {:>5}  {:<{}}  {:<{}}  {}\n", field.offset, field.bytes,
                        mask_of(type_->mask, field.offset / 8, (field.offset + field.bytes + 7) / 8), mask_width,
                        field.name, name_width, field.type);
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const type_layout& layout) { return out << layout.text(); }

}  // namespace situ
