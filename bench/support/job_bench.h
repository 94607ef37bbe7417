// Benches whose subjects are programs of ours that run as jobs, and compare what takes turns in one process: `situ
// bench everyday`, `situ bench memory`. The driver; the cases are in a file for each bench.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comparison.h"

namespace situ::bench {

// Which program takes a case's samples.
struct job_program {
  const char* name;
  std::vector<std::string_view> cases;
  std::uint32_t places = 2;
  bool starts_jobs = false;  // itself: it gets situ's path
  // Returns why the program cannot run here: it is left out, and the reason is told. Empty if it can; null if it always
  // can.
  std::string (*absence)() = nullptr;
};

// A case of one subject, situ, whose counterpart is a blocking TCP echo (tcp_echo.h), of which it takes at most so many
// times as long.
[[nodiscard]] comparison_case beside_echo(std::string_view name, std::string_view words, std::string_view per,
                                          double bytes, double at_most);

struct job_bench {
  std::string_view name;   // "everyday"
  std::string_view title;  // of its section of a page
  std::string_view words;  // above its tables
  std::string_view help;
  std::vector<std::pair<std::string_view, std::string_view>> examples = {};  // arguments, and what they do
  std::vector<comparison_case> cases;
  std::vector<job_program> programs;
  std::vector<std::string> subjects;  // in the order in which they are printed
  bool has_files = false;             // its programs write some, in a folder that SITU_BENCH_FOLDER names
  bool is_over_hosts = false;         // two, which the options name; `places` of a program are those of each
};

// everyday_cases.cpp: values, waiting, data spread over two places, and programs of the guide, beside the same by hand
// or at one place.
[[nodiscard]] const job_bench& everyday_bench();
// memory_cases.cpp: pages along an ordering beside plain ones.
[[nodiscard]] const job_bench& memory_bench();
// task_cases.cpp: units with declared accesses beside other task graphs.
[[nodiscard]] const job_bench& task_bench();
// pool_cases.cpp: persistent pools beside those of others.
[[nodiscard]] const job_bench& pool_bench();
// rmem_cases.cpp: remote memory beside a TCP echo.
[[nodiscard]] const job_bench& rmem_bench();
// pim_cases.cpp: bit-contiguous allocation and memory that computes.
[[nodiscard]] const job_bench& pim_bench();
// heap_cases.cpp: references through the table of an object heap beside pointers, allocation, moves, pauses.
[[nodiscard]] const job_bench& heap_bench();
// cluster_cases.cpp: a job over two hosts beside a TCP echo.
[[nodiscard]] const job_bench& cluster_bench();
// All of them.
[[nodiscard]] std::span<const job_bench* const> job_benches();
// The one that has the case; null where none has.
[[nodiscard]] const job_bench* find_job_bench(std::string_view case_name);

struct job_bench_options {
  std::vector<std::string> cases;  // names, or beginnings of names; empty: all
  bool quick = false;              // small sizes, one sample of each
  std::vector<std::string> hosts;  // two, where the bench is over hosts
  std::string remote_shell;        // as `situ run --rsh`; empty: its own choice
  std::string folder;              // of files, which are removed afterwards; empty: the folder of temporary ones
  std::string json_file;           // empty: none
};

// As run_core_bench().
int run_job_bench(const job_bench& which, const job_bench_options& options);

}  // namespace situ::bench
