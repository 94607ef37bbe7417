#include "machine/acpi.h"
#include "os/descriptor.h"

#include <situ/base/error_code.h>
#include <situ/base/log.h>
#include <situ/machine/discover.h>

#include <fmt/format.h>
#include <hwloc.h>
#include <hwloc/distances.h>
#include <hwloc/memattrs.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace situ::machine {
namespace {

// hwloc's plugins belong to the whole process: threads load and start them for each other, and nothing orders the
// writes of their initializers. From the first topology to the last, one thread at a time is in hwloc.
std::mutex in_hwloc;

struct destroy_topology {
  void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
};
using topology_ptr = std::unique_ptr<hwloc_topology, destroy_topology>;

topology_ptr make_topology(const discovery_options& options) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw_error(errc::out_of_memory, "hwloc cannot start");
  topology_ptr topology{raw};
  // Linux itself lists its PCI devices; libpciaccess adds names only, and leaks. An X display is no device to compute
  // on.
  for (const char* component : {"pci", "gl"})
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_MEMCACHE, HWLOC_TYPE_FILTER_KEEP_ALL);  // by default left out
  hwloc_topology_set_io_types_filter(raw,
                                     options.devices ? HWLOC_TYPE_FILTER_KEEP_IMPORTANT : HWLOC_TYPE_FILTER_KEEP_NONE);
  return topology;
}

void load(hwloc_topology_t topology, errc code, std::string_view what) {
  const situ::detail::standard_streams_filled kept_off;  // hwloc keeps one open
  if (hwloc_topology_load(topology) != 0)
    throw_error(code, fmt::format("{}: hwloc cannot read it ({})", what, std::strerror(errno)));
}

