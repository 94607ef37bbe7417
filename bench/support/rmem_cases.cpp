// What `situ bench rmem` measures, and what Situ aims at. The program that takes the samples is in bench/rmem.
#include "job_bench.h"

namespace situ::bench {
namespace {

using aim = comparison_aim;

std::vector<comparison_case> all_rmem_cases() {
  const auto read = [](std::string_view name, std::string_view words, double bytes, double at_most) {
    return beside_echo(name, words, "read", bytes, at_most);
  };
  const auto write = [](std::string_view name, std::string_view words, double bytes, double at_most) {
    comparison_case made = beside_echo(name, words, "write", bytes, at_most);
    made.subjects.push_back({"situ_two_steps", "echo"});
    return made;
  };
  return {read("remote_read_8", "8 bytes of a server's memory, by TCP on this host", 0, 2),
          read("remote_read_4096", "likewise, 4 KiB", 0, 2),
          read("remote_read_1M", "likewise, 1 MiB", 1 << 20, 1.25),
          write("remote_write_8", "8 bytes to a server's memory, there when the call returns", 0, 2.2),
          write("remote_write_4096", "likewise, 4 KiB", 0, 2.2),
          write("remote_write_1M", "likewise, 1 MiB", 1 << 20, 1.25),
          beside_echo("remote_fetch_add", "a word of a server's memory, counted up", "operation", 0, 2),
          {"remote_page_random",
           "a page of a region that is absent, by touching it; `above` is the touch less the read",
           "page",
           0,
           {{"client_read", "itself: client::read of 4 KiB"},
            {"touch", "client_read"},
            {"touch_itself", "client_read"},
            {"change", "client_read"},
            {"above", "client_read", aim{8000, false}},
            {"above_itself", "client_read", aim{8000, false}}}},
          {"remote_pages_in_order",
           "64 MiB of a region in order, 1 of 16 has room",
           "page",
           4096,
           {{"client_read", "itself: client::read, 1 MiB at a time"},
            {"touch", "client_read", aim{2}},
            {"change", "client_read"}}},
          {"cached_page",
           "a byte of each line of 1 MiB that is here",
           "load",
           0,
           {{"plain", "itself: memory of this process"}, {"touch", "plain", aim{1.03}}}}};
}

}  // namespace

const job_bench& rmem_bench() {
  static const job_bench made{
      .name = "rmem",
      .title = "Remote memory",
      .words =
          "Client, server and echo are processes of this host; those of a case take turns. The client has a processor, "
          "server and echo another. `situ_two_steps` writes by "
          "header, acknowledgment and data, as the paper does. Of a region's pages, `touch` loads one byte, `change` "
          "one "
          "that is then written back; where `touch_itself` is, who touches fetches (`fetcher::toucher`). `above` and "
          "`above_itself` are what these two touches take in addition to the read of the same sample.",
      .help = "Remote memory beside a blocking TCP echo of the same bytes",
      .cases = all_rmem_cases(),
      .programs = {{.name = "situ_bench_rmem",
                    .cases = {"remote_read_8", "remote_read_4096", "remote_read_1M", "remote_write_8",
                              "remote_write_4096", "remote_write_1M", "remote_fetch_add", "remote_page_random",
                              "remote_pages_in_order", "cached_page"},
                    .places = 1}},
      .subjects = {"echo", "situ", "situ_two_steps", "client_read", "touch", "touch_itself", "change", "above",
                   "above_itself", "plain"}};
  return made;
}

}  // namespace situ::bench
