#include "cluster/far_place.h"

#include <situ/base/detail/assert.h>
#include <situ/base/error.h>
#include <situ/base/log.h>

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <memory>
#include <utility>

#include "memory/host_loss.h"
#include "memory/liveness.h"
#include "os/bytes.h"
#include "os/host.h"

namespace situ::detail::cluster {
namespace {

constexpr std::size_t most_pieces = 16;  // outstanding pieces of one operation: 2 MiB

std::byte* moved_by(std::byte* origin, std::ptrdiff_t elements, std::size_t element_bytes) noexcept {
  return origin + elements * static_cast<std::ptrdiff_t>(element_bytes);
}

// Copies the elements of a box of the caller's memory to, or from, a dense array.
void copy_dense(access how, std::byte* near, const std::ptrdiff_t* strides, const std::size_t* extents,
                std::size_t dimensions, std::size_t element_bytes, std::byte*& dense) {
  if (dimensions == 0) {
    if (how == access::put) {
      std::memcpy(dense, near, element_bytes);
    } else {
      std::memcpy(near, dense, element_bytes);
    }
    dense += element_bytes;
    return;
  }
  for (std::size_t i = 0; i < extents[0]; ++i)
    copy_dense(how, moved_by(near, static_cast<std::ptrdiff_t>(i) * strides[0], element_bytes), strides + 1,
               extents + 1, dimensions - 1, element_bytes, dense);
}

[[nodiscard]] std::size_t bytes_in(const strided_box& box) noexcept {
  std::size_t bytes = box.element_bytes;
  for (std::size_t d = 0; d < box.dimensions; ++d) bytes = bytes_of(box.extents[d], bytes);
  return bytes;
}

}  // namespace

// The outstanding pieces of one operation. All memory that they use stays until each is answered.
class far_place::pieces {
 public:
  pieces(far_place& self, std::uint64_t range_begin, std::uint64_t range_bytes) noexcept
      : self_{self}, range_begin_{range_begin}, range_bytes_{range_bytes} {}
  explicit pieces(far_place& self) noexcept : pieces{self, 0, 0} {}
  pieces(const pieces&) = delete;
  pieces& operator=(const pieces&) = delete;
  ~pieces() {
    while (!under_way_.empty()) finish_first();
  }

