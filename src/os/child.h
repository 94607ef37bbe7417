// Child processes: to start a program, to see that it has ended, and to take what it writes.
//
// A program can be started in two ways:
//   1. child::start(program): posix_spawn. The parent's memory is not copied, its pthread_atfork handlers do not run,
//      and the call reports a failed exec itself.
//   2. child::start(program, setup, failures): fork and exec, for a child that ends with its parent or prepares itself.
//      A failed exec comes back over a pipe, so that a caller can start many children before it waits for all of them.
// All memory that a child needs is made before: between fork and exec it makes only system calls.
#pragma once

#include <sys/types.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/descriptor.h"

namespace situ::os {

// The arguments or the environment of a program, in the form that exec takes.
class exec_texts {
 public:
  explicit exec_texts(std::vector<std::string> texts);
  exec_texts(const exec_texts&) = delete;
  exec_texts& operator=(const exec_texts&) = delete;
  // pre: there are texts.
  void replace_last(std::string text);
  [[nodiscard]] char* const* data() const noexcept { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;  // and a null pointer
};

// Returns this process's environment ("NAME=VALUE"), without the variables of these names.
[[nodiscard]] std::vector<std::string> own_environment(std::span<const std::string_view> without = {});

struct program {
  static constexpr int inherited = -1;
  static constexpr int nothing = -2;  // /dev/null

  const char* file;
  const exec_texts& arguments;              // from the program's name on
  const exec_texts* environment = nullptr;  // null: this process's
  bool is_in_path = false;                  // a file without '/' is looked for in this process's PATH
  // The program's standard streams, each a descriptor, `inherited` or `nothing`.
  int input = inherited;
  int output = inherited;
  int errors = inherited;
  std::array<int, 2> kept{-1, -1};   // other descriptors that stay open, under their numbers; -1: none
  const sigset_t* mask = nullptr;    // the program's signal mask; null: the caller's
  bool has_default_signals = false;  // signals that this process ignores have their default action
};

// The preparations of a forked child, before it becomes the program.
struct child_setup {
  int signal_at_parents_end = 0;  // the child gets it when the thread that starts it ends; 0: none
  // Called once the streams are the program's. It makes only system calls; false, with errno, if the child must not
  // become the program. May be empty.
  std::function<bool()> in_child{};
};

struct start_failure {
  int reason;  // errno's value
  std::uint32_t number;
};

// A pipe by which forked children report that they have not become their programs. Exec closes it, so that its end
// means that all have started. Empty, with errno, if it cannot be made.
class start_failures {
 public:
  start_failures() noexcept : ends_{pipe_ends::make()} {}
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(ends_); }
  // Returns the first failure, once every child executes its program or has failed; such a child ends with exit code
  // 127. Once.
  [[nodiscard]] std::optional<start_failure> wait() noexcept;

 private:
  friend class child;
  pipe_ends ends_;
};

// The end of a process.
struct exit_status {
  int code = 0;
  int signal = 0;        // not 0: the signal that has ended it
  bool is_known = true;  // false: this process ignores SIGCHLD, or has waited for all its children elsewhere

  // The program has ended by itself, with code 0.
  [[nodiscard]] bool is_success() const noexcept { return is_known && signal == 0 && code == 0; }
  // As a shell has it: 128 and the signal's number if a signal has ended the process.
  [[nodiscard]] int shell_code() const noexcept { return signal != 0 ? 128 + signal : code; }
};

// Replaces this process's program; its environment and descriptors are kept as exec keeps them. Returns errno's value
// if the file cannot be executed.
[[nodiscard]] int become_program(const std::string& file, std::vector<std::string> arguments);

// Continues in a forked child, which is no child of the program that has started this process: the calling process ends
// with code 0, or with 1 if there is no process for the child. pre: no other thread runs.
void continue_in_child() noexcept;

// Owns a process that this one has started: the destructor kills it and waits for it, unless that has been done.
// Movable; for one thread.
class child {
 public:
  child() = default;
  // Takes over a process that the caller has forked.
  explicit child(pid_t forked) noexcept : id_{forked} {}
  child(child&& other) noexcept : id_{std::exchange(other.id_, -1)}, end_{std::move(other.end_)} {}
  child& operator=(child&& other) noexcept;
  ~child() { end_now(); }

