// json_ship: a JSON document travels to another place as a graph of objects, is changed there, and comes back.
//
//   situ run -n 2 json_ship                              this machine's Debian packages, as JSON
//   situ run -n 2 json_ship file.json --transfer all     any document, by each transfer
//   situ run -n 4 json_ship file.json --to 3 --json -    figures as JSON
//
// Place 0 parses the text into objects that point to each other (document.h), in its segment. One `at` carries the
// whole graph to the other place, whose function works on ordinary pointers; its result brings the changed graph back
// as an owned copy. Place 0 undoes the change on the copy and compares it with the original, which has stayed as it
// was. travel() and visit() are the point.
#include "document.h"
#include "generate.h"
#include "read.h"
#include "report.h"

#include <situ/graph.h>
#include <situ/situ.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace json_ship {
namespace {

constexpr const char* transfer_names[] = {"auto", "message", "pull", "offload"};  // by situ::transfer

struct options {
  std::string input;  // empty: the package list
  std::string transfer = "auto";
  std::uint32_t to = 1;
  std::uint32_t repeats = 3;
  std::string json;
  std::string out;
  read_options reading;
};

void declare(CLI::App& app, options& o) {
  app.add_option("file", o.input, "JSON document to read, - for standard input [made of `apt-cache dumpavail`]")
      ->type_name("FILE");
  app.add_option("--transfer", o.transfer, "How it travels; all: one after the other")
      ->check(CLI::IsMember({"auto", "message", "pull", "offload", "all"}))
      ->capture_default_str();
  app.add_option("--to", o.to, "The place that changes it [1, or 0 where that is the only one]")->type_name("PLACE");
  app.add_option("--repeat", o.repeats, "Journeys by each transfer; times are medians")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--max-depth", o.reading.most_levels, "Refuse documents nested deeper than this")
      ->capture_default_str();
  app.add_option("--json", o.json, "Also write the figures to this file as JSON; - prints them instead of the tables")
      ->type_name("FILE");
  app.add_option("--out", o.out, "Write the document to this file as it came back, its change undone")
      ->type_name("FILE");
  app.footer(
      "Examples:\n"
      "  situ run -n 2 json_ship                           this machine's Debian packages\n"
      "  situ run -n 2 json_ship file.json --transfer all  by each transfer\n"
      "  situ run -n 4 --in-process json_ship file.json --to 3 --json figures.json\n"
      "  curl -s https://example.org/data.json | situ run -n 2 json_ship -");
}

bool is_first() { return situ::here() == situ::place{0}; }

void complain(const std::string& what) { std::fprintf(stderr, "json_ship: %s\n", what.c_str()); }

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// How the last graph came to this place.
thread_local situ::transfer last_arrival = situ::transfer::automatic;

const char* arrival() {
  return last_arrival == situ::transfer::automatic ? "copy here" : transfer_names[static_cast<int>(last_arrival)];
}

// Runs where the document has been sent to. What it returns is copied back, and what came with the call goes.
document* visit(document* d) {
  d->arrived_ns = now_ns();
  d->came_by = static_cast<std::uint32_t>(last_arrival);
  change(*d, situ::here().index());
  d->left_ns = now_ns();
  return d;
}

// Returns what came back, its change undone.
situ::owned<document> travel(const stored_document& original, situ::place to, situ::transfer how, report::journey& j) {
  j.asked_for = transfer_names[static_cast<int>(how)];
  const std::int64_t begin = now_ns();
  situ::owned<document> back = situ::at(situ::via(to, how), &visit, original.get());
  const std::int64_t end = now_ns();
  j.back_by = arrival();
  last_arrival = static_cast<situ::transfer>(back->came_by);
  j.there_by = arrival();
  j.there_ns = static_cast<double>(back->arrived_ns - begin);
  j.change_ns = static_cast<double>(back->left_ns - back->arrived_ns);
  j.back_ns = static_cast<double>(end - back->left_ns);
  const situ::graph_size there = situ::measure(original.get());
  j.objects_there = there.objects;
  j.bytes_there = there.bytes;
  j.objects_back = back.size().objects;
  j.bytes_back = back.size().bytes;
  const std::int64_t returned = now_ns();
  j.stamps = undo_change(*back, to.index());
  const std::int64_t undone = now_ns();
  j.difference = difference(*original.get(), *back);
  if (j.difference.empty() && j.stamps != original.census().records) j.difference = "not every record had been stamped";
  j.compare_ns = static_cast<double>(now_ns() - undone);
  j.undo_ns = static_cast<double>(undone - returned);
  return back;
}

// The last journey, with the medians of all.
report::journey summary_of(std::vector<report::journey> all) {
  report::journey result = all.back();
  for (const report::journey& each : all)
    if (!each.difference.empty()) result.difference = each.difference;
  for (double report::journey::* time :
       {&report::journey::there_ns, &report::journey::change_ns, &report::journey::back_ns, &report::journey::undo_ns,
        &report::journey::compare_ns}) {
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end(),
                     [time](const auto& a, const auto& b) { return a.*time < b.*time; });
    result.*time = (*middle).*time;
  }
  return result;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file{path, std::ios::binary};
  if (!(file << text << std::flush)) situ::throw_error(situ::errc::bad_file, "cannot write " + path);
}

