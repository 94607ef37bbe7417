// `situ order kernel`: the ordered policies of the kernel, if it has them (kernel/README.md): shows its lists next to
// the orderings that programs use, and writes these into it.
#include "base/print.h"
#include "commands.h"
#include "os/descriptor.h"
#include "pages/kernel_order.h"

#include <situ/base/error.h>
#include <situ/machine/orderings.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

namespace machine = situ::machine;
using situ::detail::kernel_order;
using situ::detail::kernel_orders;
using situ::detail::print_out;

struct kernel_order_options {
  std::string folder = "/sys/devices/system/node";
  bool write = false;
};

// An ordering in the kernel's form: one whole node after the other.
struct kernel_list {
  std::vector<std::uint32_t> nodes;
  int fill_percent = 0;
};

std::optional<kernel_list> to_kernel_list(const machine::memory_order& order) {
  kernel_list list{.nodes = {}, .fill_percent = static_cast<int>(std::lround(100 * order.fill))};
  if (std::abs(list.fill_percent - 100 * order.fill) > 0.001) return std::nullopt;
  for (const auto& step : order.steps) {
    if (step.size() != 1 || step.front().budget_bytes != 0) return std::nullopt;
    list.nodes.push_back(step.front().node);
  }
  return list;
}

// Returns an intent by its name, which then knows the intents that it falls back to.
situ::intent intent_of(const std::string& name, const machine::orderings& all) {
  const std::vector<situ::intent> known = all.intents();
  const auto found = std::find(known.begin(), known.end(), situ::intent{name});
  return found == known.end() ? situ::intent::of(name) : *found;
}

// Returns a node's processors; an empty set if it has none: then no thread asks from there.
machine::processor_set processors_of(const std::string& folder, std::uint32_t node) {
  std::ifstream file{fmt::format("{}/node{}/cpulist", folder, node)};
  std::string list;
  std::getline(file, list);
  return machine::processor_set::parse(list);
}

void write_file(const std::string& path, const std::string& text) {
  // It is one write, so that the kernel refuses all of it or nothing.
  const situ::os::descriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
  if (file && ::write(file.number(), text.data(), text.size()) == std::ssize(text)) return;
  const int reason = errno;
  situ::throw_error(situ::errc::bad_file,
                    fmt::format("{}: the kernel does not take \"{}\": {}{}", path, text, std::strerror(reason),
                                reason == EACCES ? "; only root may write it" : ""));
}

// Writes a list. Returns true if the kernel has it now.
bool write_list(const kernel_order_options& options, const kernel_order& row,
                const std::optional<kernel_list>& wanted) {
  if (!options.write || !wanted) return false;
  const std::string file = fmt::format("{}/node{}/{}_order", options.folder, row.from, row.name);
  write_file(file, fmt::format("{}", fmt::join(wanted->nodes, " ")));
  write_file(file + "_fill", std::to_string(wanted->fill_percent));
  return true;
}

void show_kernel(const kernel_order_options& options) {
  const kernel_orders lists = kernel_orders::read(options.folder);
  if (lists.empty()) {
    print_out(
        "This kernel has no ordered policies: Situ places in user space. kernel/README.md of Situ's sources says how "
        "to build one that has.\n");
    if (options.write) throw CLI::RuntimeError(1);
    return;
  }
  const machine::orderings all = machine::orderings::of_this_machine();
  print_out("from    policy     the kernel's list     fill  placed by\n");
  for (const kernel_order& row : lists.rows()) {
    const machine::processor_set from = processors_of(options.folder, row.from);
    if (from.empty()) continue;
    const machine::memory_order order = all.find(intent_of(row.name, all), from);
    const std::optional<kernel_list> wanted = to_kernel_list(order);
    const bool is_same =
        lists.find(row.from, wanted ? wanted->nodes : std::vector<std::uint32_t>{}, order.fill) != nullptr;
    const bool is_written = !is_same && write_list(options, row, wanted);
    std::string by = "the kernel";
    if (is_written) by += ", from now on";
    if (!is_same && !is_written)
      by = fmt::format("Situ, which orders {} up to {:.0f}%{}", to_text(order), 100 * order.fill,
                       wanted ? "" : ": the kernel has no such lists");
    print_out("node {:<2} {:<10} {:<20} {:>4}%  {}\n", row.from, row.name,
              fmt::format("{}", fmt::join(is_written ? wanted->nodes : row.nodes, " ")),
              is_written ? wanted->fill_percent : static_cast<int>(row.fill_percent), by);
  }
}

}  // namespace

std::string kernel_order_line() {
  return situ::detail::kernel_orders_here().empty()
             ? "The kernel has no ordered policies: Situ places in user space."
             : "The kernel has ordered policies, and places where one of its lists is the ordering: situ order kernel";
}

void add_kernel_order_command(CLI::App& order_command) {
  auto options = std::make_shared<kernel_order_options>();
  CLI::App* kernel = order_command.add_subcommand(
      "kernel", "The kernel's own lists, if it has ordered policies, and who places by them");
  kernel->add_flag("--write", options->write,
                   "Write what Situ orders into the kernel's lists, until it restarts; as root");
  kernel->add_option("--nodes", options->folder, "The kernel's folder of NUMA nodes (/sys/devices/system/node)")
      ->type_name("FOLDER");
  kernel->callback([options] { show_kernel(*options); });
}
