// SQLite with a write-ahead log, statements prepared, the file its own (locking_mode EXCLUSIVE, its fastest):
// synchronous OFF where the process's end is to be survived, FULL where the machine's is, NORMAL where the machine may
// take back the last transactions, whole ones.
#include "subject.h"

#include <sqlite3.h>

#include <cstring>

namespace {
using namespace pool_bench;

class file {
 public:
  file(const order& what, const char* name) {
    if (sqlite3_open(what.file(name).c_str(), &base_) != SQLITE_OK) fail_library();
    execute("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL");
    execute(what.what == "small_machine"   ? "PRAGMA synchronous=FULL"
            : what.what == "small_batched" ? "PRAGMA synchronous=NORMAL"
                                           : "PRAGMA synchronous=OFF");
    execute("CREATE TABLE IF NOT EXISTS records (k INTEGER PRIMARY KEY, v BLOB)");
    put_ = prepare("INSERT OR REPLACE INTO records VALUES (?, ?)");
    update_ = prepare("UPDATE records SET v = ?2 WHERE k = ?1");
    get_ = prepare("SELECT v FROM records WHERE k = ?");
  }
  ~file() {
    for (sqlite3_stmt* each : {put_, update_, get_}) sqlite3_finalize(each);
    sqlite3_close(base_);
  }
  file(const file&) = delete;
  file& operator=(const file&) = delete;

  void execute(const char* text) const {
    if (sqlite3_exec(base_, text, nullptr, nullptr, nullptr) != SQLITE_OK) fail_library();
  }
  void put(std::size_t key, const record& value) const { run(put_, key, value); }
  void update(std::size_t key, const record& value) const { run(update_, key, value); }
  [[nodiscard]] record get(std::size_t key) const {
    record there{};
    sqlite3_bind_int64(get_, 1, static_cast<sqlite3_int64>(key));
    if (sqlite3_step(get_) != SQLITE_ROW) fail_library();
    std::memcpy(&there, sqlite3_column_blob(get_, 0), sizeof there);
    sqlite3_reset(get_);
    return there;
  }

 private:
  [[noreturn]] void fail_library() const { fail(std::string{"SQLite: "} + sqlite3_errmsg(base_)); }
  [[nodiscard]] sqlite3_stmt* prepare(const char* text) const {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v2(base_, text, -1, &made, nullptr) != SQLITE_OK) fail_library();
    return made;
  }
  void run(sqlite3_stmt* statement, std::size_t key, const record& value) const {
    sqlite3_bind_int64(statement, 1, static_cast<sqlite3_int64>(key));
    sqlite3_bind_blob(statement, 2, &value, sizeof value, SQLITE_STATIC);
    if (sqlite3_step(statement) != SQLITE_DONE) fail_library();
    sqlite3_reset(statement);
  }

  sqlite3* base_ = nullptr;
  sqlite3_stmt *put_ = nullptr, *update_ = nullptr, *get_ = nullptr;
};

outcome run(const order& what) {
  if (!what.what.starts_with("small_")) fail("no case " + what.what);
  const file in{what, "small"};
  in.execute("BEGIN");
  for (std::size_t i = 0; i < record_count; ++i) in.put(i, {});
  in.execute("COMMIT");
  return time_updates(
      what.size, [&](std::size_t index, const record& value) { in.update(index, value); },
      [&](std::size_t index) { return in.get(index); });
}

}  // namespace

int main(int argc, char** argv) { return main_of_subject(argc, argv, run); }
