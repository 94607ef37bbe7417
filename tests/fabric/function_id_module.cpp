// Loaded with dlopen by function_id_test: code in a module of its own. Built several times, with another WHICH and
// build id.
extern "C" int situ_test_double_it(int n) { return 2 * n; }
extern "C" long situ_test_triple_it(long n) { return 3 * n; }
extern "C" const char situ_test_no_code[] = "data of the module";
extern "C" int situ_test_which(int n) { return n + WHICH; }
