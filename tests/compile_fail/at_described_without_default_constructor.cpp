// expect: a described class that travels by value has a public default constructor
// one error
#include <situ/situ.h>

#include <string>

class account {
 public:
  explicit account(std::string owner) : owner_{std::move(owner)} {}
#ifdef SITU_COMPILE_FAIL_CONTROL
  account() = default;
#endif
  [[nodiscard]] const std::string& owner() const { return owner_; }

 private:
  std::string owner_;
  SITU_DESCRIBE(account, owner_)
};
std::string ask(situ::place there, const account& a) {
  return situ::at(there, [](const account& b) { return b.owner(); }, a);
}
