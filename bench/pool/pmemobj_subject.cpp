// libpmemobj. With PMEM_IS_PMEM_FORCE=1 and PMEM_NO_FLUSH=1 it promises what survives the process; with
// PMEM_IS_PMEM_FORCE=0 what survives the machine, by msync. Objects have a class of their own without headers, which is
// its fastest. `actions` is its other interface: reserve, then publish at once.
#include "subject.h"

#include <libpmemobj.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <shared_mutex>

namespace {
using namespace pool_bench;

struct node {
  std::uint64_t key, next, extra[2];
};
struct entry {
  std::uint64_t key, value, next;
};
struct root {
  std::uint64_t head, buckets, bucket_count;
  record records[record_count];
};

[[noreturn]] void fail_library() { fail(std::string{"libpmemobj: "} + pmemobj_errormsg()); }
void check(int status) {
  if (status != 0) fail_library();
}

class file {
 public:
  file(const order& what, const char* name, std::size_t bytes) {
    const bool is_durable = what.what == "small_machine";
    ::setenv("PMEM_IS_PMEM_FORCE", is_durable ? "0" : "1", 1);
    ::setenv("PMEM_NO_FLUSH", is_durable ? "0" : "1", 1);
    const std::string path = what.file(name);
    pool_ = ::access(path.c_str(), F_OK) == 0 ? pmemobj_open(path.c_str(), "bench")
                                              : pmemobj_create(path.c_str(), "bench", bytes, 0666);
    if (pool_ == nullptr) fail_library();
    root_id_ = pmemobj_root(pool_, sizeof(root));
  }
  ~file() { pmemobj_close(pool_); }
  file(const file&) = delete;
  file& operator=(const file&) = delete;

  [[nodiscard]] PMEMobjpool* pool() const { return pool_; }
  [[nodiscard]] root* top() const { return static_cast<root*>(pmemobj_direct(root_id_)); }
  template <class T>
  [[nodiscard]] T* at(std::uint64_t offset) const {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(pool_) + offset);
  }
  // The flags of a class of blocks of so many bytes without headers.
  [[nodiscard]] std::uint64_t make_class(std::size_t bytes) const {
    pobj_alloc_class_desc made{};
    made.unit_size = bytes;
    made.units_per_block = 8192;
    made.header_type = POBJ_HEADER_NONE;
    check(pmemobj_ctl_set(pool_, "heap.alloc_class.new.desc", &made));
    return POBJ_CLASS_ID(made.class_id);
  }

 private:
  PMEMobjpool* pool_;
  PMEMoid root_id_;
};

template <class Body>
void transact(const file& in, Body body) {
  check(pmemobj_tx_begin(in.pool(), nullptr, TX_PARAM_NONE));
  body();
  pmemobj_tx_commit();
  check(pmemobj_tx_end());
}

outcome small(const order& what) {
  const file in{what, "small", 64 << 20};
  return time_updates(
      what.size,
      [&](std::size_t index, const record& value) {
        record* const at = &in.top()->records[index];
        transact(in, [&] {
          check(pmemobj_tx_add_range_direct(at, sizeof *at));
          *at = value;
        });
      },
      [&](std::size_t index) { return in.top()->records[index]; });
}

std::size_t bytes_for(std::size_t objects) { return (std::size_t{64} << 20) + objects * 96; }

std::uint64_t sum_of_list(const file& in) {
  std::uint64_t sum = 0;
  for (std::uint64_t each = in.top()->head; each != 0; each = in.at<node>(each)->next) sum += in.at<node>(each)->key;
  return sum;
}

outcome publish(const order& what) {
  const file in{what, "objects", bytes_for(what.size)};
  const std::uint64_t flags = in.make_class(sizeof(node));
  return time_publishing(
      what.size, each_of(what.what),
      [&](std::size_t first, std::size_t last) {
        transact(in, [&] {
          std::uint64_t* const head = &in.top()->head;
          check(pmemobj_tx_add_range_direct(head, sizeof *head));
          for (std::size_t i = first; i < last; ++i) {
            const PMEMoid made = pmemobj_tx_xalloc(sizeof(node), 1, flags);
            if (OID_IS_NULL(made)) fail_library();
            *in.at<node>(made.off) = {i, *head, {}};
            *head = made.off;
          }
        });
      },
      [&] { return sum_of_list(in); });
}

