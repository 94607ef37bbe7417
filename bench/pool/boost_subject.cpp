// Boost.Interprocess, a file mapped and managed: no transactions and no promise, so this is what allocation alone
// costs. Without its mutexes, which one thread does not need. SITU_BENCH_FORM: `rbtree` takes each object from
// rbtree_best_fit, `node` from a private_node_allocator over it, `cached` from a cached_node_allocator.
#include "subject.h"

#include <boost/interprocess/allocators/cached_node_allocator.hpp>
#include <boost/interprocess/allocators/private_node_allocator.hpp>
#include <boost/interprocess/indexes/iset_index.hpp>
#include <boost/interprocess/managed_mapped_file.hpp>
#include <boost/interprocess/mem_algo/rbtree_best_fit.hpp>

#include <fcntl.h>
#include <unistd.h>

namespace {
using namespace pool_bench;
namespace ipc = boost::interprocess;

using mapped = ipc::basic_managed_mapped_file<char, ipc::rbtree_best_fit<ipc::null_mutex_family>, ipc::iset_index>;

struct node {
  std::uint64_t key;
  ipc::offset_ptr<node> next;
  std::uint64_t extra[2];
};

// The file's room on the disk, as the others have it before they begin.
void reserve(const std::string& path, std::size_t bytes) {
  const int descriptor = ::open(path.c_str(), O_RDWR);
  if (descriptor < 0 || ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)) != 0) fail("no room for " + path);
  ::close(descriptor);
}

template <class Allocate>
outcome publish(const order& what, node*& list, Allocate allocate) {
  // Who has no transactions publishes each object as it is linked.
  return time_publishing(
      what.size, each_of(what.what),
      [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) list = new (allocate()) node{i, list, {}};
      },
      [&] {
        std::uint64_t sum = 0;
        for (const node* each = list; each != nullptr; each = each->next.get()) sum += each->key;
        return sum;
      });
}

outcome run(const order& what) {
  if (!what.what.starts_with("publish_")) fail("no case " + what.what);
  const std::size_t bytes = (std::size_t{64} << 20) + what.size * 96;
  const std::string path = what.file("objects");
  mapped file{ipc::create_only, path.c_str(), bytes};
  reserve(path, bytes);
  const char* const form = std::getenv("SITU_BENCH_FORM");
  const std::string_view wanted = form == nullptr ? "rbtree" : form;
  node* list = nullptr;
  if (wanted == "node") {
    ipc::private_node_allocator<node, mapped::segment_manager, 512> from{file.get_segment_manager()};
    return publish(what, list, [&] { return static_cast<void*>(from.allocate_one().get()); });
  }
  if (wanted == "cached") {
    ipc::cached_node_allocator<node, mapped::segment_manager, 512> from{file.get_segment_manager(), 512};
    return publish(what, list, [&] { return static_cast<void*>(from.allocate_one().get()); });
  }
  return publish(what, list, [&] { return file.allocate(sizeof(node)); });
}

}  // namespace

int main(int argc, char** argv) { return main_of_subject(argc, argv, run); }
