// Fuzz target over the decoder of object graphs. Built by clang with libFuzzer, and by any compiler as part of
// graph_message_replay_test.
//
// An input is one byte, which says what graph is expected and whether the head is to be repaired, then a message.
// Repairing puts right what no mutation would ever find: magic, version, fingerprints, lengths, the number of objects.
// What decodes must be a graph like any other, and what does not must be refused with bad_message, with no more memory
// than the format allows: anything else aborts.
#include "fuzz/graph_message_fuzz.h"

#include "graph/graph_message.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace situ::test {
namespace {

using detail::message_head;

struct list {
  list* next = nullptr;
  list* previous = nullptr;
  std::uint64_t value = 0;
};
struct tree {
  situ::vector<tree> children;
  situ::array<double> numbers;
};
struct figures {
  circle one;
  situ::vector<circle> many;
  std::optional<group> maybe;
  shape* other = nullptr;
};
struct texts {
  situ::vector<situ::string> lines;
  situ::array<texts*> more;
  situ::transient<texts*> cache;
  std::variant<std::uint64_t, texts*, situ::string, situ::vector<texts*>> either;
};

constexpr std::uint8_t keep_head = 0x80;
constexpr std::size_t kinds = 7;

// The types of the roots of each kind of input.
std::span<const detail::graph_root> roots_of(std::uint8_t kind) {
  using detail::descriptor_of;
  static const detail::graph_root several[] = {{nullptr, &descriptor_of<node>()},
                                               {nullptr, &descriptor_of<shape>()},
                                               {nullptr, &descriptor_of<small>()},
                                               {nullptr, &descriptor_of<node>()}};
  static const detail::graph_root single[] = {{nullptr, &descriptor_of<node>()},  {nullptr, &descriptor_of<list>()},
                                              {nullptr, &descriptor_of<tree>()},  {nullptr, &descriptor_of<figures>()},
                                              {nullptr, &descriptor_of<texts>()}, {nullptr, &descriptor_of<shape>()}};
  return kind == 6 ? std::span{several} : std::span{single}.subspan(kind, 1);
}

// What a message with these roots starts with here: the fingerprint depends on the compiler.
const message_head& right_head(std::uint8_t kind) {
  static const std::vector<message_head> heads = [] {
    std::vector<message_head> all;
    for (std::uint8_t i = 0; i < kinds; ++i) all.push_back(head_of(message_of(roots_of(i))));
    return all;
  }();
  return heads[kind];
}
struct tag_and_fingerprint {
  std::uint64_t tag;
  std::uint64_t fingerprint;
};
template <class T>
tag_and_fingerprint entry_of_tagged() {
  const T object;
  const message_bytes bytes = message_of(&object);
  return {word_at(bytes, sizeof(message_head) + 8), word_at(bytes, sizeof(message_head) + 16)};
}
const std::vector<tag_and_fingerprint>& known_tags() {
  static const std::vector<tag_and_fingerprint> known{entry_of_tagged<shape>(), entry_of_tagged<circle>(),
                                                      entry_of_tagged<group>()};
  return known;
}

// Puts right what can be put right without looking at the image.
void repair(message_bytes& bytes, std::uint8_t kind) {
  if (bytes.size() < sizeof(message_head)) return;
  message_head head = head_of(bytes);
  const message_head& right = right_head(kind);
  head.magic = right.magic;
  head.version = right.version;
  head.root_count = right.root_count;
  head.fingerprint = right.fingerprint;
  head.tagged_count %= known_tags().size() + 1;
  if (head.alignment < 16 || head.alignment > 4096 || (head.alignment & (head.alignment - 1)) != 0) head.alignment = 64;
  const std::size_t lists = std::size_t{head.root_count} * 8 + head.tagged_count * std::size_t{16};
  if (bytes.size() < sizeof head + lists) return;
  head.image_bytes = (bytes.size() - sizeof head - lists) / 8 * 8;
  head.objects = std::min(head.objects, head.image_bytes / 8);
  bytes.resize(sizeof head + lists + head.image_bytes);
  std::memcpy(bytes.data(), &head, sizeof head);
  for (std::size_t i = 0; i < head.tagged_count; ++i) {
    const std::size_t at = sizeof head + std::size_t{head.root_count} * 8 + i * 16;
    for (const tag_and_fingerprint& known : known_tags())
      if (known.tag == word_at(bytes, at)) set_word(bytes, at + 8, known.fingerprint);
  }
}

std::string read_several(std::span<const std::byte> bytes, std::string* reason) {
  const std::span<const detail::graph_root> types = roots_of(6);
  const message_bytes exact(bytes.begin(), bytes.end());
  std::vector<detail::graph_root> roots(types.begin(), types.end());
  detail::arena_reference memory;
  const allocation_peak taken;
  try {
    memory = detail::read_message(exact, roots);
    if (memory_of(taken, memory.get()) > most_memory_for(exact.size()))
      return "it takes " + std::to_string(taken.bytes()) + " bytes to read";
  } catch (const error& e) {
    if (taken.bytes() > most_memory_for(exact.size()))
      return "it takes " + std::to_string(taken.bytes()) + " bytes to refuse";
    *reason = e.what();
    for (const detail::graph_root& root : roots)
      if (root.object != nullptr) return "roots are set although it was refused";
    return e.code() == errc::bad_message ? "" : *reason;
  }
  reason->clear();
  return message_of(roots).size() == exact.size() ? "" : "it is sent on in another number of bytes";
}

std::string read_any(std::uint8_t kind, std::span<const std::byte> bytes, std::string* reason) {
  switch (kind) {
    case 0: return hostile_reading<node>(bytes, reason);
    case 1: return hostile_reading<list>(bytes, reason);
    case 2: return hostile_reading<tree>(bytes, reason);
    case 3: return hostile_reading<figures>(bytes, reason);
    case 4: return hostile_reading<texts>(bytes, reason);
    case 5: return hostile_reading<shape>(bytes, reason);
    default: return read_several(bytes, reason);
  }
}

void check(const std::string& finding) {
  if (finding.empty()) return;
  std::fprintf(stderr, "graph_message_fuzz: %s\n", finding.c_str());
  std::abort();
}

// One word of the message becomes something that often means something.
void change_word(std::vector<std::byte>& input, std::uint64_t random) {
  const std::size_t words = (input.size() - 1) / 8;
  if (words == 0) return;
  std::byte* const message = input.data() + 1;
  const std::size_t at = random % words * 8;
  random = random / words * 0x9e3779b97f4a7c15 >> 8;
  std::uint64_t word = 0;
  switch (random % 6) {
    case 0: break;
    case 1: word = random / 8 % 8; break;                                              // a count
    case 2: word = std::uint64_t{1} << random / 8 % 64; break;                         // a large one
    case 3: word = sizeof(detail::arena) + random / 8 % (words + 1) * 8; break;        // an offset
    case 4: std::memcpy(&word, message + random / 8 % words * 8, sizeof word); break;  // another word of it
    default: word = known_tags()[random / 8 % known_tags().size()].tag;
  }
  std::memcpy(message + at, &word, sizeof word);
}

}  // namespace

