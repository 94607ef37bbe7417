// The software lines of figure 8: Situ's own copy (situ::clone) of the four families of graphs, timed by the clock of
// the machine that it runs on. Built for modelled machines; the study runs it there.
//
//   situ model run --machine machines/nemesys-4x4.toml nemesys_software_copies 4096 65536 1024
//
// The arguments: the most words of an object, of an array, and the most elements. Lines of standard output: the
// family's letter in the figure, the size, microseconds of a copy after one that warms the caches.
#include <situ/graph/clone.h>
#include <situ/graph/containers.h>

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/print.h"
#include "nemesys/figure8_types.h"

namespace {

using namespace situ::studies::nemesys;

template <class T>
void time_copy(char family, std::uint64_t size, const T* root) {
  using clock = std::chrono::steady_clock;
  (void)situ::clone(root);
  const clock::time_point begin = clock::now();
  const auto copy = situ::clone(root);
  const std::chrono::duration<double, std::micro> time = clock::now() - begin;
  situ::detail::print_out("{} {} {:.3f}\n", family, size, time.count());
}

template <std::size_t Words>
void time_object(std::uint64_t most) {
  if (Words > most) return;
  const auto object = std::make_unique<payload<Words>>();
  time_copy('a', Words, object.get());
  if constexpr (Words < 4096) time_object<Words * 2>(most);
}

void time_array(std::uint64_t words) {
  array_holder root{situ::array<std::uint32_t>(words)};
  time_copy('b', words, &root);
}

void time_list(std::uint64_t elements) {
  std::vector<element> all(elements);
  for (std::uint64_t i = 0; i < elements; ++i)
    all[i] = {i + 1 < elements ? &all[i + 1] : nullptr, i > 0 ? &all[i - 1] : nullptr, 7};
  time_copy('c', elements, all.data());
}

void time_objects(std::uint64_t elements) {
  std::vector<payload<1>> all(elements);
  objects_holder root{situ::array<payload<1>*>(elements)};
  for (std::uint64_t i = 0; i < elements; ++i) root.objects[i] = &all[i];
  time_copy('d', elements, &root);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return situ::detail::tell("nemesys_software_copies: three sizes are missing\n"), 2;
  std::array<std::uint64_t, 3> most{};
  for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::strtoull(argv[i + 1], nullptr, 10);
  time_object<1>(most[0]);
  for (std::uint64_t words = 1; words <= most[1]; words *= 2) time_array(words);
  for (std::uint64_t elements = 1; elements <= most[2]; elements *= 2) time_list(elements);
  for (std::uint64_t elements = 1; elements <= most[2]; elements *= 2) time_objects(elements);
  return situ::detail::exit_code_after_output(0);
}