  void put(std::uintptr_t to, const std::byte* from, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes;) {
      const std::size_t now = std::min<std::size_t>(bytes - done, most_piece_bytes);
      operation_head head{.what = static_cast<std::uint8_t>(far_operation::put)};
      head.address = to + done;
      head.bytes = now;
      head.second = bytes - done - now;
      add(head, {}, {from + done, now}, {});
      done += now;
    }
  }
  void get(std::byte* to, std::uintptr_t from, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes;) {
      const std::size_t now = std::min<std::size_t>(bytes - done, most_piece_bytes);
      operation_head head{.what = static_cast<std::uint8_t>(far_operation::get)};
      head.address = from + done;
      head.bytes = now;
      head.second = bytes - done - now;
      add(head, {}, {}, {.to = to + done});
      done += now;
    }
  }
  void look_at(std::uint32_t place, shown_part of, std::uint64_t offset, std::span<std::byte> to) {
    for (std::size_t done = 0; done < to.size();) {
      const std::size_t now = std::min<std::size_t>(to.size() - done, most_piece_bytes);
      operation_head head{.what = static_cast<std::uint8_t>(far_operation::shown)};
      head.address = self_.slice_of(place);
      head.bytes = now;
      head.second = offset + done;
      head.third = static_cast<std::uint64_t>(of);
      add(head, {}, {}, {.to = to.data() + done});
      done += now;
    }
  }

  // pre: the box fits one message.
  void move_box(access how, const strided_box& box) {
    const std::size_t bytes = bytes_in(box);
    operation_head head{
        .what = static_cast<std::uint8_t>(how == access::put ? far_operation::box_put : far_operation::box_get)};
    head.address = box.far;
    head.bytes = bytes;
    head.second = range_begin_;
    head.third = range_bytes_;
    os::short_bytes<sizeof(box_head) + std::size_t{16} * most_box_dimensions> shape;
    shape.add(box_head{static_cast<std::uint32_t>(box.dimensions), static_cast<std::uint32_t>(box.element_bytes)})
        .add_bytes(std::as_bytes(std::span{box.extents, box.dimensions}))
        .add_bytes(std::as_bytes(std::span{box.far_strides, box.dimensions}));
    const std::span<const std::byte> shown = shape.bytes();

    auto dense = std::make_unique_for_overwrite<std::byte[]>(bytes);
    std::byte* const elements = dense.get();
    if (how == access::get) {
      return add(head, shown, {},
                 {.to = elements,
                  .dense = std::move(dense),
                  .near = box.near,
                  .strides = {box.near_strides, box.near_strides + box.dimensions},
                  .extents = {box.extents, box.extents + box.dimensions},
                  .element_bytes = box.element_bytes});
    }
    std::byte* at = elements;
    copy_dense(how, box.near, box.near_strides, box.extents, box.dimensions, box.element_bytes, at);
    add(head, shown, {elements, bytes}, {});
  }

  // Waits for all pieces; throws the first failure.
  void finish() {
    while (!under_way_.empty()) finish_first();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  struct piece {
    std::byte* to = nullptr;  // destination of the answer's bytes
    // For a box: the elements as they arrive, and their destination.
    std::unique_ptr<std::byte[]> dense{};
    std::byte* near = nullptr;
    std::vector<std::ptrdiff_t> strides{};
    std::vector<std::size_t> extents{};
    std::size_t element_bytes = 0;
    std::uint32_t index = 0;
  };

  void add(const operation_head& head, std::span<const std::byte> shape, std::span<const std::byte> data, piece made) {
    while (under_way_.size() >= most_pieces) finish_first();
    if (failure_) finish();
    made.index = self_.begin(head, shape, data, made.to, made.to == nullptr ? 0 : head.bytes);
    under_way_.push_back(std::move(made));
  }
  void finish_first() noexcept {
    piece first = std::move(under_way_.front());
    under_way_.pop_front();
    try {
      (void)self_.finish(first.index);
      std::byte* dense = first.dense.get();
      if (dense != nullptr)
        copy_dense(access::get, first.near, first.strides.data(), first.extents.data(), first.extents.size(),
                   first.element_bytes, dense);
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
    }
  }

  far_place& self_;
  std::uint64_t range_begin_;
  std::uint64_t range_bytes_;
  std::deque<piece> under_way_;
  std::exception_ptr failure_;
};

far_place::far_place(place_context& context, std::span<const place_home> homes, std::uint16_t host, host_wire& to,
                     std::vector<wire_peer> servers)
    : far_hosts{homes, host},
      context_{context},
      wire_{to},
      bell_{context.job->slot(context.place)},
      servers_{std::move(servers)},
      lost_(servers_.size()),
      sendings_(homes.size()) {
  for (std::uint32_t i = 0; i < most_outstanding; ++i) table_[i].next_free = i + 1 < most_outstanding ? i + 1 : none;
}

far_place::~far_place() {
  const auto is_idle = [this] {
    const std::lock_guard lock{mutex_};
    return given_back_.empty() &&
           std::all_of(table_.begin(), table_.end(), [](const outstanding& each) { return each.done.load(); });
  };
  while (!is_idle())
    if (!poll()) give_way();
}

std::uint32_t far_place::place_of(std::uintptr_t address) const noexcept {
  return static_cast<std::uint32_t>((address - context_.base) >> context_.slice_shift);
}

std::uintptr_t far_place::slice_of(std::uint32_t place) const noexcept {
  return context_.base + (std::uintptr_t{place} << context_.slice_shift);
}

void far_place::put(std::uintptr_t to, const void* from, std::size_t bytes) {
  pieces under_way{*this};
  under_way.put(to, static_cast<const std::byte*>(from), bytes);
  under_way.finish();
}

void far_place::get(void* to, std::uintptr_t from, std::size_t bytes) {
  pieces under_way{*this};
  under_way.get(static_cast<std::byte*>(to), from, bytes);
  under_way.finish();
}

