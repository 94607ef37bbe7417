// The packaged rivals: installed where they are absent, compiled from the sources that this program carries, and run.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "subject_run.h"

namespace situ::bench {

// A directory of its own, removed at the end.
class temporary_directory {
 public:
  // parent: empty for the temporary directory.
  explicit temporary_directory(const std::filesystem::path& parent = {});
  ~temporary_directory();
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

// "openmpi" and "oshmem" of the core bench, "boost" and "cereal" of the graph bench, "devito" of the stencil bench.
[[nodiscard]] bool is_rival(const std::string& subject);

// Makes the rival's program in the directory, installing Debian's packages first where they are absent and
// `may_install`. Says what it does; where the rival cannot be had says why, and returns false.
[[nodiscard]] bool prepare_rival(const std::string& subject, const std::filesystem::path& directory, bool may_install,
                                 const std::function<void(const std::string&)>& say);

// Writes bench/rivals, and what it includes, into the directory.
void write_rival_sources(const std::filesystem::path& directory);

// What a prepared rival's program was compiled with, and how it was built, in words.
[[nodiscard]] subject_terms rival_terms(const std::string& subject, const std::filesystem::path& directory);

// "openmpi-bin 4.1.4-3+b1": a Debian package and its version.
[[nodiscard]] std::string package_with_version(const std::string& package);

// The command and environment that run a prepared rival over so many ranks (those of the graph bench have one).
[[nodiscard]] subject_request rival_request(const std::string& subject, const std::filesystem::path& directory,
                                            unsigned ranks);

}  // namespace situ::bench
