// options::from_environment and context::report.
#include "stencil/context_parts.h"

#include "os/output_file.h"

#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/base/units.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <system_error>

namespace situ::stencil {
namespace {

int parse_int(const char* variable, std::string_view text) {
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || value < 0) {
    throw_error(errc::bad_argument, fmt::format("{}='{}': a whole number is expected", variable, text));
  }
  return value;
}

std::uint64_t parse_size(const char* variable, std::string_view text) {
  if (!text.empty() && text.find_first_not_of("0123456789") == text.npos)
    return std::strtoull(std::string{text}.c_str(), nullptr, 10);
  try {
    return parse_bytes(text);
  } catch (const error& e) {
    throw_error(errc::bad_argument, fmt::format("{}: {}", variable, e.message()));
  }
}

memory_kind parse_kind(const char* variable, std::string_view text) {
  try {
    return memory_kind::parse(text);
  } catch (const error& e) {
    throw_error(errc::bad_argument, fmt::format("{}='{}': {}", variable, text, e.message()));
  }
}

std::shared_ptr<backing_store> parse_store(std::string_view text) {
  if (text == "file") return nullptr;
  const memory_kind kind = parse_kind("SITU_STENCIL_STORE", text);
  if (kind.from == memory_kind::source::file) {
    if (std::error_code why; !std::filesystem::is_directory(kind.path, why))
      throw_error(
          errc::bad_argument,
          fmt::format("SITU_STENCIL_STORE='{}': {}; the file gets no name in it", text,
                      why && why != std::errc::no_such_file_or_directory ? why.message() : "there is no such folder"));
    return make_file_store(kind.path);  // bypasses the page cache
  }
  return make_memory_store(kind);
}

// Refuses a variable of earlier versions, which would be ignored now.
void refuse_former_names() {
  const char* const intent = std::getenv("SITU_STENCIL_INTENT");
  if (intent == nullptr || *intent == '\0') return;
  throw_error(errc::bad_argument,
              fmt::format("SITU_STENCIL_INTENT is now SITU_STENCIL_MEMORY=intent:NAME: write intent:{}", intent));
}

executor parse_executor(std::string_view text) {
  for (const auto e : {executor::plain, executor::tiled, executor::out_of_core}) {
    if (text == name(e)) return e;
  }
  throw_error(errc::bad_argument, fmt::format("SITU_STENCIL_EXECUTOR='{}': plain, tiled and out_of_core exist", text));
}

}  // namespace

options options::from_environment() { return from_environment({}); }

options options::from_environment(options o) {
  const auto get = [](const char* variable) -> std::string_view {
    const char* const value = std::getenv(variable);
    return value != nullptr ? value : "";
  };
  refuse_former_names();
  if (const auto v = get("SITU_STENCIL_EXECUTOR"); !v.empty()) o.run_by = parse_executor(v);
  if (const auto v = get("SITU_STENCIL_THREADS"); !v.empty()) o.threads = parse_int("SITU_STENCIL_THREADS", v);
  if (const auto v = get("SITU_STENCIL_CACHE"); !v.empty()) o.cache_bytes = parse_size("SITU_STENCIL_CACHE", v);
  if (const auto v = get("SITU_STENCIL_FAST"); !v.empty()) o.fast_bytes = parse_size("SITU_STENCIL_FAST", v);
  if (const auto v = get("SITU_STENCIL_STORE"); !v.empty()) o.store = parse_store(v);
  if (const auto v = get("SITU_STENCIL_MEMORY"); !v.empty()) o.memory = parse_kind("SITU_STENCIL_MEMORY", v);
  if (const auto v = get("SITU_STENCIL_POPULATE"); !v.empty()) o.memory_populate = v != "0";
  if (const auto v = get("SITU_STENCIL_RESIDENT"); !v.empty())
    o.resident_bytes = parse_size("SITU_STENCIL_RESIDENT", v);
  if (const auto v = get("SITU_STENCIL_DIRECTORY"); !v.empty()) o.directory = v;
  if (const auto v = get("SITU_STENCIL_REPORT"); !v.empty()) {
    o.report = v != "0";
    if (v.ends_with(".json")) o.report_file = v;
  }
  if (auto v = get("SITU_STENCIL_TILE"); !v.empty()) {
    for (int d = 0; d < max_dims && !v.empty(); ++d) {
      const auto comma = v.find(',');
      o.tile[d] = parse_int("SITU_STENCIL_TILE", v.substr(0, comma));
      v = comma == v.npos ? std::string_view{} : v.substr(comma + 1);
    }
  }
  return o;
}