void far_place::move_box(access how, const strided_box& box) {
  std::uintptr_t begin = box.far;
  std::uint64_t reach = 0;  // it fits a slice, as the slow way has found
  for (std::size_t d = 0; d < box.dimensions; ++d) {
    const auto step = static_cast<std::uint64_t>(box.far_strides[d] < 0 ? -box.far_strides[d] : box.far_strides[d]);
    const std::uint64_t bytes = (box.extents[d] - 1) * step * box.element_bytes;
    reach += bytes;
    if (box.far_strides[d] < 0) begin -= bytes;
  }
  pieces under_way{*this, begin, reach + box.element_bytes};
  move_part(under_way, how, box);
  under_way.finish();
}

// Cuts a box until its parts fit messages: the outermost dimension first, rows in one piece if both sides are dense.
void far_place::move_part(pieces& under_way, access how, const strided_box& part) {
  const std::size_t bytes = bytes_in(part);
  const bool is_dense =
      part.dimensions == 0 || (part.dimensions == 1 && part.far_strides[0] == 1 && part.near_strides[0] == 1);
  if (is_dense)
    return how == access::put ? under_way.put(part.far, part.near, bytes) : under_way.get(part.near, part.far, bytes);
  if (bytes <= most_copied_bytes && part.dimensions <= most_box_dimensions) return under_way.move_box(how, part);

  const std::size_t inner_bytes =
      bytes_in({.extents = part.extents + 1, .dimensions = part.dimensions - 1, .element_bytes = part.element_bytes});
  const bool fits = inner_bytes <= most_copied_bytes && part.dimensions <= most_box_dimensions;
  const std::size_t at_once = fits ? most_copied_bytes / inner_bytes : 1;
  std::vector<std::size_t> extents{part.extents, part.extents + part.dimensions};
  for (std::size_t i = 0; i < part.extents[0]; i += at_once) {
    strided_box next = part;
    next.far += static_cast<std::uintptr_t>(part.far_strides[0]) * i * part.element_bytes;
    next.near = moved_by(part.near, static_cast<std::ptrdiff_t>(i) * part.near_strides[0], part.element_bytes);
    if (fits) {
      extents[0] = std::min(at_once, part.extents[0] - i);
      next.extents = extents.data();
      under_way.move_box(how, next);
    } else {
      ++next.extents;
      ++next.far_strides;
      ++next.near_strides;
      --next.dimensions;
      move_part(under_way, how, next);
    }
  }
}

std::uint64_t far_place::atomic(const word_request& request) {
  operation_head head{.what = static_cast<std::uint8_t>(far_operation::atomic),
                      .how = static_cast<std::uint8_t>(request.what),
                      .type = static_cast<std::uint8_t>(request.type)};
  head.address = request.word;
  head.bytes = request.value;
  head.second = request.second;
  return perform(head, {});
}

// Puts the data except the last part, which fits one message; the signal is sent with that part.
void far_place::put_signal(std::uintptr_t to, const void* from, std::size_t bytes, const signal_change& signal) {
  const auto* data = static_cast<const std::byte*>(from);
  if (bytes > most_copied_bytes) {
    const std::size_t before = bytes - most_copied_bytes;
    put(to, data, before);
    to += before;
    data += before;
    bytes = most_copied_bytes;
  }
  operation_head head{.what = static_cast<std::uint8_t>(far_operation::put_signal),
                      .how = signal.adds ? operation_head::adds : std::uint8_t{0},
                      .type = static_cast<std::uint8_t>(signal.type)};
  head.address = to;
  head.bytes = bytes;
  head.second = signal.word;
  head.third = signal.value;
  (void)perform(head, {data, bytes});
}

void far_place::give_back(std::uintptr_t block) noexcept {
  const std::lock_guard lock{mutex_};
  given_back_.push_back(block);
  send_given_back();
}

