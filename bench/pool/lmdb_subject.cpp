// LMDB: without syncs (MDB_NOSYNC, and its pages written in place, MDB_WRITEMAP) where the process's end is to be
// survived; as it is by default where the machine's is.
#include "subject.h"

#include <lmdb.h>

#include <cstring>

namespace {
using namespace pool_bench;

void check(int status) {
  if (status != 0) fail(std::string{"LMDB: "} + mdb_strerror(status));
}
MDB_val value_at(const void* at, std::size_t bytes) { return {bytes, const_cast<void*>(at)}; }

class file {
 public:
  file(const order& what, const char* name) {
    const bool is_durable = what.what == "small_machine";
    check(mdb_env_create(&env_));
    check(mdb_env_set_mapsize(env_, std::size_t{4} << 30));
    const unsigned how = MDB_NOSUBDIR | (is_durable ? 0u : MDB_NOSYNC | MDB_WRITEMAP);
    check(mdb_env_open(env_, what.file(name).c_str(), how, 0666));
    MDB_txn* first = nullptr;
    check(mdb_txn_begin(env_, nullptr, 0, &first));
    check(mdb_dbi_open(first, nullptr, MDB_INTEGERKEY, &map_));
    check(mdb_txn_commit(first));
  }
  ~file() { mdb_env_close(env_); }
  file(const file&) = delete;
  file& operator=(const file&) = delete;

  template <class Body>
  void write(Body body) const {
    MDB_txn* changes = nullptr;
    check(mdb_txn_begin(env_, nullptr, 0, &changes));
    body(changes);
    check(mdb_txn_commit(changes));
  }
  void put(MDB_txn* in, std::uint64_t key, const void* value, std::size_t bytes) const {
    MDB_val k = value_at(&key, sizeof key), v = value_at(value, bytes);
    check(mdb_put(in, map_, &k, &v, 0));
  }
  void get(MDB_txn* in, std::uint64_t key, void* value, std::size_t bytes) const {
    MDB_val k = value_at(&key, sizeof key), v{};
    check(mdb_get(in, map_, &k, &v));
    std::memcpy(value, v.mv_data, bytes);
  }
  [[nodiscard]] MDB_txn* begin_reading() const {
    MDB_txn* made = nullptr;
    check(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &made));
    return made;
  }

 private:
  MDB_env* env_ = nullptr;
  MDB_dbi map_ = 0;
};

outcome small(const order& what) {
  const file in{what, "small"};
  in.write([&](MDB_txn* t) {
    const record none{};
    for (std::size_t i = 0; i < record_count; ++i) in.put(t, i, &none, sizeof none);
  });
  return time_updates(
      what.size,
      [&](std::size_t index, const record& value) {
        in.write([&](MDB_txn* t) { in.put(t, index, &value, sizeof value); });
      },
      [&](std::size_t index) {
        record there{};
        MDB_txn* const t = in.begin_reading();
        in.get(t, index, &there, sizeof there);
        mdb_txn_abort(t);
        return there;
      });
}

outcome hash_insert(const order& what) {
  const file in{what, "map"};
  return time_publishing(
      what.size, 1000,
      [&](std::size_t first, std::size_t last) {
        in.write([&](MDB_txn* t) {
          for (std::size_t i = first; i < last; ++i) {
            const std::uint64_t value = value_of(i);
            in.put(t, key_of(i), &value, sizeof value);
          }
        });
      },
      [&] {
        std::uint64_t sum = 0;
        MDB_txn* const t = in.begin_reading();
        for (std::size_t i = 0; i < what.size; ++i) {
          std::uint64_t value = 0;
          in.get(t, key_of(i), &value, sizeof value);
          sum += value;
        }
        mdb_txn_abort(t);
        return sum;
      });
}

// A reader's transaction is kept and renewed, LMDB's cheapest.
outcome hash_mixed(const order& what) {
  const file in{what, "map"};
  std::size_t keys = 0;
  {
    MDB_txn* const t = in.begin_reading();
    MDB_stat found{};
    check(mdb_stat(t, 1, &found));
    keys = found.ms_entries;
    mdb_txn_abort(t);
  }
  thread_local MDB_txn* reading = nullptr;
  return time_mixed(
      keys,
      [&](std::uint64_t key) {
        if (reading == nullptr) {
          reading = in.begin_reading();
        } else {
          check(mdb_txn_renew(reading));
        }
        std::uint64_t value = 0;
        in.get(reading, key, &value, sizeof value);
        mdb_txn_reset(reading);
        return value;
      },
      [&](std::uint64_t key, std::uint64_t value) {
        in.write([&](MDB_txn* t) { in.put(t, key, &value, sizeof value); });
      });
}

outcome run(const order& what) {
  if (what.what.starts_with("small_")) return small(what);
  if (what.what == "hash_insert") return hash_insert(what);
  if (what.what == "hash_mixed") return hash_mixed(what);
  fail("no case " + what.what);
}

}  // namespace

int main(int argc, char** argv) { return main_of_subject(argc, argv, run); }
