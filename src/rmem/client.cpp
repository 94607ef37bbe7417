#include <situ/rmem/client.h>

#include <situ/base/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "os/bytes.h"
#include "rmem/handshake.h"
#include "rmem/link.h"
#include "rmem/page_store.h"
#include "rmem/views.h"

namespace situ::rmem {
namespace {

using namespace detail;

request_head head_of(operation what) { return {.operation = static_cast<std::uint16_t>(what)}; }

// Makes a request on bytes of a capability. The server decides; a range that is plainly outside is refused here.
request_head head_of(operation what, const capability& with, std::uint64_t offset, std::uint64_t bytes) {
  if (offset > with.bytes || bytes > with.bytes - offset)
    throw_error(errc::access_denied, fmt::format("{} bytes from byte {} on are not within a capability for {} bytes",
                                                 bytes, offset, with.bytes));
  request_head made = head_of(what);
  made.address = with.address + offset;
  made.bytes = bytes;
  made.grant = with.number;
  made.secret = with.secret;
  return made;
}

capability capability_of(const short_answer& got, std::uint64_t bytes, rights may) {
  const auto secret = os::whole_value<capability_secret>(got.body);
  if (!secret) throw_error(errc::bad_message, "an answer has no capability");
  return {got.value, bytes, may, got.second, *secret};
}

template <class T>
std::vector<T> list_of(const short_answer& got) {
  if (got.body.size() % sizeof(T) != 0) throw_error(errc::bad_message, "an answer has half an entry");
  return os::values_of<T>(got.body);
}

template <std::size_t n>
fixed_text<n> checked_text(std::string_view text, const char* what) {
  const auto made = fixed<n>(text);
  if (text.size() >= n || !is_word(made))
    throw_error(errc::bad_argument,
                fmt::format("{} is 1 to {} printable characters without spaces: \"{}\"", what, n - 1, text));
  return made;
}

}  // namespace

class client::impl {
 public:
  impl(std::string_view endpoint, application_key key, client_options options)
      : key_{std::move(key)}, options_{options}, home_{std::make_shared<shared_link>()} {
    if (!is_application_name(key_.application)) throw_error(errc::bad_argument, "the key names no application");
    if (options_.timeout.count() <= 0) throw_error(errc::bad_argument, "a client's timeout is longer than nothing");
    home_->to.emplace([at = server_place{std::string{endpoint}, 0}](bool) { return at; }, std::nullopt, key_, options_);
    const welcome& told = home_->to->told();
    if (told.capacity > 0) servers_[told.server] = home_;
  }

  // Returns the result of `call` with the link to a server.
  template <class Call>
  auto at(std::uint32_t server, const Call& call) {
    const std::shared_ptr<shared_link> which = link_to(server);
    const std::lock_guard held{which->lock};
    return call(*which->to);
  }
  template <class Call>
  auto at_home(const Call& call) {
    const std::lock_guard held{home_->lock};
    return call(*home_->to);
  }
  template <class Call>
  auto at(std::optional<std::uint32_t> server, const Call& call) {
    return server ? at(*server, call) : at_home(call);
  }

  server_place resolve(std::string_view name) {
    const auto text = checked_text<sizeof(name_text)>(name, "a name");
    const short_answer got =
        at_home([&](link& home) { return home.ask(head_of(operation::resolve_name), bytes_of(text)); });
    const auto endpoint = os::whole_value<endpoint_text>(got.body);
    if (!endpoint) throw_error(errc::bad_message, "an answer has no endpoint");
    return {std::string{text_of(*endpoint)}, got.value};
  }

  std::vector<name_info> names() {
    std::vector<name_info> all;
    name_text after{};
    for (bool more = true; more;) {
      const short_answer got =
          at_home([&](link& home) { return home.ask(head_of(operation::list_names), bytes_of(after)); });
      const auto part = list_of<name_entry>(got);
      for (const name_entry& each : part)
        all.push_back({std::string{text_of(each.name)}, std::string{text_of(each.endpoint)}});
      more = got.value != 0 && !part.empty();
      if (more) after = part.back().name;
    }
    return all;
  }

