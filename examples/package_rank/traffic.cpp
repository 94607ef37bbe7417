#include "traffic.h"

#include <algorithm>

namespace package_rank {

traffic::traffic() : places_{situ::place_count()}, row_{situ::allocate<flow>(row_length())} {
  std::fill_n(row_.local(), row_length(), flow{});
}

traffic::~traffic() { situ::deallocate(row_); }

void traffic::start_phase(std::size_t phase) {
  SITU_ASSERT(1, phase < phase_count, "raise traffic::phase_count");
  phase_ = phase;
}

void traffic::count(situ::place other, direction d, flow what) {
  if (other != situ::here()) row_.local()[(phase_ * 2 + d) * places_ + other.index()] += what;
}

traffic::table traffic::collect() const {
  const std::vector<situ::ptr<flow>> rows = situ::gather(row_, 0);
  table result;
  if (situ::here() == situ::place{0}) {
    result.places = places_;
    result.flows.resize(std::size_t{places_} * places_);
    result.of_phase.resize(phase_count);
    std::vector<flow> row(row_length());
    for (std::uint32_t p = 0; p < places_; ++p) {
      situ::get(row.data(), rows[p], row.size());
      for (std::size_t phase = 0; phase < phase_count; ++phase) {
        for (std::uint32_t other = 0; other < places_; ++other) {
          const flow& sent = row[(phase * 2 + outbound) * places_ + other];
          const flow& fetched = row[(phase * 2 + inbound) * places_ + other];
          result.flows[p * std::size_t{places_} + other] += sent;
          result.flows[other * std::size_t{places_} + p] += fetched;
          result.of_phase[phase] += sent;
          result.of_phase[phase] += fetched;
        }
      }
    }
  }
  situ::barrier();  // nobody counts on, or frees its row, while place 0 reads
  return result;
}

}  // namespace package_rank
