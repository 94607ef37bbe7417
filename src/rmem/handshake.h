// How client and server know each other: both prove that they have the application's key, over both nonces and all that
// was said, so neither sends it and no proof is of use twice. HMAC-SHA-512-256 of libsodium.
#pragma once

#include <situ/rmem/keys.h>

#include "rmem/protocol.h"

namespace situ::rmem::detail {

// Random bytes of the system.
void fill_random(std::span<std::byte> to) noexcept;
// In a time that does not depend on where they differ.
[[nodiscard]] bool same_secret(std::span<const std::byte> a, std::span<const std::byte> b) noexcept;

// What client and server prove; the proof in `said` and `answered` themselves is left out.
[[nodiscard]] proof client_proof(const application_key& key, const hello& heard, const login& said) noexcept;
[[nodiscard]] proof server_proof(const application_key& key, const hello& said, const login& heard,
                                 const welcome& answered) noexcept;

// Whether a name may be an application's.
[[nodiscard]] bool is_application_name(std::string_view name) noexcept;

}  // namespace situ::rmem::detail
