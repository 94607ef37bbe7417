// examples/guide/pipeline.cpp with the foundation alone: an item is packed into bytes and unpacked at each stage, and
// the source polls a word for what has come out.
#include <situ/situ.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

struct item {
  std::uint64_t number = 0;
  std::string text;
  std::map<std::string, int> marks;  // of each stage that it has passed
};

void append(std::vector<char>& to, const void* from, std::size_t bytes) {
  to.insert(to.end(), static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
}
void append(std::vector<char>& to, const std::string& text) {
  const std::size_t size = text.size();
  append(to, &size, sizeof size);
  append(to, text.data(), size);
}
std::vector<char> packed(const item& it) {
  std::vector<char> bytes;
  append(bytes, &it.number, sizeof it.number);
  append(bytes, it.text);
  for (const auto& [stage, count] : it.marks) {
    append(bytes, stage);
    append(bytes, &count, sizeof count);
  }
  return bytes;
}

void take(const char*& at, void* to, std::size_t bytes) {
  std::memcpy(to, at, bytes);
  at += bytes;
}
std::string take_text(const char*& at) {
  std::size_t size = 0;
  take(at, &size, sizeof size);
  at += size;
  return {at - size, size};
}
item unpacked(const std::vector<char>& bytes) {
  item it;
  const char* at = bytes.data();
  take(at, &it.number, sizeof it.number);
  it.text = take_text(at);
  while (at != bytes.data() + bytes.size()) {
    const std::string stage = take_text(at);
    take(at, &it.marks[stage], sizeof(int));
  }
  return it;
}

constexpr std::uint64_t most_under_way = 64;

// At place 0: what has come out at the end.
thread_local std::uint64_t done = 0;
thread_local std::uint64_t letters = 0;

void pass(item it);

void take_over(const std::vector<char>& bytes) { pass(unpacked(bytes)); }

void pass(item it) {
  const std::uint32_t stage = situ::here().index();
  it.text += static_cast<char>('a' + stage % 26);
  ++it.marks["stage " + std::to_string(stage)];
  if (stage + 1 < situ::place_count()) {
    situ::async_at(situ::place{stage + 1}, &take_over, packed(it));
    return;
  }
  situ::async_at(
      situ::place{0},
      [](const std::vector<char>& bytes) {
        const item last = unpacked(bytes);
        letters += last.text.size() + last.marks.size();
        ++done;
      },
      packed(it));
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const std::uint64_t items = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10'000;
  if (situ::here().index() != 0) return 0;  // serves until all are done

  for (std::uint64_t i = 0; i < items; ++i) {
    while (i - done >= most_under_way) situ::progress();
    pass({i, "", {}});
  }
  while (done < items) situ::progress();
  std::printf("%lu items, %lu letters and marks: %s\n", static_cast<unsigned long>(items),
              static_cast<unsigned long>(letters),
              letters == items * 2 * situ::place_count() ? "as it should be" : "wrong");
}
