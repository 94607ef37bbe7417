// A chain member's connection to the member before it, without the socket: it receives batches and copies, and sends
// acknowledgments.
#pragma once

#include <vector>

#include "rmem/party.h"
#include "rmem/service.h"

namespace situ::rmem::detail {

class follower : public party {
 public:
  // pre: the service is a replica's. source: the node that sends.
  follower(service& of, std::uint64_t source);
  ~follower() override;

  [[nodiscard]] std::span<std::byte> room() override;
  void received(std::size_t bytes) override;
  [[nodiscard]] pieces output() const noexcept override;
  void sent(std::size_t bytes) override;
  [[nodiscard]] bool has_ended() const noexcept override;
  [[nodiscard]] bool is_logged_in() const noexcept override { return true; }
  [[nodiscard]] debt owes_bytes() const noexcept override { return {}; }  // the name server decides on losses
  [[nodiscard]] debt owes_taking() const noexcept override { return {}; }
  [[nodiscard]] bool is_within_message() const noexcept override { return false; }
  [[nodiscard]] bool is_held() const noexcept override { return true; }
  void lost(std::string_view why) override;
  // Sends an acknowledgment if the acknowledged position has changed.
  void look();

 private:
  static constexpr std::size_t read_bytes = std::size_t{64} * 1024;

  service& service_;
  std::uint64_t source_;
  bool is_bad_ = false;
  std::vector<std::byte> in_;
  std::size_t in_end_ = 0;
  stream_answer said_{~std::uint64_t{0}, 0};
  stream_answer out_{};
  std::size_t out_left_ = 0;  // bytes of out_ not yet sent
};

}  // namespace situ::rmem::detail
