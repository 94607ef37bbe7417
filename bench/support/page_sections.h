// What each bench puts on a page of results (results_page.h): its tables, plots, verdicts, and what limits its misses.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "job_bench.h"
#include "results_page.h"

namespace situ::bench {

// Every aim of aims.h with its verdict, whether it was measured or not; no section where no row belongs to any.
[[nodiscard]] std::optional<page_section> aims_section(std::span<const row> rows);
// Each bench's own; no section where none of the rows is of one of its cases.
[[nodiscard]] std::optional<page_section> core_section(std::span<const row> rows);
[[nodiscard]] std::optional<page_section> job_section(const job_bench& of, std::span<const row> rows);
[[nodiscard]] std::optional<page_section> stencil_section(std::span<const row> rows);
// One section for what is done with graphs: copies, graphs to another place, what that leaves free.
[[nodiscard]] std::vector<page_section> graph_sections(std::span<const row> rows);

// What each subject was compiled with, and how it was built; one line for cases that agree.
[[nodiscard]] page_table terms_table(std::span<const row> rows);

// "core", "graph", a job bench's name, or "stencil"; empty where no bench has the case.
[[nodiscard]] std::string bench_of(std::string_view case_name);

}  // namespace situ::bench
