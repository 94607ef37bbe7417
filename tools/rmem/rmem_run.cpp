#include "rmem_run.h"

#include "other_program.h"
#include "program_file.h"

#include "base/print.h"
#include "os/find_program.h"
#include "os/local_socket.h"
#include "os/output_file.h"
#include "os/worker.h"
#include "preload/remote.h"
#include "rmem/program_memory.h"

#include <situ/base/error.h>
#include <situ/base/units.h>
#include <situ/rmem/client.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <thread>
#include <utility>

namespace {

namespace os = situ::os;
namespace preload = situ::preload;
namespace rmem = situ::rmem;
using rmem::detail::program_memory;
using rmem::detail::program_statistics;
using situ::errc;
using situ::error;
using situ::throw_error;
using situ::detail::tell;

// --- what the program's processes ask for ---

class page_server {
 public:
  page_server(program_memory& memory, std::uint64_t threshold_bytes);
  // A process that is still attached would wait for pages for ever.
  ~page_server() {
    stop();
    end_attached();
  }
  page_server(const page_server&) = delete;
  page_server& operator=(const page_server&) = delete;

  [[nodiscard]] std::string place() const {  // preload::remote_variable's value
    return fmt::format("{}#{:x}#{:x}#{:x}", name_, key_, threshold_bytes_, memory_.pages());
  }
  void stop();
  [[nodiscard]] std::vector<pid_t> processes() const {
    const std::lock_guard held{lock_};
    std::vector<pid_t> all;
    for (const auto& [number, each] : attached_) all.push_back(each.process);
    return all;
  }
  // Returns why the thread ended by itself. pre: stopped.
  [[nodiscard]] const std::optional<error>& failure() const { return failure_; }

 private:
  using process_number = program_memory::process_number;
  enum class source : std::uint32_t { listener, bell, connection, faults, end };
  struct attached {
    pid_t process;
    os::descriptor end;  // becomes readable when the process has ended
  };

  void run();
  void loop();
  void end_attached();
  void watch(int file, source what, std::uint32_t number);
  void accept();
  void serve(int number);
  preload::remote_answer answer(const preload::remote_message& asked, os::descriptor given, pid_t from);
  // Attaches a process. Returns 0, or -errno: then the process has no memory here.
  [[nodiscard]] std::int32_t attach(process_number number, pid_t process);
  void detach(process_number number);

  program_memory& memory_;
  std::uint64_t threshold_bytes_;
  std::string name_;
  std::uint64_t key_;
  os::descriptor listener_;
  os::descriptor epoll_;
  os::descriptor bell_;
  std::map<int, os::descriptor> connections_;
  mutable std::mutex lock_;  // guards attached_, which only the thread changes
  std::map<process_number, attached> attached_;
  std::optional<error> failure_;
  situ::os::worker thread_;
};

page_server::page_server(program_memory& memory, std::uint64_t threshold_bytes)
    : memory_{memory}, threshold_bytes_{threshold_bytes} {
  std::random_device random;
  key_ = std::uint64_t{random()} << 32 | random();
  name_ = fmt::format("situ-rmem-{}-{:08x}", ::getpid(), random());
  listener_ = os::open_local_socket(SOCK_SEQPACKET | SOCK_NONBLOCK);
  if (!os::listen_at(listener_, os::local_address::abstract(name_), 128))
    throw_error(errc::bad_launch, fmt::format("no socket for the program's processes: {}", std::strerror(errno)));
  epoll_ = os::descriptor{::epoll_create1(EPOLL_CLOEXEC)};
  bell_ = os::descriptor{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  watch(listener_.number(), source::listener, 0);
  watch(bell_.number(), source::bell, 0);
  thread_ = situ::os::worker{[this] { run(); }};
}

void page_server::stop() {
  (void)::eventfd_write(bell_.number(), 1);
  thread_.join();
}

void page_server::watch(int file, source what, std::uint32_t number) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = std::uint64_t{static_cast<std::uint32_t>(what)} << 32 | number;
  if (::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, file, &event) != 0)
    throw_error(errc::bad_launch, fmt::format("cannot wait for the program's processes: {}", std::strerror(errno)));
}

