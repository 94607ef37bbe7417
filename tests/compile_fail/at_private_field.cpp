// Within a value, the error names the class and the listed field.
// expect: account::owner_
// expect: a raw pointer cannot travel as a value
// one error
#include <situ/situ.h>

#include <string>
#include <vector>

#ifdef SITU_COMPILE_FAIL_CONTROL
using text = std::string;
#else
using text = const std::string*;
#endif

class account {
  text owner_{};
  SITU_DESCRIBE(account, owner_)
 public:
  [[nodiscard]] const text& owner() const { return owner_; }
};
struct accounts {
  std::vector<account> all;
};
std::size_t ask(situ::place there, const accounts& a) {
  return situ::at(there, [](const accounts& b) { return b.all.size(); }, a);
}
