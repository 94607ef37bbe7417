#include "pams_files.h"

#include "base/print.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

namespace situ_pams {
namespace {

using situ::model::pams_program;

constexpr const char* standard_input = "-";

std::string read_all(std::istream& from) { return {std::istreambuf_iterator<char>{from}, {}}; }

}  // namespace

std::string name_of(const std::string& path) { return path == standard_input ? "standard input" : path; }

std::string text_of(const std::string& path) {
  if (path == standard_input) return read_all(std::cin);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    situ::throw_error(situ::errc::bad_file, fmt::format("{} is a folder", path));
  std::ifstream file{path, std::ios::binary};
  if (!file) situ::throw_error(situ::errc::bad_file, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  return read_all(file);
}

pams_program assembled(const std::string& path) {
  const std::string text = text_of(path);
  try {
    return situ::model::assemble_pams(text, name_of(path));
  } catch (const situ::error& refused) {
    situ::detail::tell("{}\n", refused.message());
    throw CLI::RuntimeError{EXIT_FAILURE};
  }
}

std::vector<std::uint32_t> program_words(const std::string& path) {
  const std::filesystem::path extension = std::filesystem::path{path}.extension();
  if (extension == ".hex" || extension == ".json") return situ::model::read_pams_words(text_of(path), name_of(path));
  return assembled(path).words();
}

}  // namespace situ_pams
