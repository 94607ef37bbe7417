#include "results.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace situ::bench {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// pre: sorted is not empty
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::optional<figures> figures_of(const std::vector<const sample*>& samples) {
  if (samples.empty()) return std::nullopt;
  const auto collect = [&](auto value) {
    std::vector<double> values;
    for (const sample* s : samples) values.push_back(value(*s));
    return spread_of(std::move(values));
  };
  figures result;
  result.ns = collect([](const sample& s) { return s.ns; });
  result.ratio_to_raw = collect([](const sample& s) { return s.ns / s.raw_ns; }).median;
  result.calibration_ns = collect([](const sample& s) { return s.calibration_ns; }).median;
  result.bytes = collect([](const sample& s) { return s.bytes; }).median;
  result.samples = samples.size();
  return result;
}

row row_of(const std::vector<const sample*>& samples, double split_ns) {
  std::vector<const sample*> near, far;
  for (const sample* s : samples) (s->calibration_ns < split_ns ? near : far).push_back(s);
  return {samples.front()->case_name, samples.front()->subject, *figures_of(samples), figures_of(near),
          figures_of(far)};
}

// Four significant digits say all that a sample of some hundred can. By way of decimal text, so that they print as
// such.
double rounded(double value) { return std::strtod(fmt::format("{:.3e}", value).c_str(), nullptr); }

void put_figures(ordered_json& object, const figures& f) {
  object["median_ns"] = rounded(f.ns.median);
  object["p10_ns"] = rounded(f.ns.p10);
  object["p90_ns"] = rounded(f.ns.p90);
  object["ratio_to_raw"] = rounded(f.ratio_to_raw);
  object["samples"] = f.samples;
  object["calibration_ns"] = rounded(f.calibration_ns);
  if (f.bytes != 0) object["bytes"] = static_cast<std::uint64_t>(f.bytes);
}

figures figures_from(const json& object) {
  figures f;
  f.ns = {object.at("median_ns"), object.at("p10_ns"), object.at("p90_ns")};
  f.ratio_to_raw = object.at("ratio_to_raw");
  f.samples = object.at("samples");
  f.calibration_ns = object.at("calibration_ns");
  f.bytes = object.value("bytes", 0.0);
  return f;
}

std::optional<figures> regime_from(const json& value) {
  if (value.is_null()) return std::nullopt;
  return figures_from(value);
}

ordered_json regime(const std::optional<figures>& f) {
  if (!f) return nullptr;
  ordered_json object;
  put_figures(object, *f);
  return object;
}

}  // namespace

std::optional<sample> parse_sample(std::string_view line) {
  const json parsed = json::parse(line, nullptr, false);
  if (!parsed.is_object()) return std::nullopt;
  const auto text = [&](const char* key) {
    return parsed.contains(key) && parsed[key].is_string() ? parsed[key].get<std::string>() : "";
  };
  const auto number = [&](const char* key) {
    return parsed.contains(key) && parsed[key].is_number() ? parsed[key].get<double>() : -1;
  };
  sample s{text("case"),     text("subject"),
           number("ns"),     number("calibration_ns"),
           number("raw_ns"), std::max(0.0, number("bytes"))};
  if (s.case_name.empty() || s.subject.empty() || s.ns < 0 || s.calibration_ns <= 0 || s.raw_ns <= 0)
    return std::nullopt;
  return s;
}

bool is_end_line(std::string_view line) {
  const json parsed = json::parse(line, nullptr, false);
  return parsed.is_object() && parsed.contains("end");
}

std::optional<flags_line> parse_flags_line(std::string_view line) {
  const json parsed = json::parse(line, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("terms") || !parsed.contains("flags")) return std::nullopt;
  if (!parsed["terms"].is_string() || !parsed["flags"].is_string()) return std::nullopt;
  return flags_line{parsed["terms"], parsed["flags"]};
}

spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.5), quantile(values, 0.1), quantile(values, 0.9)};
}

std::vector<row> summarize(std::span<const sample> samples, double split_ns) {
  std::vector<std::string_view> cases, subjects;
  const auto note = [](std::vector<std::string_view>& seen, std::string_view name) {
    if (std::find(seen.begin(), seen.end(), name) == seen.end()) seen.push_back(name);
  };
  for (const sample& s : samples) {
    note(cases, s.case_name);
    note(subjects, s.subject);
  }
  std::vector<row> rows;
  for (const std::string_view case_name : cases)
    for (const std::string_view subject : subjects) {
      std::vector<const sample*> own;
      for (const sample& s : samples)
        if (s.case_name == case_name && s.subject == subject) own.push_back(&s);
      if (!own.empty()) rows.push_back(row_of(own, split_ns));
    }
  return rows;
}

const row* find_row(std::span<const row> rows, std::string_view case_name, std::string_view subject) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const row& r) { return r.case_name == case_name && r.subject == subject; });
  return found == rows.end() ? nullptr : &*found;
}

std::string to_json(std::span<const row> rows, const provenance& from) {
  std::string text = "[";
  for (const row& r : rows) {
    ordered_json object;
    object["case"] = r.case_name;
    object["subject"] = r.subject;
    put_figures(object, r.all);
    object["near"] = regime(r.near);
    object["far"] = regime(r.far);
    if (!r.terms.flags.empty()) object["flags"] = r.terms.flags;
    if (!r.terms.built.empty()) object["built"] = r.terms.built;
    object["commit"] = from.commit;
    object["machine"] = from.machine;
    object["build"] = from.build;
    object["date"] = from.date;
    if (from.load >= 0) object["load"] = rounded(from.load);
    text += text.size() == 1 ? "\n" : ",\n";
    text += object.dump();
  }
  return text + "\n]\n";
}

recorded_run from_json(std::string_view text) {
  recorded_run run;
  try {
    for (const json& object : json::parse(text)) {
      const provenance from{object.at("commit"), object.at("machine"), object.at("build"), object.at("date"),
                            object.value("load", -1.0)};
      if (!run.rows.empty() && !(from == run.from)) throw std::runtime_error{"its rows are of several runs"};
      run.from = from;
      run.rows.push_back({object.at("case"),
                          object.at("subject"),
                          figures_from(object),
                          regime_from(object.at("near")),
                          regime_from(object.at("far")),
                          {object.value("flags", ""), object.value("built", "")}});
    }
  } catch (const json::exception& e) {
    throw std::runtime_error{std::string{"it is no result of `situ bench`: "} + e.what()};
  }
  if (run.rows.empty()) throw std::runtime_error{"it holds no row"};
  return run;
}

}  // namespace situ::bench
