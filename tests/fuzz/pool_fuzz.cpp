// Fuzz target over pool files: header, state, roots, log, map, slabs, and objects, which are read at other addresses by
// the descriptors of their types. Built by clang with libFuzzer, and by any compiler as part of pool_replay_test.
//
// A pool has a megabyte, nearly all of it zero, and each part has a check that no mutation would ever meet. So an input
// is not the pool: it says what is changed in one that is sound.
//
//   input := how repairs { change }
//   how      u8   1: open for writing; 2: its addresses are taken; 4: its writer left a transaction incomplete; 8: its
//                 objects have checks
//   repairs  u8   whose checks are made right afterwards: 1 header, 2 state, 4 roots, 8 log, 16 slabs
//   change := part u8, kind u8, at u16, value u64
//   part          where `at` counts words of 8 bytes from, modulo what it has; see part_of
//   kind          0 set; 1 xor; 2 an address of the pool; 3 sealed, as a number of 48 bits; 4 the file ends here
//
// What cannot be opened must be refused with bad_file, its path, and not a byte changed. What opens and has no damage
// must have none after a transaction and another opening. Whatever is read at other addresses must lie in an object.
// Where objects have checks, one that has changed, and whose check has not, is damage. Anything else aborts.
#include "fuzz/pool_fuzz.h"

#include "fuzz/pool_image.h"
#include "pool/format.h"
#include "pool/reachability.h"

#include <situ/base/error.h>
#include <situ/base/log.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>