  // Returns the servers that have memory, beginning with another one each time.
  std::vector<std::uint32_t> servers_in_turn() {
    std::vector<std::uint32_t> all;
    for (const name_info& each : names()) {
      std::uint32_t index = 0;
      if (std::sscanf(each.name.c_str(), "rmem.%3u", &index) == 1 && index < 256 && each.name == server_name(index))
        all.push_back(index);
    }
    const std::lock_guard held{lock_};
    for (const auto& [index, link] : servers_)
      if (link == home_ && std::find(all.begin(), all.end(), index) == all.end()) all.push_back(index);
    if (all.empty()) throw_error(errc::out_of_memory, "the name server knows no server that has memory");
    std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(turn_++ % all.size()), all.end());
    return all;
  }

  void keep_alive() {
    std::vector<std::shared_ptr<shared_link>> all;
    {
      const std::lock_guard held{lock_};
      for (const auto& [index, link] : servers_) all.push_back(link);
    }
    request_head nothing = head_of(operation::list_regions);  // a request that only the serving replica answers
    nothing.address = ~std::uint64_t{0};
    for (const std::shared_ptr<shared_link>& each : all) try {
        const std::lock_guard held{each->lock};
        if (each->to->is_to_replicas()) (void)each->to->ask(nothing);
      } catch (const error&) {  // the next operation that needs the server reports the loss
      }
  }

 private:
  struct shared_link {
    std::mutex lock;
    std::optional<link> to;
  };

  std::shared_ptr<shared_link> link_to(std::uint32_t server) {
    const std::lock_guard held{lock_};
    std::shared_ptr<shared_link>& known = servers_[server];
    if (known != nullptr) return known;
    auto made = std::make_shared<shared_link>();
    // Resolves the name once; the link keeps the result.
    auto where = [this, server, cached = server_place{}](bool anew) mutable {
      if (cached.endpoint.empty() || anew) cached = resolve(server_name(server));
      return cached;
    };
    made->to.emplace(std::move(where), server, key_, options_);
    return known = std::move(made);
  }

  application_key key_;
  client_options options_;
  std::mutex lock_;  // never held while waiting for a link's lock
  std::map<std::uint32_t, std::shared_ptr<shared_link>> servers_;
  std::shared_ptr<shared_link> home_;
  std::size_t turn_ = 0;
};

client::client(std::string_view endpoint, application_key key, client_options options)
    : impl_{std::make_unique<impl>(endpoint, std::move(key), options)} {}
client::~client() = default;
client::client(client&&) noexcept = default;
client& client::operator=(client&&) noexcept = default;

// --- regions and capabilities ---

capability client::allocate(std::uint64_t bytes, std::optional<std::uint32_t> server, lifetime until,
                            std::uint32_t replicas) {
  request_head head = head_of(operation::allocate);
  head.bytes = bytes;
  if (until == lifetime::connection) head.flags = flag_with_session;
  const auto ask = [&](link& to) { return capability_of(to.ask(head), bytes, rights::all); };
  if (server) return impl_->at(*server, ask);
  std::vector<std::uint32_t> all = impl_->servers_in_turn();
  if (replicas > 0) {
    const std::vector<replica_set> sets = list_replicas().sets;
    std::erase_if(all, [&](std::uint32_t index) {
      return std::none_of(sets.begin(), sets.end(), [&](const auto& each) {
        return each.index == index && each.wanted >= replicas && each.endpoints.size() >= replicas;
      });
    });
    if (all.empty())
      throw_error(errc::out_of_memory, fmt::format("no server's memory lies at {} servers now", replicas));
  }
  for (std::size_t i = 0;; ++i) {
    try {
      return impl_->at(all[i], ask);
    } catch (const error& full) {
      if (full.code() != errc::out_of_memory || i + 1 == all.size()) throw;
    }
  }
}

