#include "base/json.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace situ::detail {

struct json::tree {
  nlohmann::ordered_json value;
};

json::json() : tree_{std::make_unique<tree>()} {}
json::json(bool value) : json{} { tree_->value = value; }
json::json(double value) : json{} { tree_->value = value; }
json::json(const char* text) : json{std::string_view{text}} {}
json::json(std::string_view text) : json{} { tree_->value = text; }
json::json(const std::string& text) : json{std::string_view{text}} {}
json::json(as_integer number) : json{} { tree_->value = number.value; }
json::json(as_unsigned number) : json{} { tree_->value = number.value; }
json::json(std::initializer_list<member> members) : json{} {
  tree_->value = nlohmann::ordered_json::object();
  for (const member& each : members) set(each.key, std::move(each.value));
}

json::json(json&& other) noexcept = default;
json& json::operator=(json&& other) noexcept = default;
json::~json() = default;

json json::array() {
  json made;
  made.tree_->value = nlohmann::ordered_json::array();
  return made;
}

json json::parse(std::string_view text) {
  json made;
  try {
    made.tree_->value = nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::ordered_json::exception& bad) {
    throw_error(errc::bad_file, fmt::format("this is not JSON: {}", bad.what()));
  }
  return made;
}

void json::set(std::string_view key, json value) { tree_->value[std::string{key}] = std::move(value.tree_->value); }

void json::push(json value) { tree_->value.push_back(std::move(value.tree_->value)); }

std::string json::text(int indent, bad_utf8 bad) const {
  using handler = nlohmann::ordered_json::error_handler_t;
  try {
    return tree_->value.dump(indent, ' ', false, bad == bad_utf8::replaced ? handler::replace : handler::strict);
  } catch (const nlohmann::ordered_json::exception& wrong) {
    throw_error(errc::bad_argument, fmt::format("this cannot be written as JSON: {}", wrong.what()));
  }
}

}  // namespace situ::detail
