// Programs of Situ that a study starts, each in a process of its own.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace situ::studies {

struct program_result {
  bool was_stopped = false;
  int exit_code = 0;   // 128 + a signal's number
  std::string output;  // of its standard streams
  std::string errors;
};

// Returns one line that names the programs of these that are not where Situ's programs are (os/find_program.h), and
// says how to get them; an empty text if all are there.
[[nodiscard]] std::string missing_programs(const std::vector<std::string_view>& names);
// Runs arguments[0] with these, and waits for it; ends it where is_stopped() (may be empty, asked often) says so.
// Throws bad_launch where it cannot be started.
[[nodiscard]] program_result run_program(const std::vector<std::string>& arguments,
                                         const std::function<bool()>& is_stopped);

// A folder for a study's files, which goes with it.
class study_folder {
 public:
  study_folder();
  ~study_folder();
  study_folder(const study_folder&) = delete;
  study_folder& operator=(const study_folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace situ::studies