outcome publish_actions(const order& what) {
  const file in{what, "objects", bytes_for(what.size)};
  const std::uint64_t flags = in.make_class(sizeof(node));
  std::vector<pobj_action> actions(1001);
  return time_publishing(
      what.size, each_of(what.what),
      [&](std::size_t first, std::size_t last) {
        std::uint64_t head = in.top()->head;
        std::size_t count = 0;
        for (std::size_t i = first; i < last; ++i) {
          const PMEMoid made = pmemobj_xreserve(in.pool(), &actions[count++], sizeof(node), 1, flags);
          if (OID_IS_NULL(made)) fail_library();
          *in.at<node>(made.off) = {i, head, {}};
          pmemobj_flush(in.pool(), in.at<node>(made.off), sizeof(node));
          head = made.off;
        }
        pmemobj_drain(in.pool());
        pmemobj_set_value(in.pool(), &actions[count++], &in.top()->head, head);
        check(pmemobj_publish(in.pool(), actions.data(), count));
      },
      [&] { return sum_of_list(in); });
}

// --- a hash table of ours: buckets of chains ---

std::uint64_t* bucket(const file& in, std::uint64_t key) {
  return in.at<std::uint64_t>(in.top()->buckets) + mix(key) % in.top()->bucket_count;
}
entry* find(const file& in, std::uint64_t key) {
  for (std::uint64_t each = *bucket(in, key); each != 0; each = in.at<entry>(each)->next)
    if (in.at<entry>(each)->key == key) return in.at<entry>(each);
  return nullptr;
}

outcome hash_insert(const order& what) {
  const file in{what, "map", bytes_for(what.size)};
  const std::uint64_t flags = in.make_class(sizeof(entry) + 8);
  transact(in, [&] {
    check(pmemobj_tx_add_range_direct(in.top(), 24));
    in.top()->bucket_count = what.size;
    in.top()->buckets = pmemobj_tx_zalloc(what.size * 8, 2).off;
  });
  return time_publishing(
      what.size, 1000,
      [&](std::size_t first, std::size_t last) {
        transact(in, [&] {
          for (std::size_t i = first; i < last; ++i) {
            const std::uint64_t key = key_of(i);
            if (entry* const there = find(in, key)) {
              check(pmemobj_tx_add_range_direct(&there->value, 8));
              there->value = value_of(i);
              continue;
            }
            std::uint64_t* const head = bucket(in, key);
            check(pmemobj_tx_add_range_direct(head, 8));
            const PMEMoid made = pmemobj_tx_xalloc(sizeof(entry) + 8, 1, flags);
            if (OID_IS_NULL(made)) fail_library();
            *in.at<entry>(made.off) = {key, value_of(i), *head};
            *head = made.off;
          }
        });
      },
      [&] {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < what.size; ++i) sum += find(in, key_of(i))->value;
        return sum;
      });
}

outcome hash_mixed(const order& what) {
  const file in{what, "map", 0};
  struct alignas(128) lock {
    std::shared_mutex mutex;
  };
  static std::array<lock, 256> locks;
  const auto lock_of = [](std::uint64_t key) -> std::shared_mutex& { return locks[mix(key) % locks.size()].mutex; };
  return time_mixed(
      in.top()->bucket_count,
      [&](std::uint64_t key) {
        const std::shared_lock guard{lock_of(key)};
        return find(in, key)->value;
      },
      [&](std::uint64_t key, std::uint64_t value) {
        const std::lock_guard guard{lock_of(key)};
        entry* const there = find(in, key);
        transact(in, [&] {
          check(pmemobj_tx_add_range_direct(&there->value, 8));
          there->value = value;
        });
      });
}

outcome run(const order& what) {
  if (what.what.starts_with("small_")) return small(what);
  if (what.what.starts_with("publish_")) {
    const char* const actions = std::getenv("SITU_BENCH_FORM");
    return actions != nullptr && std::string_view{actions} == "actions" ? publish_actions(what) : publish(what);
  }
  if (what.what == "hash_insert") return hash_insert(what);
  if (what.what == "hash_mixed") return hash_mixed(what);
  fail("no case " + what.what);
}

}  // namespace

int main(int argc, char** argv) { return main_of_subject(argc, argv, run); }
