// The paper's calls over one client for the process, and a table of its capabilities.
#include <rmem.h>

#include <situ/base/error.h>
#include <situ/rmem/client.h>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

namespace {

using situ::errc;
using situ::rmem::capability;
using situ::rmem::client;
using situ::rmem::rights;

static_assert(static_cast<unsigned>(rights::read) == RMEM_READ && static_cast<unsigned>(rights::write) == RMEM_WRITE);

thread_local std::string last_error;

// The top byte of a remote pointer is the server's number plus 1, so no processor takes it for an address.
constexpr std::uint64_t first_server = std::uint64_t{1} << 56;
constexpr std::uint64_t no_server = 0xff;

void* pointer_of(std::uint64_t address) {
  if (address >> 56 == no_server)
    situ::throw_error(errc::not_supported, "rmem.h has pointers for servers 0 to 254, and this is server 255");
  return reinterpret_cast<void*>(address + first_server);
}
std::uint64_t address_of(const void* remote) { return reinterpret_cast<std::uintptr_t>(remote) - first_server; }

const char* setting(const char* name, const char* meaning) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0')
    situ::throw_error(errc::bad_launch, fmt::format("{} is not set: {}", name, meaning));
  return value;
}

class connection {
 public:
  // Returns the client of this process, which connects at its first use.
  std::shared_ptr<client> get() {
    const std::lock_guard lock{mutex_};
    if (process_ != ::getpid() && client_ != nullptr) {
      // In a forked child the sockets are also the parent's, which goes on using them.
      new std::shared_ptr<client>{std::exchange(client_, nullptr)};
    }
    if (client_ == nullptr) {
      const char* const server = setting("SITU_RMEM_SERVER", "HOST:PORT or unix:/path of a server of remote memory");
      const char* const keys = setting("SITU_RMEM_KEYS", "the file with the application's key (`situ rmem key`)");
      const char* const application = std::getenv("SITU_RMEM_AS");
      client_ = std::make_shared<client>(server, situ::rmem::load_key(keys, application == nullptr ? "" : application));
      process_ = ::getpid();
    }
    return client_;
  }
  // Leaves the server in order, when the process ends. A thread that is within a call keeps the client.
  void leave() {
    const std::unique_lock lock{mutex_, std::try_to_lock};
    if (lock && process_ == ::getpid()) client_ = nullptr;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<client> client_;
  pid_t process_ = 0;
};

class known_regions {
 public:
  void add(const capability& of) {
    const std::lock_guard lock{mutex_};
    const auto [begin, end] = by_address_.equal_range(of.address);
    const bool is_known = std::any_of(begin, end, [&](const auto& each) { return each.second == of; });
    if (!is_known) by_address_.emplace(of.address, of);
  }
  // Forgets the region that begins at the address, which no longer exists, and the capabilities accepted for it.
  void forget(std::uint64_t address) {
    const std::lock_guard lock{mutex_};
    const auto [begin, end] = by_address_.equal_range(address);
    std::uint64_t bytes = 0;
    for (auto each = begin; each != end; ++each) bytes = std::max(bytes, each->second.bytes);
    by_address_.erase(begin, by_address_.lower_bound(address + bytes));
  }
  // Returns a capability for all of these bytes and this use. If there is none, returns one that contains the first
  // byte, so that the server refuses; if there is none either, throws bad_address.
  capability find(const void* remote, std::uint64_t bytes, rights use) const {
    const std::uint64_t address = address_of(remote);
    const std::shared_lock lock{mutex_};
    const capability* nearest = nullptr;
    for (auto at = by_address_.upper_bound(address); at != by_address_.begin();) {
      const capability& each = (--at)->second;
      const std::uint64_t offset = address - each.address;
      if (offset >= each.bytes) continue;
      if (bytes <= each.bytes - offset && includes(each.may, use)) return each;
      if (nearest == nullptr) nearest = &each;
    }
    if (nearest == nullptr)
      situ::throw_error(errc::bad_address, fmt::format("{} lies in no region that this process allocated or accepted",
                                                       const_cast<void*>(remote)));
    return *nearest;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::multimap<std::uint64_t, capability> by_address_;
};

// The state of the process. It is never destroyed, since other threads may be within a call when the process ends.
struct service {
  connection to;
  known_regions known;
};
service& here() {
  static auto* const made = [] {
    auto* const all = new service;
    std::atexit([] { here().to.leave(); });
    return all;
  }();
  return *made;
}

int number_of(errc code) {
  switch (code) {
    case errc::bad_argument: return EINVAL;
    case errc::bad_address: return EFAULT;
    case errc::out_of_memory: return ENOMEM;
    case errc::access_denied: return EACCES;
    case errc::link_lost: return EHOSTUNREACH;
    case errc::bad_launch: return EDESTADDRREQ;
    default: return EIO;
  }
}

// Returns call()'s result, or `failed`, with errno and the message set, if it throws.
template <class Result, class Call>
Result answer(Result failed, Call call) noexcept {
  try {
    return call();
  } catch (const situ::error& e) {
    last_error = e.message();
    errno = number_of(e.code());
  } catch (const std::exception& e) {
    last_error = e.what();
    errno = ENOMEM;
  }
  return failed;
}

}  // namespace

extern "C" {

void* memalloc(size_t bytes) {
  return answer<void*>(nullptr, [&] {
    const std::shared_ptr<client> to = here().to.get();
    const capability made = to->allocate(bytes);
    try {
      void* const remote = pointer_of(made.address);
      here().known.add(made);
      return remote;
    } catch (...) {
      to->free(made);
      throw;
    }
  });
}

int memfree(void* remote) {
  return answer(-1, [&] {
    const capability whole = here().known.find(remote, 1, rights::none);
    if (whole.address != address_of(remote))
      situ::throw_error(errc::bad_argument, fmt::format("{} is not where a region begins", remote));
    here().to.get()->free(whole);
    here().known.forget(whole.address);
    return 0;
  });
}

int memread(void* local, const void* remote, size_t bytes) {
  return answer(-1, [&] {
    const capability from = here().known.find(remote, bytes, rights::read);
    here().to.get()->read(from, address_of(remote) - from.address, {static_cast<std::byte*>(local), bytes});
    return 0;
  });
}

int memwrite(const void* local, void* remote, size_t bytes) {
  return answer(-1, [&] {
    const capability to = here().known.find(remote, bytes, rights::write);
    here().to.get()->write(to, address_of(remote) - to.address, {static_cast<const std::byte*>(local), bytes});
    return 0;
  });
}

int rmem_grant(const void* remote, size_t bytes, unsigned which, char text[RMEM_TEXT_BYTES]) {
  return answer(-1, [&] {
    if (which == 0 || (which & ~(RMEM_READ | RMEM_WRITE)) != 0)
      situ::throw_error(errc::bad_argument, fmt::format("{} is no set of RMEM_READ and RMEM_WRITE", which));
    const auto may = static_cast<rights>(which);
    const capability from = here().known.find(remote, bytes, may | rights::grant);
    const std::string made = here().to.get()->grant(from, address_of(remote) - from.address, bytes, may).to_text();
    if (made.size() + 1 != RMEM_TEXT_BYTES)
      situ::throw_error(errc::bad_message, "a capability is no word of 92 characters");
    std::memcpy(text, made.c_str(), RMEM_TEXT_BYTES);
    return 0;
  });
}

void* rmem_accept(const char* text) {
  return answer<void*>(nullptr, [&] {
    const capability got = capability::parse(text);
    void* const remote = pointer_of(got.address);
    here().known.add(got);
    return remote;
  });
}

const char* rmem_error(void) { return last_error.c_str(); }

}  // extern "C"
