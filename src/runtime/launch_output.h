// Labels what the places write: "[2] " before each line of place 2, whole lines, on the stream they were written to.
//
// A thread of its own copies, so that a reader who does not read (a pager) holds up the places, as it would without
// labels, but not the monitor that tells of a loss. Made before the places are forked, started after: the forking
// thread stays the only one until then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/host.h"

namespace situ::detail {

class labelled_output {
 public:
  // Pipes for the two streams of each place. Throws bad_launch where there are not enough descriptors.
  explicit labelled_output(std::uint32_t places);
  // pre: every place has ended. Copies what is left, then joins the thread.
  ~labelled_output();
  labelled_output(const labelled_output&) = delete;
  labelled_output& operator=(const labelled_output&) = delete;

  // In the forked child: makes the pipes its standard output and error.
  void redirect_in_child(std::uint32_t place) const noexcept;
  // Closes the writing ends here and starts copying.
  void start();

 private:
  struct stream {
    int read_end = -1;
    int write_end = -1;
    int target = 1;
    std::string label;
    std::string line;  // begun, not yet ended
  };
  void copy_until_ended();
  // Copies what is there to read now. False at the end of the stream.
  bool copy(stream& from);
  void write_lines(stream& from, std::string& text);

  std::vector<stream> streams_;  // two a place: output, error
  worker worker_;
  int all_ended_ = -1;  // an eventfd
};

}  // namespace situ::detail
