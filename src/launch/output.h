// The output of the places on its way to its reader. It passes through pipes if a launcher labels it ("[2] " before
// each line of place 2, whole lines, on the stream they were written to) or sends it to another host.
//
// A separate thread copies. A reader that does not read (a pager) therefore blocks the places, as it would without
// labels, but not the monitor that reports a loss. The pipes are made before the places are forked, and the thread is
// started after: until then the forking thread is the only one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "os/descriptor.h"
#include "os/host.h"
#include "os/worker.h"

namespace situ::detail {

// Writes all of the text, and waits if it must. If the stream has no reader any more, the text is dropped; if standard
// output fails for another reason (a full disk), the failure is noted for the end of the command (base/print.h).
void write_all(int target, std::string_view text);

// Pipes for the two streams of each process, and the thread that reads them.
class place_pipes {
 public:
  // Receives text that the index-th process wrote to stream 1 or 2. The thread calls it, and the destructor does once
  // the thread has ended; it may wait.
  using sink = std::function<void(std::uint32_t index, int stream, std::string_view text)>;

  // Throws bad_launch if there are not enough descriptors.
  place_pipes(std::uint32_t processes, sink to);
  // Copies the rest, then joins the thread. pre: every process has ended.
  ~place_pipes();
  place_pipes(const place_pipes&) = delete;
  place_pipes& operator=(const place_pipes&) = delete;

  // Returns the writing end for stream 1 or 2 of the index-th process. pre: before start().
  [[nodiscard]] int end_for(std::uint32_t index, int stream) const noexcept {
    return streams_[2 * std::size_t{index} + static_cast<std::size_t>(stream - 1)].write.number();
  }
  // Closes the writing ends here and starts copying.
  void start();

 private:
  void copy_until_ended();
  // Copies the bytes that can be read now. Returns false at the end of the stream.
  bool copy(std::size_t of);

  const sink to_;
  std::vector<os::pipe_ends> streams_;  // two for each process: output, error
  os::worker worker_;
  os::descriptor all_ended_;  // an eventfd
};

// Joins pieces of output into whole lines, with a label before each.
class line_labels {
 public:
  explicit line_labels(std::uint32_t places);
  // Adds text and returns the lines that are complete now, as one text, so that lines of several places do not mix.
  [[nodiscard]] std::string label(std::uint32_t place, int stream, std::string_view text);
  // Returns the line that is not complete yet, with its label; empty if there is none.
  [[nodiscard]] std::string rest(std::uint32_t place, int stream);

 private:
  [[nodiscard]] std::string label_of(std::uint32_t place) const;
  [[nodiscard]] std::string& begun(std::uint32_t place, int stream) {
    return begun_[2 * std::size_t{place} + static_cast<std::size_t>(stream - 1)];
  }
  const std::size_t width_;
  std::vector<std::string> begun_;  // two for each place
};

// Labels the output of the places of one host.
class labelled_output {
 public:
  // Throws as place_pipes.
  explicit labelled_output(std::uint32_t places);
  // Writes the incomplete lines. pre: every place has ended.
  ~labelled_output();
  labelled_output(const labelled_output&) = delete;
  labelled_output& operator=(const labelled_output&) = delete;

  [[nodiscard]] const place_pipes& pipes() const noexcept { return *pipes_; }
  void start() { pipes_->start(); }

 private:
  const std::uint32_t places_;
  line_labels labels_;
  std::unique_ptr<place_pipes> pipes_;
};

}  // namespace situ::detail