// Serves pages until it is stopped. If pages are lost, no process may go on with them.
void page_server::run() {
  try {
    loop();
  } catch (const error& why) {
    failure_ = why;
    end_attached();
    // A process that is still to attach must not wait either: without pages it goes on.
    connections_.clear();
    listener_.close();
  }
}

void page_server::end_attached() {
  const std::lock_guard held{lock_};
  for (const auto& [number, each] : attached_)
    (void)::syscall(SYS_pidfd_send_signal, each.end.number(), SIGKILL, nullptr, 0);
  attached_.clear();  // no process waits for them any more
}

void page_server::loop() {
  bool has_more = false;
  for (;;) {
    epoll_event events[64];
    const int count = ::epoll_wait(epoll_.number(), events, 64, has_more ? 0 : program_memory::longest_silence_ms);
    if (count == 0) {
      if (!has_more) memory_.keep_alive();
      has_more = has_more && memory_.work_ahead();
      continue;
    }
    has_more = true;
    for (int i = 0; i < count; ++i) {
      const auto number = static_cast<std::uint32_t>(events[i].data.u64);
      switch (static_cast<source>(events[i].data.u64 >> 32)) {
        case source::listener: accept(); break;
        case source::bell: return;
        case source::connection: serve(static_cast<int>(number)); break;
        case source::faults:
          if (memory_.is_there(number)) memory_.serve(number);
          break;
        case source::end: detach(number); break;
      }
    }
  }
}

void page_server::accept() {
  os::descriptor made = os::accept_from(listener_, SOCK_NONBLOCK);
  // Without a descriptor the waiting connection would wake this thread at once, again and again.
  if (!made && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  if (!made) return;
  const int number = made.number();
  watch(number, source::connection, static_cast<std::uint32_t>(number));
  connections_[number] = std::move(made);
}

void page_server::serve(int number) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  const os::descriptor& connection = found->second;
  preload::remote_message asked;
  os::received_message got = os::receive_message(connection, std::as_writable_bytes(std::span{&asked, 1}));
  // The message is still there: its sender waits for the answer, and may hold frozen pages.
  if (got.bytes < 0 && (errno == EAGAIN || errno == ENOMEM || errno == ENOBUFS)) return;
  const std::optional<ucred> peer = os::peer_of(connection);
  if (got.bytes != static_cast<ssize_t>(sizeof asked) || asked.key != key_ || !peer) {
    connections_.erase(found);
    return;
  }
  preload::remote_answer said = answer(asked, std::move(got.passed), peer->pid);
  const bool has_memory = asked.what == preload::remote_request::allocate && said.status == 0;
  const iovec bytes{&said, sizeof said};
  (void)os::send_message(connection, {&bytes, 1}, has_memory ? memory_.file() : -1);
}

preload::remote_answer page_server::answer(const preload::remote_message& asked, os::descriptor given, pid_t from) {
  using preload::remote_request;
  preload::remote_answer said;
  const bool enters = asked.what == remote_request::enter || asked.what == remote_request::enter_forked;
  if ((asked.what != remote_request::enter && !memory_.is_there(asked.process)) || enters != static_cast<bool>(given) ||
      asked.first > memory_.pages() || asked.pages > memory_.pages() + 1 ||
      asked.first + asked.pages > memory_.pages() + 1) {
    said.status = -EINVAL;
    return said;
  }
  switch (asked.what) {
    case remote_request::enter:
    case remote_request::enter_forked: {
      std::vector<process_number> before;  // the process has become another program
      for (const auto& [number, each] : attached_)
        if (each.process == from) before.push_back(number);
      for (const process_number each : before) detach(each);
      try {
        said.process = asked.what == remote_request::enter
                           ? memory_.enter(std::move(given), asked.base)
                           : memory_.enter_forked(asked.process, std::move(given), asked.base);
      } catch (const error& refused) {
        if (refused.code() != errc::not_supported) throw;
        tell("situ: {}\n", refused.message());
        said.status = -ENOTSUP;
        return said;
      }
      said.status = attach(said.process, from);
      break;
    }
    case remote_request::allocate:
      if (const auto first = memory_.allocate(asked.process, asked.pages))
        said.first = *first;
      else
        said.status = -ENOMEM;
      break;
    case remote_request::mapped: memory_.mapped(asked.process, asked.first, asked.pages); break;
    case remote_request::give_back: memory_.give_back(asked.process, asked.first, asked.pages); break;
    case remote_request::make_blank: memory_.make_blank(asked.process, asked.first, asked.pages); break;
    case remote_request::freeze: memory_.freeze(asked.process); break;
    case remote_request::thaw: memory_.thaw(asked.process); break;
    default: said.status = -EINVAL;
  }
  return said;
}

