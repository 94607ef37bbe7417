#include <situ/pim/operation.h>

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <iterator>

namespace situ::pim {
namespace {

// The scalar that an operation has in the place of b.
enum class scalar_use : std::uint8_t { none, may, must };

struct operation_facts {
  std::string_view name;
  unsigned inputs = 0;  // a, then b, then c
  scalar_use scalar = scalar_use::none;
  bool flag = false;     // the result is a flag
  bool logical = false;  // column by column: no pattern in horizontal form
};

constexpr auto may = scalar_use::may;
constexpr auto none = scalar_use::none;
constexpr auto must = scalar_use::must;

constexpr operation_facts of_operations[] = {{"COPY", 1, none, false, true},
                                             {"NOT", 1, none, false, true},
                                             {"AND", 2, may, false, true},
                                             {"OR", 2, may, false, true},
                                             {"NAND", 2, may, false, true},
                                             {"NOR", 2, may, false, true},
                                             {"XOR", 2, may, false, true},
                                             {"XNOR", 2, may, false, true},
                                             {"ADD", 2, may},
                                             {"SUB", 2, may},
                                             {"MUL", 2, may},
                                             {"MULADD", 3, may},
                                             {"EQ", 2, may, true},
                                             {"NE", 2, may, true},
                                             {"LT", 2, may, true},
                                             {"LE", 2, may, true},
                                             {"GT", 2, may, true},
                                             {"GE", 2, may, true},
                                             {"SEL", 2, may, false, true},
                                             {"MIN", 2, may},
                                             {"MAX", 2, may},
                                             {"ABS", 1},
                                             {"POPCNT", 1},
                                             {"SHL", 1, must},
                                             {"SHR", 1, must},
                                             {"BCAST", 0, must},
                                             {"SUM", 1}};
static_assert(std::size(of_operations) == static_cast<unsigned>(operation::reduce_sum) + 1);

constexpr std::string_view wide_name = "MULW";

const operation_facts& facts_about(operation what) noexcept { return of_operations[static_cast<unsigned>(what)]; }

[[noreturn]] void refuse_text(std::string_view text, std::string_view part, std::string_view why) {
  throw_error(errc::bad_argument,
              fmt::format("pim: operation '{}': '{}' {}; an operation reads ADD.V.I32, ADD.H.U8.T or ADD.V.I32 5", text,
                          part, why));
}

// Returns the part up to the next dot, and takes it off.
std::string_view next_part(std::string_view& rest) noexcept {
  const std::size_t dot = rest.find('.');
  const std::string_view part = rest.substr(0, dot);
  rest.remove_prefix(dot == std::string_view::npos ? rest.size() : dot + 1);
  return part;
}

template <class Number>
bool read_number(std::string_view part, Number& value) noexcept {
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
  return error == std::errc{} && end == part.data() + part.size();
}

void read_name(operation_spec& spec, std::string_view part, std::string_view all) {
  if (part == wide_name) {
    spec.what = operation::multiply;
    spec.wide = true;
    return;
  }
  for (unsigned k = 0; k < std::size(of_operations); ++k) {
    if (of_operations[k].name != part) continue;
    spec.what = static_cast<operation>(k);
    return;
  }
  refuse_text(all, part, "is no operation");
}

void read_type(operation_spec& spec, std::string_view part, std::string_view all) {
  if (part.empty() || (part[0] != 'I' && part[0] != 'U')) refuse_text(all, part, "is no type: I or U, then the bits");
  spec.is_signed = part[0] == 'I';
  if (!read_number(part.substr(1), spec.bits)) refuse_text(all, part, "is no type: I or U, then the bits");
}

void read_scalar(operation_spec& spec, std::string_view part, std::string_view all) {
  std::int64_t negative = 0;
  std::uint64_t value = 0;
  if (read_number(part, value))
    spec.scalar = value;
  else if (read_number(part, negative))
    spec.scalar = static_cast<std::uint64_t>(negative);
  else
    refuse_text(all, part, "is no number of 64 bits");
}

}  // namespace

std::string_view name(operation what) noexcept { return facts_about(what).name; }

void check(const operation_spec& spec) {
  const auto refuse = [&](std::string_view why) {
    throw_error(errc::bad_argument, fmt::format("pim: {} of {} bits: {}", name(spec.what), spec.bits, why));
  };
  if (spec.what > operation::reduce_sum) throw_error(errc::bad_argument, "pim: there is no such operation");
  const operation_facts& facts = facts_about(spec.what);
  if (spec.bits == 0 || spec.bits > 64) refuse("elements have 1 to 64 bits");
  if (facts.scalar == none && spec.scalar) refuse("it takes no scalar");
  if (facts.scalar == must && !spec.scalar) refuse("it needs a scalar: give operation_spec::scalar");
  if (!spec.wide) return;
  if (spec.what != operation::multiply || spec.scalar) refuse("only multiplications of two vectors are wide");
  if (spec.direction != dimension::vertical || spec.bits > 32) refuse("wide ones are vertical, of at most 32 bits");
}

unsigned result_bits(const operation_spec& spec) {
  check(spec);
  if (spec.what == operation::reduce_sum) return 0;
  if (spec.direction == dimension::vertical && facts_about(spec.what).flag) return 1;
  return spec.wide ? 2 * spec.bits : spec.bits;
}

std::vector<operand_need> operands_of(const operation_spec& spec) {
  check(spec);
  const operation_facts& facts = facts_about(spec.what);
  const bool vertical = spec.direction == dimension::vertical;
  const auto rows = [&](unsigned bits) { return static_cast<std::uint16_t>(vertical ? bits : 1); };
  std::vector<operand_need> needs;
  if (spec.what == operation::select) needs.push_back({operand_role::condition, 1});
  constexpr operand_role inputs[] = {operand_role::a, operand_role::b, operand_role::c};
  for (unsigned k = 0; k < facts.inputs; ++k)
    if (inputs[k] != operand_role::b || !spec.scalar) needs.push_back({inputs[k], rows(spec.bits)});
  if (spec.what != operation::reduce_sum) needs.push_back({operand_role::result, rows(result_bits(spec))});
  if (spec.mask != mask_use::none) needs.push_back({operand_role::mask, 1});
  if (!vertical && (!facts.logical || spec.scalar)) needs.push_back({operand_role::pattern, 2});
  return needs;
}

std::string text(const operation_spec& spec) {
  std::string made =
      fmt::format("{}.{}.{}{}", spec.wide ? wide_name : name(spec.what),
                  spec.direction == dimension::vertical ? 'V' : 'H', spec.is_signed ? 'I' : 'U', spec.bits);
  if (spec.mask != mask_use::none) made += spec.mask == mask_use::when_true ? ".T" : ".F";
  if (spec.scalar) made += fmt::format(" {}", *spec.scalar);
  return made;
}

operation_spec parse_operation(std::string_view text) {
  operation_spec spec;
  const std::size_t space = text.find(' ');
  std::string_view rest = text.substr(0, space);
  read_name(spec, next_part(rest), text);
  const std::string_view direction = next_part(rest);
  if (direction != "V" && direction != "H") refuse_text(text, direction, "is no direction: V or H");
  spec.direction = direction == "V" ? dimension::vertical : dimension::horizontal;
  read_type(spec, next_part(rest), text);
  if (!rest.empty() || text.substr(0, space).back() == '.') {
    if (rest != "T" && rest != "F") refuse_text(text, rest, "is no mask: T or F");
    spec.mask = rest == "T" ? mask_use::when_true : mask_use::when_false;
  }
  if (space != std::string_view::npos) read_scalar(spec, text.substr(space + 1), text);
  check(spec);
  return spec;
}

std::uint64_t weighted_sum(const operation_spec& spec, std::span<const std::uint64_t> ones) noexcept {
  std::uint64_t sum = 0;
  for (unsigned k = 0; k < spec.bits && k < ones.size(); ++k) {
    const std::uint64_t part = ones[k] << k;
    sum = spec.is_signed && k + 1 == spec.bits ? sum - part : sum + part;
  }
  return sum;
}

}  // namespace situ::pim