namespace situ::test {
namespace {

using namespace detail;

enum how : std::uint8_t { for_writing = 1, addresses_taken = 2, cut = 4, checked = 8 };
enum repairs : std::uint8_t { header = 1, state = 2, roots = 4, log_entries = 8, slabs = 16 };
enum class change_kind : std::uint8_t { set, exclusive_or, address, sealed, ends_here, count };
struct change {
  std::uint8_t part;
  std::uint8_t kind;
  std::uint16_t at;
  std::uint64_t value;
};
constexpr std::size_t change_bytes = 12;

using image = std::vector<std::byte>;

[[noreturn]] void find(const std::string& what) {
  std::fprintf(stderr, "pool_fuzz: %s\n", what.c_str());
  std::abort();
}

template <class T>
T read_at(const image& from, std::uint64_t offset) {
  T value{};
  std::memcpy(&value, from.data() + offset, sizeof value);
  return value;
}
template <class T>
void write_at(image& to, std::uint64_t offset, const T& value) {
  if (offset <= to.size() && sizeof value <= to.size() - offset) std::memcpy(to.data() + offset, &value, sizeof value);
}

std::uint64_t salt_of(const image& of) {
  const auto head = read_at<pool_header>(of, 0);
  return add_to_check(head.identity[0], head.identity[1]);
}

// --- changes ---

struct stretch {
  std::uint64_t from;
  std::uint64_t words;
};
stretch part_of(std::uint8_t part, const image& of) {
  const std::uint64_t heap = of.size() - (std::uint64_t{1} << 20);
  switch (part % 10) {
    case 0: return {0, 64};                 // header
    case 1: return {pool_state_offset, 3};  // one copy of the state
    case 2: return {pool_state_offset + pool_state_distance, 3};
    case 3: return {pool_sequence_offset, 1};
    case 4: return {pool_roots_offset, 64};  // eight roots
    case 5: return {pool_log_offset, 128};
    case 6: return {pool_map_offset, 64};            // all entries
    case 7: return {heap, 24 + 2048};                // first slab: its head and blocks
    case 8: return {heap + chunk_bytes, 24 + 2048};  // second slab
    default: return {heap, (std::uint64_t{1} << 20) / 8};
  }
}

void apply(const change& each, image& to, std::size_t& length) {
  const stretch where = part_of(each.part, to);
  const std::uint64_t word = each.at % where.words;
  const std::uint64_t offset = where.from + word * 8;
  std::uint64_t value = each.value;
  switch (static_cast<change_kind>(each.kind % static_cast<unsigned>(change_kind::count))) {
    case change_kind::exclusive_or: value ^= read_at<std::uint64_t>(to, offset); break;
    case change_kind::address: value += read_at<pool_header>(to, 0).base + to.size() - (std::uint64_t{1} << 20); break;
    case change_kind::sealed: {
      const bool is_entry = offset >= pool_map_offset && offset < pool_map_offset + 64 * 8;
      value = seal(value & ((std::uint64_t{1} << 48) - 1), is_entry ? add_to_check(salt_of(to), word) : salt_of(to));
      break;
    }
    case change_kind::ends_here: length = std::min<std::size_t>(length, offset + value % 8); return;
    default: break;
  }
  write_at(to, offset, value);
}

// --- right checks ---

void repair_log(image& of) {
  const std::uint64_t salt = salt_of(of);
  const auto sequence = read_at<std::uint64_t>(of, pool_sequence_offset);
  std::uint64_t at = pool_log_offset;
  for (int entries = 0; entries < 64 && at + sizeof(log_entry) <= of.size(); ++entries) {
    auto entry = read_at<log_entry>(of, at);
    const bool is_undo = entry.kind == log_kind::undo;
    if (!is_undo && entry.kind != log_kind::link) return;
    const std::uint64_t room = of.size() - at - sizeof entry;
    if (is_undo && (entry.bytes > room || pad_to_word(entry.bytes) > room)) return;
    entry.check = entry.right_check(salt, sequence, of.data() + at + sizeof entry);
    write_at(of, at, entry);
    if (!is_undo && entry.offset >= of.size()) return;
    at = is_undo ? at + sizeof entry + pad_to_word(entry.bytes) : entry.offset;
  }
}

void repair(std::uint8_t what, image& of) {
  const std::uint64_t salt = salt_of(of);
  if ((what & repairs::state) != 0) {
    for (const std::uint64_t at : {pool_state_offset, pool_state_offset + pool_state_distance}) {
      auto copy = read_at<pool_state_record>(of, at);
      copy.check = copy.right_check(salt);
      write_at(of, at, copy);
    }
  }
  if ((what & repairs::roots) != 0) {
    for (std::uint32_t i = 0; i < pool_root_count; ++i) {
      const std::uint64_t at = pool_roots_offset + i * sizeof(pool_root_record);
      auto root = read_at<pool_root_record>(of, at);
      if (root.is_empty()) continue;
      root.check = root.right_check(salt);
      write_at(of, at, root);
    }
  }
  if ((what & repairs::slabs) != 0) {
    const std::uint64_t heap = of.size() - (std::uint64_t{1} << 20);
    for (std::uint32_t i = 0; i < 64; ++i) {
      run_entry entry;
      const auto word = read_at<std::uint64_t>(of, pool_map_offset + i * 8);
      if (word != 0 && run_entry::unpack(word, i, salt, entry) && entry.kind == run_kind::slab)
        write_at(of, heap + i * chunk_bytes, slab_header::right_check(salt, i, entry.size_class));
    }
  }
  if ((what & repairs::log_entries) != 0) repair_log(of);
  if ((what & repairs::header) != 0) {
    auto head = read_at<pool_header>(of, 0);
    head.check = check_of(0, &head, offsetof(pool_header, check));
    write_at(of, 0, head);
  }
}

// --- reading ---

// Follows what a root leads to, at other addresses than its own, where every pointer to an object is right or refused.
class walk {
 public:
  explicit walk(const pool& of) {
    of.for_each_block([&](void* at, std::size_t bytes) { blocks_.emplace(static_cast<std::byte*>(at), bytes); });
  }
  void leaf(const pool_leaf* at) {
    for (; is_new(at); at = at->next) sum_ += at->value;
  }
  void node(const pool_node* at) {
    std::vector<const pool_node*> left{at};
    while (!left.empty()) {
      const pool_node* const next = left.back();
      left.pop_back();
      if (!is_new(next)) continue;
      sum_ += next->number;
      leaf(next->leaf);
      if (next->perhaps.has_value()) leaf(*next->perhaps);
      left.insert(left.end(), std::begin(next->children), std::end(next->children));
    }
  }
  [[nodiscard]] std::uint64_t sum() const noexcept { return sum_; }

 private:
  // Whether it is an object that was not yet here. What leads to no object means nothing, and is not followed.
  template <class T>
  bool is_new(const T* object) {
    const auto* const at = reinterpret_cast<const std::byte*>(object);
    auto block = blocks_.upper_bound(const_cast<std::byte*>(at));
    if (block == blocks_.begin()) return false;
    --block;
    const auto within = static_cast<std::size_t>(at - block->first);
    if (within >= block->second) return false;
    if (reinterpret_cast<std::uintptr_t>(at) % alignof(T) != 0) find("a pointer was let through that is not aligned");
    if (sizeof(T) > block->second - within) find("a pointer was let through whose object ends behind its block");
    return seen_.insert(at).second;
  }

