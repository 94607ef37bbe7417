#include <situ/task/task_graph.h>

#include "task/graph_core.h"

namespace situ {

detail::graph_core& detail::core_of(task_graph& graph) noexcept { return *graph.core_; }

task_graph::task_graph(const task_graph_options& options) : core_{std::make_unique<detail::graph_core>(options)} {}
task_graph::~task_graph() = default;

void task_graph::wait() { core_->wait(); }
void task_graph::settle() { core_->settle_all(); }
void task_graph::wait_for(std::initializer_list<declared_access> accesses) {
  core_->wait_for(std::span{accesses.begin(), accesses.size()});
}
task_graph_statistics task_graph::statistics() const { return core_->statistics(); }
std::uint32_t task_graph::thread_count() const noexcept { return core_->thread_count(); }

}  // namespace situ
