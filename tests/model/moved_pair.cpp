// moved_pair [ROUNDS]: moves a pair and two pointers from one place to another, as std::function's move constructor
// does. On a core with a width one of its blocks has fewer instructions for themselves than with an access.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

namespace {

struct held {
  long pair[2] = {};
  void* destroys = nullptr;
  void* calls = nullptr;
  held() = default;
  held(held&& from) noexcept : calls{from.calls} {
    if (from.destroys == nullptr) return;
    pair[0] = from.pair[0];
    pair[1] = from.pair[1];
    destroys = from.destroys;
    from.destroys = nullptr;
    from.calls = nullptr;
  }
};

[[gnu::noinline]] void move_to(held* to, held* from) { new (static_cast<void*>(to)) held(std::move(*from)); }

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  held from;
  from.pair[0] = argc;
  alignas(16) unsigned char to[sizeof(held)];
  for (int i = 0; i < rounds; ++i) {
    from.destroys = &from;
    move_to(reinterpret_cast<held*>(to), &from);
  }
  std::printf("%d\n", static_cast<int>(to[0]));
}
