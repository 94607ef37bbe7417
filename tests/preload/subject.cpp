// A program that knows nothing of Situ: does one thing with memory, threads, children or signals, as its argument says,
// and prints what came of it, the same with and without libsitu_intent.so. It forks and starts programs by itself, as any
// program does.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dirent.h>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

void touch(void* memory, std::size_t bytes, int value = 1) {
  for (std::size_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(memory)[at] = static_cast<char>(value);
}

void pause_ms(long ms) {
  timespec time{ms / 1000, ms % 1000 * 1'000'000};
  while (nanosleep(&time, &time) != 0 && errno == EINTR) {}
}

std::uint64_t kilobytes_of(const char* key) {
  std::uint64_t value = 0;
  std::FILE* const file = std::fopen("/proc/self/status", "re");
  for (char line[256]; std::fgets(line, sizeof line, file) != nullptr;)
    if (std::strncmp(line, key, std::strlen(key)) == 0) value = std::strtoull(line + std::strlen(key), nullptr, 10);
  std::fclose(file);
  return value;
}

int mallocs() {
  std::uint64_t seed = 1;
  std::uint64_t sum = 0;
  std::vector<std::pair<unsigned char*, std::size_t>> blocks;
  const auto random = [&seed] { return (seed = seed * 6364136223846793005 + 1442695040888963407) >> 33; };
  for (int i = 0; i < 3000; ++i) {
    const std::size_t bytes = 1 + random() % (std::size_t{1} << random() % 23);
    const std::size_t alignment = std::size_t{16} << random() % 12;
    void* made = nullptr;
    switch (random() % 6) {
      case 0: made = std::malloc(bytes); break;
      case 1: made = std::calloc(bytes / 8 + 1, 8); break;
      case 2: made = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment); break;
      case 3: made = posix_memalign(&made, alignment, bytes) == 0 ? made : nullptr; break;
      case 4: made = memalign(alignment, bytes); break;
      case 5: made = ::operator new(bytes); break;
    }
    if (made == nullptr || malloc_usable_size(made) < bytes) return 1;
    std::memset(made, i, bytes);
    blocks.emplace_back(static_cast<unsigned char*>(made), bytes);
    if (random() % 3 == 0) {
      auto& [old, had] = blocks[random() % blocks.size()];
      const unsigned char first = old[0];
      old = static_cast<unsigned char*>(std::realloc(old, had * 2));
      if (old == nullptr || old[0] != first || old[had - 1] != first) return 2;
      std::memset(old, first, had *= 2);
    }
    if (random() % 2 == 0) {
      const std::size_t gone = random() % blocks.size();
      sum += blocks[gone].first[blocks[gone].second / 2];
      std::free(blocks[gone].first);
      blocks[gone] = blocks.back();
      blocks.pop_back();
    }
  }
  auto* const zeros = static_cast<char*>(std::calloc(40, mib));
  for (std::size_t at = 0; at < 40 * mib; ++at) sum += static_cast<unsigned char>(zeros[at]);
  std::printf("sum %llu of %zu\n", static_cast<unsigned long long>(sum), blocks.size());
  return 0;
}

