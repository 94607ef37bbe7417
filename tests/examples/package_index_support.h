// Package lists of invented archives, and what an index over them has to answer: made from the list in ordinary memory,
// by loops over all of it.
#pragma once

#include "answers.h"
#include "changes.h"
#include "command.h"
#include "package_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/forked.h"

namespace package_index::test {

using package_rank::test::make_archive;
using package_rank::test::scratch_folder;

// All that an index has, by name, virtual names and unknown ones among them.
using picture = std::map<std::string, description>;

inline picture picture_of(const listing& list) {
  picture all;
  for (const auto& [name, listed] : list) {
    description& it = all[name];
    it.of = {name, true, listed.version};
    it.depends = listed.depends;
    it.provides = listed.provides;
  }
  for (const auto& [name, listed] : list) {  // in order, so those that it is needed and given by are
    for (const auto wanted : names_in(listed.depends, name)) all[std::string{wanted}].needed_by.push_back(name);
    for (const auto given : names_in(listed.provides, name)) all[std::string{given}].given_by.push_back(name);
  }
  for (auto& [name, it] : all) it.of.name = name;
  return all;
}

// Of one moment.
inline picture picture_of(const situ::pool& in) {
  return in.read([&] {
    picture all;
    for (const auto& [name, it] : index_of(in).packages) all.emplace(name.view(), describe(in, name.view()));
    return all;
  });
}

// Nothing is damaged, nothing has leaked, each link leads back.
inline void expect_sound(const situ::pool& in) {
  const situ::pool_findings found = in.check<index>();
  EXPECT_TRUE(found.damage.empty()) << found.damage.front();
  EXPECT_EQ(found.unreached_blocks, 0U);
  EXPECT_EQ(found.stray_pointers, 0U);
  EXPECT_NO_THROW(check_links(in));
}

// The names in which two lists differ, in order: what an update changes, one after the other.
inline std::vector<std::string> differences(const listing& from, const listing& to) {
  std::vector<std::string> names;
  for (const auto& [name, listed] : from) {
    const auto there = to.find(name);
    if (there == to.end() || there->second != listed) names.push_back(name);
  }
  for (const auto& [name, listed] : to)
    if (!from.contains(name)) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

// A list after the first `count` changes of an update to another one.
inline listing after(listing from, const listing& to, std::size_t count) {
  const std::vector<std::string> names = differences(from, to);
  for (std::size_t i = 0; i < std::min(count, names.size()); ++i) {
    const auto wanted = to.find(names[i]);
    if (wanted == to.end()) {
      from.erase(names[i]);
    } else {
      from[names[i]] = wanted->second;
    }
  }
  return from;
}

// A child that runs a body; it ends with the test, whatever happens. Returns from its constructor once the child says
// that it begins.
class process {
 public:
  template <class Body>
  explicit process(Body body) {
    situ::test::child_signal began;
    child_ = situ::test::fork_child([&] { body([&] { began.give(); }); });
    (void)began.wait();
  }
  process(const process&) = delete;
  process& operator=(const process&) = delete;
  ~process() { (void)kill(); }

  // Whether it had ended by itself before, and well.
  bool kill() {
    if (!child_) return false;
    child_.send(SIGKILL);
    return wait();
  }
  bool wait() {
    const situ::os::exit_status end = child_.wait();
    EXPECT_TRUE(end.is_known && end.code == 0 && (end.signal == 0 || end.signal == SIGKILL));
    return end.is_known && end.signal == 0 && end.code == 0;
  }

 private:
  situ::os::child child_;
};

// Microseconds that a call takes.
template <class F>
unsigned microseconds_of(F&& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return static_cast<unsigned>(
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin).count());
}

}  // namespace package_index::test