void far_place::send_given_back() noexcept {
  for (; !given_back_.empty() && first_free_ != none; given_back_.pop_back()) {
    const std::uintptr_t block = given_back_.back();
    if (!lost_[homes()[place_of(block)].host].empty()) continue;  // a lost host's memory goes with it
    operation_head head{.what = static_cast<std::uint8_t>(far_operation::give_back)};
    head.address = block;
    send(head, {}, {}, nullptr, 0, true);
  }
}

void far_place::arrive(host_barrier which, std::uint64_t round) noexcept {
  std::vector<std::uint32_t> told;
  const auto try_to = [](auto act) noexcept {
    try {
      act();
    } catch (const place_lost_error&) {  // its places are marked, which ends the wait
    } catch (const std::exception& e) {
      log(log_level::error, fmt::format("a host is not told of a barrier: {}", e.what()));
    }
  };
  for (std::uint32_t p = 0; p < homes().size(); ++p) {
    if (homes()[p].index != 0 || homes()[p].host == host()) continue;
    operation_head head{.what = static_cast<std::uint8_t>(far_operation::barrier)};
    head.address = slice_of(p);
    head.second = static_cast<std::uint64_t>(which);
    head.third = round;
    try_to([&] { told.push_back(begin(head, {}, {}, nullptr, 0)); });
  }
  for (const std::uint32_t each : told) try_to([&] { (void)finish(each); });
}

std::uint64_t far_place::time_at(std::uint16_t host) {
  operation_head head{.what = static_cast<std::uint8_t>(far_operation::time)};
  head.address = slice_of(first_place_of(homes(), host));
  return perform(head, {});
}

void far_place::look_at(std::uint32_t place, shown_part of, std::uint64_t offset, std::span<std::byte> to) {
  pieces under_way{*this};
  under_way.look_at(place, of, offset, to);
  under_way.finish();
}

std::uint64_t far_place::perform(const operation_head& head, std::span<const std::byte> data) {
  return finish(begin(head, {}, data, nullptr, 0));
}

// --- The table -------------------------------------------------------------------------------------------------------

std::uint32_t far_place::send(operation_head head, std::span<const std::byte> shape, std::span<const std::byte> data,
                              std::byte* to, std::uint64_t expected, bool is_given_back) noexcept {
  const std::uint32_t index = first_free_;
  outstanding& mine = table_[index];
  first_free_ = mine.next_free;
  ++mine.use;
  mine.is_given_back = is_given_back;
  mine.target = place_of(head.address);
  mine.to = to;
  mine.bytes = expected;
  mine.status = 0;
  mine.done.store(false, std::memory_order_relaxed);
  head.source = context_.place;
  head.tag = std::uint64_t{mine.use} << 32 | index;
  os::short_bytes<most_head_bytes> whole;
  whole.add(head).add_bytes(shape);
  under_way_.fetch_add(1, std::memory_order_relaxed);
  send_bytes(mine.target, wire_message::operation, whole.bytes(), data);
  return index;
}

void far_place::send_bytes(std::uint32_t target, wire_message kind, std::span<const std::byte> head,
                           std::span<const std::byte> data) noexcept {
  wire_.send(servers_[homes()[target].host], kind, head, data);
  is_sending_.store(!wire_.is_idle(), std::memory_order_relaxed);
}

void far_place::free(std::uint32_t index) noexcept {
  table_[index].next_free = std::exchange(first_free_, index);
  send_given_back();
}

std::uint32_t far_place::begin(const operation_head& head, std::span<const std::byte> shape,
                               std::span<const std::byte> data, std::byte* to, std::uint64_t expected) {
  const std::uint32_t target = place_of(head.address);
  for (;;) {
    {
      const std::lock_guard lock{mutex_};
      const std::string& lost = lost_[homes()[target].host];
      if (!lost.empty()) throw place_lost_error{target, lost};
      if (first_free_ != none) return send(head, shape, data, to, expected, false);
    }
    const auto has_room = [this] {
      const std::lock_guard lock{mutex_};
      return first_free_ != none;
    };
    wait(has_room, target);
  }
}

