// Regions: the part of a program that is measured on a modelled machine (`situ model run`), its region of interest.
//
//   {
//     const situ::model::region computing{"compute"};
//     solve();                                          // measured in the report's section "compute"
//   }
//
// An ordinary build contains no trace of a region. In a modelled build, the report has a section for each region, with
// the events that all cores and parts of the machine count between its beginning and its end, for any thread. Several
// threads and places may be in a region of one name together: the region begins when the first enters and ends when the
// last leaves; the counts of each time are added up. `situ model run --fast-forward NAME` begins to price accesses when
// region NAME first begins.
#pragma once

#if defined(SITU_MODEL)
// Functions of the modelled machine. The text of `name` must stay valid until the program ends.
extern "C" {
void situ_model_region_begin(const char* name) noexcept;
void situ_model_region_end(const char* name) noexcept;
}
#endif

namespace situ::model {

// The calling thread's stay in a region. cost: nothing if the program is not modelled.
class region {
 public:
#if defined(SITU_MODEL)
  // pre: the name's text lives as long as the program. cost: outside modelled time.
  explicit region(const char* name) noexcept : name_{name} { situ_model_region_begin(name); }
  ~region() { situ_model_region_end(name_); }
#else
  // pre: the name's text lives as long as the program. cost: nothing.
  explicit constexpr region(const char* /*name*/) noexcept {}
  ~region() {}  // user-provided, so that a region that is never used gives no warning
#endif
  region(const region&) = delete;
  region& operator=(const region&) = delete;

#if defined(SITU_MODEL)
 private:
  const char* name_;
#endif
};

}  // namespace situ::model