// A process that cannot be watched is refused, and stays local: its end would go unnoticed, and a look that failed
// says nothing about it.
std::int32_t page_server::attach(process_number number, pid_t process) {
  os::descriptor end{static_cast<int>(::syscall(SYS_pidfd_open, process, 0))};
  if (!end) {
    const int reason = errno;
    memory_.leave(number);
    return -reason;
  }
  watch(memory_.descriptor_number(number), source::faults, number);
  watch(end.number(), source::end, number);
  const std::lock_guard held{lock_};
  attached_[number] = {process, std::move(end)};
  return 0;
}

void page_server::detach(process_number number) {
  memory_.leave(number);
  const std::lock_guard held{lock_};
  attached_.erase(number);
}

// --- the report ---

struct named_count {
  const char* name;
  std::uint64_t count;
  const char* what;
};
std::vector<named_count> counts_of(const program_statistics& s) {
  return {{"processes", s.processes, "processes had remote memory"},
          {"allocations", s.allocations, "allocations were remote"},
          {"refusals", s.refusals, "were refused: the region at the server was full"},
          {"blank_pages", s.blank_pages, "pages came as zeros"},
          {"missing", s.missing, "touches waited for the server"},
          {"seen", s.seen, "touches were of pages that were here, and not mapped"},
          {"first_writes", s.first_writes, "pages were written for the first time since they came"},
          {"fetched_pages", s.fetched_pages, "pages were fetched"},
          {"prefetched_pages", s.prefetched_pages, "pages came ahead of their touch"},
          {"evicted_pages", s.evicted_pages, "pages went, to make room"},
          {"written_pages", s.written_pages, "pages were written to the server"},
          {"copied_pages", s.copied_pages, "pages were copied to forked children"}};
}

// Returns false if a report that was asked for is lost.
bool report(const remote_program_options& options, const program_memory& memory) {
  const program_statistics s = memory.counted();
  if (s.refusals != 0)
    tell(
        "situ: {} allocations of the program were refused (ENOMEM): {} at the server have no room for them, {} were "
        "in use at the peak. Give --remote more, as far as the server has it\n",
        s.refusals, situ::format_bytes(memory.pages() * 4096), situ::format_bytes(s.most_bytes));
  if (options.stats) {
    tell("remote memory: {} at its peak, {} of them here (--local {})\n", situ::format_bytes(s.most_bytes),
         situ::format_bytes(s.local_most_bytes), situ::format_bytes(options.local_bytes));
    tell("  pages come and go by {}\n",
         s.is_mapped ? "copies: the server's memory is mapped here" : "messages to the server");
    for (const named_count& each : counts_of(s))
      if (each.count != 0) tell("  {:>12} {}\n", each.count, each.what);
  }
  if (options.report_file.empty()) return true;
  nlohmann::ordered_json all{{"local_bytes", options.local_bytes},
                             {"remote_bytes", memory.pages() * 4096},
                             {"most_bytes", s.most_bytes},
                             {"local_most_bytes", s.local_most_bytes},
                             {"is_mapped", s.is_mapped}};
  for (const named_count& each : counts_of(s)) all[each.name] = each.count;
  try {
    situ::detail::write_file(options.report_file, all.dump(2) + '\n');
    return true;
  } catch (const error& failed) {
    tell("situ: {}\n", failed.message());
    return false;
  }
}

// --- the server, and this kernel ---

// A program's system calls touch absent pages as well.
void check_kernel() {
  if (const os::descriptor made{static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK))}) return;
  const int reason = errno;
  if (const os::descriptor device{::open("/dev/userfaultfd", O_RDWR | O_CLOEXEC)}) return;
  throw_error(errc::not_supported,
              fmt::format("this user may not have the kernel's own touches of pages told ({}), so the program's system "
                          "calls on absent pages would fail. As root: sysctl -w vm.unprivileged_userfaultfd=1, or let "
                          "the user read and write /dev/userfaultfd (Linux 6.1)",
                          std::strerror(reason)));
}