std::uint64_t far_place::finish(std::uint32_t index) {
  outstanding& mine = table_[index];
  // A loss elsewhere may end the wait. The answer writes to the caller's memory, so wait until the answer cannot come.
  std::exception_ptr ended;
  try {
    // acquire: the data of the answer
    wait([&mine] { return mine.done.load(std::memory_order_acquire); }, mine.target);
  } catch (...) {
    ended = std::current_exception();
    while (!mine.done.load(std::memory_order_acquire))
      if (!poll()) give_way();
  }
  const std::uint32_t status = mine.status;
  const std::uint64_t value = mine.value;
  const std::uint32_t target = mine.target;
  const std::string text = std::exchange(mine.text, {});
  {
    const std::lock_guard lock{mutex_};
    free(index);
  }
  if (ended) std::rethrow_exception(ended);
  if (status == 0) return value;
  const auto code = static_cast<errc>(status - 1);
  if (code == errc::place_lost) throw place_lost_error{target, text};
  throw error{code, text};
}

template <class Done>
void far_place::wait(Done done, std::uint32_t target) {
  auto look = [&] {
    if (done()) return true;
    poll();
    return done();
  };
  const auto ask = [](void* asked) { return (*static_cast<decltype(look)*>(asked))(); };
  // Another thread of the place may take in the answer; then nothing else would end a sleep.
  constexpr std::int64_t longest_ns = 10'000'000;
  if (task_waiter_ != nullptr) {
    if (first_wait_ns_ != 0) {
      const std::uint64_t end_ns = steady_ns() + static_cast<std::uint64_t>(first_wait_ns_);
      do {
        if (look()) return;
        pause(first_wait_ns_);
      } while (steady_ns() < end_ns);
    }
    if (task_waiter_(ask, &look, target)) return;
  }
  while (!look()) pause(longest_ns);
}

// Sleeps until a message arrives, for a caller that cannot wait as a task.
void far_place::pause(std::int64_t longest_ns) {
  {
    const std::lock_guard lock{mutex_};
    if (!wire_.arm()) return;
  }
  if (wire_.descriptor() < 0) return give_way();
  (void)await_descriptors(wire_.descriptor(), -1, longest_ns);
}

bool far_place::sleep(std::int64_t timeout_ns) noexcept {
  // A ring of the bell is lost only if the system is out of sockets; then a wake-up takes this long.
  constexpr std::int64_t longest_ns = 100'000'000;
  {
    const std::unique_lock lock{mutex_, std::try_to_lock};  // the thread that has the lock is taking in messages
    if (!lock.owns_lock() || !wire_.arm()) return false;
  }
  const bool is_short = timeout_ns >= 0 && timeout_ns < longest_ns;
  const bool has_come = await_descriptors(wire_.descriptor(), bell_.descriptor(), is_short ? timeout_ns : longest_ns);
  bell_.silence();
  return !has_come && is_short;
}

// --- Messages --------------------------------------------------------------------------------------------------------

channel& far_place::window(std::uint32_t place, bool is_reply) {
  const std::lock_guard lock{mutex_};
  sending& mine = sendings_[place][is_reply ? 1 : 0];
  if (!mine.ring) mine.ring = std::make_unique_for_overwrite<channel>();
  return *mine.ring;
}

void far_place::carry(const outgoing& out, const cell& c, const message_form& form) noexcept {
  const message_head head{.target = out.target,
                          .source = context_.place,
                          .sequence = static_cast<std::uint32_t>(out.sent),
                          .channel = static_cast<std::uint8_t>(out.is_reply),
                          .kind = static_cast<std::uint8_t>(form.kind),
                          .arguments = static_cast<std::uint8_t>(form.arguments),
                          .payload_in_cell = static_cast<std::uint8_t>(form.payload_in_cell),
                          .handler = std::uint64_t{form.payload_bytes} << 48 | (c.handler & 0xffff'ffff'ffff)};
  os::short_bytes<sizeof head + sizeof c.words> whole;
  whole.add(head).add_bytes(std::as_bytes(std::span{c.words}.first(form.words_used())));
  const std::uint32_t bytes = form.record_bytes();
  const std::byte* const record = out.to->data + (out.data_sent - bytes_in_ring(bytes)) % channel::data_bytes;

  const std::lock_guard lock{mutex_};
  sending& mine = sendings_[out.target][head.channel];
  mine.sent = out.sent;
  mine.data_sent = out.data_sent;
  ++count_.messages;
  send_bytes(out.target, wire_message::message, whole.bytes(), {record, bytes});
}

