// What lies in the pool: the index of version 2, and that of version 1, which `migrate` takes.
//
// Versions have namespaces from the first on, so the types of before keep their names, and a migration needs no
// renaming. Whatever is a field here decides what a root is stored as: a change makes a version 3.
#pragma once

#include <situ/pool/pool_ordered_map.h>
#include <situ/pool/pool_string.h>
#include <situ/pool/pool_vector.h>

#include <cstdint>

namespace package_index {

inline constexpr const char* root_name = "packages";

// Fields as the list has them. What depends on a package is found by parsing those of all others.
namespace v1 {

struct package {
  situ::pool_string version;
  situ::pool_string depends;
  situ::pool_string provides;

  void release(situ::transaction& t) {
    version.release(t);
    depends.release(t);
    provides.release(t);
  }
};

struct index {
  situ::pool_ordered_map<situ::pool_string, package*> packages;
  std::uint64_t changes = 0;  // packages that came, changed or went since there were none
};

}  // namespace v1

// The same, and links in both directions. A name that no package has, but that others depend on or provide, has an
// object as well, which goes with the last link to it.
namespace v2 {

struct package {
  situ::pool_string name;
  bool is_listed = false;  // else a name that others mention
  situ::pool_string version;
  situ::pool_string depends;
  situ::pool_string provides;
  // None to itself, and each once. Those of a field are in its order; those that lead back are in none.
  situ::pool_vector<package*> needs;      // names in `depends`
  situ::pool_vector<package*> needed_by;  // whose `needs` lead here
  situ::pool_vector<package*> gives;      // names in `provides`
  situ::pool_vector<package*> given_by;   // whose `gives` lead here

  void release(situ::transaction& t) {
    name.release(t);
    version.release(t);
    depends.release(t);
    provides.release(t);
    for (situ::pool_vector<package*>* each : {&needs, &needed_by, &gives, &given_by}) each->release(t);
  }
};

struct index {
  situ::pool_ordered_map<situ::pool_string, package*> packages;
  std::uint64_t listed = 0;
  std::uint64_t changes = 0;
};

}  // namespace v2

using v2::index;
using v2::package;

}  // namespace package_index