// Returns the server with the most free memory, and how much it has.
std::pair<std::optional<std::uint32_t>, std::uint64_t> emptiest(rmem::client& by) {
  std::vector<std::optional<std::uint32_t>> all;
  for (const rmem::name_info& each : by.list_names()) {
    std::uint32_t index = 0;
    if (std::sscanf(each.name.c_str(), "rmem.%3u", &index) == 1) all.emplace_back(index);
  }
  if (all.empty()) all.emplace_back();
  std::pair<std::optional<std::uint32_t>, std::uint64_t> best{all[0], 0};
  for (const auto& each : all) {
    const rmem::statistics has = by.server_statistics(each);
    if (has.capacity_bytes - has.used_bytes >= best.second) best = {each, has.capacity_bytes - has.used_bytes};
  }
  return best;
}

std::unique_ptr<program_memory> connect(const remote_program_options& options) {
  std::optional<rmem::client> by;
  try {
    by.emplace(options.server, rmem::load_key(options.keys, options.application),
               rmem::client_options{
                   .timeout = std::chrono::milliseconds{static_cast<std::int64_t>(options.timeout_seconds * 1000)}});
  } catch (const error& lost) {
    if (lost.code() != errc::link_lost) throw;
    throw_error(errc::link_lost,
                fmt::format("{}. Start a server (situ rmem serve --memory 4GiB --keys {}), or say where "
                            "one is (--server HOST:PORT)",
                            lost.message(), options.keys));
  }
  const auto [where, free_bytes] = emptiest(*by);
  std::uint64_t bytes = options.remote_bytes != 0 ? options.remote_bytes : free_bytes / 2;
  bytes = bytes / 4096 * 4096;
  try {
    if (bytes == 0) throw_error(errc::out_of_memory, "the server has no memory free");
    const rmem::capability region = by->allocate(bytes, where, rmem::lifetime::connection);
    return std::make_unique<program_memory>(std::move(*by), region, options.local_bytes);
  } catch (const error& full) {
    if (full.code() != errc::out_of_memory) throw;
    throw_error(
        errc::out_of_memory,
        fmt::format("no {} for the program at {}, where {} are free: {}. Give --remote less, or the server more "
                    "(situ rmem serve --memory)",
                    situ::format_bytes(bytes), options.server, situ::format_bytes(free_bytes), full.message()));
  }
}

// Waits for processes that the program left behind: without this one they would find no pages any more.
void wait_for_others(const page_server& server, const situ::os::passed_signals& signals) {
  while (!server.processes().empty()) {
    pollfd look{signals.descriptor(), POLLIN, 0};
    if (::poll(&look, 1, 20) <= 0) continue;
    const std::optional<situ::os::passed_signal> got = signals.next();
    if (!got) continue;
    for (const pid_t each : server.processes()) ::kill(each, got->number);
  }
}

}  // namespace

int run_remote_program(const remote_program_options& options, const std::vector<std::string>& arguments) {
  const std::string file = situ::os::find_program(arguments.front());
  if (const std::string why = why_not_preloaded(file); !why.empty())
    throw_error(errc::bad_launch, fmt::format("remote memory cannot be brought into this program: {}", why));
  if (options.threshold_bytes < 65536)
    throw_error(errc::bad_argument, fmt::format("--from is 64KiB or more: an allocation costs two round trips; not {}",
                                                situ::format_bytes(options.threshold_bytes)));
  const std::string library = preloaded_library();
  check_kernel();
  std::unique_ptr<program_memory> memory = connect(options);
  const situ::os::passed_signals signals;
  ended_program ended{};
  std::optional<error> failure;
  {
    page_server server{*memory, options.threshold_bytes};
    situ::os::child program = start_program(
        file, arguments, environment_with(library, preload::remote_variable, server.place()), signals, {});
    std::optional<descendants> nobody;
    ended = wait_for_program(std::move(program), signals, [] {}, {}, nobody);
    wait_for_others(server, signals);
    server.stop();
    failure = server.failure();
  }
  const bool is_reported = report(options, *memory);
  if (failure) throw error{*failure};
  memory.reset();  // leaves the server in order, also if a signal ends this process next
  if (ended.status.signal != 0) end_by_signal(ended.status.signal);
  const int code = ended.status.code;
  return code == 0 && !is_reported ? EXIT_FAILURE : code;
}