  std::map<std::byte*, std::size_t> blocks_;
  std::set<const std::byte*> seen_;
  std::uint64_t sum_ = 0;
};

void check_refusal(const error& refused, const std::string& path) {
  const bool is_known = refused.code() == errc::bad_file || refused.code() == errc::not_supported;
  if (!is_known) find(std::string{"refused with another error: "} + refused.what());
  if (std::string_view{refused.message()}.find(path) == std::string_view::npos)
    find(std::string{"refused without its path: "} + refused.what());
}

template <class Body>
bool is_done(const std::string& path, Body body) {
  try {
    body();
    return true;
  } catch (const error& refused) {
    if (refused.code() == errc::out_of_memory) return false;
    check_refusal(refused, path);
    return false;
  }
}

void read_objects(const pool& of, const std::string& path) {
  const bool is_moved = of.info().is_moved;
  is_done(path, [&] {
    const auto* const tree = of.root<pool_node>("tree");
    if (is_moved) walk{of}.node(tree);
  });
  is_done(path, [&] {
    const auto* const list = of.root<pool_leaf>("list");
    if (is_moved) walk{of}.leaf(list);
  });
}

// By offset, with where their checks lie.
std::map<std::uint64_t, block_table::block> objects_of(const pool& of, const image& bytes) {
  std::map<std::uint64_t, block_table::block> objects;
  const std::uint64_t heap = bytes.size() - (std::uint64_t{1} << 20);
  of.for_each_block([&](void* at, std::size_t length) {
    const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(at) - of.info().base;
    std::uint32_t first = static_cast<std::uint32_t>((offset - heap) / chunk_bytes);
    while (read_at<std::uint64_t>(bytes, pool_map_offset + first * 8) == 0) --first;
    run_entry entry;
    (void)run_entry::unpack(read_at<std::uint64_t>(bytes, pool_map_offset + first * 8), first, salt_of(bytes), entry);
    const std::uint64_t begin = heap + first * chunk_bytes;
    const std::uint64_t index = entry.kind == run_kind::slab ? (offset - begin - sizeof(slab_header)) / length : 0;
    objects[offset] = {0, offset, length, object_check_offset(begin + entry.chunks * chunk_bytes, index)};
  });
  return objects;
}

// before: the sound pool, whose objects these were; after: what was made of it, and found without damage.
void look_for_changes(const pool& of, const image& before, const image& after) {
  static const auto objects = [&] {
    pool_in_memory sound;
    sound.fill(before);
    return objects_of(pool::open(sound.path(), pool_access::read), before);
  }();
  if (after.size() != before.size() || salt_of(after) != salt_of(before)) return;
  of.for_each_block([&](void* at, std::size_t length) {
    const auto found = objects.find(reinterpret_cast<std::uintptr_t>(at) - of.info().base);
    if (found == objects.end() || found->second.bytes != length) return;
    const block_table::block& object = found->second;
    if (read_at<object_check>(before, object.check_offset) == read_at<object_check>(after, object.check_offset) &&
        std::memcmp(before.data() + object.offset, after.data() + object.offset, length) != 0)
      find("an object that has changed is not found by its check");
  });
}

void change_objects(pool& of, const std::string& path) {
  is_done(path, [&] {
    of.transact([&](transaction& t) {
      auto* const made = t.make<pool_leaf>(9u, nullptr);
      t.set_root("new", made);
      t.destroy(t.make_array<pool_node>(3));
      static_cast<std::byte*>(t.allocate(40000, 64))[39999] = std::byte{1};
    });
  });
}

std::optional<pool> open_or_refuse(const pool_in_memory& file, pool_access access, const image& holds) {
  try {
    return pool::open(file.path(), access);
  } catch (const error& refused) {
    check_refusal(refused, file.path());
    if (!file.holds(holds)) find("a pool that was refused has changed");
    return std::nullopt;
  }
}

}  // namespace

pool_fuzz_outcome open_pool_input(std::span<const std::byte> input) {
  static const image images[4] = {make_pool_image(false), make_pool_image(true), make_pool_image(false, true),
                                  make_pool_image(true, true)};
  static pool_in_memory file;
  if (input.size() < 2) return pool_fuzz_outcome::refused;
  const auto how_to = static_cast<std::uint8_t>(input[0]);
  const image& made = images[((how_to & how::cut) != 0 ? 1 : 0) + ((how_to & how::checked) != 0 ? 2 : 0)];
  image bytes = made;
  const std::uintptr_t base = read_at<pool_header>(bytes, 0).base;
  std::size_t length = bytes.size();
  for (std::size_t at = 2; at + change_bytes <= input.size(); at += change_bytes) {
    change next{static_cast<std::uint8_t>(input[at]), static_cast<std::uint8_t>(input[at + 1]), 0, 0};
    std::memcpy(&next.at, input.data() + at + 2, sizeof next.at);
    std::memcpy(&next.value, input.data() + at + 4, sizeof next.value);
    apply(next, bytes, length);
  }
  repair(static_cast<std::uint8_t>(input[1]), bytes);
  bytes.resize(length);
  file.fill(bytes);

  std::optional<taken_address> taken;
  if ((how_to & how::addresses_taken) != 0) taken.emplace(base);
  const pool_access access = (how_to & how::for_writing) != 0 ? pool_access::write : pool_access::read;
  std::optional<pool> opened = open_or_refuse(file, access, bytes);
  if (!opened.has_value()) return pool_fuzz_outcome::refused;
  const situ::pool_findings looked_at = opened->check();
  const bool is_sound = looked_at.damage.empty();
  if (is_sound && &made == &images[2] && looked_at.checked_blocks != 0) look_for_changes(*opened, made, bytes);
  read_objects(*opened, file.path());
  if (access == pool_access::read && !file.holds(bytes)) find("a reader has changed the file");
  if (access == pool_access::write) {
    change_objects(*opened, file.path());
    opened.reset();
    taken.reset();
    if (is_sound) {
      const pool again = pool::open(file.path(), pool_access::read);
      if (const auto damage = again.check().damage; !damage.empty())
        find("a sound pool is damaged after a transaction: " + damage.front());
    }
  }
  return is_sound ? pool_fuzz_outcome::sound : pool_fuzz_outcome::damaged;
}

std::vector<pool_seed> pool_seeds() {
  std::vector<pool_seed> seeds;
  const auto add = [&](const char* name, std::uint8_t how_to, std::uint8_t what, std::vector<change> changes,
                       pool_fuzz_outcome outcome) {
    std::vector<std::byte> input{std::byte{how_to}, std::byte{what}};
    for (const change& each : changes) {
      std::byte bytes[change_bytes]{std::byte{each.part}, std::byte{each.kind}};
      std::memcpy(bytes + 2, &each.at, sizeof each.at);
      std::memcpy(bytes + 4, &each.value, sizeof each.value);
      input.insert(input.end(), std::begin(bytes), std::end(bytes));
    }
    seeds.push_back({name, std::move(input), outcome});
  };
  using enum pool_fuzz_outcome;
  add("read", 0, 0, {}, sound);
  add("moved", addresses_taken, 0, {}, sound);
  add("written", for_writing, 0, {}, sound);
  add("recovered", for_writing | cut, 0, {}, sound);
  add("recovered-and-moved", addresses_taken | cut, 0, {}, sound);
  add("header", 0, repairs::header, {{0, 0, 4, 8}}, refused);     // another base
  add("state", 0, state, {{1, 0, 1, 63}, {2, 0, 1, 63}}, sound);  // a shorter heap
  add("root", addresses_taken, roots, {{4, 1, 4, 8}}, damaged);   // into the middle of an object
  add("log", for_writing | cut, log_entries, {{5, 0, 1, 0}}, refused);
  add("map", for_writing, 0, {{6, 3, 40, 2u << 16 | 2}}, sound);  // a large block that nobody has
  add("slab", for_writing, slabs, {{7, 0, 2, 0}}, damaged);       // blocks of roots are free
  add("pointer", addresses_taken, 0, {{7, 2, 25, 16384 + 195}}, sound);
  add("short", 0, 0, {{9, 4, 4000, 3}}, refused);
  add("checked", checked, 0, {}, sound);
  add("checked-and-moved", addresses_taken | checked, 0, {}, sound);
  add("checked-and-written", for_writing | checked, 0, {}, sound);
  add("checked-and-recovered", for_writing | cut | checked, 0, {}, sound);
  add("object", checked, 0, {{7, 1, 26, 1024}}, damaged);
  add("object-and-written", for_writing | checked, 0, {{8, 1, 30, 1}}, damaged);
  add("check", checked, 0, {{7, 1, 2047, 1}}, damaged);
  add("features", checked, header, {{0, 0, 9, 6}}, refused);
  // A map that is refused behind a log that is not: nothing may be brought back.
  add("recovered-and-refused", for_writing | cut, 0, {{6, 0, 50, 1234}}, refused);
  add("no-bytes-and-refused", for_writing, log_entries, {{5, 0, 2, 0}, {6, 0, 50, 1234}}, refused);
  return seeds;
}

}  // namespace situ::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto sink = situ::set_log_sink([](situ::log_level, std::string_view) {});
  situ::test::open_pool_input(std::as_bytes(std::span{data, size}));
  return 0;
}
