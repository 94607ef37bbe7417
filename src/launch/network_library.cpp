// libsitu_network.so: the code that uses UCX and PMIx, for programs that link neither (network.h).
#include <situ/version.h>

#include "cluster/ucx_wire.h"
#include "launch/network.h"
#include "launch/pmix.h"

namespace {

using namespace situ::detail::cluster;

constexpr network_functions functions{
    .version = SITU_VERSION,
    .make_wire = []() -> std::unique_ptr<network_wire> { return std::make_unique<ucx_wire>(); },
    .join_tasks = &join_pmix,
};

}  // namespace

__attribute__((visibility("default"))) const network_functions* situ_network_functions() noexcept { return &functions; }
