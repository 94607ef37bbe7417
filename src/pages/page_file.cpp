#include "pages/page_file.h"

#include <situ/base/error_code.h>
#include <situ/base/units.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/memfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/file_size.h"
#include "os/host.h"
#include "os/mapping.h"
#include "os/mapping_error.h"
#include "pages/huge_pages.h"
#include "pages/placer.h"

namespace situ::detail {
namespace {

using source = memory_kind::source;

// Returns the number of 2 MiB pages that are free and not reserved, plus those that the kernel may add.
std::uint64_t free_huge_pages() {
  constexpr const char* folder = "/sys/kernel/mm/hugepages/hugepages-2048kB/";
  const auto read = [&](const char* name) {
    const std::string path = std::string{folder} + name;
    errno = 0;
    std::ifstream file{path};
    std::uint64_t value = 0;
    if (!(file >> value) && errno != ENOENT)  // ENOENT: the kernel has no such pages
      throw_error(errc::bad_launch, fmt::format("memory of huge pages: how many are free is not known: {}: {}", path,
                                                std::strerror(errno != 0 ? errno : EIO)));
    return value;
  };
  const std::uint64_t unused = read("free_hugepages");
  const std::uint64_t promised = read("resv_hugepages");
  const std::uint64_t surplus = read("surplus_hugepages");
  const std::uint64_t overcommit = read("nr_overcommit_hugepages");
  return unused - std::min(unused, promised) + overcommit - std::min(overcommit, surplus);
}

bool is_folder(const std::string& path) noexcept {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Creates a file without a name in a folder; returns nothing, with errno, on failure.
os::descriptor nameless_file(const std::string& folder) noexcept {
  const int made = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (made >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return os::descriptor{made};
  std::string name = folder + "/situ-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return os::descriptor{named};
}

// Creates a file of an unused name and unlinks it. Another process that does the same with this name at this moment
// holds it for two calls only; a name that stays belongs to an existing file.
os::descriptor new_file(const std::string& path) noexcept {
  constexpr int most_tries = 200;
  for (int tries = 1;; ++tries) {
    const int made = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (made >= 0) ::unlink(path.c_str());
    if (made >= 0 || errno != EEXIST || tries == most_tries) return os::descriptor{made};
    ::usleep(1000);
  }
}

// Locks the device for as long as any process has it open or mapped through this descriptor.
void lock_device(int descriptor, const std::string& path) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK)
    throw_error(errc::bad_launch, fmt::format("memory of a device: {} is in use by another job; wait for its end, or "
                                              "name another device",
                                              path));
  throw_error(errc::bad_launch, fmt::format("memory of a device: {} cannot be locked: {}", path, std::strerror(errno)));
}

// Returns an attribute of a character device's memory ("size", "align") from the system, in bytes; 0 if there is none.
std::uint64_t told_of_device(const struct stat& status, const char* name) {
  if (!S_ISCHR(status.st_mode)) return 0;
  char path[64];
  std::snprintf(path, sizeof path, "/sys/dev/char/%u:%u/%s", ::major(status.st_rdev), ::minor(status.st_rdev), name);
  std::ifstream file{path};
  std::uint64_t bytes = 0;
  return file >> bytes ? bytes : 0;
}

// Mappings of a device are multiples of its alignment.
void check_alignment(int descriptor, const std::string& path) {
  struct stat status{};
  const std::uint64_t alignment = ::fstat(descriptor, &status) == 0 ? told_of_device(status, "align") : 0;
  if (alignment <= huge_page_bytes) return;
  throw_error(errc::not_supported,
              fmt::format("memory of a device: {} is mapped in pieces of {} only, and Situ maps pieces of {}; make it "
                          "anew with that alignment (daxctl reconfigure-device -a 2M)",
                          path, format_bytes(alignment), format_bytes(huge_page_bytes)));
}

void check_node(std::uint32_t node) {
  if (node == 0 || (node < node_limit && system_placement_calls().find_meminfo(node) == 0)) return;
  if (node < node_limit && errno != ENOENT && errno != ENOTDIR)
    throw_error(errc::bad_launch,
                fmt::format("memory of node {}: whether there is one cannot be seen: {}", node, std::strerror(errno)));
  throw_error(
      errc::bad_launch,
      fmt::format("memory of node {}: there is no such NUMA node here; `situ topo` shows those that are", node));
}

}  // namespace

page_file page_file::create(const memory_kind& kind, const char* name, std::uint64_t least_bytes) {
  switch (kind.from) {
    case source::huge: return create_huge(kind, name, least_bytes);
    case source::file: return create_in_folder(kind, least_bytes);
    case source::device: return open_device(kind, least_bytes);
    case source::node: check_node(kind.node); break;
    case source::kernel:
    case source::intent: break;
    case source::pim:
      throw_error(
          errc::not_supported,
          fmt::format("memory that computes of {}: what several processes share cannot lie in it; give memory of "
                      "another kind, and pim:{} to what is computed on (the library situ::pim)",
                      kind.path, kind.path));
  }
  page_file made{os::memory_file(name), kind};
  if (!made.file_)
    throw_error(errc::bad_launch, fmt::format("cannot create the memory file {}: {}", name, std::strerror(errno)));
  return made;
}

page_file page_file::create_huge(const memory_kind& kind, const char* name, std::uint64_t least_bytes) {
  const std::uint64_t unused = free_huge_pages();
  const std::uint64_t least = (least_bytes + huge_page_bytes - 1) / huge_page_bytes;
  if (unused < std::max<std::uint64_t>(least, 1))
    throw_error(
        errc::out_of_memory,
        fmt::format("memory of huge pages: {} pages of 2 MiB are free, and {} are needed at least; reserve them "
                    "as root: echo {} > /proc/sys/vm/nr_hugepages",
                    unused, std::max<std::uint64_t>(least, 1), 2 * std::max<std::uint64_t>(least, 1)));
  page_file made{os::memory_file(name, MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_2MB), kind};
  if (!made.file_)
    throw_error(errc::bad_launch, fmt::format("memory of huge pages cannot be had: {}", std::strerror(errno)));
  made.unit_ = huge_page_bytes;
  made.capacity_ = unused * huge_page_bytes;
  return made;
}

page_file page_file::create_in_folder(const memory_kind& kind, std::uint64_t least_bytes) {
  page_file made{is_folder(kind.path) ? nameless_file(kind.path) : new_file(kind.path), kind};
  if (!made.file_)
    throw_error(errc::bad_launch,
                fmt::format("memory in a file: {} cannot be made: {}; name a folder that you may write, or a file in "
                            "one that is not there yet",
                            kind.path, std::strerror(errno)));
  struct statvfs disk{};
  if (::fstatvfs(made.descriptor(), &disk) != 0)
    throw_error(errc::bad_launch, fmt::format("memory in a file: how much the disk of {} has left is not known: {}",
                                              kind.path, std::strerror(errno)));
  made.capacity_ = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (made.capacity_ < std::max<std::uint64_t>(least_bytes, 1))
    throw_error(errc::out_of_memory,
                fmt::format("memory in a file: the disk of {} has {} left, and {} are needed at least; "
                            "free some, or name a folder on another disk",
                            kind.path, format_bytes(made.capacity_), format_bytes(least_bytes)));
  return made;
}

// A regular file with a size behaves like a device; so tests need no device.
page_file page_file::open_device(const memory_kind& kind, std::uint64_t least_bytes) {
  page_file made{os::descriptor{::open(kind.path.c_str(), O_RDWR | O_CLOEXEC)}, kind};
  if (!made.file_)
    throw_error(errc::bad_launch,
                fmt::format("memory of a device: {} cannot be opened: {}; `daxctl list` shows what there is", kind.path,
                            std::strerror(errno)));
  check_alignment(made.descriptor(), kind.path);
  lock_device(made.descriptor(), kind.path);
  made.unit_ = huge_page_bytes;
  made.capacity_ = bytes_of_file(made.descriptor()) / huge_page_bytes * huge_page_bytes;
  if (made.capacity_ < std::max<std::uint64_t>(least_bytes, 1))
    throw_error(errc::out_of_memory,
                fmt::format("memory of a device: {} has {} of memory, and {} are needed at least; name a DAX character "
                            "device (daxctl reconfigure-device -m devdax makes one)",
                            kind.path, format_bytes(made.capacity_), format_bytes(least_bytes)));
  return made;
}

void page_file::resize(std::uint64_t bytes) const {
  if (is_device()) return;
  if (set_file_size(descriptor(), bytes) != 0)
    throw_error(errc::bad_launch,
                fmt::format("cannot make a memory file of {}: {}", format_bytes(bytes), write_failure(errno)));
  if (kind_.from == source::file) return;
  if (::fcntl(descriptor(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    throw_error(errc::bad_launch, fmt::format("cannot seal a memory file: {}", std::strerror(errno)));
}

void page_file::reserve(std::uint64_t bytes) const {
  if (kind_.from != source::file) return;
  if (::fallocate(descriptor(), 0, 0, static_cast<off_t>(bytes)) == 0 || errno == EOPNOTSUPP) return;
  const int reason = errno;
  throw_error(reason == ENOSPC || reason == EDQUOT ? errc::out_of_memory : errc::bad_launch,
              fmt::format("memory in a file: the disk of {} has no room for {}: {}", kind_.path, format_bytes(bytes),
                          std::strerror(reason)));
}

void page_file::clear(std::uint64_t from, std::uint64_t bytes) const {
  if (!is_device()) return;
  const os::mapping all = os::mapping::anywhere(bytes, PROT_READ | PROT_WRITE, os::backing::shared(descriptor(), from));
  if (!all)
    throw_error(errc::bad_launch, fmt::format("memory of a device cannot be mapped: {}", why_not_mapped(errno)));
  std::memset(all.begin(), 0, bytes);
}

// Always false for a device: its DAX pages are the device's own memory.
bool page_file::gives_back() const noexcept {
  return !is_device() &&
         ::fallocate(descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(unit_)) == 0;
}

void refuse_intents(memory_kind::source from) {
  const bool is_device = from == source::device;
  throw_error(errc::not_supported,
              fmt::format("memory {} cannot be placed by intent: {}; allocate without one, or start the job with "
                          "memory of another kind (situ run --memory)",
                          is_device ? "of a device" : "in a file",
                          is_device ? "it lies where the device is" : "its file system cannot give pages back"));
}

void prefer_node_for_file(std::uint32_t node, void* mapped, std::uint64_t bytes) {
  const placement_calls& calls = system_placement_calls();
  check_node(node);
  if (calls.prefer(mapped, bytes, node) == 0) return;
  if (node == 0 && (errno == ENOSYS || errno == EPERM)) return;  // then there is no other node
  throw_error(errc::bad_launch, fmt::format("memory of node {}: the kernel refuses it: {}; does a control group or "
                                            "cpuset forbid the node?",
                                            node, std::strerror(errno)));
}

std::uint64_t bytes_of_file(int descriptor) noexcept {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return 0;
  if (S_ISREG(status.st_mode)) return static_cast<std::uint64_t>(status.st_size);
  return told_of_device(status, "size");
}

}  // namespace situ::detail
