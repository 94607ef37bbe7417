// The handshake: client and server each prove that they have the application's key, by a code over both nonces and all
// bytes exchanged. So the key is never sent, and a proof cannot be replayed. The code is HMAC-SHA-512-256 of libsodium.
#pragma once

#include <situ/rmem/keys.h>

#include "rmem/protocol.h"

namespace situ::rmem::detail {

// Fills `to` with random bytes of the system.
void fill_random(std::span<std::byte> to) noexcept;
// Compares in constant time, wherever the bytes differ.
[[nodiscard]] bool same_secret(std::span<const std::byte> a, std::span<const std::byte> b) noexcept;

// Return the proofs of client and server. A proof does not cover the proof field in `said` or `answered` itself.
[[nodiscard]] proof client_proof(const application_key& key, const hello& heard, const login& said) noexcept;
[[nodiscard]] proof server_proof(const application_key& key, const hello& said, const login& heard,
                                 const welcome& answered) noexcept;

// Returns true if the name is valid for an application.
[[nodiscard]] bool is_application_name(std::string_view name) noexcept;

}  // namespace situ::rmem::detail
