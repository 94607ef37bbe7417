// What `situ bench cluster` measures, and what Situ aims at. The program that takes the samples is in bench/cluster.
#include "job_bench.h"

namespace situ::bench {
namespace {

std::vector<comparison_case> all_cluster_cases() {
  const auto beside = [](std::string_view name, std::string_view words, double bytes, double at_most) {
    return beside_echo(name, words, "operation", bytes, at_most);
  };
  return {beside("cluster_get_8", "8 bytes of a place of the other host, which sleeps", 0, 2),
          beside("cluster_get_4096", "likewise, 4 KiB", 0, 2),
          beside("cluster_get_1M", "likewise, 1 MiB", 1 << 20, 1.25),
          beside("cluster_put_8", "8 bytes to it, there when the call returns", 0, 2.2),
          beside("cluster_put_1M", "likewise, 1 MiB", 1 << 20, 1.25),
          beside("cluster_put_signal", "8 bytes to it, and a signal behind them", 0, 2.2),
          beside("cluster_fetch_add", "a word of it, counted up", 0, 2),
          beside("cluster_fetch_add_beside_load", "likewise, while four threads at each host compute", 0, 2),
          beside("cluster_message", "a short message to it, and its reply", 0, 2.5),
          beside("cluster_at", "at() without arguments", 0, 2.5),
          beside("cluster_at_4096", "at() with a vector of 4 KiB", 0, 2.5),
          beside("cluster_barrier", "a barrier of a place at each host", 0, 1.5),
          beside("cluster_barrier_2x2", "a barrier of two places at each host", 0, 1.5),
          {"cluster_uts",
           "an unbalanced tree of 1e7 nodes, searched by a task pool",
           "node",
           0,
           {{"one_host", "itself: the place of one host"}, {"situ", "one_host", comparison_aim{1 / 1.8}}}},
          {"cluster_tree",
           "sweeps over the rows of a place tree",
           "element",
           0,
           {{"one_host", "itself: all rows at the place of one host"}, {"situ", "one_host", comparison_aim{1 / 1.8}}}},
          {"cluster_survivors",
           "survivors() after the loss of one of eight places, four at each host",
           "call",
           0,
           {{"one_host", "itself: of one of four at one host, where the other has no places any more"},
            {"situ", "one_host", comparison_aim{2}}}}};
}

}  // namespace

const job_bench& cluster_bench() {
  static const job_bench made{
      .name = "cluster",
      .title = "Several hosts",
      .words =
          "A job of one place at each of two hosts (of two or four, if the row says so), over TCP; `echo` is the same "
          "bytes by hand, over a socket that blocks, to a thread that sleeps meanwhile; `one_host` is the place of one "
          "of them, or the places that are left there when those of the other are lost.",
      .help = "Operations, messages and barriers of a job over two hosts, beside a blocking TCP echo",
      .examples = {{"--hosts a,b", "two hosts that ssh reaches without a question (docs/guide/hosts.md)"}},
      .cases = all_cluster_cases(),
      .programs = {{.name = "situ_bench_cluster",
                    .cases = {"cluster_get_8", "cluster_get_4096", "cluster_get_1M", "cluster_put_8", "cluster_put_1M",
                              "cluster_put_signal", "cluster_fetch_add", "cluster_fetch_add_beside_load",
                              "cluster_message", "cluster_at", "cluster_at_4096", "cluster_barrier", "cluster_uts",
                              "cluster_tree"},
                    .places = 1},
                   {.name = "situ_bench_cluster", .cases = {"cluster_barrier_2x2"}, .places = 2},
                   {.name = "situ_bench_cluster", .cases = {"cluster_survivors"}, .places = 4}},
      .subjects = {"echo", "one_host", "situ"},
      .is_over_hosts = true};
  return made;
}

}  // namespace situ::bench
