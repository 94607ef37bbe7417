#include <situ/base/units.h>
#include <situ/machine/draw.h>

#include <fmt/format.h>

#include <vector>

namespace situ::machine {
namespace {

struct strokes {
  std::string_view branch, last, pass, blank;
};
constexpr strokes unicode_strokes{"├─ ", "└─ ", "│  ", "   "};
constexpr strokes ascii_strokes{"|- ", "`- ", "|  ", "   "};

template <class Figure>
std::string both_ways(Figure read, Figure write, std::string (*format)(Figure)) {
  if (read == write) return read > 0 ? " " + format(read) : std::string{};
  std::string text;
  if (read > 0) text += fmt::format(" {} read", format(read));
  if (write > 0) text += fmt::format(" {} write", format(write));
  return text;
}

std::string facts_text(const tree& machine, node_id id) {
  const node& n = machine.at(id);
  std::string text;
  if (!n.name.empty()) text += fmt::format(" \"{}\"", n.name);
  if (n.bytes > 0) text += " " + format_bytes(n.bytes);
  if (n.hertz > 0) text += " " + format_hertz(n.hertz);
  if (n.latency_ns > 0) text += " " + format_nanoseconds(n.latency_ns);
  if (n.bandwidth > 0) text += " " + format_bandwidth(n.bandwidth);
  text += both_ways(n.read_latency_ns, n.write_latency_ns, format_nanoseconds);
  text += both_ways(n.read_bandwidth, n.write_bandwidth, format_bandwidth);
  std::vector<std::string> more;
  if (n.unit == addressability::none) more.emplace_back("not addressable");
  if (n.unit != addressability::none && n.unit != addressability::unknown)
    more.push_back(fmt::format("by {}", name(n.unit)));
  if (n.density_bytes > 0) more.push_back("density " + format_bytes(n.density_bytes));
  if (n.leakage != grade::unknown) more.push_back(fmt::format("leakage {}", name(n.leakage)));
  if (n.read_power != grade::unknown) more.push_back(fmt::format("read power {}", name(n.read_power)));
  if (n.write_power != grade::unknown) more.push_back(fmt::format("write power {}", name(n.write_power)));
  if (n.computes.banks > 0)
    more.push_back(fmt::format("{}: {} banks x {} subarrays x {} rows x {} columns", name(n.computes.design),
                               n.computes.banks, n.computes.subarrays, n.computes.rows, n.computes.columns));
  return more.empty() ? text : text + fmt::format(" [{}]", fmt::join(more, ", "));
}

// " ring of 32 bits 100 MHz".
std::string shape_text(const link& joined) {
  std::string text = fmt::format(" {}", name(joined.shape));
  if (joined.width_bits > 0) text += fmt::format(" of {} bits", joined.width_bits);
  if (joined.hertz > 0) text += " " + format_hertz(joined.hertz);
  return text;
}

// "coherent HT 19.2 GB/s: package 0-3".
std::string link_text(const tree& machine, const link& joined) {
  std::string text{name(joined.kind)};
  if (!joined.name.empty()) text += fmt::format(" \"{}\"", joined.name);
  if (joined.latency_ns > 0) text += " " + format_nanoseconds(joined.latency_ns);
  if (joined.bandwidth > 0) text += " " + format_bandwidth(joined.bandwidth);
  if (joined.shape == topology::full || joined.shape == topology::ring) text += shape_text(joined);
  text += ":";
  const auto& ends = joined.ends;
  for (std::size_t i = 0; i < ends.size();) {
    const std::string label = machine.label(ends[i]);
    const auto family = [&](node_id id) {
      const std::string other = machine.label(id);
      return other.substr(0, other.find_last_of(' '));
    };
    std::size_t run = 1;
    while (i + run < ends.size() && family(ends[i + run]) == family(ends[i]) &&
           machine.at(ends[i + run]).index == machine.at(ends[i]).index + run)
      ++run;
    text += fmt::format("{} {}", i == 0 ? "" : ",", label);
    if (run > 1) text += fmt::format("-{}", machine.at(ends[i + run - 1]).index);
    i += run;
  }
  return text;
}

// Returns the OS's number of a node if it differs from the node's own.
std::string os_text(const node& n) {
  const bool told = n.kind == node_kind::processing_unit || n.kind == node_kind::memory ||
                    (n.kind == node_kind::core && n.descendants == 0);
  return told && n.os_index != no_index && n.os_index != n.index ? fmt::format(" (os {})", n.os_index) : std::string{};
}

// Returns the form of a subtree without its numbers: siblings with equal forms look alike.
std::string form(const tree& machine, node_id id) {
  const std::string label = machine.label(id);
  std::string text = label.substr(0, label.find_last_of(' ')) + facts_text(machine, id);
  if (machine.at(id).children.empty()) return text;
  text += "(";
  for (const node_id child : machine.at(id).children) text += form(machine, child) + ";";
  return text + ")";
}

class drawing {
 public:
  drawing(const tree& machine, const draw_options& options)
      : machine_{machine}, options_{options}, strokes_{options.unicode ? unicode_strokes : ascii_strokes} {}

  std::string run() {
    const node& root = machine_.root();
    text_ = "machine";
    if (!root.name.empty()) text_ += fmt::format(" \"{}\"", root.name);
    text_ += fmt::format(" ({}, {} processor{})\n", format_bytes(machine_.memory_bytes()), root.processors.size(),
                         root.processors.size() == 1 ? "" : "s");
    children(root_node, "");
    for (const link& joined : machine_.links()) text_ += fmt::format("link {}\n", link_text(machine_, joined));
    return std::move(text_);
  }

 private:
  // Draws the children of a node in runs of alike siblings.
  void children(node_id parent, const std::string& prefix) {
    const auto& ids = machine_.at(parent).children;
    std::vector<std::string> forms;
    if (options_.collapse_from > 0 && ids.size() >= options_.collapse_from)
      for (const node_id id : ids) forms.push_back(form(machine_, id));
    for (std::size_t i = 0; i < ids.size();) {
      std::size_t run = 1;
      while (!forms.empty() && i + run < ids.size() && forms[i + run] == forms[i]) ++run;
      if (forms.empty() || run < options_.collapse_from) run = 1;
      const bool last = i + run == ids.size();
      text_ += prefix;
      text_ += last ? strokes_.last : strokes_.branch;
      if (run > 1) text_ += fmt::format("{} x ", run);
      line(ids[i], ids[i + run - 1], prefix + std::string{last ? strokes_.blank : strokes_.pass});
      i += run;
    }
  }

  // Draws a node, its only child behind it, and so on; `last` is the last sibling that the line stands for.
  void line(node_id id, node_id last, const std::string& prefix) {
    const bool one = id == last;
    for (;;) {
      const std::string label = machine_.label(id);
      text_ += label;
      if (!one) text_ += fmt::format("-{}", machine_.at(last).index);
      text_ += facts_text(machine_, id);
      if (one) text_ += os_text(machine_.at(id));
      if (machine_.at(id).children.size() != 1) break;
      id = machine_.at(id).children.front();
      last = machine_.at(last).children.front();
      text_ += " + ";
    }
    text_ += "\n";
    children(id, prefix);
  }

  const tree& machine_;
  const draw_options& options_;
  strokes strokes_;
  std::string text_;
};

}  // namespace

std::string draw(const tree& machine, const draw_options& options) { return drawing{machine, options}.run(); }

}  // namespace situ::machine
