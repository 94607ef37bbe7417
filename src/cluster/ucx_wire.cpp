#include "cluster/ucx_wire.h"

#include <situ/base/error.h>
#include <situ/base/log.h>

#include <fmt/format.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cluster/network_choice.h"
#include "os/bytes.h"

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

// Reads the settings of the environment, and sets measured values for variables that are not set. UCX names a
// transport's own settings without the transport's name here.
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
  const std::string network = chosen_network();
  if (!network.empty() && std::getenv("UCX_NET_DEVICES") == nullptr)
    check(ucp_config_modify(config, "NET_DEVICES", network.c_str()), network_variable);
  return config;
}

// Each end has a name. Every message that it sends begins with the name. To an end that it connects to, it first sends
// its own address: the greeting, which has a message id of its own.
using end_name = std::uint64_t;
constexpr unsigned greeting_id = static_cast<unsigned>(wire_message::host) + 1;

end_name make_name() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

// Returns the name at the beginning of an address. pre: the address is longer than a name.
end_name name_in(std::span<const std::byte> address) noexcept { return os::byte_reader{address}.take<end_name>(); }

// An outgoing message, kept until UCX is done with its bytes.
struct message_out {
  os::short_bytes<sizeof(end_name) + most_head_bytes> head;
  std::vector<std::byte> data;  // a copy, if the caller may change its bytes
};

}  // namespace

struct ucx_wire::implementation {
  // A message that arrived before the greeting of its sender.
  struct early_message {
    end_name from;
    wire_message kind;
    std::vector<std::byte> head;
    std::vector<std::byte> data;
  };
  static constexpr std::size_t most_early_bytes = std::size_t{64} << 20;  // of all senders

