// Names of functions: of the executable and of modules that each place loads by itself, in whatever order, wherever the
// loader puts them.
#include "support/places.h"

#include "fabric/modules.h"

#include <situ/fabric/detail/function_id.h>

#include <dlfcn.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <stdexcept>

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

void* open_module(const std::string& name = "function_id_module") {
  void* const handle = ::dlopen((MODULE_FOLDER + name + ".so").c_str(), RTLD_NOW);
  if (handle == nullptr) throw std::runtime_error{::dlerror()};
  return handle;
}

template <class F>
F* symbol(void* handle, const char* name) {
  void* const found = ::dlsym(handle, name);
  if (found == nullptr) throw std::runtime_error{::dlerror()};
  return reinterpret_cast<F*>(found);
}

// What place `to` answers to a call of the module's function; the error's text where it is one.
std::string ask(void* handle, std::uint32_t to) {
  try {
    return std::to_string(at(place{to}, symbol<int(int)>(handle, "situ_test_which"), 1));
  } catch (const remote_error& e) {
    return e.remote_what();
  }
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
  EXPECT_EQ(test::error_of([&] { (void)name_function(::dlsym(handle, "situ_test_no_code")); }).code,
            errc::bad_argument);
  ::dlclose(handle);
  int on_the_stack = 0;
  EXPECT_EQ(test::error_of([&] { (void)name_function(&on_the_stack); }).code, errc::bad_argument);
}