std::unique_ptr<stored_document> read(const options& o, report& r) {
  const std::int64_t begin = now_ns();
  const std::string text = o.input.empty() ? generate_text() : read_file(o.input);
  const std::int64_t had = now_ns();
  r.source = o.input.empty() ? generated_source : o.input == "-" ? "standard input" : o.input;
  try {
    auto made = parse_document(text, o.reading);
    r.text_bytes = text.size();
    r.read_ns = static_cast<double>(had - begin);
    r.parse_ns = static_cast<double>(now_ns() - had);
    r.census = made->census();
    return made;
  } catch (const situ::error& e) {
    situ::throw_error(e.code(), r.source + ": " + std::string{e.message()});
  }
}

// At place 0. Returns the exit code.
int run(const options& o) {
  report r;
  r.places = situ::place_count();
  r.destination = o.to;
  r.repeats = o.repeats;
  const std::unique_ptr<stored_document> original = read(o, r);
  situ::owned<document> last;
  for (int t = 0; t < 4; ++t) {
    if (o.transfer != "all" && o.transfer != transfer_names[t]) continue;
    std::vector<report::journey> all(o.repeats);
    for (report::journey& each : all) last = travel(*original, situ::place{o.to}, static_cast<situ::transfer>(t), each);
    r.journeys.push_back(summary_of(std::move(all)));
  }
  if (!o.out.empty()) write_file(o.out, to_text(*last) + "\n");
  if (o.json != "-") std::fputs(to_text(r).c_str(), stdout);
  if (o.json == "-")
    std::fputs(to_json(r).c_str(), stdout);
  else if (!o.json.empty())
    write_file(o.json, to_json(r));
  if (!r.passed()) complain("a document came back different");
  return r.passed() ? 0 : 1;
}

}  // namespace
}  // namespace json_ship

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  json_ship::options options;
  CLI::App app{
      "Sends a JSON document to another place as a graph of objects, changes it there, gets it back, and compares.",
      "json_ship"};
  json_ship::declare(app, options);
  try {
    app.parse(argc, argv);
    if (app.count("--to") == 0) options.to = std::min(1U, situ::place_count() - 1);
    if (options.to >= situ::place_count())
      throw CLI::ValidationError("--to",
                                 "there are " + std::to_string(situ::place_count()) + " places, numbered from 0");
  } catch (const CLI::ParseError& e) {
    return json_ship::is_first() ? app.exit(e) : e.get_exit_code();  // every place knows, one says it
  }
  situ::on_graph_copy([](const situ::graph_copy_event& event) { json_ship::last_arrival = event.how; });
  situ::barrier();  // a place may serve the first call while it still waits for the others in its constructor: nothing
                    // is sent before all listen
  int code = 0;
  if (json_ship::is_first()) {
    try {
      code = json_ship::run(options);
    } catch (const situ::error& e) {
      json_ship::complain(std::string{e.message()});
      code = 1;
    }
  }
  return situ::broadcast(code, 0);  // the others wait here, and do what they are sent
}
