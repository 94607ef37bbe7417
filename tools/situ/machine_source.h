// The machine that a command works on: this one, a recorded one or a specified one.
#pragma once

#include <situ/machine/machine.h>

#include <CLI/CLI.hpp>

#include <string>

#include "machine_file.h"

struct machine_source {
  std::string machine_file;
  std::string xml_file;
  std::string synthetic;

  // Adds the options that set it; this object must outlive the command's parsing. `only_this_machine` lists the
  // options that are allowed for this machine only.
  void add_to(CLI::App& command, std::initializer_list<CLI::Option*> only_this_machine = {}) {
    auto* from_file = command
                          .add_option("--machine", machine_file,
                                      "Show the machine that a TOML file specifies, or one that comes with Situ")
                          ->type_name("FILE|NAME");
    auto* from_xml =
        command.add_option("--xml", xml_file, "Show a machine recorded with `lstopo FILE.xml`")->type_name("FILE");
    auto* from_text =
        command.add_option("--synthetic", synthetic, "Show a machine in hwloc's synthetic notation")->type_name("TEXT");
    from_file->excludes(from_xml)->excludes(from_text);
    from_xml->excludes(from_text);
    for (CLI::Option* const option : only_this_machine)
      option->excludes(from_file)->excludes(from_xml)->excludes(from_text);
  }
  [[nodiscard]] bool is_this_machine() const { return machine_file.empty() && xml_file.empty() && synthetic.empty(); }
  [[nodiscard]] situ::machine::tree load(const situ::machine::discovery_options& how = {}) const {
    if (!machine_file.empty()) return situ::machine::read_toml(machine_file_of(machine_file));
    if (!xml_file.empty()) return situ::machine::read_hwloc_xml(xml_file);
    if (!synthetic.empty()) return situ::machine::from_synthetic(synthetic);
    return situ::machine::discover(how);
  }
};

// Returns initiators for which memories differ: the smallest node of each memory's neighbourhood.
[[nodiscard]] inline std::vector<situ::machine::node_id> initiators(const situ::machine::tree& tree) {
  std::vector<situ::machine::node_id> result;
  std::vector<situ::machine::processor_set> seen;
  for (const situ::machine::node_id id : tree.all(situ::machine::node_kind::memory)) {
    if (!tree.is_addressable(id)) continue;
    const auto& near = tree.at(id).processors;
    if (std::find(seen.begin(), seen.end(), near) != seen.end()) continue;
    seen.push_back(near);
    result.push_back(tree.covering(near));
  }
  return result;
}
