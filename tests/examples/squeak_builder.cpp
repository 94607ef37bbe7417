#include "examples/squeak_builder.h"

#include <cstring>

namespace squeak::test {
namespace {

constexpr std::uint32_t specials_size = 48;
constexpr std::uint32_t class_size = 7;  // superclass, methods, format, three more, name

// What a class says of its instances; 6502 has the number of fields, with the header, in two parts.
std::uint32_t class_format(std::uint8_t format, std::uint32_t fields) {
  return ((fields + 1) << 2 | std::uint32_t{format} << 8) | 1;
}

}  // namespace

image_builder::image_builder() {
  nil_ = add(0, format::none, {});
  specials_ = add(0, format::indexed, std::vector<std::uint32_t>(specials_size, refer(nil_)));
  image_.special_objects = specials_;
  image_.window = 0x0400'02ff;
  image_.last_hash = 999;
  known_["nil"] = nil_;
  add_known_classes();
  known_["true"] = add(add_class("True", known("Object")), format::none, {});
  known_["false"] = add(add_class("False", known("Object")), format::none, {});
  image_.objects[nil_].of_class = add_class("UndefinedObject", known("Object"));
  known_["UndefinedObject"] = image_.objects[nil_].of_class;
  set_special(special::true_object, known("true"));
  set_special(special::false_object, known("false"));
  set_special(special::does_not_understand, symbol("doesNotUnderstand:"));
  set_special(special::cannot_return, symbol("cannotReturn:"));
  set_special(special::must_be_boolean, symbol("mustBeBoolean"));
}

std::uint32_t image_builder::add(std::uint32_t of_class, std::uint8_t format, const std::vector<std::uint32_t>& words) {
  const auto number = static_cast<std::uint32_t>(image_.objects.size());
  image_.objects.push_back({static_cast<std::uint32_t>(image_.words.size()), static_cast<std::uint32_t>(words.size()),
                            of_class, static_cast<std::uint16_t>(number * 7 & 0xfff), format});
  image_.words.insert(image_.words.end(), words.begin(), words.end());
  return number;
}

std::uint32_t image_builder::add_bytes(std::uint32_t of_class, const std::string& text) {
  std::vector<std::uint32_t> words((text.size() + 3) / 4);
  std::memcpy(words.data(), text.data(), text.size());
  return add(of_class, static_cast<std::uint8_t>(format::bytes + 4 * words.size() - text.size()), words);
}

void image_builder::set(std::uint32_t object, std::uint32_t index, std::uint32_t word) {
  image_.words[image_.objects[object].first_word + index] = word;
}

std::uint32_t image_builder::add_class(const std::string& name, std::uint32_t superclass, std::uint8_t instance_format,
                                       std::uint32_t fields) {
  std::vector<std::uint32_t> words(class_size, refer(nil_));
  words[0] = refer(superclass);
  words[2] = class_format(instance_format, fields);
  const std::uint32_t made = add(0, format::fixed, words);
  image_.objects[made].of_class = known_.contains("Class") ? known("Class") : made;
  classes_.push_back(made);
  if (known_.contains("String")) set(made, 6, refer(add_bytes(known("String"), name)));
  return made;
}

std::uint32_t image_builder::known_class(const std::string& name, std::uint8_t instance_format, std::uint32_t fields) {
  const std::uint32_t superclass = known_.contains("Object") ? known("Object") : nil_;
  return known_[name] = add_class(name, superclass, instance_format, fields);
}

void image_builder::add_known_classes() {
  known_class("Class", format::fixed, class_size);
  known_class("Object", format::none, 0);
  set(known("Class"), 0, refer(known("Object")));
  set_special(special::class_string, known_class("String", format::bytes, 0));
  known_class("Symbol", format::bytes, 0);
  set_special(special::class_array, known_class("Array", format::indexed, 0));
  image_.objects[specials_].of_class = known("Array");
  struct entry {
    std::uint32_t number;
    const char* name;
    std::uint8_t instance_format;
    std::uint32_t fields;
  };
  for (const entry& each : {entry{special::class_bitmap, "Bitmap", format::words, 0},
                            {special::class_small_integer, "SmallInteger", format::none, 0},
                            {special::class_float, "Float", format::words, 0},
                            {special::class_method_context, "MethodContext", format::fixed_and_indexed, 6},
                            {special::class_block_context, "BlockContext", format::fixed_and_indexed, 6},
                            {special::class_point, "Point", format::fixed, 2},
                            {special::class_large_positive_integer, "LargePositiveInteger", format::bytes, 0},
                            {special::class_large_negative_integer, "LargeNegativeInteger", format::bytes, 0},
                            {special::class_message, "Message", format::fixed, 2},
                            {special::class_compiled_method, "CompiledMethod", format::method, 0},
                            {special::class_semaphore, "Semaphore", format::fixed, 3},
                            {special::class_character, "Character", format::fixed, 1},
                            {special::class_byte_array, "ByteArray", format::bytes, 0}})
    set_special(each.number, known_class(each.name, each.instance_format, each.fields));
  known_class("MethodDictionary", format::fixed_and_indexed, 2);
  known_class("Association", format::fixed, 2);
}

std::uint32_t image_builder::symbol(const std::string& text) {
  const auto found = symbols_.find(text);
  return found != symbols_.end() ? found->second : symbols_[text] = add_bytes(known("Symbol"), text);
}

void image_builder::add_method(std::uint32_t of_class, const std::string& selector, const built_method& method) {
  std::vector<std::uint32_t> literals = method.literals;
  literals.push_back(refer(add(known("Association"), format::fixed, {refer(nil_), refer(of_class)})));
  const std::uint32_t header = (method.primitive & 511) | static_cast<std::uint32_t>(literals.size()) << 9 |
                               (method.temporaries > 8 ? 1U << 17 : 0) | method.temporaries << 18 |
                               method.arguments << 24;
  std::vector<std::uint32_t> words{word_of(static_cast<std::int32_t>(header))};
  words.insert(words.end(), literals.begin(), literals.end());
  const std::size_t begin = 4 * words.size(), size = begin + method.bytecodes.size();
  words.resize((size + 3) / 4);
  std::memcpy(reinterpret_cast<char*>(words.data()) + begin, method.bytecodes.data(), method.bytecodes.size());
  const std::uint32_t made =
      add(known("CompiledMethod"), static_cast<std::uint8_t>(format::method + 4 * words.size() - size), words);
  methods_[of_class].emplace_back(symbol(selector), made);
}

void image_builder::add_global(const std::string& name, std::uint32_t object) {
  globals_.push_back(add(known("Association"), format::fixed, {refer(symbol(name)), refer(object)}));
}

// The selectors, each at its hash or behind it, and an array of the methods beside them.
void image_builder::add_dictionary(std::uint32_t of_class) {
  const auto& methods = methods_[of_class];
  std::uint32_t size = 4;
  while (size < 2 * methods.size()) size *= 2;
  std::vector<std::uint32_t> selectors(size + 2, refer(nil_)), found(size, refer(nil_));
  for (const auto& [selector, method] : methods) {
    std::uint32_t at = image_.objects[selector].hash & (size - 1);
    while (selectors[2 + at] != refer(nil_)) at = (at + 1) & (size - 1);
    selectors[2 + at] = refer(selector);
    found[at] = refer(method);
  }
  selectors[0] = word_of(static_cast<std::int32_t>(methods.size()));
  selectors[1] = refer(add(known("Array"), format::indexed, found));
  set(of_class, 1, refer(add(known("MethodDictionary"), format::fixed_and_indexed, selectors)));
}

// A process that waits in a context with room for a message.
void image_builder::add_scheduler() {
  const std::uint32_t list = add_class("LinkedList", known("Object"), format::fixed, 2);
  std::vector<std::uint32_t> lists;
  for (int i = 0; i < 8; ++i) lists.push_back(refer(add(list, format::fixed, {refer(nil_), refer(nil_)})));
  const std::uint32_t header = 1U << 9;  // one literal
  const std::uint32_t method = add(known("CompiledMethod"), format::method,
                                   {word_of(static_cast<std::int32_t>(header)), refer(nil_), 0x7878'7878});
  std::vector<std::uint32_t> context(22, refer(nil_));
  context[1] = word_of(9), context[2] = word_of(0), context[3] = refer(method);
  const std::uint32_t base = add(known("MethodContext"), format::fixed_and_indexed, context);
  const std::uint32_t process = add(add_class("Process", known("Object"), format::fixed, 4), format::fixed,
                                    {refer(nil_), refer(base), word_of(4), refer(nil_)});
  const std::uint32_t scheduler = add(add_class("ProcessorScheduler", known("Object"), format::fixed, 2), format::fixed,
                                      {refer(add(known("Array"), format::indexed, lists)), refer(process)});
  set_special(special::scheduler,
              add(known("Association"), format::fixed, {refer(symbol("Processor")), refer(scheduler)}));
}

image image_builder::build() {
  static const std::vector<std::pair<const char*, int>> selectors{
      {"+", 1},       {"-", 1},      {"<", 1},     {">", 1},          {"<=", 1},    {">=", 1},        {"=", 1},
      {"~=", 1},      {"*", 1},      {"/", 1},     {"\\\\", 1},       {"@", 1},     {"bitShift:", 1}, {"//", 1},
      {"bitAnd:", 1}, {"bitOr:", 1}, {"at:", 1},   {"at:put:", 2},    {"size", 0},  {"next", 0},      {"nextPut:", 1},
      {"atEnd", 0},   {"==", 1},     {"class", 0}, {"blockCopy:", 1}, {"value", 0}, {"value:", 1},    {"do:", 1},
      {"new", 0},     {"new:", 1},   {"x", 0},     {"y", 0}};
  std::vector<std::uint32_t> all, characters;
  for (const auto& [text, arguments] : selectors) all.insert(all.end(), {refer(symbol(text)), word_of(arguments)});
  for (int i = 0; i < 256; ++i) characters.push_back(refer(add(known("Character"), format::fixed, {word_of(i)})));
  set_special(special::special_selectors, add(known("Array"), format::indexed, all));
  set_special(special::characters, add(known("Array"), format::indexed, characters));
  const std::vector<std::uint32_t> compact{refer(known("Array")), refer(nil_), refer(known("String"))};
  set_special(special::compact_classes, add(known("Array"), format::indexed, compact));
  add_scheduler();
  std::vector<std::uint32_t> globals;
  for (const std::uint32_t each : globals_) globals.push_back(refer(each));
  const std::uint32_t dictionary = add_class("SystemDictionary", known("Object"), format::fixed, 2);
  const std::uint32_t values = add(known("Array"), format::indexed, globals);
  set_special(special::smalltalk,
              add(dictionary, format::fixed, {word_of(static_cast<std::int32_t>(globals.size())), refer(values)}));
  for (const std::uint32_t each : std::vector<std::uint32_t>{classes_}) add_dictionary(each);
  return image_;
}

}  // namespace squeak::test
