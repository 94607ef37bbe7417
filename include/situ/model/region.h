// Regions: the part of a program that is measured on a modelled machine (`situ model run`), its region of interest.
//
//   {
//     const situ::model::region computing{"compute"};
//     solve();                                          // what the report's section "compute" is about
//   }
//
// In a common build nothing of it is left. In a modelled one, what all cores and parts of the machine count between its
// beginning and its end is a section of the report, whoever they work for. Threads and places may be in a region of one
// name together: it begins with the first that enters and ends with the last that leaves; what it counts each time is
// added up. `situ model run --fast-forward NAME` begins to price accesses where region NAME first begins.
#pragma once

#if defined(SITU_MODEL)
// Of the modelled machine. The name's text must stay.
extern "C" {
void situ_model_region_begin(const char* name) noexcept;
void situ_model_region_end(const char* name) noexcept;
}
#endif

namespace situ::model {

// The calling thread's stay in a region. cost: nothing where the program is not modelled.
class region {
 public:
#if defined(SITU_MODEL)
  // pre: the name's text lives as long as the program. cost: outside modelled time.
  explicit region(const char* name) noexcept : name_{name} { situ_model_region_begin(name); }
  ~region() { situ_model_region_end(name_); }
#else
  // pre: the name's text lives as long as the program. cost: nothing.
  explicit constexpr region(const char* /*name*/) noexcept {}
  ~region() {}  // so that one that is only there for its scope is not unused
#endif
  region(const region&) = delete;
  region& operator=(const region&) = delete;

#if defined(SITU_MODEL)
 private:
  const char* name_;
#endif
};

}  // namespace situ::model
