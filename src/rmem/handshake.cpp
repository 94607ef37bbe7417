#include "rmem/handshake.h"

#include <sodium.h>

namespace situ::rmem::detail {
namespace {

static_assert(crypto_auth_BYTES == sizeof(proof) && crypto_auth_KEYBYTES == sizeof(application_key::key));

void take_in(crypto_auth_hmacsha512256_state& state, std::span<const std::byte> bytes) noexcept {
  crypto_auth_hmacsha512256_update(&state, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

// The role keeps a client from sending a server's proof back as its own.
proof prove(const application_key& key, std::string_view role, const hello& h, const login& l,
            const welcome* w) noexcept {
  crypto_auth_hmacsha512256_state state;
  crypto_auth_hmacsha512256_init(&state, reinterpret_cast<const unsigned char*>(key.key.data()), key.key.size());
  take_in(state, std::as_bytes(std::span{role}));
  take_in(state, bytes_of(h));
  take_in(state, bytes_of(l).first(offsetof(login, proof)));
  if (w != nullptr) take_in(state, bytes_of(*w).first(offsetof(welcome, proof)));
  proof made;
  crypto_auth_hmacsha512256_final(&state, reinterpret_cast<unsigned char*>(made.data()));
  return made;
}

}  // namespace

void fill_random(std::span<std::byte> to) noexcept { randombytes_buf(to.data(), to.size()); }

bool same_secret(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

proof client_proof(const application_key& key, const hello& heard, const login& said) noexcept {
  return prove(key, "situ rmem client", heard, said, nullptr);
}
proof server_proof(const application_key& key, const hello& said, const login& heard,
                   const welcome& answered) noexcept {
  return prove(key, "situ rmem server", said, heard, &answered);
}

bool is_application_name(std::string_view name) noexcept {
  if (name.empty() || name.size() >= application_bytes) return false;
  for (const char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
          c == '-'))
      return false;
  return true;
}

}  // namespace situ::rmem::detail
