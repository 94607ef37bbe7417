// expect: a std::shared_ptr to an array, to void or to a class with virtual functions cannot travel
// expect: order::customer
// one error
#include <situ/situ.h>

#include <map>
#include <memory>
#include <string>

struct person {
  virtual ~person() = default;
};
#ifdef SITU_COMPILE_FAIL_CONTROL
using text = std::shared_ptr<std::string>;
#else
using text = std::shared_ptr<person>;
#endif

struct order {
  std::map<std::string, int> items;
  text customer;
};
std::size_t ask(situ::place there, const order& o) {
  return situ::at(there, [](const order& x) { return x.items.size(); }, o);
}
