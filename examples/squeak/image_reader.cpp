#include "image_checks.h"
#include "image_file.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace squeak {
namespace {

constexpr std::uint32_t version = 6502;
constexpr std::uint32_t header_words = 8;
constexpr std::uint32_t no_object = ~std::uint32_t{0};

[[nodiscard]] constexpr std::uint32_t turned(std::uint32_t word) { return __builtin_bswap32(word); }

// An object as the first pass finds it: the class is still a reference, or the number of a compact class.
struct found_class {
  std::uint32_t reference;  // 0: by number
  std::uint32_t compact;
};

class reader {
 public:
  reader(std::span<const std::byte> bytes, const std::string& name) : bytes_{bytes}, name_{name} {}

  image read() {
    read_header();
    find_objects();
    for (std::uint32_t i = 0; i < image_.objects.size(); ++i) read_body(i);
    image_.special_objects = object_at(special_objects_, 16);
    find_classes();
    check_image(image_, [this](std::uint32_t object, const std::string& reason) { refuse(offset_of(object), reason); });
    return std::move(image_);
  }

 private:
  [[noreturn]] void refuse(std::size_t offset, const std::string& reason) const {
    situ::throw_error(situ::errc::bad_file, fmt::format("{}: byte {}: {}", name_, offset, reason));
  }

  // pre: offset + 4 <= the file's size.
  [[nodiscard]] std::uint32_t raw_word(std::size_t offset) const {
    std::uint32_t word;
    std::memcpy(&word, bytes_.data() + offset, 4);
    return word;
  }
  [[nodiscard]] std::uint32_t word(std::size_t offset) const {
    const std::uint32_t found = raw_word(offset);
    return is_turned_ ? turned(found) : found;
  }

  void read_header() {
    if (bytes_.size() < 4 * header_words)
      refuse(bytes_.size(), fmt::format("the file ends here, in the header of {} bytes", 4 * header_words));
    is_turned_ = raw_word(0) == turned(version);
    if (word(0) != version)
      refuse(0, fmt::format("the image's format is {}; {} is the one that is read", raw_word(0), version));
    begin_ = word(4);
    if (begin_ < 4 * header_words || begin_ % 4 != 0 || begin_ > bytes_.size())
      refuse(4, fmt::format("the header has {} bytes, the file {}", begin_, bytes_.size()));
    size_ = word(8);
    if (size_ % 4 != 0 || size_ > bytes_.size() - begin_)
      refuse(8, fmt::format("the objects have {} bytes, and the file has {} for them", size_, bytes_.size() - begin_));
    base_ = word(12);
    special_objects_ = word(16);
    image_.last_hash = word(20);
    image_.window = word(24);
    image_.flags = word(28);
    numbers_.assign(size_ / 4, no_object);
  }

  // First pass: sizes and places of all objects.
  void find_objects() {
    std::uint64_t words = 0;
    for (std::uint32_t at = 0; at < size_;) at = find_object(at, words);
    image_.words.resize(words);
  }

  // Returns the offset of the next object.
  std::uint32_t find_object(std::uint32_t at, std::uint64_t& words) {
    const std::uint32_t form = word(begin_ + at) & 3;
    if (form == 2) refuse(begin_ + at, "a free block, which an image that was written by a snapshot does not have");
    const std::uint32_t ahead = form == 0 ? 8 : form == 1 ? 4 : 0;
    if (size_ - at < ahead + 4) refuse(begin_ + at, "the objects end within this one's header");
    const std::uint32_t header = word(begin_ + at + ahead);
    if ((header & 3) != form)
      refuse(begin_ + at + ahead, fmt::format("the base header says form {}, the word before it {}", header & 3, form));
    const std::uint32_t size = form == 0 ? word(begin_ + at) >> 2 : header >> 2 & 63;
    at += ahead;
    if (size == 0 || size > (size_ - at) / 4)
      refuse(begin_ + at, fmt::format("an object of {} words, and {} are left", size, (size_ - at) / 4));
    add_object(at, size - 1, header, words);
    classes_.push_back({form == 3 ? 0 : word(begin_ + at - 4) & ~std::uint32_t{3}, header >> 12 & 31});
    words += size - 1;
    return at + 4 * size;
  }

