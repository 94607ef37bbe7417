// Objects of an object heap at the places of a modelled machine: each place looks them up at random, and now and then one
// stores into one of them.
//
//   heap_objects lookups OBJECTS LOOKUPS WRITE_EVERY ordinary|read-mostly [homed|replicated]
//   heap_objects barrier|forgotten
//
// "lookups" prints the sum of what all places have read, and how often a store has made an object ordinary; the region
// "lookups" is what is measured. "barrier" has place 1 read a read-mostly object before and after place 0 stores into it;
// "forgotten" stores without the barrier, so that place 1 reads its replica. It prints what place 1 has read.
#include <situ/heap/object_heap.h>
#include <situ/model/region.h>
#include <situ/situ.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using situ::ref;

struct record {
  std::uint32_t key;
  std::uint32_t value;
  ref<record> next;
};

// Numbers that a run repeats.
class sequence {
 public:
  explicit sequence(std::uint32_t seed) : at_{seed * 2654435761u + 1} {}
  std::uint32_t next(std::uint32_t below) {
    at_ = at_ * 1664525 + 1013904223;
    return static_cast<std::uint32_t>(std::uint64_t{at_ >> 1} * below >> 31);
  }

 private:
  std::uint32_t at_;
};

// Looks up objects in the order of a list, which the place goes through as often as it needs.
void look_up(situ::heap_thread& mine, const std::vector<std::uint32_t>& raws, std::uint32_t lookups,
             std::uint32_t write_every, std::uint64_t& sum) {
  constexpr std::uint32_t in_a_section = 256;
  std::size_t at = 0;
  std::uint32_t until_write = write_every;
  const std::optional<situ::model::region> measured{std::in_place, "lookups"};
  for (std::uint32_t done = 0; done < lookups; done += in_a_section) {
    {
      situ::heap_section section{mine};
      for (std::uint32_t i = 0; i < in_a_section; ++i) {
        const ref<record> of{raws[at]};
        if (++at == raws.size()) at = 0;
        if (write_every != 0 && --until_write == 0) {
          until_write = write_every;
          section.store(of, &record::value, 1);  // what it is already
        } else {
          sum += section.load(of, &record::value);
        }
      }
    }
    if (done % 4096 == 0) situ::progress();  // answers rounds
  }
}

int lookups(int argc, char** argv) {
  const auto objects = static_cast<std::uint32_t>(std::atoi(argv[2]));
  const auto count = static_cast<std::uint32_t>(std::atoi(argv[3]));
  const auto write_every = static_cast<std::uint32_t>(std::atoi(argv[4]));
  const bool is_read_mostly = std::string_view{argv[5]} == "read-mostly";
  const bool is_replicated = argc > 6 && std::string_view{argv[6]} == "replicated";
  const std::uint32_t places = situ::place_count();
  situ::object_heap heap{{.entries = std::uint64_t{objects} + 4096,
                          .table = is_replicated ? situ::heap_table::replicated : situ::heap_table::homed}};
  situ::heap_thread mine{heap};
  std::vector<ref<>> made;
  std::vector<std::uint32_t> own;
  for (std::uint32_t i = situ::here().index(); i < objects; i += places) {
    made.push_back(mine.make<record>(i, 1u, ref<record>{}));
    own.push_back(made.back().raw());
  }
  mine.move(made, situ::here());
  if (is_read_mostly) (void)mine.make_read_mostly(made);
  std::vector<std::uint32_t> raws;
  for (const std::vector<std::uint32_t>& each : situ::all_gather(own))
    raws.insert(raws.end(), each.begin(), each.end());
  // Each place has an order of its own.
  sequence numbers{situ::here().index() + 1};
  for (std::size_t i = raws.size(); i-- > 1;) std::swap(raws[i], raws[numbers.next(static_cast<std::uint32_t>(i + 1))]);
  situ::barrier();
  std::uint64_t sum = 0;
  look_up(mine, raws, count, write_every, sum);
  situ::barrier();
  const std::uint64_t all = situ::all_reduce(sum, std::plus<>{});
  const std::uint64_t stores = situ::all_reduce(heap.counts().stores_to_read_mostly, std::plus<>{});
  if (situ::here().index() == 0)
    std::printf("%llu read, %llu made ordinary\n", static_cast<unsigned long long>(all),
                static_cast<unsigned long long>(stores));
  situ::barrier();
  return 0;
}

[[gnu::noinline]] void store_without_barrier(situ::heap_thread& mine, ref<record> of, std::uint32_t value) {
  situ::heap_section section{mine};
  const_cast<situ::detail::heap_object*>(section.object(of.raw()))->body()[1] = value;
}

// The places meet by an atomic word: collective operations write everything back.
int barrier(bool is_forgotten) {
  situ::object_heap heap{{.entries = 1 << 14}};
  situ::heap_thread mine{heap};
  const bool writes = situ::here().index() == 0;
  situ::ptr<std::uint64_t> word;
  ref<record> made;
  if (writes) {
    word = situ::allocate<std::uint64_t>(8);
    std::atomic_ref{*word.local()}.store(0);
    made = mine.make<record>(1u, 10u, ref<record>{});
    (void)mine.make_read_mostly(made);
  }
  made = ref<record>{situ::broadcast(made.raw(), 0)};
  word = situ::broadcast(word, 0);
  const std::atomic_ref turn{*word.local()};
  if (writes) {
    while (turn.load() != 1) situ::progress();
    if (is_forgotten)
      store_without_barrier(mine, made, 20);
    else
      mine.store(made, &record::value, 20);
    turn.store(2);
  } else {
    const std::uint32_t before = mine.load(made, &record::value);
    turn.store(1);
    while (turn.load() != 2) situ::progress();
    std::printf("%u, then %u\n", before, mine.load(made, &record::value));
  }
  situ::barrier();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "lookups" && argc > 5) return lookups(argc, argv);
  return barrier(what == "forgotten");
}
