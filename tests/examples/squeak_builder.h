// A small Squeak image for tests: the objects that an interpreter needs, and the classes and methods that a test adds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "image.h"

namespace squeak::test {

// A method to add: what its header says, and its bytecodes.
struct built_method {
  std::vector<std::uint8_t> bytecodes;
  std::vector<std::uint32_t> literals = {};  // words
  std::uint32_t arguments = 0;
  std::uint32_t temporaries = 0;  // with the arguments
  std::uint32_t primitive = 0;
};

class image_builder {
 public:
  image_builder();

  // Adds an object; returns its number. The words of references are `refer`'s.
  std::uint32_t add(std::uint32_t of_class, std::uint8_t format, const std::vector<std::uint32_t>& words);
  // Adds an object of bytes: a string, a symbol.
  std::uint32_t add_bytes(std::uint32_t of_class, const std::string& text);
  [[nodiscard]] static std::uint32_t refer(std::uint32_t object) { return 2 * object; }

  std::uint32_t add_class(const std::string& name, std::uint32_t superclass, std::uint8_t instance_format = 1,
                          std::uint32_t fields = 0);
  // Returns the symbol of that text, which is made the first time.
  std::uint32_t symbol(const std::string& text);
  void add_method(std::uint32_t of_class, const std::string& selector, const built_method& method);
  void add_global(const std::string& name, std::uint32_t object);

  // Returns the number of an object that is in each image: a class, "nil", "true", "false".
  [[nodiscard]] std::uint32_t known(const std::string& name) const { return known_.at(name); }
  [[nodiscard]] std::uint32_t class_small_integer() const { return known("SmallInteger"); }

  // Returns the image; pre: called once.
  image build();

 private:
  std::uint32_t known_class(const std::string& name, std::uint8_t instance_format, std::uint32_t fields);
  void set(std::uint32_t object, std::uint32_t index, std::uint32_t word);
  void set_special(std::uint32_t number, std::uint32_t object) { set(specials_, number, refer(object)); }
  void add_known_classes();
  void add_scheduler();
  void add_dictionary(std::uint32_t of_class);

  image image_;
  std::uint32_t nil_ = 0;
  std::uint32_t specials_ = 0;
  std::map<std::string, std::uint32_t> known_;
  std::map<std::string, std::uint32_t> symbols_;
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint32_t>>> methods_;  // of classes
  std::vector<std::uint32_t> classes_;
  std::vector<std::uint32_t> globals_;  // associations
};

}  // namespace squeak::test
