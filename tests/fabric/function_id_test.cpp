// Names of functions: of the executable and of modules that each place loads by itself, in whatever order, wherever the loader puts them.
#include "support/places.h"

#include <situ/fabric/function_id.h>

#include <dlfcn.h>

#include <cmath>
#include <cstdlib>

extern "C" int main(int, char**);

namespace situ {
namespace {

using detail::find_function;
using detail::function_id;
using detail::name_function;

int add_one(int n) { return n + 1; }
int no_code = 0;

template <class F>
const void* address_of(F* f) {
  return reinterpret_cast<const void*>(f);
}

void* open_module() {
  void* const handle = ::dlopen(FUNCTION_ID_MODULE, RTLD_NOW);
  if (handle == nullptr) throw std::runtime_error{::dlerror()};
  return handle;
}

TEST(function_id, names_functions_of_the_executable) {
  const void* const codes[] = {address_of(&add_one), address_of(&::main), address_of(&open_module)};
  for (const void* const code : codes) {
    const function_id id = name_function(code);
    EXPECT_EQ(id >> 48, 0U);
    EXPECT_EQ(id >> 32, 0U) << "module 0 is the executable";
    EXPECT_EQ(find_function(id), code);
  }
}

TEST(function_id, names_functions_of_shared_libraries) {
  for (const void* const code : {::dlsym(RTLD_DEFAULT, "qsort"), ::dlsym(RTLD_DEFAULT, "strtol")}) {
    ASSERT_NE(code, nullptr);
    const function_id id = name_function(code);
    EXPECT_EQ(id >> 48, 0U);
    EXPECT_NE(id >> 32, 0U);
    EXPECT_EQ(find_function(id), code);
  }
}

TEST(function_id, names_functions_of_modules_loaded_later) {
  void* const handle = open_module();
  const void* const code = ::dlsym(handle, "situ_test_double_it");
  const function_id id = name_function(code);
  EXPECT_EQ(find_function(id), code);
  EXPECT_NE(name_function(::dlsym(handle, "situ_test_triple_it")), id);
  ::dlclose(handle);
  EXPECT_EQ(find_function(id), nullptr) << "the module is gone";
  void* const again = open_module();
  EXPECT_EQ(find_function(id), ::dlsym(again, "situ_test_double_it"));
  ::dlclose(again);
}

TEST(function_id, refuses_what_is_no_code) {
  EXPECT_EQ(test::error_of([] { (void)name_function(&no_code); }).code, errc::bad_argument);
  EXPECT_EQ(test::error_of([] { (void)name_function(nullptr); }).code, errc::bad_argument);
  void* const handle = open_module();
  EXPECT_EQ(test::error_of([&] { (void)name_function(::dlsym(handle, "situ_test_no_code")); }).code, errc::bad_argument);
  ::dlclose(handle);
  int on_the_stack = 0;
  EXPECT_EQ(test::error_of([&] { (void)name_function(&on_the_stack); }).code, errc::bad_argument);
}

// What a damaged message may name: nothing, or something within executable bytes.
TEST(function_id, finds_only_executable_bytes) {
  std::mt19937_64 random{test::test_seed()};
  const auto code_end = static_cast<std::uint64_t>(&etext - &__executable_start);
  EXPECT_EQ(find_function(0), nullptr);
  EXPECT_EQ(find_function(detail::executable_code_offset - 1), nullptr);
  EXPECT_EQ(find_function(code_end + 4096), nullptr);
  EXPECT_EQ(find_function(~function_id{0}), nullptr);
  EXPECT_EQ(find_function(function_id{1} << 48), nullptr);
  for (int i = 0; i < test::rounds(2000); ++i) {
    function_id id = random();
    if (i % 2 == 0) id %= 2 * code_end;
    const void* const code = find_function(id);
    if (code == nullptr) continue;
    Dl_info info;
    ASSERT_NE(::dladdr(code, &info), 0) << std::hex << id;
    EXPECT_EQ(find_function(name_function(code)), code);
  }
}

class functions_elsewhere : public test::on_places {};

TEST_P(functions_elsewhere, are_called_by_name) {
  run([] {
    void* handle = nullptr;
    if (here().index() % 2 == 0) handle = open_module();
    void* const libm = ::dlopen("libm.so.6", RTLD_NOW);  // so that modules come in another order at odd places
    if (handle == nullptr) handle = open_module();
    barrier();
    const auto double_it = reinterpret_cast<int (*)(int)>(::dlsym(handle, "situ_test_double_it"));
    const auto triple_it = reinterpret_cast<long (*)(long)>(::dlsym(handle, "situ_test_triple_it"));
    for (const place p : places()) {
      EXPECT_EQ(at(p, double_it, 21), 42);
      EXPECT_EQ(at(p, triple_it, 14L), 42);
      EXPECT_EQ(at(p, &add_one, 41), 42);
      EXPECT_EQ(at(p, reinterpret_cast<int (*)(int)>(::dlsym(RTLD_DEFAULT, "abs")), -42), 42);
    }
    barrier();
    ::dlclose(handle);
    if (libm != nullptr) ::dlclose(libm);
  });
}

// A module that only the caller has: an error that names the function, not a jump into nothing.
TEST_P(functions_elsewhere, that_the_target_does_not_have_are_errors) {
  if (GetParam().mode == launch_mode::threads || GetParam().places == 1) return;  // who shares a process shares its modules
  run([] {
    if (here().index() == 0) {
      void* const handle = open_module();
      const auto double_it = reinterpret_cast<int (*)(int)>(::dlsym(handle, "situ_test_double_it"));
      try {
        (void)at(place{1}, double_it, 21);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const remote_error& e) {
        EXPECT_NE(e.remote_what().find("bad message"), std::string::npos) << e.remote_what();
        EXPECT_EQ(e.place_index(), 1U);
      }
      ::dlclose(handle);
    }
    barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, functions_elsewhere, testing::ValuesIn(test::layouts({1, 2, 4})), test::layout_name);

}  // namespace
}  // namespace situ
