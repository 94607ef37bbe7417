#include <situ/machine/orderings.h>

#include <situ/base/error.h>
#include <situ/base/spec_file.h>
#include <situ/machine/discover.h>
#include <situ/machine/ordering.h>

#include "os/user_directory.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <utility>

namespace situ::machine {
namespace {

constexpr std::uint32_t most_weight = 1000;
constexpr double most_fill = 100;  // percent

// Splits "a, b + c" into parts, without the blanks around them.
std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    parts.push_back(part);
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Tells whether a file exists. An ordering file that cannot be looked at must not be ignored silently: memory would go
// elsewhere than the file says. If this user may not enter its folder, that is a complaint.
bool is_there(const std::string& path, std::vector<std::string>& complaints) {
  std::error_code failed;
  const auto type = std::filesystem::status(path, failed).type();
  if (type == std::filesystem::file_type::not_found) return false;
  if (!failed) return true;
  const std::string what = fmt::format("{}: cannot be looked for: {}", path, failed.message());
  if (failed != std::errc::permission_denied) throw_error(errc::bad_file, what);
  complaints.push_back(what);
  return false;
}

}  // namespace

// Reads one file into orderings.
class ordering_reader {
 public:
  ordering_reader(orderings& all, const spec_table& spec) : all_{all}, spec_{spec} {}

  void run() {
    spec_.allow_only({"memory", "ordering"});
    for (const spec_table& table : spec_.tables("memory")) read_memory(table);
    for (const spec_table& table : spec_.tables("ordering")) read_ordering(table);
  }

 private:
  [[nodiscard]] const tree& machine() const { return all_.machine_; }

  // Returns "dram 0 and hbm 1": the names that the file could have used.
  [[nodiscard]] std::string known() const {
    std::string text;
    for (const node_id id : machine().all(node_kind::memory))
      if (machine().is_addressable(id))
        text += fmt::format("{}{} (\"{}\")", text.empty() ? "" : ", ", machine().at(id).os_index, machine().label(id));
    for (const ordered_memory& named : all_.named_) text += fmt::format(", \"{}\"", named.name);
    return text;
  }

  void complain(const spec_table& table, std::string_view key, std::string_view message) {
    all_.complaints_.push_back(fmt::format("{}: {}", table.where(key), message));
  }

  [[nodiscard]] std::optional<ordered_memory> of_node(std::uint32_t os_index) const {
    const node_id id = machine().memory(os_index);
    if (id == no_node) return std::nullopt;
    return ordered_memory{.name = machine().label(id), .node = os_index};
  }

  // Finds a memory by a node's number, its label, or the name of a [[memory]].
  [[nodiscard]] std::optional<ordered_memory> find(std::string_view word) const {
    if (const auto os_index = number(word)) return of_node(*os_index);
    for (const ordered_memory& named : all_.named_)
      if (named.name == word) return named;
    for (const node_id id : machine().all(node_kind::memory))
      if (machine().is_addressable(id) && machine().label(id) == word) return of_node(machine().at(id).os_index);
    return std::nullopt;
  }

  void read_memory(const spec_table& table) {
    table.allow_only({"name", "node", "budget"});
    ordered_memory named;
    named.name = table.text("name");
    if (named.name.empty() || number(named.name) || named.name.find_first_of(",+*>\"") != std::string::npos)
      table.fail("name", "write a name that is no number, without , + * and >: name = \"fast\"");
    const std::int64_t node = table.integer("node");
    named.budget_bytes = table.bytes("budget", 0);
    if (table.has("budget") && named.budget_bytes == 0)
      table.fail("budget", "0 bytes hold nothing; leave it out where the whole node may be used");
    const auto there =
        node < 0 ? std::nullopt : of_node(static_cast<std::uint32_t>(std::min<std::int64_t>(node, no_index)));
    if (!there) {
      complain(table, "node", fmt::format("there is no memory {} here, so \"{}\" is not used", node, named.name));
      return;
    }
    named.node = there->node;
    std::erase_if(all_.named_, [&](const ordered_memory& other) { return other.name == named.name; });
    all_.named_.push_back(std::move(named));
  }

  // Reads one memory of "2*3 + 0". Returns nullopt if it is not here.
  std::optional<ordered_memory> read_member(const spec_table& table, std::string_view text) {
    const std::vector<std::string_view> parts = split(text, '*');
    const auto weight = parts.size() == 1 ? std::optional<std::uint32_t>{1} : number(parts[1]);
    if (parts.size() > 2 || parts[0].empty() || !weight || *weight == 0 || *weight > most_weight)
      table.fail("memories", fmt::format("\"{}\" is no memory; write nodes or names, best first: \"2, 0, 1\", or "
                                         "\"2*3 + 0, 1\" where 2 and 0 take turns, three to one",
                                         text));
    auto found = find(parts[0]);
    if (!found)
      complain(table, "memories", fmt::format("there is no memory \"{}\" here; there are {}", parts[0], known()));
    else
      found->weight = *weight;
    return found;
  }

