#include "document.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstdio>
#include <unordered_map>

namespace json_ship {
namespace {

// Calls use(v) for every value, parents first.
template <class Use>
void for_each_value(value* top, Use use) {
  std::vector<value*> waiting{top};
  while (!waiting.empty()) {
    value* const v = waiting.back();
    waiting.pop_back();
    use(v);
    if (const list* const l = situ::cast<const list>(v)) {
      waiting.insert(waiting.end(), l->elements.begin(), l->elements.end());
    } else if (const record* const r = situ::cast<const record>(v)) {
      for (const member& m : r->members) waiting.push_back(m.content);
    }
  }
}

void swap_case(situ::string& characters) noexcept {
  for (std::size_t i = 0; i < characters.size(); ++i) {
    char& c = characters[i];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) c = static_cast<char>(c ^ 0x20);
  }
}

void swap_all_cases(document& d) {
  for (member_name* const name : d.names) swap_case(name->characters);  // here and not at the members, which share them
  for_each_value(d.top, [](value* v) {
    if (text* const t = situ::cast<text>(v)) swap_case(t->characters);
  });
}

}  // namespace

void change(document& d, std::uint32_t place) {
  d.stamp->number = place;
  swap_all_cases(d);
  for_each_value(d.top, [&](value* v) {
    if (record* const r = situ::cast<record>(v)) r->members.push_back({d.stamp_name, d.stamp});
  });
}

std::uint64_t undo_change(document& d, std::uint32_t place) {
  const auto fail = [](const char* what) {
    situ::throw_error(situ::errc::bad_message, fmt::format("the document came back {}", what));
  };
  if (d.stamp == nullptr || d.stamp_name == nullptr || d.stamp->number != place)
    fail("without the stamp of the place that it visited");
  std::uint64_t taken = 0;
  for_each_value(d.top, [&](value* v) {
    record* const r = situ::cast<record>(v);
    if (r == nullptr) return;
    if (r->members.empty() || r->members.back().name != d.stamp_name || r->members.back().content != d.stamp)
      fail("with a record that has no stamp");
    r->members.pop_back();
    ++taken;
  });
  swap_all_cases(d);
  d.stamp->number = 0;
  return taken;
}

// --- comparing ---

namespace {

// Two documents, walked in step. A frame is a pair of containers and how far the walk is in them.
class comparison {
 public:
  std::string run(const document& a, const document& b) {
    std::string found = pair_names(a, b);
    if (found.empty()) found = compare(a.top, b.top);
    while (found.empty() && !frames_.empty()) found = step();
    return found;
  }

 private:
  struct frame {
    const value* a;
    const value* b;
    std::size_t next;
  };

  // Names correspond by their position; members must then share them alike.
  std::string pair_names(const document& a, const document& b) {
    if (a.names.size() != b.names.size()) return fmt::format("{} names, and {}", a.names.size(), b.names.size());
    for (std::size_t i = 0; i < a.names.size(); ++i) {
      if (a.names[i]->characters != b.names[i]->characters)
        return fmt::format("name {} is \"{}\", and \"{}\"", i, a.names[i]->characters.view(),
                           b.names[i]->characters.view());
      counterparts_.emplace(a.names[i], b.names[i]);
    }
    return {};
  }

  std::string step() {
    frame& f = frames_.back();
    const std::size_t i = f.next;
    if (const list* const l = situ::cast<const list>(f.a)) {
      if (i < l->elements.size()) {
        ++f.next;
        return compare(l->elements[i], static_cast<const list*>(f.b)->elements[i]);
      }
    } else {
      const record& r = static_cast<const record&>(*f.a);
      if (i < r.members.size()) {
        ++f.next;
        const member& other = static_cast<const record*>(f.b)->members[i];
        const auto counterpart = counterparts_.find(r.members[i].name);
        if (counterpart == counterparts_.end() || counterpart->second != other.name)
          return fmt::format("at {}: the member's name is another object than that of members which shared it", path());
        return compare(r.members[i].content, other.content);
      }
    }
    frames_.pop_back();
    return {};
  }

