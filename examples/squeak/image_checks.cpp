#include "image_checks.h"

#include <fmt/format.h>

namespace squeak {
namespace {

// Fields of a class: superclass, dictionary of methods, format.
constexpr std::uint32_t class_fields = 3;

class checker {
 public:
  using refusal = std::function<void(std::uint32_t, const std::string&)>;
  checker(const image& of, const refusal& refuse) : image_{of}, refuse_{refuse} {}

  void check() const {
    for (std::uint32_t i = 0; i < image_.objects.size(); ++i)
      if (!has_fields(image_.objects[i].of_class, class_fields) ||
          !is_integer(image_.word(image_.objects[i].of_class, 2)))
        refuse_(i, "its class is none");
    for (const std::uint32_t each :
         {special::class_bitmap, special::class_small_integer, special::class_string, special::class_array,
          special::class_float, special::class_method_context, special::class_block_context, special::class_point,
          special::class_large_positive_integer, special::class_message, special::class_compiled_method,
          special::class_semaphore, special::class_character})
      check_fields(each, class_fields, "is no class");
    check_fields(special::special_selectors, 64, "is no array of the special selectors");
    check_fields(special::characters, 256, "is no array of the characters");
    check_selectors();
    check_characters();
    check_contexts();
    check_scheduler();
  }

 private:
  [[nodiscard]] bool has_fields(std::uint32_t object, std::uint32_t fields) const {
    return is_pointers(image_.objects[object].format) && image_.objects[object].words >= fields;
  }
  // Returns the number of an object that word `index` of `object` refers to.
  [[nodiscard]] std::uint32_t object_in(std::uint32_t object, std::uint32_t index, std::uint32_t fields,
                                        const char* reason) const {
    const std::uint32_t word = image_.word(object, index);
    if (is_integer(word) || !has_fields(word / 2, fields)) refuse_(object, reason);
    return word / 2;
  }
  std::uint32_t check_fields(std::uint32_t number, std::uint32_t fields, const char* reason) const {
    const std::uint32_t word = image_.word(image_.special_objects, number);
    if (is_integer(word) || !has_fields(word / 2, fields))
      refuse_(image_.special_objects, fmt::format("special object {} {}", number, reason));
    return word / 2;
  }

  void check_selectors() const {
    const std::uint32_t all = image_.word(image_.special_objects, special::special_selectors) / 2;
    for (std::uint32_t i = 0; i < 32; ++i) {
      const std::uint32_t arguments = image_.word(all, 2 * i + 1);
      if (is_integer(image_.word(all, 2 * i)) || !is_integer(arguments) || integer_of(arguments) < 0 ||
          integer_of(arguments) > 15)
        refuse_(all, fmt::format("special selector {} is none", i));
    }
    for (const std::uint32_t each : {special::does_not_understand, special::cannot_return, special::must_be_boolean})
      if (is_integer(image_.word(image_.special_objects, each)))
        refuse_(image_.special_objects, fmt::format("special object {} is no selector", each));
  }

  void check_characters() const {
    const std::uint32_t all = image_.word(image_.special_objects, special::characters) / 2;
    for (std::uint32_t i = 0; i < 256; ++i) {
      const std::uint32_t each = object_in(all, i, 1, "a character is none");
      if (image_.word(each, 0) != word_of(static_cast<std::int32_t>(i)))
        refuse_(each, "a character with another value");
    }
  }

  // The scheduler's association leads to it, its second field is the active process, whose second field is a context.
  void check_scheduler() const {
    const std::uint32_t association = check_fields(special::scheduler, 2, "is no association");
    const std::uint32_t scheduler = object_in(association, 1, 2, "the scheduler is none");
    const std::uint32_t process = object_in(scheduler, 1, 4, "the active process is none");
    const std::uint32_t context = object_in(process, 1, 6, "the active process has no context");
    if (!is_context(context)) refuse_(process, "the active process has no context");
    std::vector<bool> seen(image_.objects.size());
    for (std::uint32_t at = context; is_context(at) && !seen[at];) {
      check_chained_context(at);
      seen[at] = true;
      const std::uint32_t sender = image_.word(at, 0);
      if (is_integer(sender)) break;
      at = sender / 2;
    }
  }

  [[nodiscard]] bool is_context(std::uint32_t object) const {
    const std::uint32_t of_class = 2 * image_.objects[object].of_class;
    return of_class == image_.word(image_.special_objects, special::class_method_context) ||
           of_class == image_.word(image_.special_objects, special::class_block_context);
  }

  // A context that execution may return to.
  void check_chained_context(std::uint32_t context) const {
    const bool is_block = is_integer(image_.word(context, 3));
    const std::uint32_t home = is_block ? object_in(context, 5, 6, "a block without its method's context") : context;
    const std::uint32_t method = image_.word(home, 3);
    if (!is_context(home) || is_integer(method) || !is_method(image_.objects[method / 2].format))
      refuse_(home, "a context without a method");
    const std::uint32_t at = image_.word(context, 1);
    const image_object& of = image_.objects[method / 2];
    const std::uint32_t first = 4 * pointer_words(of.format, of.words, image_.word(method / 2, 0));
    if (!is_integer(at) || integer_of(at) <= static_cast<std::int32_t>(first) ||
        static_cast<std::uint32_t>(integer_of(at)) > 4 * of.words)
      refuse_(context, "a context that goes on outside its method");
  }

  void check_contexts() const {
    for (std::uint32_t i = 0; i < image_.objects.size(); ++i) {
      if (!is_context(i)) continue;
      if (!has_fields(i, 6)) refuse_(i, "a context without its six fields");
      const std::uint32_t depth = image_.word(i, 2);
      if (is_integer(depth) &&
          (integer_of(depth) < 0 || static_cast<std::uint32_t>(integer_of(depth)) > image_.objects[i].words - 6))
        refuse_(i, fmt::format("a context with a stack pointer of {}", integer_of(depth)));
    }
  }

  const image& image_;
  const refusal& refuse_;
};

}  // namespace

void check_image(const image& of, const std::function<void(std::uint32_t, const std::string&)>& refuse) {
  checker{of, refuse}.check();
}

}  // namespace squeak
