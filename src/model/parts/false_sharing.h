// Which misses on lines that cores take from each other are false sharing.
//
// A coherence miss brings a core a line that another core has written. The miss was needed if the core then accesses a
// byte that others have written since the core last saw such bytes; otherwise the cores share the line alone, not its
// bytes. This is the definition of Dubois, Skeppstedt, Ricciulli, Ramamurthy and Stenström (The detection and
// elimination of useless misses in multiprocessors, ISCA 1993): a miss is judged by all accesses until the core loses
// the line, not only by the one that missed (Torrellas, Lam and Hennessy, 1990). An upgrade is judged at once: it was
// needed if others have accessed a byte that it writes since the core's last write to the line. Lines are followed from
// the first time that a core takes one from another, so others cost a look-up; accesses before that are not known, so a
// core's upgrades count as needed until it has written the line.
//
// Worked example, core 1 accesses byte 0, core 2 byte 8 of a line that both have written before; the masks are those of
// the core that accesses:
//   1 writes byte 0   upgrade, nobody else touched byte 0: false
//   2 reads byte 8    coherence miss, unseen {0}; not judged yet
//   1 writes byte 0   upgrade, others touched {8}: false
//   2 reads byte 8    coherence miss: the one before has brought nothing that core 2 accessed: false; unseen {0}
//   2 reads byte 0    unseen holds it: the last miss was needed, unseen {}
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace situ::model {

class false_sharing {
 public:
  // A set of a line's bytes: 64 pieces of equal size.
  using byte_set = std::uint64_t;

  struct line_access {
    std::uint32_t core = 0;
    std::uint64_t line = 0;
    byte_set bytes = 0;
    std::uint32_t object = 0;  // number of the accessed object, for the caller
    bool writes = false;
    bool reads = false;
    bool is_miss = false;  // the core's first cache did not have the line
    bool is_coherence_miss = false;
    bool is_upgrade = false;
  };
  // The bytes of an object on a line that a core has accessed.
  struct part {
    std::uint32_t core = 0;
    std::uint32_t object = 0;
    byte_set read = 0;
    byte_set written = 0;
  };
  struct line_figures {
    std::uint64_t coherence_misses = 0;
    std::uint64_t upgrades = 0;
    std::uint64_t falsely = 0;  // of both
    std::vector<part> parts;    // in the order of the first accesses
  };

  // Begins to follow a line.
  void take(std::uint64_t line) { lines_.try_emplace(line); }
  [[nodiscard]] bool follows(std::uint64_t line) const { return lines_.contains(line); }
  // Notes an access; calls found(object) for each miss or upgrade that turns out to be false sharing. pre: follows(line).
  template <class Found>
  void access(const line_access& of, Found&& found) {
    line& its = lines_.find(of.line)->second;
    core_state& self = its.of(of.core);
    if (of.is_miss) settle(its, self, found);
    if (of.is_coherence_miss) {
      ++its.figures.coherence_misses;
      self.is_open = true;
      self.object = of.object;
    }
    if ((self.unseen & of.bytes) != 0) {
      self.is_open = false;
      self.unseen = 0;
    }
    if (of.is_upgrade) {
      ++its.figures.upgrades;
      if ((self.touched & of.bytes) == 0) {
        ++its.figures.falsely;
        found(of.object);
      }
    }
    if (of.writes) self.touched = 0;
    for (core_state& other : its.cores) {
      if (other.core == of.core) continue;
      if (of.writes) other.unseen |= of.bytes;
      other.touched |= of.bytes;
    }
    note_part(its.figures.parts, of);
  }
  // Judges the misses whose lines the cores have not lost. Call it once, at the end.
  template <class Found>
  void end(Found&& found) {
    for (auto& [number, its] : lines_)
      for (core_state& each : its.cores) settle(its, each, found);
  }
  // Calls f(line, figures) for each followed line, in no particular order.
  template <class F>
  void for_each(F&& f) const {
    for (const auto& [number, its] : lines_) f(number, its.figures);
  }

 private:
  struct core_state {
    std::uint32_t core = 0;
    bool is_open = false;             // its last coherence miss is not judged yet
    std::uint32_t object = 0;         // of that miss
    byte_set unseen = 0;              // written by others since the core last accessed such bytes
    byte_set touched = ~byte_set{0};  // accessed by others, perhaps, since the core's last write
  };
  struct line {
    line_figures figures;
    std::vector<core_state> cores;
    core_state& of(std::uint32_t core) {
      for (core_state& each : cores)
        if (each.core == core) return each;
      core_state made{.core = core};
      for (const part& each : figures.parts) made.unseen |= each.written;  // before the core's first access
      return cores.emplace_back(made);
    }
  };
  static constexpr std::size_t most_parts = 64;  // of a line; blocks may come and go on it

  template <class Found>
  static void settle(line& its, core_state& self, Found&& found) {
    if (!self.is_open) return;
    self.is_open = false;
    ++its.figures.falsely;
    found(self.object);
  }
  static void note_part(std::vector<part>& parts, const line_access& of) {
    for (part& each : parts)
      if (each.core == of.core && each.object == of.object) {
        if (of.reads) each.read |= of.bytes;
        if (of.writes) each.written |= of.bytes;
        return;
      }
    if (parts.size() < most_parts)
      parts.push_back({of.core, of.object, of.reads ? of.bytes : 0, of.writes ? of.bytes : 0});
  }

  std::unordered_map<std::uint64_t, line> lines_;
};

}  // namespace situ::model