void client::free(std::uint64_t address) {
  request_head head = head_of(operation::free);
  head.address = address;
  impl_->at(server_of(address), [&](link& to) { return to.ask(head); });
}

capability client::grant(const capability& from, std::uint64_t offset, std::uint64_t bytes, rights may,
                         std::string_view application) {
  request_head head = head_of(operation::grant, from, offset, bytes);
  head.operand = static_cast<std::uint64_t>(may);
  std::optional<application_text> whom;
  if (!application.empty()) whom = checked_text<application_bytes>(application, "an application's name");
  return impl_->at(server_of(from.address), [&](link& to) {
    return capability_of(to.ask(head, whom ? bytes_of(*whom) : std::span<const std::byte>{}), bytes, may);
  });
}

void client::revoke(const capability& which) {
  request_head head = head_of(operation::revoke);
  head.grant = which.number;
  head.secret = which.secret;
  impl_->at(server_of(which.address), [&](link& to) { return to.ask(head); });
}

// --- bytes ---

void client::read(const capability& from, std::uint64_t offset, std::span<std::byte> to) {
  request_head head = head_of(operation::read, from, offset, to.size());
  impl_->at(server_of(from.address), [&](link& with) {
    for (std::uint64_t at = 0; at == 0 || at < to.size(); at += most_transfer) {
      const auto part = to.subspan(at, std::min<std::uint64_t>(most_transfer, to.size() - at));
      head.address = from.address + offset + at;
      head.bytes = part.size();
      with.read(head, {}, part);
    }
  });
}

void client::start_read(const capability& from, std::uint64_t offset, std::span<std::byte> to) {
  const request_head head = head_of(operation::read, from, offset, to.size());
  impl_->at(server_of(from.address), [&](link& with) { with.start_read(head, to); });
}
bool client::finish_read(const capability& from) noexcept {
  return impl_->at(server_of(from.address), [](link& with) { return with.finish_read(); });
}

void client::write(const capability& to, std::uint64_t offset, std::span<const std::byte> from) {
  request_head head = head_of(operation::write, to, offset, from.size());
  impl_->at(server_of(to.address), [&](link& with) {
    for (std::uint64_t at = 0; at == 0 || at < from.size(); at += most_transfer) {
      const auto part = from.subspan(at, std::min<std::uint64_t>(most_transfer, from.size() - at));
      head.address = to.address + offset + at;
      head.bytes = part.size();
      with.write(head, {}, part);
    }
  });
}

