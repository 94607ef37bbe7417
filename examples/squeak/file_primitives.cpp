// FilePlugin. A file's handle is a ByteArray: session, number.
#include "named_primitives.h"
#include "primitives.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>

namespace squeak {
namespace {

std::optional<std::string> path_in(interpreter& vm, int down) {
  const object_memory& memory = vm.memory();
  const oop name = vm.stack(down);
  if (!memory.has_bytes(name)) return std::nullopt;
  std::string path{text_of(*memory.at(name))};
  if (path.empty() || path.find('\0') != std::string::npos) return std::nullopt;
  return path;
}

std::optional<std::uint32_t> file_in(interpreter& vm, int down) {
  const object_memory& memory = vm.memory();
  const oop handle = vm.stack(down);
  std::array<std::uint32_t, 2> words{};
  if (!memory.has_bytes(handle) || byte_size(*memory.at(handle)) != sizeof(words)) return std::nullopt;
  std::memcpy(words.data(), memory.at(handle)->body(), sizeof(words));
  if (words[0] != vm.named().files().session()) return std::nullopt;
  return words[1];
}

bool answer_size(interpreter& vm, int arguments, std::optional<std::uint64_t> size) {
  if (!size || *size > 0xffff'ffff) return false;
  vm.answer_with(arguments, vm.memory().make_unsigned(static_cast<std::uint32_t>(*size)));
  return true;
}

bool answer_receiver(interpreter& vm, int arguments, bool is_done) {
  if (is_done) vm.answer_with(arguments, vm.stack(arguments));
  return is_done;
}

bool open(interpreter& vm, int arguments) {
  if (arguments != 2) return false;
  const auto path = path_in(vm, 1);
  if (!path) return false;
  const auto number = vm.named().files().open(*path, vm.stack() == vm.memory().known().true_object);
  if (!number) return false;
  const std::array<std::uint32_t, 2> words{vm.named().files().session(), *number};
  vm.answer_with(2, vm.memory().make_bytes(vm.memory().special(special::class_byte_array),
                                           {reinterpret_cast<const char*>(words.data()), sizeof(words)}));
  return true;
}

bool close(interpreter& vm, int arguments) {
  const auto file = file_in(vm, 0);
  return arguments == 1 && file && answer_receiver(vm, 1, vm.named().files().close(*file));
}

// Returns the bytes that a call reads or writes; its arguments are file, bytes or words, start, count.
std::optional<std::span<std::uint8_t>> buffer_in(interpreter& vm, bool is_changed) {
  object_memory& memory = vm.memory();
  const oop buffer = vm.stack(2);
  if (is_integer(buffer) || !is_integer(vm.stack(1)) || !is_integer(vm.stack())) return std::nullopt;
  const std::uint8_t of_format = format_of(*memory.at(buffer));
  if (of_format != format::words && !is_bytes(of_format)) return std::nullopt;
  const std::int64_t unit = of_format == format::words ? 4 : 1;
  object* const o = is_changed ? memory.at_to_change(buffer) : memory.at(buffer);
  const std::int64_t size = of_format == format::words ? std::int64_t{o->words} * 4 : byte_size(*o);
  const std::int64_t start = unit * (integer_of(vm.stack(1)) - std::int64_t{1}), count = unit * integer_of(vm.stack());
  if (start < 0 || count < 0 || start + count > size) return std::nullopt;
  return std::span{bytes_of(*o) + start, static_cast<std::size_t>(count)};
}

bool transfer(interpreter& vm, int arguments, bool is_read) {
  if (arguments != 4) return false;
  const auto file = file_in(vm, 3);
  const auto buffer = buffer_in(vm, is_read);
  if (!file || !buffer) return false;
  open_files& files = vm.named().files();
  const auto done = is_read ? files.read(*file, *buffer) : files.write(*file, *buffer);
  if (!done) return false;
  const std::size_t unit = format_of(*vm.memory().at(vm.stack(2))) == format::words ? 4 : 1;
  return answer_size(vm, 4, *done / unit);
}
bool read(interpreter& vm, int arguments) { return transfer(vm, arguments, true); }
bool write(interpreter& vm, int arguments) { return transfer(vm, arguments, false); }

bool size(interpreter& vm, int arguments) {
  const auto file = file_in(vm, 0);
  return arguments == 1 && file && answer_size(vm, 1, vm.named().files().size(*file));
}

bool get_position(interpreter& vm, int arguments) {
  const auto file = file_in(vm, 0);
  return arguments == 1 && file && answer_size(vm, 1, vm.named().files().position(*file));
}

bool set_position(interpreter& vm, int arguments) {
  const auto file = file_in(vm, 1);
  const auto to = vm.memory().unsigned_value(vm.stack());
  return arguments == 2 && file && to && answer_receiver(vm, 2, vm.named().files().set_position(*file, *to));
}

bool truncate(interpreter& vm, int arguments) {
  const auto file = file_in(vm, 1);
  const auto to = vm.memory().unsigned_value(vm.stack());
  return arguments == 2 && file && to && answer_receiver(vm, 2, vm.named().files().truncate(*file, *to));
}

bool is_at_end(interpreter& vm, int arguments) {
  const auto file = file_in(vm, 0);
  if (arguments != 1 || !file) return false;
  const auto at = vm.named().files().position(*file), end = vm.named().files().size(*file);
  if (!at || !end) return false;
  vm.answer_with(1, *at >= *end ? vm.memory().known().true_object : vm.memory().known().false_object);
  return true;
}

bool remove(interpreter& vm, int arguments) {
  const auto path = path_in(vm, 0);
  return arguments == 1 && path && answer_receiver(vm, 1, ::unlink(path->c_str()) == 0);
}

bool rename(interpreter& vm, int arguments) {
  if (arguments != 2) return false;
  const auto from = path_in(vm, 1), to = path_in(vm, 0);
  return from && to && answer_receiver(vm, 2, std::rename(from->c_str(), to->c_str()) == 0);
}

bool flush(interpreter& vm, int arguments) {
  return arguments == 1 && answer_receiver(vm, 1, file_in(vm, 0).has_value());  // nothing is buffered here
}

bool delimiter(interpreter& vm, int arguments) {
  vm.answer_with(arguments, vm.memory().field(vm.memory().special(special::characters), '/'));
  return true;
}

}  // namespace

named_function file_function(std::string_view name) {
  struct entry {
    std::string_view name;
    named_function function;
  };
  static constexpr std::array<entry, 13> all{{{"primitiveFileOpen", open},
                                              {"primitiveFileClose", close},
                                              {"primitiveFileRead", read},
                                              {"primitiveFileWrite", write},
                                              {"primitiveFileSize", size},
                                              {"primitiveFileGetPosition", get_position},
                                              {"primitiveFileSetPosition", set_position},
                                              {"primitiveFileTruncate", truncate},
                                              {"primitiveFileAtEnd", is_at_end},
                                              {"primitiveFileDelete", remove},
                                              {"primitiveFileRename", rename},
                                              {"primitiveFileFlush", flush},
                                              {"primitiveDirectoryDelimitor", delimiter}}};
  for (const entry& each : all)
    if (each.name == name) return each.function;
  return nullptr;
}

}  // namespace squeak
