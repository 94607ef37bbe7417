#include <situ/task/task_graph.h>

#include <situ/base/error.h>

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "task/graph_core.h"

namespace situ {
namespace {

// Adds the checks that the environment asks for.
task_graph_options with_environment(task_graph_options options) {
  const char* const set = std::getenv("SITU_CHECK_UNITS");
  const std::string_view text = set == nullptr ? "" : set;
  if (text == "spans")
    options.checked = true;
  else if (text == "pages")
    options.checked_by_pages = true;
  else if (!text.empty())
    throw error{errc::bad_argument, fmt::format("SITU_CHECK_UNITS={}: give spans or pages", text)};
  return options;
}

}  // namespace

detail::graph_core& detail::core_of(task_graph& graph) noexcept { return *graph.core_; }

task_graph::task_graph(const task_graph_options& options)
    : core_{std::make_unique<detail::graph_core>(with_environment(options))} {}
task_graph::~task_graph() = default;

void task_graph::wait() { core_->wait(); }
void task_graph::settle() { core_->settle_all(); }
void task_graph::wait_for(std::initializer_list<declared_access> accesses) {
  core_->wait_for(std::span{accesses.begin(), accesses.size()});
}
task_graph_statistics task_graph::statistics() const { return core_->statistics(); }
std::uint32_t task_graph::thread_count() const noexcept { return core_->thread_count(); }

}  // namespace situ