  std::string compare(const value* a, const value* b) {
    if (a->type_tag() != b->type_tag()) return fmt::format("at {}: values of two kinds", path());
    bool equal = true;
    if (const text* const t = situ::cast<const text>(a)) {
      equal = t->characters == static_cast<const text*>(b)->characters;
    } else if (const list* const l = situ::cast<const list>(a)) {
      equal = l->elements.size() == static_cast<const list*>(b)->elements.size();
      frames_.push_back({a, b, 0});
    } else if (const record* const r = situ::cast<const record>(a)) {
      equal = r->members.size() == static_cast<const record*>(b)->members.size();
      frames_.push_back({a, b, 0});
    } else if (const integer* const n = situ::cast<const integer>(a)) {
      equal = n->number == static_cast<const integer*>(b)->number;
    } else if (const real* const x = situ::cast<const real>(a)) {
      equal =
          std::bit_cast<std::uint64_t>(x->number) == std::bit_cast<std::uint64_t>(static_cast<const real*>(b)->number);
    } else if (const constant* const c = situ::cast<const constant>(a)) {
      equal = c->what == static_cast<const constant*>(b)->what;
    } else if (const natural* const u = situ::cast<const natural>(a)) {
      equal = u->number == static_cast<const natural*>(b)->number;
    } else {
      return fmt::format("at {}: a value of an unknown kind", path());
    }
    return equal ? std::string{} : fmt::format("at {}: the values differ", path());
  }

  // As a JSON pointer (RFC 6901, without its escapes) to what was compared last; of a long one, the end.
  [[nodiscard]] std::string path() const {
    constexpr std::size_t most_steps = 8;
    std::string steps = frames_.size() > most_steps ? "..." : "";
    for (std::size_t k = frames_.size() > most_steps ? frames_.size() - most_steps : 0; k < frames_.size(); ++k) {
      const frame& f = frames_[k];
      if (f.next == 0) break;
      const record* const r = situ::cast<const record>(f.a);
      steps += r != nullptr ? fmt::format("/{}", r->members[f.next - 1].name->characters.view())
                            : fmt::format("/{}", f.next - 1);
    }
    return steps.empty() ? "the top" : steps;
  }

  std::vector<frame> frames_;
  std::unordered_map<const member_name*, const member_name*> counterparts_;
};

}  // namespace

std::string difference(const document& a, const document& b) { return comparison{}.run(a, b); }

// --- writing ---

namespace {

void append_quoted(std::string& out, std::string_view characters) {
  out += '"';
  for (const char c : characters) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_real(std::string& out, double number) {
  char digits[32];
  // the shortest that reads back as it was
  const char* const end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  const std::string_view written{digits, static_cast<std::size_t>(end - digits)};
  out += written;
  if (written.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void append_leaf(std::string& out, const value* v) {
  if (const text* const t = situ::cast<const text>(v)) {
    append_quoted(out, t->characters);
  } else if (const integer* const n = situ::cast<const integer>(v)) {
    out += std::to_string(n->number);
  } else if (const natural* const u = situ::cast<const natural>(v)) {
    out += std::to_string(u->number);
  } else if (const real* const x = situ::cast<const real>(v)) {
    append_real(out, x->number);
  } else if (const constant* const c = situ::cast<const constant>(v)) {
    out += c->what == constant::null ? "null" : c->what == constant::yes ? "true" : "false";
  }
}

struct writing_frame {
  const list* elements;
  const record* members;
  std::size_t next;
};

}  // namespace

std::string to_text(const document& d) {
  std::string out;
  std::vector<writing_frame> frames;
  const auto begin = [&](const value* v) {
    const writing_frame f{situ::cast<const list>(v), situ::cast<const record>(v), 0};
    if (f.elements == nullptr && f.members == nullptr) return append_leaf(out, v);
    out += f.elements != nullptr ? '[' : '{';
    frames.push_back(f);
  };
  begin(d.top);
  while (!frames.empty()) {
    writing_frame& f = frames.back();
    const std::size_t size = f.elements != nullptr ? f.elements->elements.size() : f.members->members.size();
    if (f.next == size) {
      out += f.elements != nullptr ? ']' : '}';
      frames.pop_back();
      continue;
    }
    if (f.next != 0) out += ',';
    const std::size_t i = f.next++;
    if (f.elements != nullptr) {
      begin(f.elements->elements[i]);
    } else {
      append_quoted(out, f.members->members[i].name->characters);
      out += ':';
      begin(f.members->members[i].content);
    }
  }
  return out;
}

}  // namespace json_ship
