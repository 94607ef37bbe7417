// The paper's calls over one device for the process.
#include <bmem.h>

#include <situ/base/error.h>
#include <situ/pim/bmem.h>

#include <atomic>
#include <cerrno>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

namespace {

using situ::errc;
using situ::pim::bmem;
using situ::pim::dimension;

thread_local std::string last_error;
// Acquired by each call, which sees the device that another thread has made.
std::atomic<bmem*> device{nullptr};

int number_of(errc code) {
  switch (code) {
    case errc::bad_argument: return EINVAL;
    case errc::bad_address: return EFAULT;
    case errc::out_of_memory: return ENOMEM;
    default: return EIO;
  }
}

template <class Result>
Result fail(Result failed, int number, std::string_view why) {
  try {
    last_error = why;
  } catch (const std::bad_alloc&) {
    last_error.clear();  // no room for the sentence
  }
  errno = number;
  return failed;
}

// Returns call()'s result, or `failed`, with errno and the message set, if it throws.
template <class Result, class Call>
Result answer(Result failed, Call call) noexcept {
  try {
    return call();
  } catch (const situ::error& e) {
    return fail(failed, number_of(e.code()), e.message());
  } catch (const std::exception& e) {
    return fail(failed, ENOMEM, e.what());
  }
}

// Returns call(device)'s result, if there is a device.
template <class Result, class Call>
Result with_device(Result failed, Call call) noexcept {
  bmem* const here = device.load(std::memory_order_acquire);
  if (here == nullptr) return fail(failed, ENODEV, "bmem: there is no device: call bmem_init() first");
  return answer(failed, [&] { return call(*here); });
}

}  // namespace

extern "C" {

int bmem_init(unsigned rows, unsigned columns, unsigned subarrays, unsigned banks) {
  return answer(-1, [&] {
    auto made = std::make_unique<bmem>(
        situ::pim::geometry{.rows = rows, .columns = columns, .subarrays = subarrays, .banks = banks});
    bmem* none = nullptr;
    if (!device.compare_exchange_strong(none, made.get()))
      return fail(-1, EBUSY, "bmem: the process has a device: call bmem_dtor() first");
    (void)made.release();
    return 0;
  });
}

int bmem_dtor(void) {
  const std::unique_ptr<bmem> ended{device.exchange(nullptr)};
  return ended != nullptr ? 0
                          : fail(-1, ENODEV, "bmem: there is no device: bmem_dtor() ends that of bmem_init(), once");
}

void* bmem_malloc(size_t bytes, BMEM_DIM along) {
  return with_device<void*>(nullptr, [&](bmem& here) -> void* {
    if (along != HORI && along != VERT) return fail(nullptr, EINVAL, "bmem: the dimension is HORI or VERT");
    return here.allocate(bytes, along == HORI ? dimension::horizontal : dimension::vertical);
  });
}

void* bmem_malloc_raw(unsigned subarrays, unsigned rows) {
  return with_device<void*>(nullptr, [&](bmem& here) { return here.allocate_block(subarrays, rows); });
}

int bmem_free(void* block) {
  return with_device(-1, [&](bmem& here) {
    here.free(block);
    return 0;
  });
}

const char* bmem_error(void) { return last_error.c_str(); }

}  // extern "C"