namespace {

// Returns the file of a region's memory, of at least `least_bytes` bytes.
std::optional<os::descriptor> memory_of(link& to, operation what, const capability& with, std::uint64_t least_bytes) {
  std::optional<os::descriptor> file = to.ask_for_memory(head_of(what, with, 0, with.bytes));
  if (!file) return {};
  // A file that can be shortened would raise a signal later.
  struct stat about{};
  const int seals = ::fcntl(file->number(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(file->number(), &about) != 0 ||
      static_cast<std::uint64_t>(about.st_size) < std::max(least_bytes, with.bytes))
    throw_error(errc::bad_message, "what the server of remote memory passes is not the memory of the region");
  return file;
}

// Returns the bytes to map for reading: the region's, and the notice behind them.
std::uint64_t bytes_to_read(const capability& of) noexcept {
  return (of.bytes + notice_bytes - 1) / notice_bytes * notice_bytes + notice_bytes;
}

}  // namespace

std::optional<mapped_region> client::map(const capability& whole) {
  return impl_->at(server_of(whole.address), [&](link& to) -> std::optional<mapped_region> {
    const std::optional<os::descriptor> file = memory_of(to, operation::map_memory, whole, whole.bytes);
    if (!file) return {};
    mapped_region made;
    made.mapping_ = std::make_unique<file_mapping>(file->number(), whole.bytes, PROT_READ | PROT_WRITE);
    made.bytes_ = {made.mapping_->begin(), whole.bytes};
    made.server_ = server_of(whole.address);
    made.connection_ = to.connection();
    return made;
  });
}

void client::check(const mapped_region& at) {
  impl_->at(at.server_, [&](link& to) { to.demand(at.connection_); });
}

std::optional<read_only_region> client::map_to_read(const capability& with) {
  return impl_->at(server_of(with.address), [&](link& to) -> std::optional<read_only_region> {
    const std::optional<os::descriptor> file = memory_of(to, operation::map_to_read, with, bytes_to_read(with));
    if (!file) return {};
    read_only_region made;
    made.mapping_ = std::make_unique<file_mapping>(file->number(), bytes_to_read(with), PROT_READ);
    made.bytes_ = {made.mapping_->begin(), with.bytes};
    made.by_ = with;
    made.connection_ = to.connection();
    return made;
  });
}

bool client::check(read_only_region& at) {
  // The caller's earlier reads of the region come before the read of the notice.
  std::atomic_thread_fence(std::memory_order_acquire);
  std::byte* const notice = at.mapping_->begin() + (at.mapping_->bytes() - notice_bytes);
  const bool has_left = std::atomic_ref{*reinterpret_cast<std::uint32_t*>(notice)}.load(std::memory_order_acquire) != 0;
  return impl_->at(server_of(at.by_.address), [&](link& to) {
    if (!has_left && to.is_still(at.connection_)) return true;
    const std::optional<os::descriptor> file = memory_of(to, operation::map_to_read, at.by_, bytes_to_read(at.by_));
    if (!file)
      throw_error(
          errc::not_supported,
          fmt::format("the region of {} bytes at {:#x} has moved from where it is mapped, and its server passes "
                      "it no more: read it by messages",
                      at.by_.bytes, at.by_.address));
    at.mapping_->replace(file->number(), PROT_READ);
    at.connection_ = to.connection();
    return false;
  });
}

read_only_region::read_only_region() = default;
read_only_region::~read_only_region() = default;
read_only_region::read_only_region(read_only_region&&) noexcept = default;
read_only_region& read_only_region::operator=(read_only_region&&) noexcept = default;
mapped_region::mapped_region() = default;
mapped_region::~mapped_region() = default;
mapped_region::mapped_region(mapped_region&&) noexcept = default;
mapped_region& mapped_region::operator=(mapped_region&&) noexcept = default;

namespace {

// Calls `move(head, body, position of its first byte)` for as many parts at a time as a request takes.
template <class Move>
void in_requests(operation what, const capability& with, std::span<const remote_part> parts, std::size_t bytes,
                 const Move& move) {
  std::vector<range> ranges;
  std::size_t done = 0;
  std::uint64_t together = 0;
  const auto flush = [&] {
    request_head head = head_of(what, with, 0, 0);
    head.bytes = together;
    if (!ranges.empty()) move(head, std::as_bytes(std::span{ranges}), done);
    done += together;
    together = 0;
    ranges.clear();
  };
  std::uint64_t all = 0;
  for (const remote_part& each : parts) {
    (void)head_of(what, with, each.offset, each.bytes);
    if (each.bytes > bytes - all) throw_error(errc::bad_argument, "the parts are more bytes than there are here");
    all += each.bytes;
  }
  if (all != bytes) throw_error(errc::bad_argument, fmt::format("the parts are {} bytes, and here are {}", all, bytes));
  for (remote_part each : parts) {
    while (each.bytes > 0) {
      const std::uint64_t now = std::min(each.bytes, most_transfer - together);
      ranges.push_back({with.address + each.offset, now});
      each.offset += now;
      each.bytes -= now;
      together += now;
      if (ranges.size() == most_ranges || together == most_transfer) flush();
    }
  }
  flush();
}

}  // namespace

void client::gather(const capability& from, std::span<const remote_part> parts, std::span<std::byte> to) {
  impl_->at(server_of(from.address), [&](link& with) {
    in_requests(operation::read, from, parts, to.size(), [&](request_head& head, auto body, std::size_t at) {
      with.read(head, body, to.subspan(at, head.bytes));
    });
  });
}

void client::scatter(const capability& to, std::span<const remote_part> parts, std::span<const std::byte> from) {
  impl_->at(server_of(to.address), [&](link& with) {
    in_requests(operation::write, to, parts, from.size(), [&](request_head& head, auto body, std::size_t at) {
      with.write(head, body, from.subspan(at, head.bytes));
    });
  });
}

std::uint64_t client::fetch_add(const capability& at, std::uint64_t offset, std::uint64_t addend) {
  request_head head = head_of(operation::fetch_add, at, offset, sizeof addend);
  head.operand = addend;
  return impl_->at(server_of(at.address), [&](link& to) { return to.ask(head).value; });
}

std::uint64_t client::compare_swap(const capability& at, std::uint64_t offset, std::uint64_t expected,
                                   std::uint64_t desired) {
  request_head head = head_of(operation::compare_swap, at, offset, sizeof desired);
  head.operand = expected;
  return impl_->at(server_of(at.address), [&](link& to) { return to.ask(head, bytes_of(desired)).value; });
}

// --- statistics, names, replicas ---

void client::keep_alive() { impl_->keep_alive(); }

statistics client::server_statistics(std::optional<std::uint32_t> server) {
  const short_answer got = impl_->at(server, [](link& to) { return to.ask(head_of(operation::statistics)); });
  const auto found = os::whole_value<statistics>(got.body);
  if (!found) throw_error(errc::bad_message, "an answer has no statistics");
  return *found;
}

std::vector<region_info> client::list_regions(std::optional<std::uint32_t> server) {
  std::vector<region_info> all;
  request_head head = head_of(operation::list_regions);
  do {
    const short_answer got = impl_->at(server, [&](link& to) { return to.ask(head); });
    for (const region_entry& each : list_of<region_entry>(got))
      all.push_back({each.address, each.bytes, each.capabilities, std::string{text_of(each.owner)}});
    if (got.value != 0 && got.value <= head.address) throw_error(errc::bad_message, "a list that goes back");
    head.address = got.value;
  } while (head.address != 0);
  return all;
}

void client::link_name(std::string_view name, std::string_view endpoint) {
  const name_entry entry{checked_text<sizeof(name_text)>(name, "a name"),
                         checked_text<sizeof(endpoint_text)>(endpoint, "an endpoint")};
  impl_->at_home([&](link& home) { return home.ask(head_of(operation::link_name), bytes_of(entry)); });
}
void client::unlink_name(std::string_view name) {
  const auto text = checked_text<sizeof(name_text)>(name, "a name");
  impl_->at_home([&](link& home) { return home.ask(head_of(operation::unlink_name), bytes_of(text)); });
}
std::string client::resolve_name(std::string_view name) { return impl_->resolve(name).endpoint; }
std::vector<name_info> client::list_names() { return impl_->names(); }

replica_list client::list_replicas() {
  const short_answer got = impl_->at_home([](link& home) { return home.ask(head_of(operation::list_views)); });
  replica_list all{{}, got.second};
  for (const view_entry& each : list_of<view_entry>(got)) {
    if (!is_view(each) || each.epoch == 0) throw_error(errc::bad_message, "an answer has a view that is none");
    replica_set& made =
        all.sets.emplace_back(replica_set{each.index, each.epoch, each.replicas, each.joining != 0, {}});
    for (std::size_t i = 0; i < each.members; ++i) made.endpoints.emplace_back(text_of(each.chain[i].endpoint));
  }
  return all;
}

void client::drain(std::string_view server) {
  const auto text = checked_text<sizeof(endpoint_text)>(server, "an endpoint");
  impl_->at_home([&](link& home) { return home.ask(head_of(operation::drain), bytes_of(text)); });
}

}  // namespace situ::rmem
