// The four families of graphs, and the unit's time for each.
#include <situ/base/error.h>
#include <situ/graph/clone.h>
#include <situ/graph/containers.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "model/graph_units/direct_memory.h"
#include "model/graph_units/graph_copy_unit.h"
#include "nemesys/figure8.h"
#include "nemesys/figure8_types.h"

namespace situ::studies::nemesys {
namespace {

template <std::size_t Words>
const detail::type_descriptor& payload_type() {
  return detail::descriptor_of<payload<Words>>();
}

// Types of 1 to 64 words, and of powers of two beyond.
template <std::size_t... Small>
const detail::type_descriptor* small_type(std::uint64_t words, std::index_sequence<Small...>) {
  const detail::type_descriptor* found = nullptr;
  ((words == Small + 1 ? void(found = &payload_type<Small + 1>()) : void()), ...);
  return found;
}

const detail::type_descriptor& type_of_words(std::uint64_t words) {
  if (const detail::type_descriptor* small = small_type(words, std::make_index_sequence<64>{})) return *small;
  switch (words) {
    case 128: return payload_type<128>();
    case 256: return payload_type<256>();
    case 512: return payload_type<512>();
    case 1024: return payload_type<1024>();
    case 2048: return payload_type<2048>();
    case 4096: return payload_type<4096>();
    default: break;
  }
  throw_error(errc::bad_argument, fmt::format("there is no object of {} words in figure 8", words));
}

}  // namespace

// Where the graphs and their copies lie. It grows, and its addresses are hashed from its start.
struct figure8::memory {
  std::vector<std::byte> graph, copy;
  memory_maker make_port;

  static std::byte* aligned(std::vector<std::byte>& bytes, std::uint64_t size) {
    constexpr std::uint64_t alignment = 64;
    if (bytes.size() < size + alignment) bytes.resize(size + alignment);
    const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
    return bytes.data() + (alignment - address % alignment) % alignment;
  }

  // Of one copy; of the median one where it hashes.
  double copy_time(const void* root, const detail::type_descriptor& type, std::uint64_t bytes, std::uint64_t objects,
                   model::map_kind map, std::uint64_t pointer_bytes) {
    std::vector<double> times;
    const std::uint64_t count = map == model::map_kind::hash ? matrices : 1;
    for (std::uint64_t i = 1; i <= count; ++i)
      times.push_back(time_with(root, type, bytes, objects, map, pointer_bytes, i));
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }
  double time_with(const void* root, const detail::type_descriptor& type, std::uint64_t bytes, std::uint64_t objects,
                   model::map_kind map, std::uint64_t pointer_bytes, std::uint64_t matrix) {
    const std::shared_ptr<model::unit_memory_port> port = make_port();
    model::graph_copy_unit unit{*port,
                                {.matrix = matrix, .memory_base = reinterpret_cast<std::uintptr_t>(aligned(graph, 0))},
                                {},
                                {.word_bytes = 4, .pointer_bytes = pointer_bytes}};
    const model::copy_result result = unit.copy({.root = root,
                                                 .type = &type,
                                                 .destination = aligned(copy, bytes),
                                                 .destination_bytes = bytes,
                                                 .objects = objects,
                                                 .map = map},
                                                0);
    if (result.objects != objects)
      throw_error(errc::bad_argument, fmt::format("a graph of {} objects became {}", objects, result.objects));
    return static_cast<double>(result.end) * 1e-6;
  }
};

figure8::figure8(const study_context& context, memory_maker make_memory)
    : context_{context}, memory_{std::make_unique<memory>()} {
  memory_->make_port = make_memory ? std::move(make_memory) : [] { return std::make_shared<model::direct_memory>(); };
}
figure8::~figure8() = default;

double figure8::single_object(std::uint64_t words, std::uint64_t pointer_bytes) {
  const std::uint64_t bytes = (words * 4 + 7) / 8 * 8;
  std::byte* const object = memory::aligned(memory_->graph, bytes);
  std::memset(object, 1, bytes);
  return memory_->copy_time(object, type_of_words(words), bytes, 1, model::map_kind::linear, pointer_bytes);
}

double figure8::primitive_array(std::uint64_t words, std::uint64_t pointer_bytes) {
  auto* const root = ::new (memory::aligned(memory_->graph, sizeof(array_holder))) array_holder{};
  root->words = situ::array<std::uint32_t>(words);
  const double time = memory_->copy_time(root, detail::descriptor_of<array_holder>(), 24 + (words * 4 + 7) / 8 * 8, 1,
                                         model::map_kind::linear, pointer_bytes);
  root->~array_holder();
  return time;
}

double figure8::linked_list(std::uint64_t elements, model::map_kind map, std::uint64_t pointer_bytes) {
  std::byte* const memory = memory::aligned(memory_->graph, elements * sizeof(element));
  auto* const all = reinterpret_cast<element*>(memory);
  for (std::uint64_t i = 0; i < elements; ++i)
    ::new (all + i) element{i + 1 < elements ? all + i + 1 : nullptr, i > 0 ? all + i - 1 : nullptr, 7};
  return memory_->copy_time(all, detail::descriptor_of<element>(), elements * sizeof(element), elements, map,
                            pointer_bytes);
}

double figure8::object_array(std::uint64_t elements, model::map_kind map, std::uint64_t pointer_bytes) {
  using object = payload<1>;
  std::byte* const memory = memory::aligned(memory_->graph, 64 + elements * 8);
  objects_holder root;
  root.objects = situ::array<object*>(elements);
  for (std::uint64_t i = 0; i < elements; ++i) root.objects[i] = ::new (memory + 64 + i * 8) object{};
  auto* const placed = ::new (memory) objects_holder{std::move(root)};  // at the same offset in each run
  const double time = memory_->copy_time(placed, detail::descriptor_of<objects_holder>(), 24 + elements * 16,
                                         elements + 1, map, pointer_bytes);
  placed->~objects_holder();
  return time;
}

}  // namespace situ::studies::nemesys