// The server reports each quarter of the cells by itself, so a full window needs no request. If the data does not fit,
// less than a quarter may be consumed: ask.
void far_place::want_room(const outgoing& out) noexcept {
  const std::lock_guard lock{mutex_};
  wants_room_.store(true, std::memory_order_relaxed);
  if (out.sent - out.seen < channel::cell_count) ask_for_credit(out.target, out.is_reply ? 1 : 0);
}

void far_place::ask_for_credit(std::uint32_t target, std::uint32_t channel) noexcept {
  if (std::exchange(sendings_[target][channel].has_asked, true)) return;
  const credit_head head{.source = context_.place, .target = target, .channel = channel};
  send_bytes(target, wire_message::credit, os::bytes_of(head), {});
}

void far_place::take_credit(wire_peer from, std::span<const std::byte> head, std::uint64_t data_bytes) noexcept {
  credit_head is;
  if (const char* const why = parse_credit(head, data_bytes, is)) return drop(from, why);
  if (is.source != context_.place || is.target >= homes().size() || !is_far(is.target) ||
      servers_[homes()[is.target].host] != from)
    return drop(from, "credit that is not this place's");
  sending& mine = sendings_[is.target][is.channel];
  if (!mine.ring || is.cells > mine.sent || is.data > mine.data_sent)
    return drop(from, "credit for more than was sent");
  ++count_.credits;
  mine.has_asked = false;
  wants_room_.store(false, std::memory_order_relaxed);
  auto& consumed = mine.ring->consumed;
  if (is.cells <= consumed.cells.load(std::memory_order_relaxed)) return;  // an older credit
  if (is.data < consumed.data.load(std::memory_order_relaxed)) return drop(from, "credit that goes back");
  consumed.data.store(is.data, std::memory_order_release);
  consumed.cells.store(is.cells, std::memory_order_release);
}

bool far_place::has_delivered() noexcept {
  poll();
  const std::lock_guard lock{mutex_};
  bool has_all = true;
  for (std::uint32_t p = 0; p < sendings_.size(); ++p) {
    if (!lost_[homes()[p].host].empty() || has_ended(context_.job->slot(p).state.load(std::memory_order_acquire)))
      continue;
    for (std::uint32_t i = 0; i < 2; ++i) {
      const sending& each = sendings_[p][i];
      if (!each.ring || each.ring->consumed.cells.load(std::memory_order_relaxed) == each.sent) continue;
      has_all = false;
      ask_for_credit(p, i);
    }
  }
  if (!has_all) wants_room_.store(true, std::memory_order_relaxed);
  return has_all;
}

// --- Answers ---------------------------------------------------------------------------------------------------------

bool far_place::poll() {
  const std::unique_lock lock{mutex_, std::try_to_lock};  // the thread that has the lock polls
  if (!lock.owns_lock()) return false;
  look_for_lost_hosts();
  const bool any = wire_.progress(*this);
  is_sending_.store(!wire_.is_idle(), std::memory_order_relaxed);
  return any;
}

far_place::outstanding* far_place::find(wire_peer from, std::uint64_t tag) noexcept {
  const auto index = static_cast<std::uint32_t>(tag);
  if (index >= most_outstanding) return nullptr;
  outstanding& found = table_[index];
  const bool is_mine = !found.done.load(std::memory_order_relaxed) && found.use == tag >> 32 &&
                       servers_[homes()[found.target].host] == from;
  return is_mine ? &found : nullptr;
}