  std::unique_ptr<ucp_context, closer> context;
  std::unique_ptr<ucp_worker, closer> worker;
  int descriptor = -1;
  const end_name name = make_name();
  // Each is made here from an address: an endpoint that UCX makes for a connecting end is gone as soon as the link is.
  std::vector<ucp_ep_h> peers;  // null: the peer has ended
  std::unordered_map<end_name, wire_peer> numbers;
  std::vector<std::unique_ptr<message_out>> free;
  std::unordered_map<void*, std::unique_ptr<message_out>> under_way;  // keyed by UCX's request
  std::vector<early_message> early;
  std::size_t early_bytes = 0;
  std::uint64_t dropped = 0;
  std::vector<std::vector<std::byte>> greetings;  // addresses of ends that are not connected yet
  std::vector<wire_peer> ended;                   // peers that have ended, not reported yet
  wire_receiver* receiver = nullptr;              // while progress() runs

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
    take_in(greeting_id,
            [](void* self, const void*, std::size_t, void* data, std::size_t bytes, const ucp_am_recv_param_t* params) {
              if ((params->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return UCS_OK;
              const auto* const begin = static_cast<const std::byte*>(data);
              static_cast<implementation*>(self)->greetings.emplace_back(begin, begin + bytes);
              return UCS_OK;
            });
  }
  implementation(const implementation&) = delete;
  implementation& operator=(const implementation&) = delete;
  ~implementation() {
    for (const ucp_ep_h each : peers)
      if (each != nullptr) close(each);
    worker.reset();  // its callbacks use the other members
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

  void take_in(unsigned id, ucp_am_recv_callback_t handler) {
    ucp_am_handler_param_t how{};
    how.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG |
                     UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
    how.id = id;
    how.flags = UCP_AM_FLAG_WHOLE_MSG;
    how.arg = this;
    how.cb = handler;
    check(ucp_worker_set_am_recv_handler(worker.get(), &how), "a handler of messages");
  }
  template <wire_message Kind>
  void take_in() {
    take_in(static_cast<unsigned>(Kind), [](void* self, const void* head, std::size_t head_bytes, void* data,
                                            std::size_t bytes, const ucp_am_recv_param_t* params) {
      return static_cast<implementation*>(self)->come(Kind, {static_cast<const std::byte*>(head), head_bytes}, data,
                                                      bytes, *params);
    });
  }

  // --- Ends ----------------------------------------------------------------------------------------------------------

  [[nodiscard]] std::vector<std::byte> address() const {
    ucp_address_t* of_worker = nullptr;
    std::size_t bytes = 0;
    check(ucp_worker_get_address(worker.get(), &of_worker, &bytes), "the address of a UCX worker");
    std::vector<std::byte> whole;
    whole.reserve(sizeof name + bytes);
    os::byte_writer{whole}.add(name).put(of_worker, bytes);
    ucp_worker_release_address(worker.get(), of_worker);
    return whole;
  }

  wire_peer connect(std::span<const std::byte> address) {
    if (address.size() <= sizeof(end_name)) throw_error(errc::bad_launch, "an address of the network that is cut off");
    const auto known = numbers.find(name_in(address));
    if (known != numbers.end()) return known->second;
    const wire_peer made = meet(address);
    const std::vector<std::byte> own = this->address();
    send(made, greeting_id, true, {}, own);
    return made;
  }

  // Connects to an end that is not known yet.
  wire_peer meet(std::span<const std::byte> address) {
    ucp_ep_params_t how{};
    how.field_mask =
        UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    how.address = reinterpret_cast<const ucp_address_t*>(address.data() + sizeof(end_name));
    how.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    how.err_handler.cb = [](void* self, ucp_ep_h which, ucs_status_t status) {
      static_cast<implementation*>(self)->end(which, status);
    };
    how.err_handler.arg = this;
    ucp_ep_h made = nullptr;
    check(ucp_ep_create(worker.get(), &how, &made), "there is no way to another host");
    const auto number = static_cast<wire_peer>(peers.size());
    peers.push_back(made);
    numbers.emplace(name_in(address), number);
    return number;
  }

  // Takes in a greeting: its sender is known from now on.
  void hear(std::span<const std::byte> address) {
    if (address.size() <= sizeof(end_name) || numbers.contains(name_in(address))) return;
    try {
      meet(address);
    } catch (const error& e) {
      log(log_level::warning, fmt::format("a connection to this host cannot be answered: {}", e.message()));
    }
  }

  // A link has failed. UCX calls this while it handles something else, so the endpoint is closed later.
  void end(ucp_ep_h which, ucs_status_t status) noexcept {
    const auto found = std::find(peers.begin(), peers.end(), which);
    if (found == peers.end()) return;
    log(log_level::info, fmt::format("a link to another host ends: {}", ucs_status_string(status)));
    ended.push_back(static_cast<wire_peer>(found - peers.begin()));
  }

  void tell_ended() {
    for (const wire_peer each : std::exchange(ended, {})) {
      if (peers[each] == nullptr) continue;
      close(std::exchange(peers[each], nullptr));
      receiver->ended(each);
    }
  }

  void give_up(wire_peer peer) noexcept {
    if (peer < peers.size() && peers[peer] != nullptr) close(std::exchange(peers[peer], nullptr));
  }

  // --- Receiving -----------------------------------------------------------------------------------------------------

  // All data arrives with its head (send()).
  ucs_status_t come(wire_message kind, std::span<const std::byte> head, void* data, std::size_t bytes,
                    const ucp_am_recv_param_t& params) {
    if (receiver == nullptr) return UCS_OK;  // this end is being destroyed
    os::byte_reader of{head};
    end_name from_name;
    if (!of.take(from_name)) return drop("one without a sender");
    if ((params.recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return drop("one whose data shall come later");
    head = of.rest();
    const std::span<const std::byte> content{static_cast<const std::byte*>(data), bytes};
    const auto from = numbers.find(from_name);
    if (from != numbers.end()) {
      give(from->second, kind, head, content);
      return UCS_OK;
    }
    // A greeting is taken in after the messages that arrive with it.
    const std::size_t size = sizeof(early_message) + head.size() + content.size();
    if (early_bytes + size > most_early_bytes) return drop("one of somebody unknown");
    early_bytes += size;
    early.push_back({from_name, kind, {head.begin(), head.end()}, {content.begin(), content.end()}});
    return UCS_OK;
  }
  void give(wire_peer from, wire_message kind, std::span<const std::byte> head, std::span<const std::byte> data) {
    if (peers[from] == nullptr) return;  // the peer has been given up
    if (is_copied(kind, data.size())) return receiver->received(from, kind, head, data);
    std::byte* const room = receiver->room_for(from, kind, head, data.size());
    if (room == nullptr) return;
    std::memcpy(room, data.data(), data.size());
    receiver->received(from, kind, head, {room, data.size()});
  }
  ucs_status_t drop(std::string_view what) noexcept {
    constexpr std::uint64_t most_logged = 16;
    if (dropped++ < most_logged)
      log(log_level::warning, fmt::format("a message over the network is dropped: {}", what));
    return UCS_OK;
  }

  bool progress(wire_receiver& to) {
    receiver = &to;
    bool worked = false;
    while (ucp_worker_progress(worker.get()) != 0) {
      worked = true;
      if (!greetings.empty()) greet_all();
    }
    if (!ended.empty()) tell_ended();
    receiver = nullptr;
    return worked;
  }

  void greet_all() {
    for (const std::vector<std::byte>& each : std::exchange(greetings, {})) hear(each);
    for (early_message& each : std::exchange(early, {})) {
      const auto from = numbers.find(each.from);
      if (from == numbers.end()) {
        early.push_back(std::move(each));
        continue;
      }
      early_bytes -= sizeof(early_message) + each.head.size() + each.data.size();
      give(from->second, each.kind, each.head, each.data);
    }
  }

  // --- Sending -------------------------------------------------------------------------------------------------------

  void send(wire_peer to, unsigned id, bool copies, std::span<const std::byte> head, std::span<const std::byte> data) {
    if (to >= peers.size() || peers[to] == nullptr) return;
    std::unique_ptr<message_out> out;
    if (free.empty()) {
      out = std::make_unique<message_out>();
    } else {
      out = std::move(free.back());
      free.pop_back();
    }
    out->head.clear();
    out->head.add(name).add_bytes(head);
    if (copies) {
      out->data.assign(data.begin(), data.end());
      data = out->data;
    }
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    how.flags = UCP_AM_SEND_FLAG_EAGER;  // a rendezvous takes two more messages, each to an end that sleeps
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
    void* const request = ucp_am_send_nbx(peers[to], id, out->head.bytes().data(), out->head.bytes().size(),
                                          data.data(), data.size(), &how);
    if (UCS_PTR_IS_PTR(request)) {
      under_way.emplace(request, std::move(out));
    } else {
      free.push_back(std::move(out));
    }
  }
};

ucx_wire::ucx_wire() : self_{std::make_unique<implementation>()} {}
ucx_wire::~ucx_wire() = default;

std::vector<std::byte> ucx_wire::address() const { return self_->address(); }
wire_peer ucx_wire::connect(std::span<const std::byte> address) { return self_->connect(address); }
bool ucx_wire::is_idle() const noexcept { return self_->under_way.empty(); }

void ucx_wire::send(wire_peer to, wire_message kind, std::span<const std::byte> head,
                    std::span<const std::byte> data) noexcept {
  self_->send(to, static_cast<unsigned>(kind), is_copied(kind, data.size()), head, data);
}

void ucx_wire::give_up(wire_peer peer) noexcept { self_->give_up(peer); }

bool ucx_wire::progress(wire_receiver& receiver) { return self_->progress(receiver); }
bool ucx_wire::arm() noexcept { return ucp_worker_arm(self_->worker.get()) == UCS_OK; }
int ucx_wire::descriptor() const noexcept { return self_->descriptor; }

}  // namespace situ::detail::cluster