// Firmware strings hold any bytes; TOML wants text.
std::string clean(const char* text) {
  std::string result = text != nullptr ? text : "";
  std::replace_if(result.begin(), result.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  while (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

std::string info(hwloc_obj_t object, const char* key) { return clean(hwloc_obj_get_info_by_name(object, key)); }

std::uint64_t info_number(hwloc_obj_t object, const char* key) {
  const std::string text = info(object, key);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? value : 0;
}

memory_technology technology_of(hwloc_obj_t object) {
  const std::string subtype = clean(object->subtype);
  if (subtype == "MCDRAM" || subtype == "HBM") return memory_technology::hbm;
  if (subtype == "GPUMemory") return memory_technology::gpu;
  if (subtype == "NVM") return memory_technology::persistent;
  if (subtype.starts_with("CXL")) return memory_technology::cxl;
  // Linux took this memory over from a DAX device: it is persistent, unless the firmware calls it specific-purpose.
  const std::string dax_type = info(object, "DAXType");
  if (dax_type == "NVM" || (dax_type.empty() && !info(object, "DAXDevice").empty()))
    return memory_technology::persistent;
  if (info(object, "DAXParent").find("cxl") != std::string::npos) return memory_technology::cxl;
  if (dax_type == "SPM") return memory_technology::hbm;
  return memory_technology::dram;
}

void read_cache(hwloc_obj_t object, node_facts& facts) {
  const auto& cache = object->attr->cache;
  facts.kind = node_kind::cache;
  facts.level = cache.depth;
  facts.cache = cache.type == HWLOC_OBJ_CACHE_DATA          ? cache_kind::data
                : cache.type == HWLOC_OBJ_CACHE_INSTRUCTION ? cache_kind::instruction
                                                            : cache_kind::unified;
  facts.bytes = cache.size;
  facts.line_bytes = cache.linesize;
  facts.ways = cache.associativity > 0 ? static_cast<std::uint32_t>(cache.associativity) : 0;  // -1: fully associative
}

node_facts facts_of(hwloc_obj_t object) {
  node_facts facts;
  facts.kind = node_kind::group;
  switch (object->type) {
    case HWLOC_OBJ_PACKAGE:
      facts.kind = node_kind::package;
      facts.os_index = object->os_index;
      facts.name = info(object, "CPUModel");
      break;
    case HWLOC_OBJ_DIE: facts.name = "die"; break;
    case HWLOC_OBJ_CORE:
      facts.kind = node_kind::core;
      facts.os_index = object->os_index;
      break;
    case HWLOC_OBJ_PU:
      facts.kind = node_kind::processing_unit;
      facts.os_index = object->os_index;
      break;
    case HWLOC_OBJ_NUMANODE:
      facts.kind = node_kind::memory;
      facts.memory = technology_of(object);
      facts.os_index = object->os_index;
      facts.bytes = object->attr->numanode.local_memory;
      facts.name = clean(object->subtype);
      break;
    case HWLOC_OBJ_MEMCACHE:
      read_cache(object, facts);
      facts.cache = cache_kind::memory_side;
      facts.level = 0;
      break;
    default:
      if (hwloc_obj_type_is_cache(object->type)) {
        read_cache(object, facts);
      } else {
        facts.name = clean(object->subtype);
      }
  }
  if (facts.os_index == HWLOC_UNKNOWN_INDEX) facts.os_index = no_index;
  return facts;
}

device_kind device_kind_of(hwloc_obj_t os_device) {
  switch (os_device->attr->osdev.type) {
    case HWLOC_OBJ_OSDEV_BLOCK: return device_kind::storage;
    case HWLOC_OBJ_OSDEV_GPU:
    case HWLOC_OBJ_OSDEV_COPROC: return device_kind::gpu;
    case HWLOC_OBJ_OSDEV_NETWORK:
    case HWLOC_OBJ_OSDEV_OPENFABRICS: return device_kind::network;
    default: return device_kind::other;
  }
}

// Returns a GPU's own memory, in bytes, from its vendor's plugin; 0 if it has no memory, or its size is unknown.
std::uint64_t device_memory(hwloc_obj_t os_device) {
  for (const char* key :
       {"CUDAGlobalMemorySize", "OpenCLGlobalMemorySize", "RSMIVRAMSize", "LevelZeroHBMSize"})  // all in KiB
    if (const std::uint64_t kib = info_number(os_device, key)) return kib << 10;
  return 0;
}

double figure_of(const path& of, firmware_figure::kind what) {
  switch (what) {
    case firmware_figure::kind::latency: return of.latency_ns;
    case firmware_figure::kind::read_latency: return of.read_latency_ns;
    case firmware_figure::kind::write_latency: return of.write_latency_ns;
    case firmware_figure::kind::bandwidth: return static_cast<double>(of.bandwidth);
    case firmware_figure::kind::read_bandwidth: return static_cast<double>(of.read_bandwidth);
    case firmware_figure::kind::write_bandwidth: return static_cast<double>(of.write_bandwidth);
  }
  return 0;
}

void set_figure(path& of, firmware_figure::kind what, double value) {
  switch (what) {
    case firmware_figure::kind::latency: of.latency_ns = value; break;
    case firmware_figure::kind::read_latency: of.read_latency_ns = value; break;
    case firmware_figure::kind::write_latency: of.write_latency_ns = value; break;
    case firmware_figure::kind::bandwidth: of.bandwidth = static_cast<std::uint64_t>(value); break;
    case firmware_figure::kind::read_bandwidth: of.read_bandwidth = static_cast<std::uint64_t>(value); break;
    case firmware_figure::kind::write_bandwidth: of.write_bandwidth = static_cast<std::uint64_t>(value); break;
  }
}

class converter {
 public:
  explicit converter(hwloc_topology_t topology)
      : topology_{topology}, builder_{info(hwloc_get_root_obj(topology), "HostName")} {}

  // `firmware`: figures of its tables that hwloc does not have; only for this machine.
  tree run(const std::vector<firmware_figure>& firmware = {}) {
    hwloc_obj_t root = hwloc_get_root_obj(topology_);
    ids_[root] = root_node;
    children(root, root_node);
    devices();
    attributes();
    if (agrees(firmware)) complete(firmware);
    distances();
    guess_stacked_memory();
    return std::move(builder_).build();
  }

 private:
  void children(hwloc_obj_t object, node_id id) {
    for (hwloc_obj_t child = object->memory_first_child; child != nullptr; child = child->next_sibling) add(child, id);
    for (hwloc_obj_t child = object->first_child; child != nullptr; child = child->next_sibling) add(child, id);
  }

  void add(hwloc_obj_t object, node_id parent) {
    const node_id id = builder_.add(parent, facts_of(object));
    ids_[object] = id;
    if (object->type == HWLOC_OBJ_NUMANODE) homes_[id] = hwloc_get_non_io_ancestor_obj(topology_, object->parent);
    children(object, id);
  }

  // One device for each PCI function that the system gave names, or for each name without one.
  void devices() {
    std::map<hwloc_obj_t, node_id> made;
    for (hwloc_obj_t os = hwloc_get_next_osdev(topology_, nullptr); os != nullptr;
         os = hwloc_get_next_osdev(topology_, os)) {
      hwloc_obj_t top = os;
      while (top->parent != nullptr &&
             (top->parent->type == HWLOC_OBJ_OS_DEVICE || top->parent->type == HWLOC_OBJ_PCI_DEVICE))
        top = top->parent;
      const auto home = ids_.find(hwloc_get_non_io_ancestor_obj(topology_, os));
      if (home == ids_.end()) continue;
      if (!made.contains(top)) {
        node_facts facts;
        facts.kind = node_kind::device;
        facts.device = device_kind_of(os);
        // hwloc gives the link's speed in GB/s; a virtual device has none.
        if (top->type == HWLOC_OBJ_PCI_DEVICE)
          facts.bandwidth = static_cast<std::uint64_t>(top->attr->pcidev.linkspeed * 1e9F);
        made[top] = builder_.add(home->second, facts);
      }
      node_facts& facts = builder_.facts(made[top]);
      if (facts.device == device_kind::other) facts.device = device_kind_of(os);
      facts.name += fmt::format("{}{}", facts.name.empty() ? "" : ", ", clean(os->name));
      if (const std::uint64_t bytes = device_memory(os); bytes > 0 && !with_memory_.contains(made[top])) {
        node_facts memory;
        memory.kind = node_kind::memory;
        memory.memory = memory_technology::gpu;
        memory.bytes = bytes;
        with_memory_[made[top]] = builder_.add(made[top], memory);
      }
    }
  }

  // Returns the smallest node whose processors include the set; the uppermost if several are alike.
  node_id covering(hwloc_const_cpuset_t set) const {
    hwloc_obj_t object = hwloc_get_obj_covering_cpuset(topology_, set);
    while (object != nullptr && object->parent != nullptr &&
           hwloc_bitmap_isequal(object->parent->cpuset, object->cpuset) != 0)
      object = object->parent;
    while (object != nullptr && !ids_.contains(object)) object = object->parent;
    return object != nullptr ? ids_.at(object) : root_node;
  }

  path& record(node_id from, node_id memory) {
    path& a = paths_[{from, memory}];
    a.from = from;
    a.memory = memory;
    return a;
  }

  template <class Set>
  void attribute(hwloc_memattr_id_t attribute, hwloc_obj_t target, Set set) {
    unsigned count = 0;
    if (hwloc_memattr_get_initiators(topology_, attribute, target, 0, &count, nullptr, nullptr) != 0 || count == 0)
      return;
    std::vector<hwloc_location> initiators(count);
    std::vector<hwloc_uint64_t> values(count);
    if (hwloc_memattr_get_initiators(topology_, attribute, target, 0, &count, initiators.data(), values.data()) != 0)
      return;
    for (unsigned i = 0; i < count; ++i) {
      const hwloc_location& where = initiators[i];
      if (where.type == HWLOC_LOCATION_TYPE_CPUSET) {
        set(record(covering(where.location.cpuset), ids_.at(target)), values[i]);
      } else if (const auto found = ids_.find(where.location.object);
                 found != ids_.end() && builder_.facts(found->second).kind != node_kind::memory) {
        set(record(found->second, ids_.at(target)), values[i]);
      }
    }
  }

  void attributes() {
    constexpr std::uint64_t mib = std::uint64_t{1} << 20;  // hwloc's unit for bandwidths is MiB/s, for latencies ns
    for (hwloc_obj_t memory = nullptr;
         (memory = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, memory)) != nullptr;) {
      attribute(HWLOC_MEMATTR_ID_BANDWIDTH, memory, [](path& a, std::uint64_t value) { a.bandwidth = value * mib; });
      attribute(HWLOC_MEMATTR_ID_READ_BANDWIDTH, memory,
                [](path& a, std::uint64_t value) { a.read_bandwidth = value * mib; });
      attribute(HWLOC_MEMATTR_ID_WRITE_BANDWIDTH, memory,
                [](path& a, std::uint64_t value) { a.write_bandwidth = value * mib; });
      attribute(HWLOC_MEMATTR_ID_LATENCY, memory,
                [](path& a, std::uint64_t value) { a.latency_ns = static_cast<double>(value); });
      attribute(HWLOC_MEMATTR_ID_READ_LATENCY, memory,
                [](path& a, std::uint64_t value) { a.read_latency_ns = static_cast<double>(value); });
      attribute(HWLOC_MEMATTR_ID_WRITE_LATENCY, memory,
                [](path& a, std::uint64_t value) { a.write_latency_ns = static_cast<double>(value); });
    }
  }

  // Returns the nodes of a figure; no_node if the initiator has no processors, or if one of them is not here.
  std::pair<node_id, node_id> pair_of(const firmware_figure& figure) {
    hwloc_obj_t from = hwloc_get_numanode_obj_by_os_index(topology_, figure.from);
    hwloc_obj_t to = hwloc_get_numanode_obj_by_os_index(topology_, figure.to);
    if (from == nullptr || to == nullptr || hwloc_bitmap_iszero(from->cpuset)) return {no_node, no_node};
    return {covering(from->cpuset), ids_.at(to)};
  }

  // Checks the figures that hwloc knows, too. If one differs, the table's nodes are not those that we take them for.
  bool agrees(const std::vector<firmware_figure>& firmware) {
    constexpr double tolerance = 0.1;  // hwloc counts bandwidths in other units
    for (const firmware_figure& figure : firmware) {
      const auto known = paths_.find(pair_of(figure));
      const double before = known == paths_.end() ? 0 : figure_of(known->second, figure.what);
      if (before == 0 || std::abs(before - figure.value) <= tolerance * figure.value) continue;
      log(log_level::warning,
          fmt::format("the firmware's table HMAT says {} of what node {} sees of node {}, the system {}; the table is "
                      "not used",
                      figure.value, figure.from, figure.to, before));
      return false;
    }
    return true;
  }

  void complete(const std::vector<firmware_figure>& firmware) {
    for (const firmware_figure& figure : firmware) {
      const auto [from, to] = pair_of(figure);
      if (from == no_node) continue;
      path& known = record(from, to);
      if (figure_of(known, figure.what) == 0) set_figure(known, figure.what, figure.value);
    }
  }

  // Reads the firmware's SLIT, from each part of the machine to each memory. If several nodes have the same
  // processors, the first counts: the firmware paired it with them, and Linux found the other memories next to it.
  void distances() {
    hwloc_distances_s* matrix = nullptr;
    unsigned count = 1;
    if (hwloc_distances_get_by_name(topology_, "NUMALatency", &count, &matrix, 0) != 0 || count == 0) return;
    const unsigned n = matrix->nbobjs;
    std::set<node_id> seen;
    for (unsigned i = 0; i < n; ++i) {
      hwloc_obj_t from = matrix->objs[i];
      if (from == nullptr || from->type != HWLOC_OBJ_NUMANODE || hwloc_bitmap_iszero(from->cpuset) ||
          !seen.insert(covering(from->cpuset)).second)
        continue;
      for (unsigned j = 0; j < n; ++j)
        if (const auto found = ids_.find(matrix->objs[j]);
            found != ids_.end() && builder_.facts(found->second).kind == node_kind::memory)
          record(covering(from->cpuset), found->second).distance =
              static_cast<std::uint32_t>(matrix->values[i * n + j]);
    }
    hwloc_distances_release(topology_, matrix);
  }

  // Firmware gives bandwidths but seldom a memory's kind. If two memories are local to the same processors and one has
  // twice the other's bandwidth, it is stacked memory: no mix of DRAM channels differs so much.
  void guess_stacked_memory() {
    std::map<std::pair<node_id, hwloc_obj_t>, std::uint64_t> slowest;  // by initiator and home
    for (const auto& [pair, a] : paths_) {
      if (builder_.facts(a.memory).memory != memory_technology::dram || a.best_bandwidth() == 0) continue;
      std::uint64_t& least = slowest.try_emplace({a.from, homes_.at(a.memory)}, a.best_bandwidth()).first->second;
      least = std::min(least, a.best_bandwidth());
    }
    for (const auto& [pair, a] : paths_) {
      node_facts& facts = builder_.facts(a.memory);
      const auto least = slowest.find({a.from, homes_.at(a.memory)});
      if (facts.memory == memory_technology::dram && least != slowest.end() && a.best_bandwidth() >= 2 * least->second)
        facts.memory = memory_technology::hbm;
      builder_.add_path(a);
    }
  }

  hwloc_topology_t topology_;
  tree_builder builder_;
  std::map<hwloc_obj_t, node_id> ids_;
  std::map<node_id, hwloc_obj_t> homes_;    // of memories: the objects that they hang under
  std::map<node_id, node_id> with_memory_;  // devices whose memory is known
  std::map<std::pair<node_id, node_id>, path> paths_;
};

}  // namespace

tree discover(const discovery_options& options) {
  const std::lock_guard alone{in_hwloc};
  const topology_ptr topology = make_topology(options);
  if (options.within_affinity)
    hwloc_topology_set_flags(topology.get(),
                             HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING | HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
  load(topology.get(), errc::bad_file, "this machine");
  return converter{topology.get()}.run(read_firmware_figures().value_or(std::vector<firmware_figure>{}));
}

tree read_hwloc_xml(const std::string& path, const discovery_options& options) {
  const std::lock_guard alone{in_hwloc};
  const topology_ptr topology = make_topology(options);
  if (hwloc_topology_set_xml(topology.get(), path.c_str()) != 0)
    throw_error(errc::bad_file, fmt::format("{}: no hwloc XML; record one with `lstopo machine.xml`", path));
  load(topology.get(), errc::bad_file, path);
  return converter{topology.get()}.run();
}

tree from_synthetic(const std::string& description) {
  const std::lock_guard alone{in_hwloc};
  const topology_ptr topology = make_topology({});
  if (hwloc_topology_set_synthetic(topology.get(), description.c_str()) != 0)
    throw_error(
        errc::bad_argument,
        fmt::format("\"{}\" is no synthetic topology; write it like \"pack:2 [numa] l3:1 core:4 pu:2\"", description));
  load(topology.get(), errc::bad_argument, description);
  return converter{topology.get()}.run();
}

}  // namespace situ::machine
