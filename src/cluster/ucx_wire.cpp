#include "cluster/ucx_wire.h"

#include <situ/base/error.h>
#include <situ/base/log.h>

#include <fmt/format.h>
#include <ucp/api/ucp.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace situ::detail::cluster {
namespace {

void check(ucs_status_t status, std::string_view what) {
  if (status != UCS_OK) throw_error(errc::bad_launch, fmt::format("{}: {}", what, ucs_status_string(status)));
}

struct closer {
  void operator()(ucp_config_t* config) const noexcept { ucp_config_release(config); }
  void operator()(ucp_context* context) const noexcept { ucp_cleanup(context); }
  void operator()(ucp_worker* worker) const noexcept { ucp_worker_destroy(worker); }
};

// What the environment says, and what we have measured where it says nothing. Names of a transport's own settings are
// without its name here.
ucp_config_t* read_settings() {
  struct setting {
    const char* variable;
    const char* name;
    const char* value;
  };
  constexpr setting wanted[] = {{"UCX_TLS", "TLS", "tcp"},
                                {"UCX_TCP_TX_SEG_SIZE", "TX_SEG_SIZE", "256K"},
                                {"UCX_TCP_RX_SEG_SIZE", "RX_SEG_SIZE", "1M"}};
  ucp_config_t* config = nullptr;
  check(ucp_config_read(nullptr, nullptr, &config), "the settings of UCX");
  for (const setting& each : wanted)
    if (std::getenv(each.variable) == nullptr) check(ucp_config_modify(config, each.name, each.value), each.variable);
  return config;
}

// A message until UCX is done with its bytes.
struct message_out {
  std::array<std::byte, most_head_bytes> head;
  std::vector<std::byte> data;  // a copy, where it may change
};

}  // namespace

struct ucx_wire::implementation {
  // Data that comes after its head.
  struct late_data {
    void* described;  // by UCX
    wire_peer from;
    wire_message kind;
    std::vector<std::byte> head;
    std::byte* room;
    std::size_t bytes;
    void* request = nullptr;
  };

  std::unique_ptr<ucp_context, closer> context;
  std::unique_ptr<ucp_worker, closer> worker;
  int descriptor = -1;
  std::vector<ucp_ep_h> peers;  // null: it has ended
  std::unordered_map<ucp_ep_h, wire_peer> numbers;
  std::vector<std::unique_ptr<message_out>> free;
  std::vector<late_data> announced;
  std::vector<late_data> coming;
  std::vector<wire_peer> ended;       // and not yet told
  wire_receiver* receiver = nullptr;  // while progress() runs

  implementation() {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    ucp_context_h made = nullptr;
    const std::unique_ptr<ucp_config_t, closer> config{read_settings()};
    check(ucp_init(&params, config.get(), &made), "UCX cannot be used");
    context.reset(made);
    ucp_worker_params_t how{};
    how.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    how.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    ucp_worker_h created = nullptr;
    check(ucp_worker_create(context.get(), &how, &created), "a UCX worker");
    worker.reset(created);
    check(ucp_worker_get_efd(created, &descriptor), "the descriptor of a UCX worker");
    take_in<wire_message::operation>();
    take_in<wire_message::answer>();
    take_in<wire_message::message>();
    take_in<wire_message::credit>();
    take_in<wire_message::host>();
  }
  implementation(const implementation&) = delete;
  implementation& operator=(const implementation&) = delete;
  ~implementation() {
    for (const ucp_ep_h each : peers)
      if (each != nullptr) close(each);
  }