  void read_ordering(const spec_table& table) {
    table.allow_only({"intent", "from", "memories", "fill", "no_room"});
    orderings::entry entry;
    try {
      entry.name = intent{table.text("intent")}.name();
    } catch (const error& bad) {
      if (bad.code() != errc::bad_argument) throw;
      table.fail("intent", bad.message());
    }
    bool usable = read_initiators(table, entry);
    std::vector<ordered_memory> seen;
    const std::string memories = table.text("memories");
    for (const std::string_view step : split(memories, ',')) {
      std::vector<ordered_memory>& members = entry.order.steps.emplace_back();
      for (const std::string_view text : split(step, '+')) {
        auto member = read_member(table, text);
        usable = usable && member.has_value();
        if (!member) continue;
        if (std::any_of(seen.begin(), seen.end(), [&](const auto& other) { return other.name == member->name; }))
          table.fail("memories", fmt::format("\"{}\" stands there twice", member->name));
        seen.push_back(*member);
        members.push_back(std::move(*member));
      }
    }
    const double percent = table.number("fill", 100 * entry.order.fill);
    if (!(percent > 0 && percent <= most_fill))
      table.fail("fill", "write the percent of a memory that may be used: 90");
    entry.order.fill = percent / 100;
    const std::string policy = table.text("no_room", "error");
    if (policy != "error" && policy != "last")
      table.fail("no_room",
                 fmt::format("\"{}\" is not known; write \"error\", or \"last\" for the last memory", policy));
    entry.order.when_full = policy == "last" ? no_room::last : no_room::error;
    entry.order.source = table.where("");
    if (usable) all_.entries_.push_back(std::move(entry));
  }

  // Reads the processors that an entry is for. Returns false if it names a node that is not here.
  bool read_initiators(const spec_table& table, orderings::entry& entry) {
    if (!table.has("from")) return true;
    processor_set nodes;  // the nodes' numbers
    try {
      nodes = processor_set::parse(table.text("from"));
    } catch (const error& bad) {
      if (bad.code() != errc::bad_argument) throw;
      table.fail("from", "write the NUMA nodes whose processors it is for: \"0\", or \"0-1,4\"");
    }
    if (nodes.empty()) table.fail("from", "no node stands there; leave it out where it is for all processors");
    for (const std::uint32_t os_index : nodes.members()) {
      const node_id id = machine().memory(os_index);
      if (id == no_node) {
        complain(table, "from", fmt::format("there is no node {} here; this ordering is not used", os_index));
        return false;
      }
      entry.processors |= machine().at(id).processors;
    }
    return true;
  }

  orderings& all_;
  const spec_table& spec_;
};

std::string to_text(const memory_order& order) {
  std::string text;
  for (const auto& step : order.steps) {
    if (!text.empty()) text += " > ";
    for (const ordered_memory& memory : step) {
      if (&memory != step.data()) text += " + ";
      text += memory.name;
      if (memory.weight != 1) text += fmt::format("*{}", memory.weight);
    }
  }
  return text;
}

orderings::orderings(tree machine) : machine_{std::move(machine)}, complaints_{doubtful_figures(machine_)} {}

orderings orderings::of_this_machine() {
  orderings all{discover()};
  const ordering_files files = where_orderings_are();
  for (const std::string& path : {files.system, files.user})
    if (!path.empty() && is_there(path, all.complaints_)) all.read(path);
  if (!files.environment.empty()) all.read(files.environment);  // a user who names a file expects it to exist
  return all;
}

void orderings::read(const std::string& path) { ordering_reader{*this, read_spec(path)}.run(); }

void orderings::parse(std::string_view text, std::string_view file_name) {
  ordering_reader{*this, parse_spec(text, file_name)}.run();
}

memory_order orderings::find(const intent& what, node_id from) const {
  const processor_set& processors = machine_.at(from).processors;
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->name != what.name()) continue;
    if (entry->processors.empty() || entry->processors.includes(processors)) return entry->order;
  }
  memory_order order;
  order.source = decided_by(machine_, what, from);
  for (const ranked_memory& ranked : ordering(machine_, what, from)) {
    if (!machine_.is_addressable(ranked.memory)) continue;  // a device's own memory: the kernel gives no pages of it
    order.steps.push_back({{.name = machine_.label(ranked.memory), .node = machine_.at(ranked.memory).os_index}});
  }
  return order;
}

memory_order orderings::find(const intent& what, const processor_set& from) const {
  return find(what, machine_.covering(from));
}

memory_order orderings::find_here(const intent& what) const {
  const int now = ::sched_getcpu();
  const processor_set allowed = processor_set::of_this_thread();
  return find(what, now < 0 ? allowed : seen_from(machine_, allowed, static_cast<std::uint32_t>(now)));
}

processor_set seen_from(const tree& machine, const processor_set& allowed, std::uint32_t now) {
  const processor_set here = allowed & machine.root().processors;
  const processor_set* nearest = nullptr;
  for (const node_id id : machine.all(node_kind::memory)) {
    const processor_set& local = machine.at(id).processors;
    if (!machine.is_addressable(id) || !local.contains(now)) continue;
    if (nearest == nullptr || local.size() < nearest->size()) nearest = &local;
  }
  return nearest == nullptr || nearest->includes(here) ? allowed : here & *nearest;
}

std::vector<intent> orderings::intents() const {
  std::vector<intent> all = intents_of(machine_);
  const std::size_t common = all.size();
  for (const entry& entry : entries_) {
    const intent named{entry.name};
    if (std::find(all.begin(), all.end(), named) == all.end()) all.push_back(named);
  }
  std::sort(all.begin() + static_cast<std::ptrdiff_t>(common), all.end(),
            [](const intent& a, const intent& b) { return a.name() < b.name(); });
  return all;
}

ordering_files where_orderings_are() {
  ordering_files files{"/etc/situ/orderings.toml", situ::detail::user_directory("XDG_CONFIG_HOME", ".config"),
                       situ::detail::variable("SITU_ORDERINGS")};
  if (!files.user.empty()) files.user += "/orderings.toml";
  return files;
}

}  // namespace situ::machine