int maps() {
  auto* memory =
      static_cast<char*>(mmap(nullptr, 32 * mib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  touch(memory, 32 * mib, 7);
  memory = static_cast<char*>(mremap(memory, 32 * mib, 64 * mib, MREMAP_MAYMOVE));
  if (memory == MAP_FAILED || memory[31 * mib] != 7 || memory[63 * mib] != 0) return 1;
  touch(memory, 64 * mib, 8);
  if (madvise(memory, 16 * mib, MADV_DONTNEED) != 0 || memory[0] != 0 || memory[16 * mib] != 8) return 2;
  if (munmap(memory + 8 * mib, 8 * mib) != 0 || munmap(memory, 8 * mib) != 0) return 3;
  if (mprotect(memory + 16 * mib, mib, PROT_READ) != 0 || memory[16 * mib] != 8) return 4;
  pause_ms(20);
  std::printf("maps: %d %d\n", memory[17 * mib], memory[63 * mib]);
  return 0;
}

int reservations() {
  constexpr std::size_t tib = std::size_t{1} << 40;
  auto* const none =
      static_cast<char*>(mmap(nullptr, tib, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  auto* const writable = static_cast<char*>(
      mmap(nullptr, tib / 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (none == MAP_FAILED || writable == MAP_FAILED) return 1;
  if (mprotect(none + tib / 2, 8 * mib, PROT_READ | PROT_WRITE) != 0) return 2;
  touch(none + tib / 2, 8 * mib);
  touch(writable + tib / 32, 8 * mib);
  pause_ms(100);
  std::printf("resident below 40 MiB: %d\n", kilobytes_of("VmRSS:") < 40 << 10);
  return 0;
}

int forks() {
  std::vector<char> data(20 * mib, 3);
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      touch(data.data(), data.size() / 2, i);
      std::vector<char> more(4 * mib, 1);
      pause_ms(5);
      _exit(data[0] == i && data.back() == 3 && more[mib] == 1 ? i : 99);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != i || data[0] != 3) return 1;
  }
  if (const pid_t child = fork(); child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) std::exit(5);
    int status = 0;
    waitpid(grandchild, &status, 0);
    std::exit(WEXITSTATUS(status) + 1);
  } else {
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("forks: %d\n", WEXITSTATUS(status));
  }
  return 0;
}

int spawns() {
  char name[] = "/bin/sh";
  char option[] = "-c";
  char script[] = "exit 7";
  char* const arguments[] = {name, option, script, nullptr};
  int sum = 0;
  for (int i = 0; i < 10; ++i) {
    pid_t child = 0;
    if (posix_spawn(&child, name, nullptr, nullptr, arguments, environ) != 0) return 1;
    int status = 0;
    waitpid(child, &status, 0);
    sum += WEXITSTATUS(status);
    const pid_t other = vfork();
    if (other == 0) {
      execv(name, arguments);
      _exit(1);
    }
    waitpid(other, &status, 0);
    sum += WEXITSTATUS(status);
  }
  std::printf("spawns: %d %d\n", sum, WEXITSTATUS(std::system("exit 4")));
  return 0;
}

int threads() {
  const auto body = [](void* bytes) -> void* {
    std::vector<char> mine(reinterpret_cast<std::size_t>(bytes), 1);
    touch(mine.data(), mine.size());
    return mine.data() + 1;
  };
  for (int round = 0; round < 20; ++round) {
    pthread_t started[8];
    for (std::size_t i = 0; i < 8; ++i)
      if (pthread_create(&started[i], nullptr, body, reinterpret_cast<void*>(i * mib / 4 + 1)) != 0) return 1;
    for (pthread_t each : started) pthread_join(each, nullptr);
  }
  std::puts("threads");
  return 0;
}

// The last thread of a process ends it, though it is not the first one.
int last_thread() {
  pthread_t other;
  const auto body = [](void*) -> void* {
    pause_ms(30);
    std::puts("the last thread");
    std::fflush(stdout);
    return nullptr;
  };
  pthread_create(&other, nullptr, body, nullptr);
  pthread_detach(other);
  pthread_exit(nullptr);
}

// Argument 2: MiB that it gets, and once more after the first thread has left.
int last_thread_fills(char** argv) {
  static std::size_t bytes = 0;
  bytes = static_cast<std::size_t>(std::atoi(argv[2])) * mib;
  static const auto fill_more = [] {
    touch(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), bytes);
    pause_ms(100);
  };
  fill_more();
  pthread_t other;
  const auto body = [](void*) -> void* {
    pause_ms(300);
    fill_more();
    return nullptr;
  };
  pthread_create(&other, nullptr, body, nullptr);
  pthread_detach(other);
  pthread_exit(nullptr);
}

int modules() {
  void* const module = dlopen("libm.so.6", RTLD_NOW);
  if (module == nullptr) return 1;
  const auto cosine = reinterpret_cast<double (*)(double)>(dlsym(module, "cos"));
  std::printf("cos %.3f\n", cosine(0.5));
  return dlclose(module);
}

int signals() {
  static volatile sig_atomic_t alarms = 0;
  struct sigaction action{};
  action.sa_handler = [](int) { alarms = alarms + 1; };
  sigaction(SIGALRM, &action, nullptr);
  const itimerval once{{0, 0}, {0, 20000}};
  setitimer(ITIMER_REAL, &once, nullptr);
  const timespec time{2, 0};
  const int slept = nanosleep(&time, nullptr);  // interrupted by that signal, and by no other
  std::printf("interrupted %d, alarms %d\n", slept != 0 && errno == EINTR, static_cast<int>(alarms));
  // One sent to the process while all its threads block it waits for sigwait: nobody else takes it.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  kill(getpid(), SIGUSR1);
  pause_ms(20);
  int got = 0;
  sigwait(&set, &got);
  std::printf("waited for %d, children to wait for: %d\n", got == SIGUSR1, wait(nullptr) == -1 && errno == ECHILD);
  return 0;
}

int descriptors() {
  int open_ones = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++open_ones;
  closedir(folder);
  int wrong = 0;
  for (int i = 0; i < 20000; ++i) {  // what is free is taken by who asks, and nobody comes between
    close(STDIN_FILENO);
    wrong += open("/dev/null", O_RDONLY | O_CLOEXEC) != STDIN_FILENO ? 1 : 0;
  }
  int ends[2];
  if (pipe(ends) != 0) return 1;
  pause_ms(20);
  close(ends[1]);
  char none = 0;
  std::printf("descriptors %d, wrong %d, end of pipe %d\n", open_ones, wrong, read(ends[0], &none, 1) == 0);
  return 0;
}

// All threads of the process have the user that it has become.
int rights() {
  if (getuid() != 0) return 77;
  if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) return 1;
  int others = 0;
  DIR* const folder = opendir("/proc/self/task");
  for (const dirent* entry = nullptr; (entry = readdir(folder)) != nullptr;) {
    std::FILE* const file = std::fopen((std::string{"/proc/self/task/"} + entry->d_name + "/status").c_str(), "re");
    if (file == nullptr) continue;
    for (char line[256]; std::fgets(line, sizeof line, file) != nullptr;)
      if (std::strncmp(line, "Uid:", 4) == 0 && std::strcmp(line, "Uid:\t65534\t65534\t65534\t65534\n") != 0) ++others;
    std::fclose(file);
  }
  closedir(folder);
  std::printf("threads of another user: %d, root again: %d\n", others, setuid(0) == 0);
  return 0;
}

int namespaces() {
  const int made = unshare(CLONE_NEWUSER);
  std::printf("a user namespace: %d %d\n", made, made == 0 ? 0 : errno);
  return 0;
}

// Argument 2: MiB to touch; 3: how often, each time after giving it back.
int fill(int argc, char** argv) {
  const std::size_t bytes = static_cast<std::size_t>(std::atoi(argv[2])) * mib;
  const int times = argc > 3 ? std::atoi(argv[3]) : 1;
  for (int i = 0; i < times; ++i) {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    touch(memory, bytes);
    pause_ms(60);
    munmap(memory, bytes);
    pause_ms(60);
  }
  std::puts("filled");
  return 0;
}

int hold_for(int ms) {
  std::puts("touched");
  std::fflush(stdout);
  pause_ms(ms);
  std::puts("held");
  return 0;
}

// Argument 2: MiB to touch, by malloc; then it holds them for argument 3 milliseconds.
int hold(char** argv) {
  const std::size_t bytes = static_cast<std::size_t>(std::atoi(argv[2])) * mib;
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) return 1;
  touch(memory, bytes);
  return hold_for(std::atoi(argv[3]));
}

