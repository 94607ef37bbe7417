#include <situ/base/error.h>

#include <gtest/gtest.h>

#include <stdexcept>
#include <typeinfo>
#include <vector>

namespace {

TEST(error, what_is_code_name_and_message) {
  const situ::error error{situ::errc::out_of_memory, "place 3 wants 64 bytes"};
  EXPECT_STREQ(error.what(), "situ: out of memory: place 3 wants 64 bytes");
  EXPECT_EQ(error.message(), "place 3 wants 64 bytes");
  EXPECT_EQ(error.code(), situ::errc::out_of_memory);
  EXPECT_EQ(error.scope(), situ::error_scope::operation);
}

TEST(error, codes_are_grouped_by_what_is_damaged) {
  using situ::errc;
  using situ::error_scope;
  for (const errc code :
       {errc::bad_argument, errc::bad_address, errc::misaligned, errc::out_of_memory, errc::access_denied,
        errc::not_supported, errc::bad_message, errc::bad_file, errc::cancelled, errc::remote_exception})
    EXPECT_EQ(situ::scope(code), error_scope::operation) << situ::name(code);
  EXPECT_EQ(situ::scope(errc::link_lost), error_scope::link);
  EXPECT_EQ(situ::scope(errc::place_lost), error_scope::place);
  for (const errc code : {errc::no_runtime, errc::bad_launch, errc::version_mismatch})
    EXPECT_EQ(situ::scope(code), error_scope::job) << situ::name(code);
}

TEST(error, every_code_has_a_name_of_its_own) {
  std::vector<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(situ::errc::version_mismatch); ++code) {
    const std::string_view name = situ::name(static_cast<situ::errc>(code));
    EXPECT_NE(name, "unknown error") << code;
    for (const std::string_view other : names) EXPECT_NE(name, other);
    names.push_back(name);
  }
}

TEST(error, a_copy_keeps_its_message) {
  const situ::error copy = [] {
    const situ::error original{situ::errc::bad_file, std::string(200, 'x')};
    return situ::error{original};
  }();
  EXPECT_EQ(copy.message(), std::string(200, 'x'));
}

TEST(error, lost_places_and_remote_exceptions_name_the_place) {
  const situ::place_lost_error lost{7, "killed by signal 9"};
  EXPECT_EQ(lost.place_index(), 7u);
  EXPECT_STREQ(lost.what(), "situ: place lost: place 7: killed by signal 9");

  const situ::remote_error remote{2, "std::out_of_range", "index 5"};
  EXPECT_EQ(remote.place_index(), 2u);
  EXPECT_EQ(remote.type_name(), "std::out_of_range");
  EXPECT_EQ(remote.remote_what(), "index 5");
  EXPECT_STREQ(remote.what(), "situ: remote exception: thrown at place 2: std::out_of_range: index 5");
  EXPECT_TRUE(remote.calls().empty());

  const situ::remote_error with_calls{
      2,
      "int",
      "none",
      {{.place_index = 2, .caller_index = 1, .function = "f", .file = "a.cpp", .line = 7, .left_out = 3},
       {.place_index = 1, .caller_index = 0, .function = "", .file = ""}}};
  EXPECT_EQ(with_calls.remote_what(), "none");
  EXPECT_STREQ(with_calls.what(),
               "situ: remote exception: thrown at place 2: int: none\n"
               "  in f at place 2, called by place 1 at a.cpp:7\n"
               "  in 3 further calls\n"
               "  in a function of unknown name at place 1, called by place 0");
}

TEST(error, thrown_as_a_standard_exception) {
  try {
    situ::throw_error(situ::errc::bad_message, "truncated");
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "situ: bad message: truncated");
  }
}

TEST(error, type_names_are_demangled) {
  EXPECT_EQ(situ::demangle(typeid(std::out_of_range).name()), "std::out_of_range");
  EXPECT_EQ(situ::demangle("no mangled name!"), "no mangled name!");
}

}  // namespace
