#include "pool/pool_device.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <system_error>

namespace situ::detail {
namespace {

namespace fs = std::filesystem;

// Returns the first line of a file, or an empty string if there is none.
std::string text_of(const fs::path& file) {
  std::ifstream stream{file};
  std::string line;
  std::getline(stream, line);
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) line.pop_back();
  return line;
}

bool is_numbered(const std::string& name, std::string_view kind) {
  return name.starts_with(kind) && name.size() > kind.size() &&
         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(kind.size()), name.end(),
                     [](unsigned char each) { return std::isdigit(each) != 0; });
}

// Returns the folder of the region that a device's folder lies in, or an empty path if there is none.
fs::path region_above(fs::path folder) {
  for (; folder.has_relative_path(); folder = folder.parent_path())
    if (is_numbered(folder.filename().string(), "region") && !text_of(folder / "mappings").empty()) return folder;
  return {};
}

void read_modules(const fs::path& region, std::vector<nvdimm_module>& into) {
  for (unsigned i = 0;; ++i) {
    const std::string mapping = text_of(region / ("mapping" + std::to_string(i)));  // "nmem0,start,size,position"
    if (mapping.empty()) return;
    const std::string name = mapping.substr(0, mapping.find(','));
    if (!is_numbered(name, "nmem")) continue;
    const fs::path nfit = region.parent_path() / name / "nfit";
    into.push_back({name, text_of(nfit / "id"), text_of(nfit / "serial"), text_of(nfit / "handle")});
  }
}

}  // namespace

pool_device find_device(std::uint64_t number, const fs::path& system) {
  pool_device found;
  std::error_code failed;
  const std::string numbers = std::to_string(gnu_dev_major(number)) + ":" + std::to_string(gnu_dev_minor(number));
  fs::path block = fs::canonical(system / "dev" / "block" / numbers, failed);
  if (failed) return found;
  if (fs::exists(block / "partition", failed)) block = block.parent_path();
  found.block = block.filename().string();
  const fs::path device = fs::canonical(block / "device", failed);
  if (failed) return found;
  found.model = text_of(device / "model");
  found.serial = text_of(device / "serial");
  if (found.serial.empty()) found.serial = text_of(block / "serial");
  const fs::path region = region_above(device);
  if (region.empty()) return found;
  found.region = region.filename().string();
  found.provider = text_of(region.parent_path() / "provider");
  found.range_index = text_of(region / "nfit" / "range_index");
  found.set_cookie = text_of(region / "set_cookie");
  found.size_bytes = text_of(region / "size");
  found.persistence_domain = text_of(region / "persistence_domain");
  found.numa_node = text_of(region / "numa_node");
  // A personality (pfn, btt, dax) sits between the disk and its namespace, and stores the namespace's name.
  const std::string behind = text_of(device / "namespace");
  found.namespace_name = behind.empty() ? device.filename().string() : behind;
  const fs::path space = region / found.namespace_name;
  found.namespace_uuid = text_of(space / "uuid");
  found.namespace_mode = text_of(space / "mode");
  read_modules(region, found.modules);
  return found;
}

}  // namespace situ::detail
