#include "launch/pmix.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#if defined(SITU_HAS_PMIX)

#include <dlfcn.h>
#include <pmix.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace situ::detail::cluster {
namespace {

constexpr const char* how_to_have_it =
    "a job over several hosts needs a launcher that speaks PMIx: mpirun of Open MPI, or srun --mpi=pmix";

// The functions of libpmix that Situ uses.
struct pmix_library {
  decltype(&PMIx_Init) init;
  decltype(&PMIx_Finalize) finalize;
  decltype(&PMIx_Put) put;
  decltype(&PMIx_Commit) commit;
  decltype(&PMIx_Fence) fence;
  decltype(&PMIx_Get) get;
  decltype(&PMIx_Error_string) error_string;

  pmix_library() {
    void* const library = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
      throw_error(errc::bad_launch, fmt::format("{}; this host has no PMIx ({})", how_to_have_it, ::dlerror()));
    const auto find = [library]<class F>(F& function, const char* name) {
      function = reinterpret_cast<F>(::dlsym(library, name));
      if (function == nullptr) throw_error(errc::bad_launch, fmt::format("libpmix.so.2 has no {}", name));
    };
    find(init, "PMIx_Init");
    find(finalize, "PMIx_Finalize");
    find(put, "PMIx_Put");
    find(commit, "PMIx_Commit");
    find(fence, "PMIx_Fence");
    find(get, "PMIx_Get");
    find(error_string, "PMIx_Error_string");
  }
};

// This process's part in PMIx, until it exits: a process that has left PMIx cannot begin again, and MPI_Init may come
// after a runtime. A forked child does not leave it, since the session is its parent's.
class pmix_session {
 public:
  pmix_session() {
    // Checked first: without the variable some versions of PMIx look for a server elsewhere, for long.
    if (std::getenv("PMIX_NAMESPACE") == nullptr) throw_error(errc::bad_launch, how_to_have_it);
    const pmix_status_t status = pmix_.init(&self_, nullptr, 0);
    if (status != PMIX_SUCCESS)
      throw_error(errc::bad_launch, fmt::format("{}; its PMIx says: {}", how_to_have_it, pmix_.error_string(status)));
  }
  ~pmix_session() {
    if (::getpid() == process_) pmix_.finalize(nullptr, 0);
  }
  pmix_session(const pmix_session&) = delete;
  pmix_session& operator=(const pmix_session&) = delete;
  [[nodiscard]] const pmix_library& library() const noexcept { return pmix_; }
  [[nodiscard]] const pmix_proc_t& self() const noexcept { return self_; }

 private:
  pmix_library pmix_;
  pmix_proc_t self_{};
  const pid_t process_ = ::getpid();
};

class pmix_exchange final : public task_exchange {
 public:
  explicit pmix_exchange(const pmix_session& session) : pmix_{session.library()}, self_{session.self()} {}

  [[nodiscard]] std::uint32_t rank() const noexcept override { return self_.rank; }

  [[nodiscard]] std::vector<std::uint32_t> ranks_here() override {
    value found;
    check(pmix_.get(job_wide(), PMIX_LOCAL_PEERS, nullptr, 0, &found.is), "who is on this host");
    if (found.is->type != PMIX_STRING || found.is->data.string == nullptr)
      refuse("who is on this host", "it says nothing");
    std::vector<std::uint32_t> ranks;
    for (std::string_view rest{found.is->data.string}; !rest.empty();) {
      std::uint32_t rank = 0;
      const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), rank);
      if (failure != std::errc{}) refuse("who is on this host", found.is->data.string);
      ranks.push_back(rank);
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
      if (!rest.empty()) rest.remove_prefix(1);  // a comma
    }
    return ranks;
  }

  void publish(const std::string& key, std::span<const std::byte> bytes) override {
    pmix_value_t sent{};
    sent.type = PMIX_BYTE_OBJECT;
    sent.data.bo.bytes = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
    sent.data.bo.size = bytes.size();
    check(pmix_.put(PMIX_GLOBAL, key.c_str(), &sent), "to publish");
    check(pmix_.commit(), "to publish");
  }

  void fence() override {
    pmix_info_t how{};
    std::strncpy(how.key, PMIX_COLLECT_DATA, sizeof how.key - 1);
    how.value.type = PMIX_BOOL;
    how.value.data.flag = true;
    check(pmix_.fence(nullptr, 0, &how, 1), "to meet the other tasks");
  }

  [[nodiscard]] std::vector<std::byte> read(const std::string& key, std::uint32_t rank) override {
    pmix_proc_t of = self_;
    of.rank = rank;
    value found;
    const std::string what = fmt::format("what task {} has", rank);
    check(pmix_.get(&of, key.c_str(), nullptr, 0, &found.is), what);
    if (found.is->type != PMIX_BYTE_OBJECT) refuse(what, "no bytes");
    const auto* const begin = reinterpret_cast<const std::byte*>(found.is->data.bo.bytes);
    return {begin, begin + found.is->data.bo.size};
  }

 private:
  // A value that PMIx has allocated.
  struct value {
    pmix_value_t* is = nullptr;
    value() = default;
    value(const value&) = delete;
    value& operator=(const value&) = delete;
    ~value() {
      if (is == nullptr) return;
      if (is->type == PMIX_STRING) std::free(is->data.string);
      if (is->type == PMIX_BYTE_OBJECT) std::free(is->data.bo.bytes);
      std::free(is);
    }
  };
  [[nodiscard]] const pmix_proc_t* job_wide() noexcept {
    job_ = self_;
    job_.rank = PMIX_RANK_WILDCARD;
    return &job_;
  }
  [[noreturn]] static void refuse(std::string_view what, std::string_view why) {
    throw_error(errc::bad_launch, fmt::format("PMIx does not tell {}: {}", what, why));
  }
  void check(pmix_status_t status, std::string_view what) const {
    if (status != PMIX_SUCCESS) refuse(what, pmix_.error_string(status));
  }

  const pmix_library& pmix_;
  const pmix_proc_t self_;
  pmix_proc_t job_{};
};

}  // namespace

std::unique_ptr<task_exchange> join_pmix() {
  static const pmix_session session;
  return std::make_unique<pmix_exchange>(session);
}

}  // namespace situ::detail::cluster

#else

namespace situ::detail::cluster {

std::unique_ptr<task_exchange> join_pmix() {
  throw_error(errc::bad_launch,
              "a job over several hosts needs PMIx, which was not there when Situ was built (libpmix-dev)");
}

}  // namespace situ::detail::cluster

#endif
