// Code with hooks, a few bytes of it, and where it would lie without them.
#include "model/execution/native_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace situ::model {
namespace {

constexpr std::uintptr_t begin = 0x1000;
constexpr std::uintptr_t block = 0x5000;
constexpr std::uintptr_t read4 = 0x6000;

hook_call kind_of(std::uintptr_t target) {
  if (target == block) return hook_call::bare;
  return target == read4 ? hook_call::addressed : hook_call::none;
}

struct code_bytes {
  std::vector<std::uint8_t> bytes;
  code_bytes& add(std::initializer_list<std::uint8_t> more) {
    bytes.insert(bytes.end(), more);
    return *this;
  }
  code_bytes& call(std::uintptr_t target) {
    const auto distance = static_cast<std::uint32_t>(target - (begin + bytes.size() + 5));
    return add({0xe8, static_cast<std::uint8_t>(distance), static_cast<std::uint8_t>(distance >> 8),
                static_cast<std::uint8_t>(distance >> 16), static_cast<std::uint8_t>(distance >> 24)});
  }
  [[nodiscard]] native_text text() const { return native_text{bytes, begin, kind_of}; }
};

// The example at the head of native_text.h.
TEST(NativeText, LeavesOutWhatIsThereForHooks) {
  code_bytes code;
  code.call(block).add({0x48, 0x83, 0xc3, 0x04}).add({0x48, 0x8d, 0x7b, 0x08}).call(read4);
  code.add({0x8b, 0x43, 0x08}).add({0x75, 0xe9});
  const native_text text = code.text();
  EXPECT_EQ(text.address(0x0fff), 0x0fffu);
  EXPECT_EQ(text.address(0x1005), 0x1000u);
  EXPECT_EQ(text.address(0x1012), 0x1004u);
  EXPECT_EQ(text.address(0x1015), 0x1007u);
}

TEST(NativeText, KnowsTheFormsOfAnAddress) {
  const auto removed = [](std::initializer_list<std::uint8_t> set_up, bool keeps_rdi) {
    code_bytes code;
    code.add({0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90});
    if (keeps_rdi) code.add({0x57});
    code.add(set_up).call(read4);
    if (keeps_rdi) code.add({0x5f});
    const std::uintptr_t end = begin + code.bytes.size();
    return end - code.text().address(end) - 5;
  };
  const std::initializer_list<std::uint8_t> forms[] = {
      {0x48, 0x8d, 0x3b},                    // [rbx]
      {0x4a, 0x8d, 0x3c, 0x23},              // [rbx + r12]
      {0x48, 0x8d, 0x3c, 0x24},              // [rsp]
      {0x49, 0x8d, 0x7d, 0x10},              // [r13 + 16]
      {0x48, 0x8d, 0x7c, 0x04, 0x10},        // [rsp + rax + 16]
      {0x48, 0x8d, 0xbb, 1, 2, 3, 4},        // [rbx + ...]
      {0x48, 0x8d, 0x3d, 1, 2, 3, 4},        // [rip + ...]
      {0x48, 0x8d, 0xbc, 0x04, 1, 2, 3, 4},  // [rsp + rax + ...]
      {0x48, 0x8d, 0x3c, 0xc5, 1, 2, 3, 4},  // [rax * 8 + ...]
      {0x48, 0x8d, 0x3c, 0x25, 1, 2, 3, 4},  // [...]
  };
  for (const auto& form : forms) {
    EXPECT_EQ(removed(form, false), form.size());
    EXPECT_EQ(removed(form, true), form.size() + 2);
  }
  EXPECT_EQ(removed({0x48, 0x89, 0xdf}, false), 0u);  // mov rdi, rbx: the program's own
}

// A call of the program's own stays, and so does a byte e8 that begins no call.
TEST(NativeText, LeavesTheProgramsOwnCodeAlone) {
  code_bytes code;
  code.call(0x7000).add({0xe8, 0xe8, 0x90, 0x90, 0x90, 0x90}).call(block).call(read4);
  const native_text text = code.text();
  EXPECT_EQ(text.address(begin + 11), begin + 11);
  EXPECT_EQ(text.address(begin + 16), begin + 11);
  // Nothing is left out twice: between the two calls there is no room for an address.
  EXPECT_EQ(text.address(begin + 21), begin + 11);
  EXPECT_TRUE((native_text{{}, begin, kind_of}).is_empty());
}

}  // namespace
}  // namespace situ::model
