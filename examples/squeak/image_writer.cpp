#include "image_file.h"

#include <array>
#include <cstring>
#include <unordered_map>

namespace squeak {
namespace {

constexpr std::uint32_t base = 352'305'152;  // of the image that Debian has; other machines subtract it
constexpr std::uint32_t header_bytes = 64;
constexpr std::uint32_t most_words_in_header = 63;

class writer {
 public:
  writer(const image& of, std::endian order) : image_{of}, is_turned_{order != std::endian::native} {}

  std::vector<std::byte> write() {
    find_compact_classes();
    place_objects();
    bytes_.reserve(header_bytes + end_);
    write_header();
    for (std::uint32_t i = 0; i < image_.objects.size(); ++i) write_object(i);
    return std::move(bytes_);
  }

 private:
  [[nodiscard]] std::uint32_t compact_class(const image_object& of) const {
    const auto found = compact_.find(of.of_class);
    return found == compact_.end() ? 0 : found->second;
  }
  // The form of an object's header: the words before the base header.
  [[nodiscard]] std::uint32_t words_ahead(const image_object& of) const {
    if (of.words + 1 > most_words_in_header) return 2;
    return compact_class(of) == 0 ? 1 : 0;
  }

  void find_compact_classes() {
    const std::uint32_t all = image_.word(image_.special_objects, special::compact_classes) / 2;
    for (std::uint32_t i = 0; i < image_.objects[all].words; ++i)
      if (const std::uint32_t each = image_.word(all, i); !is_integer(each)) compact_.emplace(each / 2, i + 1);
    compact_.erase(image_.word(image_.special_objects, special::nil) / 2);
  }

  void place_objects() {
    for (const image_object& each : image_.objects) {
      const std::uint32_t ahead = words_ahead(each);
      addresses_.push_back(base + end_ + 4 * ahead);
      end_ += 4 * (ahead + 1 + each.words);
    }
  }

  void put(std::uint32_t word) { put_raw(is_turned_ ? __builtin_bswap32(word) : word); }
  void put_raw(std::uint32_t word) {
    std::array<std::byte, 4> four;
    std::memcpy(four.data(), &word, 4);
    bytes_.insert(bytes_.end(), four.begin(), four.end());
  }

  void write_header() {
    for (const std::uint32_t each : {std::uint32_t{6502}, header_bytes, end_, base, addresses_[image_.special_objects],
                                     image_.last_hash, image_.window, image_.flags})
      put(each);
    bytes_.resize(header_bytes);
  }

  void write_object(std::uint32_t number) {
    const image_object& object = image_.objects[number];
    const std::uint32_t ahead = words_ahead(object);
    const std::uint32_t form = ahead == 2 ? 0 : ahead == 1 ? 1 : 3;
    if (ahead == 2) put((object.words + 1) << 2);
    if (ahead != 0) put(addresses_[object.of_class] | form);
    put(std::uint32_t{object.hash} << 17 | compact_class(object) << 12 | std::uint32_t{object.format} << 8 |
        (ahead == 2 ? 0 : (object.words + 1) << 2) | form);
    const std::uint32_t pointers =
        pointer_words(object.format, object.words, object.words != 0 ? image_.word(number, 0) : 0);
    for (std::uint32_t i = 0; i < object.words; ++i) {
      const std::uint32_t word = image_.word(number, i);
      if (i >= pointers)
        object.format == format::words ? put(word) : put_raw(word);
      else
        put(is_integer(word) ? word : addresses_[word / 2]);
    }
  }

  const image& image_;
  bool is_turned_;
  std::unordered_map<std::uint32_t, std::uint32_t> compact_;
  std::vector<std::uint32_t> addresses_;
  std::uint32_t end_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace

std::vector<std::byte> image_bytes(const image& of, std::endian order) { return writer{of, order}.write(); }

}  // namespace squeak
