// The raw limit of a small transaction that survives the machine: 64 bytes written in place, and one fdatasync.
#include "subject.h"

#include <fcntl.h>
#include <unistd.h>

namespace {
using namespace pool_bench;

outcome run(const order& what) {
  if (what.what != "small_machine") fail("no case " + what.what);
  const int file = ::open(what.file("small").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  const std::vector<record> zeroes(record_count);
  if (file < 0 || ::pwrite(file, zeroes.data(), record_count * sizeof(record), 0) < 0 || ::fsync(file) != 0)
    fail("cannot write " + what.file("small"));
  return time_updates(
      what.size,
      [&](std::size_t index, const record& value) {
        if (::pwrite(file, &value, sizeof value, static_cast<off_t>(index * sizeof value)) != sizeof value ||
            ::fdatasync(file) != 0)
          fail("cannot write");
      },
      [&](std::size_t index) {
        record there{};
        if (::pread(file, &there, sizeof there, static_cast<off_t>(index * sizeof there)) != sizeof there) fail("read");
        return there;
      });
}

}  // namespace

int main(int argc, char** argv) { return main_of_subject(argc, argv, run); }