  void add_object(std::uint32_t at, std::uint32_t body_words, std::uint32_t header, std::uint64_t words) {
    const auto found = static_cast<std::uint8_t>(header >> 8 & 15);
    if (found == 5 || found == 7) refuse(begin_ + at, fmt::format("an object of format {}, which there is not", found));
    const bool has_bytes = is_bytes(found) || is_method(found);
    if (has_bytes && (found & 3) > 4 * body_words) refuse(begin_ + at, "an object with fewer bytes than none");
    numbers_[at / 4] = static_cast<std::uint32_t>(image_.objects.size());
    image_.objects.push_back({static_cast<std::uint32_t>(words), body_words, no_object,
                              static_cast<std::uint16_t>(header >> 17 & 0xfff), found});
    headers_.push_back(at);
  }

  // Returns the number of the object at a reference that is stored at `offset`.
  [[nodiscard]] std::uint32_t object_at(std::uint32_t reference, std::size_t offset) const {
    const std::uint32_t at = reference - base_;
    if (reference < base_ || at % 4 != 0 || at >= size_ || numbers_[at / 4] == no_object)
      refuse(offset, fmt::format("a reference to {}, where no object begins", reference));
    return numbers_[at / 4];
  }

  void read_body(std::uint32_t number) {
    const image_object& object = image_.objects[number];
    const std::size_t begin = offset_of(number) + 4;
    const std::uint32_t first = object.words != 0 ? word(begin) : 0;
    if (is_method(object.format) && (object.words == 0 || !is_integer(first)))
      refuse(begin, "a method without a header");
    const std::uint32_t pointers = pointer_words(object.format, object.words, first);
    if (pointers > object.words)
      refuse(begin, fmt::format("a method of {} words with {} literals", object.words, pointers - 1));
    const bool has_words = object.format == format::words;
    for (std::uint32_t i = 0; i < object.words; ++i) {
      const std::size_t at = begin + 4 * std::size_t{i};
      std::uint32_t& to = image_.words[object.first_word + i];
      if (i >= pointers)
        to = has_words ? word(at) : raw_word(at);
      else
        to = is_integer(word(at)) ? word(at) : 2 * object_at(word(at), at);
    }
  }

  void find_classes() {
    const std::uint32_t compact = compact_classes();
    for (std::uint32_t i = 0; i < image_.objects.size(); ++i) {
      const auto [reference, number] = classes_[i];
      if (reference != 0) {
        image_.objects[i].of_class = object_at(reference, offset_of(i) - 4);
        continue;
      }
      if (number == 0 || number > image_.objects[compact].words)
        refuse(offset_of(i),
               fmt::format("an object of compact class {}, and there are {}", number, image_.objects[compact].words));
      const std::uint32_t found = image_.word(compact, number - 1);
      if (is_integer(found)) refuse(offset_of(i), fmt::format("compact class {} is no class", number));
      image_.objects[i].of_class = found / 2;
    }
  }

  [[nodiscard]] std::uint32_t compact_classes() const {
    const image_object& specials = image_.objects[image_.special_objects];
    if (!is_pointers(specials.format) || specials.words < special::least)
      refuse(16, fmt::format("the special objects are {}, and {} are needed", specials.words, special::least));
    const std::uint32_t compact = image_.word(image_.special_objects, special::compact_classes);
    if (is_integer(compact) || !is_pointers(image_.objects[compact / 2].format))
      refuse(offset_of(image_.special_objects), "the compact classes are no array");
    return compact / 2;
  }

  // Returns the offset of an object's base header in the file.
  [[nodiscard]] std::size_t offset_of(std::uint32_t object) const { return begin_ + headers_[object]; }

  std::span<const std::byte> bytes_;
  const std::string& name_;
  image image_;
  bool is_turned_ = false;
  std::size_t begin_ = 0;  // of the objects in the file
  std::uint32_t size_ = 0;
  std::uint32_t base_ = 0;
  std::uint32_t special_objects_ = 0;
  std::vector<std::uint32_t> numbers_;  // of the object whose base header is at this word
  std::vector<std::uint32_t> headers_;  // offset of an object's base header, from the first object
  std::vector<found_class> classes_;
};

}  // namespace

image read_image(std::span<const std::byte> bytes, const std::string& name) { return reader{bytes, name}.read(); }

image read_image_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  const std::vector<char> text{std::istreambuf_iterator<char>{file}, {}};
  if (!file.is_open() || file.bad())
    situ::throw_error(situ::errc::bad_file, fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
  return read_image(std::as_bytes(std::span{text}), path);
}

}  // namespace squeak