std::byte* far_place::room_for(wire_peer from, wire_message kind, std::span<const std::byte> head,
                               std::uint64_t bytes) noexcept {
  parsed_answer answer;
  if (kind != wire_message::answer || parse_answer(head, bytes, answer) != nullptr) {
    drop(from, "what is no answer");
    return nullptr;
  }
  outstanding* const found = find(from, answer.head.tag);
  if (found != nullptr && found->bytes == bytes) return found->to;
  if (found == nullptr) {
    drop(from, "an answer that nobody waits for");
  } else {
    fail(*found, errc::bad_message, "an answer of another length");
  }
  return nullptr;
}

void far_place::received(wire_peer from, wire_message kind, std::span<const std::byte> head,
                         std::span<const std::byte> data) noexcept {
  parsed_answer answer;
  if (kind == wire_message::credit) return take_credit(from, head, data.size());
  if (kind != wire_message::answer) return drop(from, "what is asked of a place, not of a server");
  if (const char* const why = parse_answer(head, data.size(), answer)) return drop(from, why);
  outstanding* const found = find(from, answer.head.tag);
  if (found == nullptr) return drop(from, "an answer that nobody waits for");
  if (answer.head.status == 0 && data.size() != found->bytes)
    return fail(*found, errc::bad_message, "an answer of another length");
  if (!data.empty() && answer.head.status == 0 && data.data() != found->to)
    std::memcpy(found->to, data.data(), data.size());
  found->status = answer.head.status;
  found->value = answer.head.value;
  found->text = answer.text;
  ++count_.answers;
  end(*found);
}

void far_place::end(outstanding& found) noexcept {
  found.done.store(true, std::memory_order_release);  // release: the data of the answer
  under_way_.fetch_sub(1, std::memory_order_relaxed);
  if (!found.is_given_back) return;
  if (found.status != 0 && found.status != 1 + static_cast<std::uint32_t>(errc::place_lost))
    log(log_level::error, fmt::format("place {}: a block cannot be given back: {}", context_.place, found.text));
  free(static_cast<std::uint32_t>(&found - table_.data()));
}

void far_place::fail(outstanding& found, errc code, std::string_view text) noexcept {
  found.status = 1 + static_cast<std::uint32_t>(code);
  found.text = text;
  end(found);
}

void far_place::drop(wire_peer from, std::string_view why) noexcept {
  constexpr std::uint64_t most_logged = 16;
  if (count_.dropped++ >= most_logged) return;
  log(log_level::warning, fmt::format("place {}: a message of peer {} is dropped: {}", context_.place, from, why));
}

void far_place::lose_host(std::uint16_t host, std::string_view reason) {
  const std::lock_guard lock{mutex_};
  lose(host, reason);
}

// Gives up the links of lost hosts before it fails the operations: a late answer would be written to the caller's
// memory.
void far_place::look_for_lost_hosts() noexcept {
  job_control& control = *context_.job;
  const std::uint32_t ends = control.failure_epoch.load(std::memory_order_acquire);
  if (ends == seen_ends_ || control.host_count == 1) return;
  seen_ends_ = ends;
  for (std::uint16_t h = 0; h < control.host_count; ++h) {
    if (h == host() || !lost_[h].empty() || has_server(control, h)) continue;
    wire_.give_up(servers_[h]);
    const std::string_view its = lost_reason(control, control.first_place_of(h));
    const std::string_view own = lost_reason(control, context_.place);
    lose(h,
         its.empty() ? fmt::format("place {} has no way to it any more: {}", context_.place, own) : std::string{its});
  }
}

// Called by the wire, so the lock is held.
void far_place::ended(wire_peer from) noexcept {
  for (std::uint16_t h = 0; h < context_.job->host_count; ++h)
    if (h != host() && servers_[h] == from) lose(h, "the link to its host has ended");
}

void far_place::lose(std::uint16_t host, std::string_view reason) noexcept {
  lost_[host] = reason;
  for (outstanding& each : table_) {
    if (each.done.load(std::memory_order_relaxed) || homes()[each.target].host != host) continue;
    fail(each, errc::place_lost, reason);
  }
}

far_place::counts far_place::count() {
  const std::lock_guard lock{mutex_};
  return count_;
}

}  // namespace situ::detail::cluster