bool read_fuzz_input(std::span<const std::byte> input) {
  if (input.empty()) return false;
  const auto first = static_cast<std::uint8_t>(input[0]);
  const std::uint8_t kind = (first & ~keep_head) % kinds;
  message_bytes bytes(input.begin() + 1, input.end());
  std::string reason;
  if ((first & keep_head) == 0) repair(bytes, kind);
  check(read_any(kind, bytes, &reason));
  constexpr std::string_view before = "situ: bad message: object graph: ";
  if ((first & keep_head) != 0 || !reason.starts_with(before) ||
      reason.find("objects, where the head says") == std::string::npos)
    return reason.empty();
  set_word(bytes, offsetof(message_head, objects), std::strtoull(reason.c_str() + before.size(), nullptr, 10));
  check(read_any(kind, bytes, &reason));
  if (!reason.empty()) check("with its number of objects put right, it is refused still: " + reason);
  return true;
}

std::vector<fuzz_seed> fuzz_seeds() {
  std::vector<fuzz_seed> seeds;
  const auto add = [&](const char* name, std::uint8_t kind, const message_bytes& bytes) {
    std::vector<std::byte> input{static_cast<std::byte>(kind)};
    input.insert(input.end(), bytes.begin(), bytes.end());
    seeds.push_back({name, std::move(input)});
  };
  graph_maker maker{4};
  const node* const small_graph = maker.make(2);
  add("node", 0, message_of(small_graph));
  graph_maker other{9};
  add("nodes", 0, message_of(static_cast<const node*>(other.make(6))));
  add("null", 0, message_of(static_cast<const node*>(nullptr)));
  list third{nullptr, nullptr, 3}, second{&third, nullptr, 2}, first{&second, &third, 1};
  second.previous = third.previous = &first;
  add("list", 1, message_of(&first));
  tree root;
  root.children.resize(3);
  root.children[0].children.resize(2);
  root.children[2].numbers = {1, 2, 3};
  root.numbers = {4};
  add("tree", 2, message_of(&root));
  figures f;
  f.many.resize(2);
  f.maybe.emplace();
  f.other = &f.one;
  f.one.radius = 2;
  group all;
  circle round;
  round.neighbour = &all;
  all.members = {&round, &all, nullptr};
  f.other = &all;
  add("figures", 3, message_of(&f));
  texts t, u, v;
  t.lines = {situ::string{"one"}, situ::string{""}, situ::string{"three, and longer than a word"}};
  t.more = {&u, &t, &v};
  t.either = &u;
  u.either = situ::string{"text"};
  v.either = situ::vector<texts*>{&t, nullptr};
  add("texts", 4, message_of(&t));
  add("shape", 5, message_of(static_cast<const shape*>(&round)));
  small s{5, nullptr};
  const detail::graph_root several[] = {detail::root_of(small_graph),
                                        detail::root_of(static_cast<const shape*>(&round)), detail::root_of(&s),
                                        detail::root_of(static_cast<const node*>(small_graph->next[0]))};
  add("several", 6, message_of(std::span{several}));
  return seeds;
}

}  // namespace situ::test

extern "C" {

std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  situ::test::read_fuzz_input(std::as_bytes(std::span{data, size}));
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  const std::uint64_t random = (seed + 1) * 0x9e3779b97f4a7c15;
  if (size < 2 || seed % 3 == 0) return LLVMFuzzerMutate(data, size, most);
  const auto bytes = std::as_writable_bytes(std::span{data, size});
  std::vector<std::byte> input(bytes.begin(), bytes.end());
  if (seed % 16 == 1 && size + 8 <= most) input.resize(size + 8);
  if (seed % 16 == 2 && size > 16) input.resize(size - 8);
  for (std::uint64_t i = 0; i <= (random >> 60) % 3; ++i) situ::test::change_word(input, random * (2 * i + 1) >> 3);
  std::copy(input.begin(), input.end(), reinterpret_cast<std::byte*>(data));
  return input.size();
}

}  // extern "C"
