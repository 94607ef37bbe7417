// Which region of persistent memory a file lies on: from a tree as the kernel's nvdimm bus makes it in sysfs.
#include "pool/pool_device.h"
#include "pools.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

using namespace situ_pool_test;
using situ::detail::find_device;
using situ::detail::pool_device;
namespace fs = std::filesystem;

namespace {

// drivers/nvdimm and drivers/acpi/nfit name these files: Documentation/ABI/testing/sysfs-bus-nvdimm, sysfs-bus-nfit.
class pool_device_of : public testing::Test {
 protected:
  pool_device_of() : system{fs::path{in.file()}.parent_path() / "sys"} {
    put("devices/bus/ndbus0/provider", "ACPI.NFIT");
    const std::string region = "devices/bus/ndbus0/region1/";
    put(region + "mappings", "2");
    put(region + "mapping0", "nmem0,0,68719476736,0");
    put(region + "mapping1", "nmem2,0,68719476736,1");
    put(region + "set_cookie", "0x1d3fe4c5b6a70811");
    put(region + "size", "137438953472");
    put(region + "persistence_domain", "memory_controller");
    put(region + "numa_node", "1");
    put(region + "nfit/range_index", "3");
    put(region + "namespace1.0/uuid", "0f1b4c2e-3a5d-4e6f-8091-a2b3c4d5e6f7");
    put(region + "namespace1.0/mode", "fsdax");
    put("devices/bus/ndbus0/nmem0/nfit/id", "8089-a2-1839-00001234");
    put("devices/bus/ndbus0/nmem0/nfit/serial", "0x34120000");
    put("devices/bus/ndbus0/nmem0/nfit/handle", "0x1");
    put("devices/bus/ndbus0/nmem2/nfit/id", "8089-a2-1839-00005678");
    put(region + "pfn1.0/namespace", "namespace1.0");
    put(region + "pfn1.0/block/pmem1/size", "1");
    put(region + "pfn1.0/block/pmem1/pmem1p2/partition", "2");
    link("devices/bus/ndbus0/region1/pfn1.0", region + "pfn1.0/block/pmem1/device");
    link(region + "pfn1.0/block/pmem1", "dev/block/259:0");
    link(region + "pfn1.0/block/pmem1/pmem1p2", "dev/block/259:2");
    put("devices/pci0/nvme/nvme0n1/size", "1");
    put("devices/pci0/nvme/model", "A DISK");
    put("devices/pci0/nvme/serial", "S1");
    link("devices/pci0/nvme", "devices/pci0/nvme/nvme0n1/device");
    link("devices/pci0/nvme/nvme0n1", "dev/block/259:7");
  }
  void put(const std::string& file, const char* text) {
    fs::create_directories((system / file).parent_path());
    std::ofstream{system / file} << text << '\n';
  }
  void link(const std::string& to, const std::string& name) {
    fs::create_directories((system / name).parent_path());
    fs::create_symlink(system / to, system / name);
  }
  folder in;
  fs::path system;
};

TEST_F(pool_device_of, a_file_on_persistent_memory_is_its_region_with_its_modules) {
  for (const unsigned minor : {0u, 2u}) {  // the disk, and a partition of it
    const pool_device found = find_device(makedev(259, minor), system);
    EXPECT_EQ(found.block, "pmem1");
    EXPECT_EQ(found.region, "region1");
    EXPECT_EQ(found.provider, "ACPI.NFIT");
    EXPECT_EQ(found.range_index, "3");
    EXPECT_EQ(found.set_cookie, "0x1d3fe4c5b6a70811");
    EXPECT_EQ(found.size_bytes, "137438953472");
    EXPECT_EQ(found.persistence_domain, "memory_controller");
    EXPECT_EQ(found.numa_node, "1");
    EXPECT_EQ(found.namespace_name, "namespace1.0");
    EXPECT_EQ(found.namespace_uuid, "0f1b4c2e-3a5d-4e6f-8091-a2b3c4d5e6f7");
    EXPECT_EQ(found.namespace_mode, "fsdax");
    ASSERT_EQ(found.modules.size(), 2);
    EXPECT_EQ(found.modules[0].name, "nmem0");
    EXPECT_EQ(found.modules[0].id, "8089-a2-1839-00001234");
    EXPECT_EQ(found.modules[0].serial, "0x34120000");
    EXPECT_EQ(found.modules[0].handle, "0x1");
    EXPECT_EQ(found.modules[1].name, "nmem2");
    EXPECT_EQ(found.modules[1].serial, "") << "what is not said is empty";
  }
}

TEST_F(pool_device_of, a_file_on_a_disk_has_no_region) {
  const pool_device found = find_device(makedev(259, 7), system);
  EXPECT_EQ(found.block, "nvme0n1");
  EXPECT_EQ(found.model, "A DISK");
  EXPECT_EQ(found.serial, "S1");
  EXPECT_EQ(found.region, "");
  EXPECT_TRUE(found.modules.empty());
}

TEST_F(pool_device_of, a_file_on_no_block_device_has_none) {
  EXPECT_EQ(find_device(makedev(0, 42), system).block, "");
  EXPECT_EQ(find_device(makedev(259, 0), system / "none").block, "");
}

TEST_F(pool_device_of, a_file_of_this_machine_is_found_or_not_without_harm) {
  struct stat status{};
  ASSERT_EQ(::stat(fs::path{in.file()}.parent_path().c_str(), &status), 0);
  const pool_device found = find_device(status.st_dev);
  EXPECT_EQ(found.region.empty(), found.set_cookie.empty());
}

}  // namespace
