// What `situ bench pool` measures, and what Situ aims at. The programs that take the samples are in bench/pool.
#include "job_bench.h"

namespace situ::bench {
namespace {

using aim = comparison_aim;

comparison_subject rival(std::string_view name, std::string_view counterpart, std::string_view packages) {
  return {.name = name, .counterpart = counterpart, .packages = packages};
}

std::vector<comparison_subject> of_publishing() {
  return {rival("pmemobj", "pmemobj's best", "libpmemobj-dev"),
          rival("pmemobj_actions", "pmemobj's best", "libpmemobj-dev"),
          rival("boost_rbtree", "pmemobj's best", "libboost-dev"),
          rival("boost_node", "pmemobj's best", "libboost-dev"),
          rival("boost_cached", "pmemobj's best", "libboost-dev"),
          {"situ", "pmemobj's best", aim{0.1}},
          {"situ_beside_boost", "Boost's best", aim{1 / 1.5}}};
}

std::vector<comparison_case> all_pool_cases() {
  constexpr std::string_view best = "the best of the others";
  return {{"small_process",
           "64 B of one of 1024 records change; survives the process",
           "transaction",
           0,
           {rival("pmemobj", best, "libpmemobj-dev"),
            rival("lmdb", best, "liblmdb-dev"),
            rival("sqlite", best, "libsqlite3-dev"),
            {"situ", best, aim{0.5}}}},
          {"small_machine",
           "likewise; survives the machine",
           "transaction",
           0,
           {{"fdatasync", "itself: 64 B written by pwrite, one fdatasync"},
            rival("pmemobj", "fdatasync", "libpmemobj-dev"),
            rival("lmdb", "fdatasync", "liblmdb-dev"),
            rival("sqlite", "fdatasync", "libsqlite3-dev"),
            {"situ", "fdatasync", aim{1.15}}}},
          {"publish_1", "1e6 objects of 32 B, allocated and linked to a list, one a transaction", "object", 0,
           of_publishing()},
          {"publish_1000", "likewise, 1000 a transaction", "object", 0, of_publishing()},
          {"graph_store",
           "a graph of 1e6 nodes (a tree with an edge more a node) to a file",
           "node",
           0,
           {rival("cereal_file", "itself", "libcereal-dev"), {"situ", "cereal_file", aim{1.0 / 5}}}},
          {"graph_open",
           "that file, opened by another process, and walked",
           "node",
           0,
           {rival("cereal_file", "itself", "libcereal-dev"), {"situ", "cereal_file", aim{1.0 / 20}}}},
          {"read",
           "1e6 objects of 64 B, one after the other in a random order",
           "object",
           64,
           {{"segment", "itself: the same in the place's segment"}, {"situ", "segment", aim{1.05}}}},
          {"reopen_free",
           "a pool of 4 GiB, its pages warm, opened at its own addresses, and its root found",
           "opening",
           0,
           {{"situ", "itself", aim{5e6, false}}}},
          {"reopen",
           "that pool, all of it",
           "GiB",
           static_cast<double>(std::uint64_t{1} << 30),
           {{"disk", "itself: the file read past the page cache, two requests of 1 MiB at a time"},
            {"cold", "disk", aim{1.1}},
            {"addresses_taken", "disk", aim{static_cast<double>(std::uint64_t{1} << 30) / 2, false}}}}};
}

}  // namespace

const job_bench& pool_bench() {
  static const job_bench made{
      .name = "pool",
      .title = "Persistent pools",
      .words =
          "Each subject is a process of its own; those of a case take turns. Boost.Interprocess has no transactions.",
      .help = "Persistent pools, beside libpmemobj, LMDB, SQLite, Boost.Interprocess and cereal",
      .cases = all_pool_cases(),
      // Each run has a limit of its own.
      .programs = {{.name = "situ_bench_pool", .cases = {"small_process", "small_machine"}, .places = 1},
                   {.name = "situ_bench_pool", .cases = {"publish_1", "publish_1000"}, .places = 1},
                   {.name = "situ_bench_pool", .cases = {"graph_store", "graph_open"}, .places = 1},
                   {.name = "situ_bench_pool", .cases = {"read"}, .places = 1},
                   {.name = "situ_bench_pool", .cases = {"reopen_free", "reopen"}, .places = 1}},
      .subjects = {"fdatasync", "pmemobj", "pmemobj_actions", "lmdb", "sqlite", "boost_rbtree", "boost_node",
                   "boost_cached", "cereal_file", "segment", "disk", "cold", "addresses_taken", "situ",
                   "situ_beside_boost"},
      .has_files = true};
  return made;
}

}  // namespace situ::bench
