#include "cluster/protocol.h"

#include <situ/base/error_code.h>
#include <situ/fabric/detail/endpoint.h>
#include <situ/memory/detail/place_home.h>
#include <situ/memory/detail/place_state.h>

#include <utility>

namespace situ::detail::cluster {
namespace {

// Sets the shape, and returns the reason if it is invalid. bytes: of the elements, as the head has it.
const char* parse_box(std::span<const std::byte> rest, std::uint64_t bytes, box_shape& box) noexcept {
  os::byte_reader from{rest};
  box_head head;
  if (!from.take(head)) return "a box without its shape";
  if (head.dimensions == 0 || head.dimensions > most_box_dimensions) return "a box of too many dimensions, or none";
  if (from.rest().size() != std::size_t{16} * head.dimensions) return "a box whose shape is cut off, or too long";
  if (head.element_bytes == 0 || head.element_bytes > most_copied_bytes)
    return "a box of elements of no size, or too large";
  box.dimensions = head.dimensions;
  box.element_bytes = head.element_bytes;
  box.bytes = head.element_bytes;
  for (std::uint32_t d = 0; d < head.dimensions; ++d) {
    const auto extent = from.take<std::uint64_t>();
    if (extent == 0 || extent > most_copied_bytes / box.bytes) return "a box that is empty or too large";
    box.bytes *= extent;
    box.extents[d] = extent;
  }
  from.fill(std::span{box.strides}.first(head.dimensions));
  return box.bytes == bytes ? nullptr : "a box with another number of bytes than it says";
}

const char* check_words(const operation_head& head) noexcept {
  const bool is_atomic = head.what == static_cast<std::uint8_t>(far_operation::atomic);
  if (head.type >= word_types) return "a word of a type that there is not";
  if (is_atomic) {
    if (head.how >= word_operations) return "an atomic that there is not";
    if (!takes(static_cast<word_operation>(head.how), static_cast<word_type>(head.type)))
      return "an atomic that its type does not have";
  } else if (head.how > operation_head::adds) {
    return "a signal that is neither set nor added to";
  }
  return nullptr;
}

const char* check_bytes(const operation_head& head, std::uint64_t data_bytes) noexcept {
  const auto what = static_cast<far_operation>(head.what);
  const bool carries =
      what == far_operation::put || what == far_operation::put_signal || what == far_operation::box_put;
  const bool has_bytes =
      carries || what == far_operation::get || what == far_operation::box_get || what == far_operation::shown;
  if (data_bytes != (carries ? head.bytes : 0)) return "data of another length than it says";
  if (!has_bytes) return nullptr;
  const bool is_reaching = what == far_operation::put || what == far_operation::get;
  const bool is_long = is_reaching || what == far_operation::shown;
  if (head.bytes == 0 || head.bytes > (is_long ? most_piece_bytes : most_copied_bytes))
    return "an operation of no bytes, or too many";
  if (is_reaching && head.second > most_reach) return "an operation that goes on beyond any memory";
  return nullptr;
}

// Parses the bytes after the host_head.
const char* parse_state(std::span<const std::byte> rest, parsed_news& parsed) noexcept {
  os::byte_reader from{rest};
  if (!from.take(parsed.state)) return "a state that is cut off";
  parsed.text = os::text_of(from.rest());
  if (parsed.state.text_bytes != parsed.text.size() || parsed.text.size() > most_error_text)
    return "a state whose text is of another length than it says";
  if (parsed.state.state == static_cast<std::uint32_t>(place_state::absent) ||
      parsed.state.state > static_cast<std::uint32_t>(place_state::gone))
    return "a state that there is not";
  return nullptr;
}

const char* parse_alive(std::span<const std::byte> rest, parsed_news& parsed) noexcept {
  os::byte_reader from{rest};
  alive_head head;
  if (!from.take(head)) return "news of who lives that are cut off";
  const auto what = static_cast<host_news>(parsed.head.what);
  constexpr std::uint8_t all_flags = alive_head::asks | alive_head::is_voting;
  if ((head.flags & ~all_flags) != 0 || (head.flags != 0 && what != host_news::beat) || head.zero != 0 ||
      head.also_zero != 0)
    return "news with something where nothing is";
  if (head.words > host_set::most_words || from.rest().size() != std::size_t{8} * head.words)
    return "a set of hosts of another length than it says";
  parsed.alive = {.what = what,
                  .asks = (head.flags & alive_head::asks) != 0,
                  .is_voting = (head.flags & alive_head::is_voting) != 0,
                  .verdicts = parsed.head.verdicts,
                  .number = parsed.head.number,
                  .second = head.second};
  from.fill(std::span{parsed.alive.hosts.words}.first(head.words));
  return nullptr;
}

}  // namespace

const char* parse_operation(std::span<const std::byte> head, std::uint64_t data_bytes,
                            parsed_operation& parsed) noexcept {
  os::byte_reader from{head};
  if (!from.take(parsed.head)) return "an operation that is cut off";
  const operation_head& is = parsed.head;
  if (is.what >= far_operations) return "an operation that there is not";
  if (is.zero != 0) return "an operation with something where nothing is";
  const auto what = static_cast<far_operation>(is.what);
  if (const char* const why = check_bytes(is, data_bytes)) return why;
  if (what == far_operation::atomic || what == far_operation::put_signal) {
    if (const char* const why = check_words(is)) return why;
  } else if (is.how != 0 || is.type != 0) {
    return "an operation with something where nothing is";
  }
  if (what == far_operation::barrier && (is.bytes != 0 || is.second >= host_barriers || is.third == 0))
    return "a barrier that there is not";
  if (what == far_operation::time && (is.bytes != 0 || is.second != 0 || is.third != 0))
    return "a question for the time with more in it";
  if (what == far_operation::box_put || what == far_operation::box_get)
    return parse_box(from.rest(), is.bytes, parsed.box);
  return from.is_empty() ? nullptr : "an operation with more behind it than belongs to it";
}

const char* parse_message(std::span<const std::byte> head, std::uint64_t data_bytes, parsed_message& parsed) noexcept {
  os::byte_reader from{head};
  if (!from.take(parsed.head)) return "a message that is cut off";
  parsed.words = from.rest();
  const message_head& is = parsed.head;
  const auto kind = static_cast<message_kind>(is.kind);
  if (kind < message_kind::short_message || kind > message_kind::call || is.channel > 1 || is.payload_in_cell > 1)
    return "a message of a kind that there is not";
  message_form& form = parsed.form;
  form = {.kind = kind,
          .arguments = is.arguments,
          .payload_bytes = static_cast<std::uint32_t>(is.handler >> 48),
          .payload_in_cell = is.payload_in_cell != 0};
  if (form.arguments > max_arguments || form.payload_bytes > max_medium_bytes) return "a message that is too large";
  if (form.payload_in_cell && form.payload_bytes > (form.words_for_arguments() - form.arguments_in_cell()) * 8)
    return "a message whose payload does not fit its cell";
  if (parsed.words.size() != std::size_t{8} * form.words_used() || data_bytes != form.record_bytes())
    return "a message of another length than it says";
  return nullptr;
}

const char* parse_credit(std::span<const std::byte> head, std::uint64_t data_bytes, credit_head& parsed) noexcept {
  os::byte_reader from{head};
  credit_head said;
  if (!from.take(said) || !from.is_empty() || data_bytes != 0) return "a credit of another length";
  parsed = said;
  return parsed.channel > 1 || parsed.zero != 0 ? "a credit with something where nothing is" : nullptr;
}

const char* parse_news(std::span<const std::byte> head, std::uint64_t data_bytes, parsed_news& parsed) noexcept {
  os::byte_reader from{head};
  if (!from.take(parsed.head)) return "news that are cut off";
  const auto what = static_cast<host_news>(parsed.head.what);
  const bool is_rest = what == host_news::rest;
  if (parsed.head.zero != 0 || (data_bytes != 0 && !is_rest) ||
      (parsed.head.verdicts != 0 && !is_rest && !is_of_living(what)))
    return "news with something where nothing is";
  if (is_of_living(what)) return parse_alive(from.rest(), parsed);
  switch (what) {
    case host_news::votes:
    case host_news::bye: return from.is_empty() ? nullptr : "news with more behind them than belongs to them";
    case host_news::state: return parse_state(from.rest(), parsed);
    case host_news::rest:
      return from.take(parsed.rest) && from.is_empty() ? nullptr : "news of survivors() of another length";
    default: return "news that there are not";
  }
}

packed_news pack_news(const alive_news& news, std::uint16_t from, std::uint16_t hosts) noexcept {
  const host_head head{
      .what = static_cast<std::uint8_t>(news.what), .host = from, .verdicts = news.verdicts, .number = news.number};
  const std::size_t words = (std::size_t{hosts} + 63) / 64;
  const alive_head alive{.flags = static_cast<std::uint8_t>((news.asks ? alive_head::asks : 0) |
                                                            (news.is_voting ? alive_head::is_voting : 0)),
                         .words = static_cast<std::uint16_t>(words),
                         .second = news.second};
  packed_news packed;
  packed.add(head, alive).add_bytes(std::as_bytes(std::span{news.hosts.words}.first(words)));
  return packed;
}

packed_rest pack_rest(const rest_news& news, std::uint16_t from) {
  packed_rest packed;
  packed.head.add(host_head{.what = static_cast<std::uint8_t>(host_news::rest),
                            .host = from,
                            .verdicts = news.verdicts,
                            .number = news.number},
                  rest_head{.round = news.round, .agreed = news.agreed});
  os::byte_writer{packed.data}
      .add_bytes(std::as_bytes(news.living.words()))
      .add_bytes(std::as_bytes(news.team.words()));
  return packed;
}

const char* parse_rest(const parsed_news& news, std::span<const std::byte> data, std::uint32_t places,
                       rest_news& parsed) {
  place_set living{places};
  place_set team{places};
  os::byte_reader from{data};
  if (!from.fill(living.words()) || !from.fill(team.words()) || !from.is_empty())
    return "news of survivors() of another number of places";
  const std::uint64_t beyond = places % 64 == 0 ? 0 : ~std::uint64_t{0} << places % 64;
  if (((living.words().back() | team.words().back()) & beyond) != 0) return "news of places that there are not";
  parsed = {.verdicts = news.head.verdicts,
            .number = news.head.number,
            .round = news.rest.round,
            .agreed = news.rest.agreed,
            .living = std::move(living),
            .team = std::move(team)};
  return nullptr;
}

const char* parse_answer(std::span<const std::byte> head, std::uint64_t data_bytes, parsed_answer& parsed) noexcept {
  os::byte_reader from{head};
  if (!from.take(parsed.head)) return "an answer that is cut off";
  parsed.text = os::text_of(from.rest());
  if (parsed.head.status > 1 + static_cast<std::uint32_t>(errc::version_mismatch))
    return "an answer of a status that there is not";
  if (parsed.text.size() != parsed.head.text_bytes || parsed.text.size() > most_error_text)
    return "an answer whose text is of another length than it says";
  if (parsed.head.status == 0 ? !parsed.text.empty() : data_bytes != 0)
    return "an answer that is both an error and none";
  return nullptr;
}

}  // namespace situ::detail::cluster
