// What `situ bench pool` measures, and what Situ aims at. The programs that take the samples are in bench/pool.
#include "job_bench.h"

namespace situ::bench {
namespace {

using aim = comparison_aim;

comparison_subject own(std::string_view counterpart, std::optional<aim> wanted) {
  return {.name = "situ", .counterpart = counterpart, .aim = wanted, .program = "situ_bench_pool_situ"};
}
comparison_subject pmemobj(std::string_view counterpart, std::string_view name = "pmemobj") {
  return {.name = name, .counterpart = counterpart, .packages = "libpmemobj-dev", .program = "situ_bench_pool_pmemobj"};
}
comparison_subject lmdb(std::string_view counterpart) {
  return {.name = "lmdb", .counterpart = counterpart, .packages = "liblmdb-dev", .program = "situ_bench_pool_lmdb"};
}
comparison_subject sqlite(std::string_view counterpart) {
  return {
      .name = "sqlite", .counterpart = counterpart, .packages = "libsqlite3-dev", .program = "situ_bench_pool_sqlite"};
}
comparison_subject boost(std::string_view name) {
  return {
      .name = name, .counterpart = "pmemobj's best", .packages = "libboost-dev", .program = "situ_bench_pool_boost"};
}
comparison_subject cereal() {
  return {
      .name = "cereal_file", .counterpart = "itself", .packages = "libcereal-dev", .program = "situ_bench_pool_cereal"};
}
comparison_subject of_reopening(std::string_view name, std::string_view counterpart, std::optional<aim> wanted) {
  return {.name = name, .counterpart = counterpart, .aim = wanted, .program = "situ_bench_pool_situ"};
}

std::vector<comparison_subject> of_publishing() {
  constexpr std::string_view best = "pmemobj's best";
  comparison_subject beside_boost = own("Boost's best", aim{1 / 1.5});
  beside_boost.name = "situ_beside_boost";
  return {pmemobj(best),         pmemobj(best, "pmemobj_actions"),
          boost("boost_rbtree"), boost("boost_node"),
          boost("boost_cached"), own(best, aim{0.1}),
          beside_boost};
}

std::vector<comparison_case> all_pool_cases() {
  constexpr std::string_view best = "the best of the others";
  constexpr double gib = static_cast<double>(std::uint64_t{1} << 30);
  return {{"small_process",
           "64 B of one of 1024 records change; survives the process",
           "transaction",
           0,
           {pmemobj(best), lmdb(best), sqlite(best), own(best, aim{0.5})}},
          {"small_machine",
           "likewise; survives the machine",
           "transaction",
           0,
           {{.name = "fdatasync",
             .counterpart = "itself: 64 B written by pwrite, one fdatasync",
             .program = "situ_bench_pool_raw"},
            pmemobj("fdatasync"),
            lmdb("fdatasync"),
            sqlite("fdatasync"),
            own("fdatasync", aim{1.15})}},
          {"small_batched",
           "likewise; survives the process, and the machine after a while (10 ms)",
           "transaction",
           0,
           {sqlite("itself: it waits for the disk only where its log goes to its file"), own("sqlite", std::nullopt)}},
          {"publish_1", "1e6 objects of 32 B, allocated and linked to a list, one a transaction", "object", 0,
           of_publishing()},
          {"publish_1000", "likewise, 1000 a transaction", "object", 0, of_publishing()},
          {"graph_store",
           "a graph of 1e6 nodes (a tree with an edge more a node) to a file, by `persist`",
           "node",
           0,
           {cereal(), own("cereal_file", aim{1.0 / 5})}},
          {"graph_open",
           "that file, opened by another process, and walked",
           "node",
           0,
           {cereal(), own("cereal_file", aim{1.0 / 20})}},
          {"hash_insert",
           "1e6 keys of 8 B with values of 8 B to a map, 1000 a transaction",
           "key",
           0,
           {pmemobj(best), lmdb(best), own(best, aim{0.5})}},
          {"hash_mixed",
           "that map, two threads: nine reads, then a transaction that sets a value",
           "operation",
           0,
           {pmemobj(best), lmdb(best), own(best, aim{0.5})}},
          {"read",
           "1e6 objects of 64 B, one after the other in a random order",
           "object",
           64,
           {{"segment", "itself: the same in the place's segment"}, {"situ", "segment", aim{1.05}}}},
          {"reopen_free",
           "a pool of 4 GiB, its pages warm, opened at its own addresses, and its root found",
           "opening",
           0,
           {of_reopening("situ", "itself: for reading", aim{5e6, false}),
            of_reopening("to_write", "situ", aim{5e6, false})}},
          {"reopen",
           "that pool, all of it",
           "GiB",
           gib,
           {of_reopening("disk", "itself: the file read past the page cache, two requests of 1 MiB at a time", {}),
            of_reopening("cold", "disk", aim{1.1}), of_reopening("cold_by_faults", "disk", {}),
            of_reopening("pages",
                         "itself: as many pages by hand, filled by the kernel from the file's, 1 MiB at a time", {}),
            of_reopening("addresses_taken", "pages", aim{gib / 2, false})}}};
}

}  // namespace

const job_bench& pool_bench() {
  static const job_bench made{
      .name = "pool",
      .title = "Persistent pools",
      .words =
          "Each subject is a process of its own; those of a case take turns. Boost.Interprocess has no transactions. "
          "Metall is in no registry: its authors published 11.7 x the speed of Boost.Interprocess where graphs are "
          "built.",
      .help = "Persistent pools, beside libpmemobj, LMDB, SQLite, Boost.Interprocess and cereal",
      .examples = {{"--folder /srv/scratch", "all of it on the disk that is meant: some ten minutes, 5 GB"},
                   {"--quick", "whether all works: seconds"},
                   {"--cases small,hash --json rows.json", "some of it, and the rows for a program"},
                   {"--folder /srv/scratch --out docs/results --name 2026-11-26-pools", "a page of results"}},
      .cases = all_pool_cases(),
      // Each run has a limit of its own.
      .programs = {{.name = "situ_bench_pool", .cases = {"small_process"}, .places = 1},
                   {.name = "situ_bench_pool", .cases = {"small_machine"}, .places = 1},
                   {.name = "situ_bench_pool", .cases = {"small_batched"}, .places = 1},
                   {.name = "situ_bench_pool", .cases = {"publish_1", "publish_1000"}, .places = 1},
                   {.name = "situ_bench_pool", .cases = {"graph_store", "graph_open"}, .places = 1},
                   {.name = "situ_bench_pool", .cases = {"hash_insert", "hash_mixed"}, .places = 1},
                   {.name = "situ_bench_pool", .cases = {"read"}, .places = 1},
                   {.name = "situ_bench_pool", .cases = {"reopen_free", "reopen"}, .places = 1}},
      .subjects = {"fdatasync", "pmemobj", "pmemobj_actions", "lmdb", "sqlite", "boost_rbtree", "boost_node",
                   "boost_cached", "cereal_file", "segment", "disk", "cold", "cold_by_faults", "pages",
                   "addresses_taken", "situ", "to_write", "situ_beside_boost"},
      .has_files = true};
  return made;
}

}  // namespace situ::bench