  void close(ucp_ep_h end) noexcept {
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    how.flags = UCP_EP_CLOSE_FLAG_FORCE;
    void* const request = ucp_ep_close_nbx(end, &how);
    if (!UCS_PTR_IS_PTR(request)) return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker.get());
    ucp_request_free(request);
  }

  template <wire_message Kind>
  void take_in() {
    ucp_am_handler_param_t how{};
    how.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG |
                     UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
    how.id = static_cast<unsigned>(Kind);
    how.flags = UCP_AM_FLAG_WHOLE_MSG;
    how.arg = this;
    how.cb = [](void* self, const void* head, std::size_t head_bytes, void* data, std::size_t bytes,
                const ucp_am_recv_param_t* params) {
      return static_cast<implementation*>(self)->come(Kind, {static_cast<const std::byte*>(head), head_bytes}, data,
                                                      bytes, *params);
    };
    check(ucp_worker_set_am_recv_handler(worker.get(), &how), "a handler of messages");
  }

  wire_peer number_of(ucp_ep_h end) {
    const auto [at, is_new] = numbers.try_emplace(end, static_cast<wire_peer>(peers.size()));
    if (is_new) peers.push_back(end);
    return at->second;
  }

  ucs_status_t come(wire_message kind, std::span<const std::byte> head, void* data, std::size_t bytes,
                    const ucp_am_recv_param_t& params) {
    // All that we send names its sender; what does not comes from a stranger.
    if ((params.recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) == 0) return UCS_OK;
    const wire_peer from = number_of(params.reply_ep);
    if ((params.recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
      receiver->received(from, kind, head, {static_cast<const std::byte*>(data), bytes});
      return UCS_OK;
    }
    std::byte* const room = receiver->room_for(from, kind, head, bytes);
    if (room == nullptr) return UCS_OK;  // UCX drops it
    announced.push_back({data, from, kind, {head.begin(), head.end()}, room, bytes});
    return UCS_INPROGRESS;
  }

  void fetch(late_data each) {
    ucp_request_param_t how{};
    each.request = ucp_am_recv_data_nbx(worker.get(), each.described, each.room, each.bytes, &how);
    if (UCS_PTR_IS_ERR(each.request)) return;  // its end is told in another way
    if (each.request == nullptr) return give(each);
    coming.push_back(std::move(each));
  }
  void give(const late_data& each) { receiver->received(each.from, each.kind, each.head, {each.room, each.bytes}); }

  bool progress(wire_receiver& to) {
    receiver = &to;
    bool worked = false;
    while (ucp_worker_progress(worker.get()) != 0) worked = true;
    for (late_data& each : std::exchange(announced, {})) fetch(std::move(each));
    for (late_data& each : std::exchange(coming, {})) {
      const ucs_status_t status = ucp_request_check_status(each.request);
      if (status == UCS_INPROGRESS) {
        coming.push_back(std::move(each));
        continue;
      }
      ucp_request_free(each.request);
      if (status == UCS_OK) give(each);
      worked = true;
    }
    for (const wire_peer each : std::exchange(ended, {})) to.ended(each);
    receiver = nullptr;
    return worked;
  }

  void end(ucp_ep_h which, ucs_status_t status) noexcept {
    const auto found = numbers.find(which);
    if (found == numbers.end()) return;
    log(log_level::info, fmt::format("a link to another host ends: {}", ucs_status_string(status)));
    peers[found->second] = nullptr;
    ended.push_back(found->second);
    numbers.erase(found);
  }

  void send(wire_peer to, wire_message kind, std::span<const std::byte> head, std::span<const std::byte> data) {
    if (to >= peers.size() || peers[to] == nullptr) return;
    std::unique_ptr<message_out> out;
    if (free.empty()) {
      out = std::make_unique<message_out>();
    } else {
      out = std::move(free.back());
      free.pop_back();
    }
    std::memcpy(out->head.data(), head.data(), head.size());
    const bool is_long = !is_eager(kind, data.size());
    if (!is_long) {
      out->data.assign(data.begin(), data.end());
      data = out->data;
    }
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    how.flags = UCP_AM_SEND_FLAG_REPLY | (is_long ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER);
    how.user_data = this;
    how.cb.send = [](void* request, ucs_status_t, void* self) {
      auto& here = *static_cast<implementation*>(self);
      const auto at = here.under_way.find(request);
      if (at != here.under_way.end()) {
        here.free.push_back(std::move(at->second));
        here.under_way.erase(at);
      }
      ucp_request_free(request);
    };
    void* const request = ucp_am_send_nbx(peers[to], static_cast<unsigned>(kind), out->head.data(), head.size(),
                                          data.data(), data.size(), &how);
    if (UCS_PTR_IS_PTR(request)) {
      under_way.emplace(request, std::move(out));
    } else {
      free.push_back(std::move(out));
    }
  }
  std::unordered_map<void*, std::unique_ptr<message_out>> under_way;  // by UCX's request
};

ucx_wire::ucx_wire() : self_{std::make_unique<implementation>()} {}
ucx_wire::~ucx_wire() = default;

std::vector<std::byte> ucx_wire::address() const {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  check(ucp_worker_get_address(self_->worker.get(), &address, &bytes), "the address of a UCX worker");
  const auto* const begin = reinterpret_cast<const std::byte*>(address);
  std::vector<std::byte> copy{begin, begin + bytes};
  ucp_worker_release_address(self_->worker.get(), address);
  return copy;
}

wire_peer ucx_wire::connect(std::span<const std::byte> address) {
  ucp_ep_params_t how{};
  how.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  how.address = reinterpret_cast<const ucp_address_t*>(address.data());
  how.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  how.err_handler.cb = [](void* self, ucp_ep_h which, ucs_status_t status) {
    static_cast<implementation*>(self)->end(which, status);
  };
  how.err_handler.arg = self_.get();
  ucp_ep_h made = nullptr;
  check(ucp_ep_create(self_->worker.get(), &how, &made), "there is no way to another host");
  return self_->number_of(made);
}

bool ucx_wire::is_idle() const noexcept { return self_->under_way.empty(); }

void ucx_wire::send(wire_peer to, wire_message kind, std::span<const std::byte> head,
                    std::span<const std::byte> data) noexcept {
  self_->send(to, kind, head, data);
}

bool ucx_wire::progress(wire_receiver& receiver) { return self_->progress(receiver); }
bool ucx_wire::arm() noexcept { return ucp_worker_arm(self_->worker.get()) == UCS_OK; }
int ucx_wire::descriptor() const noexcept { return self_->descriptor; }

}  // namespace situ::detail::cluster