  // Starts the program. Returns an empty object, with errno, if that fails.
  [[nodiscard]] static child start(const program& what) noexcept;
  // Forks a child that becomes the program, and does not wait for that. Returns an empty object, with errno, if there
  // is no process. number: of its failure.
  [[nodiscard]] static child start(const program& what, const child_setup& setup, const start_failures& failures,
                                   std::uint32_t number = 0) noexcept;
  // Forks a copy of this process that runs the body and then ends with the code that the body returns: by _exit, so
  // that no destructor or exit handler runs, and buffered text is not written. The functions of pthread_atfork run.
  // signal_at_parents_end: as in child_setup. Returns an empty object, with errno, if there is no process.
  // pre: the body throws nothing.
  [[nodiscard]] static child fork(const std::function<int()>& body, int signal_at_parents_end = 0);

  // Is false before a start, and once the end is known.
  [[nodiscard]] explicit operator bool() const noexcept { return id_ > 0; }
  [[nodiscard]] pid_t id() const noexcept { return id_; }
  // Opens end(). Returns 0 also if the system refuses such descriptors (an old kernel, a container's seccomp profile):
  // then the caller must ask try_wait(). Otherwise returns errno's value: ESRCH if the process is gone without a trace.
  [[nodiscard]] int watch() noexcept;
  // Becomes readable when the process ends; -1 without watch(). Stays open as long as this object.
  [[nodiscard]] int end() const noexcept { return end_.number(); }
  // Sends a signal, if the process has not been waited for; over end() if there is one, as the number of an ended
  // process may belong to another if this program waits for its children elsewhere.
  void send(int signal) const noexcept;
  // Returns whether it has ended, and leaves its status to wait().
  [[nodiscard]] bool is_over() const noexcept;
  // Returns how it has ended; empty if it has not.
  [[nodiscard]] std::optional<exit_status> try_wait() noexcept { return status(WNOHANG); }
  // Waits for its end; a signal handler of this process does not end the wait. pre: not empty.
  exit_status wait() noexcept { return *status(0); }
  // In a forked process, which is not the parent: closes end() and forgets the process.
  void leave_to_parent() noexcept;

 private:
  [[nodiscard]] std::optional<exit_status> status(int options) noexcept;
  void end_now() noexcept;

  pid_t id_ = -1;
  descriptor end_;
};

// --- Children that no object owns: those that a process has taken over, or had before it became this program ---

// Returns the number of any child of this process that has ended, and leaves its status to a wait; 0 if none has. On
// failure returns -1, with errno: ECHILD if there is no child.
[[nodiscard]] pid_t find_ended_child() noexcept;
// As above, but waits until a child ends. A signal handler ends the wait, with EINTR.
[[nodiscard]] pid_t await_ended_child() noexcept;
// Drops the status of a child that has ended; does nothing for another process.
void drop_ended_child(pid_t process) noexcept;

// Takes what a child writes to its standard output and error. Empty, with errno, if the pipes cannot be made.
class output_capture {
 public:
  [[nodiscard]] explicit operator bool() const noexcept { return output_.ends && errors_.ends; }
  // For the program.
  [[nodiscard]] int output_end() const noexcept { return output_.ends.write.number(); }
  [[nodiscard]] int errors_end() const noexcept { return errors_.ends.write.number(); }
  // Closes these ends, then reads until no process has them open any more. is_stopped (may be empty) is asked after
  // each piece that was read, and at least 10 times a second; returns false if it said so.
  [[nodiscard]] bool read_until_closed(const std::function<bool()>& is_stopped);
  // Return the text that was read and not taken away.
  [[nodiscard]] std::string& output() noexcept { return output_.text; }
  [[nodiscard]] std::string& errors() noexcept { return errors_.text; }

 private:
  struct stream {
    void read_some();

    pipe_ends ends = pipe_ends::make();
    std::string text{};
  };
  stream output_;
  stream errors_;
};

struct captured_program {
  std::string output;
  exit_status end;
};
// Runs a program, takes what it writes to its standard output, and waits until it has ended and no process has that
// stream open. what.output is not used. Returns nullopt, with errno, if it cannot be started.
[[nodiscard]] std::optional<captured_program> run_and_capture(program what);

}  // namespace situ::os