// Many small blocks, by the heap: argument 2 millions of them; held for argument 3 milliseconds.
int hold_small(char** argv) {
  for (int i = 0; i < std::atoi(argv[2]) * 1'000'000; ++i) static_cast<char*>(std::malloc(100))[0] = 1;
  return hold_for(std::atoi(argv[3]));
}

// A million small blocks, by the heap.
int small() {
  std::uint64_t sum = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    auto* const block = static_cast<char*>(std::malloc(static_cast<std::size_t>(24 + i % 64)));
    block[0] = static_cast<char>(i);
    sum += static_cast<unsigned char>(block[0]);
  }
  std::printf("small %llu\n", static_cast<unsigned long long>(sum));
  return 0;
}

// Asks for more and more until it gets no more; argument 2: MiB at most.
int greedy(char** argv) {
  const int most = std::atoi(argv[2]);
  int got = 0;
  for (; got < most; ++got) {
    void* const memory = mmap(nullptr, mib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) break;
    touch(memory, mib);
    pause_ms(2);
  }
  std::printf("%s\n", got == most ? "got all" : errno == ENOMEM ? "refused" : "failed");
  return 0;
}

void say_limit(const char* whose) {
  rlimit limit{};
  getrlimit(RLIMIT_DATA, &limit);
  std::printf("%s %llu KiB\n", whose, static_cast<unsigned long long>(limit.rlim_cur >> 10));
  std::fflush(stdout);
}