// What a damaged message may name: nothing, or something within executable bytes.
TEST(function_id, finds_only_executable_bytes) {
  std::mt19937_64 random{test::test_seed()};
  const std::uint64_t code_end = detail::own_code.begin + detail::own_code.bytes;
  EXPECT_EQ(find_function(0), nullptr);
  EXPECT_EQ(find_function(detail::own_code.begin - 1), nullptr);
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

// --- two modules whose numbers are the same --------------------------------------------------------------------------

constexpr const char* clash_a = "function_id_clash_a";
constexpr const char* clash_b = "function_id_clash_b";

void expect_clash(const std::string& text) {
  EXPECT_TRUE(text.find("function_id_clash_a.so") != std::string::npos &&
              text.find("function_id_clash_b.so") != std::string::npos)
      << text;
  EXPECT_NE(text.find("same number"), std::string::npos) << text;
}

TEST(function_id, of_modules_without_a_build_id_tells_them_apart) {
  void* const a = open_module("function_id_nameless_a");
  void* const b = open_module("function_id_nameless_b");
  const void* const of_a = ::dlsym(a, "situ_test_which");
  const void* const of_b = ::dlsym(b, "situ_test_which");
  EXPECT_NE(name_function(of_a), name_function(of_b));
  EXPECT_EQ(find_function(name_function(of_a)), of_a);
  EXPECT_EQ(find_function(name_function(of_b)), of_b);
  ::dlclose(a);
  ::dlclose(b);
}

TEST(function_id, the_modules_for_these_tests_do_clash) {
  void* const a = open_module(clash_a);
  void* const b = open_module(clash_b);
  std::vector<std::uint64_t> numbers;
  for (const detail::loaded_module& each : detail::loaded_modules())
    if (each.path.find("function_id_clash") != std::string::npos)
      numbers.push_back(detail::module_number(each.identity));
  ASSERT_EQ(numbers.size(), 2U);
  EXPECT_EQ(numbers[0], numbers[1]);
  EXPECT_EQ(find_function(name_function(::dlsym(a, "situ_test_which"))), ::dlsym(a, "situ_test_which"));
  ::dlclose(a);
  ::dlclose(b);
}

// Named before the runtime, as static initialisers do.
TEST(function_id, a_clash_is_refused_at_start) {
  if (!test::can_fork()) GTEST_SKIP() << test::why_no_fork();
  void* const a = open_module(clash_a);
  void* const b = open_module(clash_b);
  (void)name_function(::dlsym(a, "situ_test_which"));
  (void)name_function(::dlsym(b, "situ_test_which"));
  const launch_result result = launch(2, [] {});
  EXPECT_FALSE(result.ok());
  expect_clash(result.message());
  ::dlclose(b);
  EXPECT_TRUE(launch(2, [] {}).ok()) << "one of them alone is no clash";
  ::dlclose(a);
}

// One place has this module, another that one: code of the one must never answer for the other, in whatever order they
// come.
TEST_P(functions_elsewhere, a_clash_of_modules_at_different_places_is_an_error) {
  // who shares a process shares its modules
  if (GetParam().mode == launch_mode::threads || GetParam().places == 1) return;
  run([] {
    const std::uint32_t me = here().index();
    const bool has_a = me % 2 == 0;
    void* const handle = open_module(has_a ? clash_a : clash_b);
    if (me == 0) (void)name_function(::dlsym(handle, "situ_test_which"));  // the first to be named has the number
    barrier();
    for (const place p : places()) {
      const std::string answer = ask(handle, p.index());
      const bool target_has_a = p.index() % 2 == 0;
      if (p == here()) {
        EXPECT_EQ(answer, has_a ? "1001" : "2001");
      } else if (!has_a) {
        expect_clash(answer);
      } else if (target_has_a) {
        EXPECT_EQ(answer, "1001");
      } else {
        EXPECT_NE(answer.find(fmt::format("place {} does not have", p.index())), std::string::npos) << answer;
        EXPECT_NE(answer.find("function_id_clash_a.so"), std::string::npos) << answer;
      }
    }
    barrier();
    ::dlclose(handle);
  });
}

TEST_P(functions_elsewhere, a_clash_of_modules_at_one_place_is_an_error) {
  run([] {
    const std::uint32_t me = here().index();
    void* const first = open_module(me % 2 == 0 ? clash_a : clash_b);
    void* const second = open_module(me % 2 == 0 ? clash_b : clash_a);
    void* const a = me % 2 == 0 ? first : second;
    void* const b = me % 2 == 0 ? second : first;
    if (me == 0) (void)name_function(::dlsym(a, "situ_test_which"));
    barrier();
    for (const place p : places()) {
      if (p == here()) continue;
      EXPECT_EQ(ask(a, p.index()), "1001");
      expect_clash(ask(b, p.index()));
    }
    barrier();
    ::dlclose(first);
    ::dlclose(second);
  });
}

// A copy of a file is the same code with other variables: a name for it would mean either.
TEST_P(functions_elsewhere, code_of_a_module_that_is_there_twice_is_an_error) {
  if (GetParam().mode == launch_mode::threads || GetParam().places == 1) return;
  run([] {
    const std::string copy = fmt::format("{}function_id_copy_{}_{}.so", testing::TempDir(), ::getpid(), here().index());
    std::filesystem::copy_file(MODULE_FOLDER "function_id_module.so", copy);
    void* const handle = open_module();
    void* const twin = here().index() == 1 ? ::dlopen(copy.c_str(), RTLD_NOW) : nullptr;
    std::filesystem::remove(copy);
    barrier();
    if (here().index() == 0) {
      const std::string answer = ask(handle, 1);
      EXPECT_NE(answer.find("more than once"), std::string::npos) << answer;
    }
    barrier();
    if (twin != nullptr) ::dlclose(twin);
    ::dlclose(handle);
  });
}

// --- modules that only the caller has --------------------------------------------------------------------------------

// Handlers of calls are code of the module, too.
TEST_P(functions_elsewhere, calls_of_a_modules_own_lambdas) {
  run([] {
    void* const handle = open_module("function_id_caller");
    barrier();
    for (const place p : places()) {
      EXPECT_EQ(symbol<int(unsigned)>(handle, "situ_test_ask_lambda")(p.index()), 1);
      EXPECT_EQ(symbol<int(unsigned, unsigned long)>(handle, "situ_test_ask_lambda_with_text")(p.index(), 100000),
                100000);
    }
    barrier();
    ::dlclose(handle);
  });
}

TEST_P(functions_elsewhere, a_call_whose_handler_the_target_does_not_have_is_an_error_and_no_loss) {
  if (GetParam().mode == launch_mode::threads || GetParam().places == 1) return;
  run([] {
    if (here().index() == 0) {
      void* const handle = open_module("function_id_caller");
      const std::uint64_t live = at(place{0}, [] { return memory_statistics().live_blocks; });
      for (const unsigned long bytes : {0UL, 1000UL, 1000000UL}) {  // in the message, beside it, in a buffer
        try {
          (void)symbol<int(unsigned, unsigned long)>(handle, "situ_test_ask_lambda_with_text")(1, bytes);
          ADD_FAILURE() << "nothing was thrown";
        } catch (const remote_error& e) {
          EXPECT_EQ(e.place_index(), 1U);
          EXPECT_NE(e.remote_what().find("place 1 does not have"), std::string::npos) << e.remote_what();
          EXPECT_NE(e.remote_what().find("function_id_caller.so"), std::string::npos) << e.remote_what();
        }
      }
      EXPECT_EQ(memory_statistics().live_blocks, live) << "the buffer was given back";
      EXPECT_EQ(at(place{1}, &add_one, 41), 42);
      ::dlclose(handle);
    }
    barrier();
  });
}

// An active message has nobody who waits for an answer: the place that cannot handle it gives itself up, and says why.
// Wherever it is just then: in the program, or on its way out.
TEST(function_id, a_message_whose_handler_the_target_does_not_have_is_a_loss_that_says_so) {
  if (!test::can_fork()) GTEST_SKIP() << test::why_no_fork();
  for (const bool waits_in_the_program : {true, false}) {
    const launch_result result = launch(2, [waits_in_the_program] {
      if (here().index() == 0) symbol<void(unsigned)>(open_module("function_id_caller"), "situ_test_send_message")(1);
      if (waits_in_the_program) barrier();
    });
    ASSERT_EQ(result.first_lost, place{1}) << "waits in the program: " << waits_in_the_program;
    EXPECT_NE(result.message().find("function_id_caller.so"), std::string::npos) << result.message();
  }
}

// Static initialisers name handlers while the module is loaded, where nothing may be thrown: the calls are refused.
TEST_P(functions_elsewhere, calls_of_a_clashing_modules_lambdas_are_errors) {
  if (GetParam().places == 1) return;
  run([] {
    void* const first = open_module(clash_a);
    (void)name_function(::dlsym(first, "situ_test_which"));
    barrier();
    void* const second = open_module("function_id_clashing_caller");
    barrier();
    for (const place p : places()) {
      if (p == here()) continue;
      try {
        (void)symbol<int(unsigned)>(second, "situ_test_ask_lambda")(p.index());
        ADD_FAILURE() << "nothing was thrown";
      } catch (const remote_error& e) {
        EXPECT_NE(e.remote_what().find("same number"), std::string::npos) << e.remote_what();
        EXPECT_NE(e.remote_what().find("function_id_clashing_caller.so"), std::string::npos) << e.remote_what();
      }
      EXPECT_EQ(ask(first, p.index()), "1001");
    }
    barrier();
    ::dlclose(second);
    ::dlclose(first);
  });
}

// A module that only the caller has: an error that names the function, not a jump into nothing.
TEST_P(functions_elsewhere, that_the_target_does_not_have_are_errors) {
  // who shares a process shares its modules
  if (GetParam().mode == launch_mode::threads || GetParam().places == 1) return;
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