namespace {

std::string text_of(const way& w, int dims) {
  if (w.is_alone) return "one thread";
  if (w.tile == coordinates{}) return "no tiles";
  std::string text = "tile ";
  for (int d = 0; d < dims; ++d) text += fmt::format("{}{}", d > 0 ? "," : "", w.tile[d]);
  return text;
}

// Prints which tile the last chain ran in, what the model expected of it and of the others, and the measured times.
void report_choice(std::ostream& to, const cached_plan& p, int dims) {
  const std::vector<way>& ways = p.trials->ways();
  if (p.last >= ways.size()) return;
  const auto expected = [](const way& w) {
    return w.expected.seconds > 0 ? fmt::format("expected {:.6f} s ({:.6f} s for bytes, {} a tile{})",
                                                w.expected.seconds, w.expected.moved_seconds,
                                                format_bytes(static_cast<std::uint64_t>(w.expected.footprint_bytes)),
                                                w.expected.in_rows ? ", each by one thread" : "")
                                  : std::string{"not by the model"};
  };
  const auto& ran = ways[p.last];
  to << fmt::format("the last chain ran with {}: {}, took {:.6f} s\n", text_of(ran, dims), expected(ran),
                    p.last_seconds);
  if (ways.size() < 2) return;
  for (std::size_t c = 0; c < ways.size(); ++c) {
    const auto t = p.trials->of(c);
    to << fmt::format("  {} {}: {}, {}\n", c == p.trials->best() ? "*" : " ", text_of(ways[c], dims), expected(ways[c]),
                      t.count > 0 ? fmt::format("best of {}: {:.6f} s", t.count, t.seconds) : "not tried");
  }
}

}  // namespace

void context::report(std::ostream& to) const {
  const auto& s = parts_->statistics;
  if (!parts_->reports.empty()) {
    to << fmt::format("{:<32} {:>8} {:>10} {:>10} {:>8} {:>5} {:>8} {:>5}\n", "loop", "calls", "seconds", "GB", "GB/s",
                      "read", "written", "both");
    for (const auto& [loop, r] : parts_->reports) {
      const double gb = static_cast<double>(r.bytes_read + r.bytes_written) * 1e-9;
      to << fmt::format("{:<32} {:>8} {:>10.4f} {:>10.3f} {:>8.2f} {:>5} {:>8} {:>5}\n", loop, r.calls, r.seconds, gb,
                        r.seconds > 0 ? gb / r.seconds : 0.0, r.traffic.read, r.traffic.written, r.traffic.updated);
    }
  }
  to << fmt::format(
      "{} chains of {:.1f} loops by {}, {:.3f} s, planning {:.6f} s ({} plans made, {} found again); the last: {} "
      "tiles, {} each\n",
      s.chains, s.chains > 0 ? static_cast<double>(s.loops) / static_cast<double>(s.chains) : 0.0,
      name(parts_->how.run_by), s.run_seconds, s.plan_seconds, s.plans_made, s.plans_reused, s.last_tiles,
      format_bytes(s.last_footprint_bytes));
  if (const auto* const last = parts_->last_plan; last != nullptr) report_choice(to, *last, last->dims);
  if (parts_->slots == nullptr) return;
  if (s.last_parts > 1)
    to << fmt::format("the last chain ran in {} parts: its windows do not fit into the budget together\n",
                      s.last_parts);
  const auto gb = [](std::uint64_t bytes) { return static_cast<double>(bytes) * 1e-9; };
  const double moved = gb(s.bytes_read) + gb(s.bytes_written);
  to << fmt::format(
      "computed {:.3f} s, waited {:.3f} s for the store; read {:.3f} GB, written {:.3f} GB, {:.3f} GB/s of the whole "
      "time; {}\n",
      s.compute_seconds, s.wait_seconds, gb(s.bytes_read), gb(s.bytes_written),
      s.run_seconds > 0 ? moved / s.run_seconds : 0.0, parts_->slots->store().description());
}

// Writes in the order in which report() prints. A destructor calls it, so failures are logged.
void context::parts::write_report() const noexcept {
  if (!how.report || how.report_file.empty()) return;
  try {
    nlohmann::ordered_json out;
    out["executor"] = name(how.run_by);
    out["threads"] = pool.size();
    out["chains"] = statistics.chains;
    out["run_seconds"] = statistics.run_seconds;
    for (const auto& [loop, r] : reports) {
      out["loops"].push_back({{"name", loop},
                              {"calls", r.calls},
                              {"points", r.points},
                              {"seconds", r.seconds},
                              {"bytes_read", r.bytes_read},
                              {"bytes_written", r.bytes_written}});
    }
    situ::detail::write_file(how.report_file, out.dump(1) + '\n');
  } catch (const std::exception& e) {
    log(log_level::error, fmt::format("the report of the loops is lost: {}", e.what()));
  }
}

}  // namespace situ::stencil