// With a data limit of its own, it asks until it gets no more: the limit of its children, and its own later.
int limits() {
  const rlimit own{std::size_t{1} << 30, RLIM_INFINITY};
  if (setrlimit(RLIMIT_DATA, &own) != 0) return 1;
  const auto map = [](std::size_t bytes) {
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  };
  void* const spare = map(8 * mib);  // for what starting a child takes
  std::vector<void*> got;
  for (void* each = map(mib); each != MAP_FAILED && got.size() < 200; each = map(mib)) {
    touch(each, mib);
    got.push_back(each);
    pause_ms(2);
  }
  std::printf("refused %d\n", got.size() < 200);
  std::fflush(stdout);
  munmap(spare, 8 * mib);
  const pid_t child = fork();
  if (child == 0) {
    say_limit("forked");
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  if (std::system("echo started $(ulimit -d) KiB") != 0) return 2;
  for (void* each : got) munmap(each, mib);
  pause_ms(300);
  say_limit("later");
  return 0;
}

bool bind_to_node_0() {
  const unsigned long nodes = 1;
  return syscall(SYS_set_mempolicy, MPOL_BIND, &nodes, 8 * sizeof nodes) == 0;
}

// Binds itself to node 0, and becomes what the other arguments say.
int bound(char** argv) {
  if (!bind_to_node_0()) return 77;
  argv[1] = argv[0];
  execv(argv[0], argv + 1);
  return 1;
}

int say_policy(const char* whose) {
  std::free(std::malloc(1));  // whoever has to hear of something does so now
  int mode = -1;
  syscall(SYS_get_mempolicy, &mode, nullptr, 0, nullptr, 0);
  std::printf("%s bound: %d\n", whose, mode == MPOL_BIND);
  std::fflush(stdout);
  return 0;
}

// The policy of a thread is inherited by all that it starts.
int own_policy(char** argv) {
  if (!bind_to_node_0()) return 77;
  pthread_t other;
  const auto body = [](void*) -> void* {
    say_policy("thread");
    return nullptr;
  };
  if (pthread_create(&other, nullptr, body, nullptr) != 0 || pthread_join(other, nullptr) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) _exit(say_policy("forked"));
  waitpid(child, nullptr, 0);
  if (std::system((std::string{argv[0]} + " say_policy").c_str()) != 0) return 2;
  say_policy("first");
  char become[] = "say_policy";
  argv[1] = become;
  execv(argv[0], argv);
  return 3;
}

// Children that have memory at one time: argument 2 of them, argument 3 MiB each.
int family(char** argv) {
  const int count = std::atoi(argv[2]);
  int filled[2];
  int go_on[2];
  if (pipe(filled) != 0 || pipe(go_on) != 0) return 1;
  char byte = 0;
  for (int i = 0; i < count; ++i)
    if (fork() == 0) {
      close(go_on[1]);
      std::vector<char> mine(static_cast<std::size_t>(std::atoi(argv[3])) * mib, 1);
      const bool is_told = write(filled[1], &byte, 1) == 1 && read(go_on[0], &byte, 1) == 0;
      _exit(is_told && mine[mine.size() / 2] == 1 ? 0 : 1);
    }
  for (int i = 0; i < count; ++i)
    if (read(filled[0], &byte, 1) != 1) return 2;
  pause_ms(400);
  close(go_on[1]);
  int bad = 0;
  for (int i = 0; i < count; ++i) {
    int status = 0;
    wait(&status);
    bad += status != 0 ? 1 : 0;
  }
  std::printf("family: %d failed\n", bad);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int at_begin = errno;
  const std::string what = argc > 1 ? argv[1] : "";
  if (at_begin != 0) return 90;
  if (what == "mallocs") return mallocs();
  if (what == "maps") return maps();
  if (what == "reservations") return reservations();
  if (what == "forks") return forks();
  if (what == "spawns") return spawns();
  if (what == "threads") return threads();
  if (what == "last_thread") return last_thread();
  if (what == "last_thread_fills") return last_thread_fills(argv);
  if (what == "modules") return modules();
  if (what == "signals") return signals();
  if (what == "descriptors") return descriptors();
  if (what == "rights") return rights();
  if (what == "namespaces") return namespaces();
  if (what == "small") return small();
  if (what == "fill") return fill(argc, argv);
  if (what == "hold") return hold(argv);
  if (what == "hold_small") return hold_small(argv);
  if (what == "greedy") return greedy(argv);
  if (what == "limits") return limits();
  if (what == "bound") return bound(argv);
  if (what == "say_policy") return say_policy("program");
  if (what == "own_policy") return own_policy(argv);
  if (what == "family") return family(argv);
  if (what == "exit") return std::atoi(argv[2]);
  if (what == "signal") return raise(std::atoi(argv[2]));
  if (what == "sleep") return sleep(100);
  return 91;
}
