#include "model/assembly/decoded_object.h"

#include <elf.h>

#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace situ::model {
namespace {

constexpr std::string_view mark = "situ.at.";

// The parts of an object file that the assembler has just written, so its figures are right if its size is.
class object_file {
 public:
  explicit object_file(const std::string& name) {
    std::ifstream stream{name, std::ios::binary};
    bytes_.assign(std::istreambuf_iterator<char>{stream}, {});
    if (bytes_.size() < sizeof(Elf64_Ehdr) || std::memcmp(bytes_.data(), ELFMAG, SELFMAG) != 0)
      throw std::runtime_error{name + " is no object file"};
    const auto head = at<Elf64_Ehdr>(0);
    sections_ =
        items<Elf64_Shdr>(head.e_shoff, head.e_shnum == 0 ? at<Elf64_Shdr>(head.e_shoff).sh_size : head.e_shnum);
  }

  [[nodiscard]] const std::vector<Elf64_Shdr>& sections() const noexcept { return sections_; }
  [[nodiscard]] std::vector<Elf64_Sym> symbols_of(const Elf64_Shdr& table) const {
    return items<Elf64_Sym>(table.sh_offset, table.sh_size / sizeof(Elf64_Sym));
  }
  [[nodiscard]] std::vector<Elf32_Word> words_of(const Elf64_Shdr& table) const {
    return items<Elf32_Word>(table.sh_offset, table.sh_size / sizeof(Elf32_Word));
  }
  [[nodiscard]] std::string_view name(const Elf64_Shdr& names, std::size_t offset) const {
    check(names.sh_offset, names.sh_size);
    const std::string_view all{bytes_.data() + names.sh_offset, names.sh_size};
    return offset < all.size() ? all.substr(offset, all.find('\0', offset) - offset) : std::string_view{};
  }
  [[nodiscard]] std::span<const char> code_of(const Elf64_Shdr& section) const {
    if (section.sh_type != SHT_PROGBITS) return {};
    check(section.sh_offset, section.sh_size);
    return {bytes_.data() + section.sh_offset, section.sh_size};
  }

 private:
  void check(std::size_t offset, std::size_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset)
      throw std::runtime_error{"the object file ends within a section"};
  }
  template <class T>
  [[nodiscard]] T at(std::size_t offset) const {
    check(offset, sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  template <class T>
  [[nodiscard]] std::vector<T> items(std::size_t offset, std::size_t count) const {
    check(offset, count * sizeof(T));
    std::vector<T> all(count);
    if (count != 0) std::memcpy(all.data(), bytes_.data() + offset, count * sizeof(T));
    return all;
  }

  std::vector<char> bytes_;
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace

std::string mark_of(std::size_t line) { return std::string{mark} + std::to_string(line); }

decoded_lines read_object(const std::string& file, std::size_t lines) {
  const object_file object{file};
  decoded_lines found(lines);
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  const std::vector<Elf64_Shdr>& sections = object.sections();
  std::vector<Elf32_Word> large_indexes;  // of symbols in sections beyond 65,279
  for (const Elf64_Shdr& section : sections)
    if (section.sh_type == SHT_SYMTAB_SHNDX) large_indexes = object.words_of(section);
  for (const Elf64_Shdr& table : sections) {
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections.size()) continue;
    std::size_t number = 0;
    for (const Elf64_Sym& symbol : object.symbols_of(table)) {
      const std::size_t index = number++;
      const std::string_view name = object.name(sections[table.sh_link], symbol.st_name);
      if (!name.starts_with(mark)) continue;
      std::size_t line = lines;
      std::from_chars(name.data() + mark.size(), name.data() + name.size(), line);
      std::size_t section = symbol.st_shndx;
      if (section == SHN_XINDEX && index < large_indexes.size()) section = large_indexes[index];
      if (line >= lines || section >= sections.size()) continue;
      const std::span<const char> code = object.code_of(sections[section]);
      if (symbol.st_value >= code.size()) continue;
      auto one = std::make_unique<decoded_instruction>();
      if (ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.data() + symbol.st_value, code.size() - symbol.st_value,
                                              &one->is, one->operands)))
        found[line] = std::move(one);
    }
  }
  return found;
}

}  // namespace situ::model
