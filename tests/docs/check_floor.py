#!/usr/bin/env python3
"""check_floor.py SOURCE_DIR | --self-test: how much of the house stands beside its one floor (ARCHITECTURE.md, layers). It counts

  calls      of the operating system's primitives (NAMES, SHARED) outside src/os and src/preload, which stands beside all modules
  crossings  includes of a module's private header from another module, a tool, a study, a bench or an example; base and os are for all
  long       sources of more than LONG lines

and prints them, with the files that have the most. None may rise above its bound in floor.txt; a commit that lowers a count lowers the bound.
A line of floor.txt that begins with `except` names a file whose calls stay, their number and the reason: they are counted apart. The number must
be that of the file, so that the line goes when the calls do, and no further call hides behind the reason.
"""
import collections
import contextlib
import io
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True

FOLDERS = ("src", "tools", "studies", "bench", "compat", "examples")
LONG = 600
FLOOR = ("src/os", "src/preload")
FOR_ALL = {"base", "os"}
NAMES = ("dup2 exec[lv]p?e? fork memfd_create mmap mprotect mremap munmap pipe2? popen posix_spawnp? pthread_sigmask recvmsg sendmsg sigaction signalfd "
         "sigprocmask socketpair vfork waitid waitpid").replace(" ", "|")
# Names that our own functions have, too: counted if they are qualified (::close), as all calls of the system are here.
SHARED = "accept4?|bind|close|listen|signal|socket|system"
STANDARD = "signal|system"  # which the standard library has by its own namespace
# Neither a member's (file.close) nor another namespace's.
CALL = re.compile(rf"(?:^|[^\w.>:])(?:(?:::)?(?:{NAMES})|::(?:{SHARED})|std::(?:{STANDARD}))\(")
INCLUDE = re.compile(r'\s*#include "((\w+)/[^"]+)"')
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


def sources(root, folders=FOLDERS):
    for folder in folders:
        for at, _, names in sorted(os.walk(os.path.join(root, folder))):
            for name in sorted(names):
                if name.endswith((".h", ".cpp", ".inl")):
                    yield os.path.relpath(os.path.join(at, name), root)


def module_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" else parts[0]


def count(root):
    modules = {name for name in os.listdir(os.path.join(root, "src")) if os.path.isdir(os.path.join(root, "src", name))}
    calls, crossings = collections.Counter(), collections.Counter()
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for line in file:
                include = INCLUDE.match(line)
                if include:
                    used = include[2]
                    private = os.path.exists(os.path.join(root, "src", include[1]))  # else a header of its own folder of that name
                    crossings[path] += used in modules and used not in FOR_ALL and used != module_of(path) and private
                    continue
                code = TEXT.sub('""', line.split("//")[0])
                if not path.startswith(FLOOR):
                    calls[path] += len(CALL.findall(code))
    return calls, crossings


def count_long(root):
    long = collections.Counter()
    for path in sources(root, (*FOLDERS, "include")):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            long[path] = int(sum(1 for _ in file) > LONG)
    return long


# Returns the bounds by their names, the exceptions (file: number of calls), and what is wrong with the lines.
def read_floor(root):
    bound, exceptions, mistakes = {}, {}, []
    with open(os.path.join(root, "tests/docs/floor.txt"), encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if not words or line.startswith("#"):
                continue
            if words[0] != "except":
                bound[words[0]] = int(words[1])
            elif len(words) < 4 or not words[2].isdigit() or int(words[2]) == 0:
                mistakes.append(f"no `except PATH COUNT reason`: {line.strip()}")
            elif words[1] in exceptions:
                mistakes.append(f"{words[1]} is named twice")
            else:
                exceptions[words[1]] = int(words[2])
    return bound, exceptions, mistakes


# Takes the exceptions' calls out of the counts; returns their sum, and the files whose number is another one.
def take_exceptions(calls, exceptions):
    mistakes = [f"{path} has {calls[path]} calls, and not the {number} of its reason" for path, number in exceptions.items() if calls[path] != number]
    return sum(calls.pop(path, 0) for path in exceptions), mistakes


def check(root, is_long):
    bound, exceptions, mistakes = read_floor(root)
    calls, crossings = count(root)
    excepted, wrong = take_exceptions(calls, exceptions)
    for each in mistakes + wrong:
        print(f"floor: tests/docs/floor.txt: {each}")
    failed = bool(mistakes + wrong)
    for name, counted, what in (("calls", calls, "calls of the operating system outside src/os"),
                                ("crossings", crossings, "includes of other modules' private headers"),
                                ("long", count_long(root), f"sources of more than {LONG} lines")):
        total = sum(counted.values())
        apart = f", and {excepted} in {len(exceptions)} files with a reason" if name == "calls" and exceptions else ""
        print(f"floor: {total} {what}, in {sum(1 for each in counted.values() if each)} files (at most {bound[name]}){apart}")
        if is_long or total > bound[name]:
            for path, times in counted.most_common(None if is_long else 10):
                if times:
                    print(f"  {times:4} {path}")
        if total > bound[name]:
            print(f"floor: {name} rise above the bound in tests/docs/floor.txt: ask src/os, or a module's public headers, or cut a source in two")
            failed = True
    return failed


def self_test():
    files = {
        "src/os/child.cpp": "::fork();\n",
        "src/preload/hooks.cpp": "::mmap(0);\n",
        "src/pool/pool.cpp": '#include "os/worker.h"\n#include "pool/pool_file.h"\n#include "memory/job.h"\n'
                             "::close(a); fork();  // ::close(c)\nclose(b);\nfile.close(); each->close(); log(\"::close(d)\"); other::close(e);\nvoid close();\n"
                             "std::bind(f); mine::system(a);\n",
        "tools/a.cpp": '#include "memory/job.h"\n#include "memory/places_fixture.h"\n#include "command/command_line.h"\nif (::fork() == 0) ::execve(a);\n',
        "tools/b.cpp": "if (std::system(a) != 0) std::signal(SIGINT, SIG_IGN);\n",
        "src/memory/job.h": "",
        "include/situ/task/a.h": "\n" * LONG,
        "bench/a.h": "\n" * (LONG + 1),
        "tests/docs/floor.txt": "calls 6\ncrossings 2\nlong 1\nexcept tools/a.cpp 2 It shows\texec.\n# calls 5\n",
    }
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(name)), exist_ok=True)
            with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                file.write(text)
        calls, crossings = count(root)
        long = +count_long(root)
        floor = read_floor(root)
        passed = {}
        for lines in ("", "except tools/a.cpp 1 Fewer.", "except tools/a.cpp 3 More.", "except tools/c.cpp 1 Gone.", "except tools/a.cpp 2", "except tools/a.cpp two calls.",
                      "except tools/a.cpp 0 None.", "except tools/a.cpp 2 Once.\nexcept tools/a.cpp 2 Twice.", "except tools/a.cpp 2 Right.",
                      "except tools/a.cpp 2 Right.\nlong 0", "except tools/a.cpp 2 Right.\nexcept src/pool/pool.cpp 2 Too."):
            with open(os.path.join(root, "tests/docs/floor.txt"), "w", encoding="utf-8") as file:
                file.write(f"calls 4\ncrossings 2\nlong 1\n{lines}\n")
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                passed[lines] = not check(root, False)
            last = printed.getvalue()
    expected = {"src/pool/pool.cpp": 2, "tools/a.cpp": 2, "tools/b.cpp": 2}, {"src/pool/pool.cpp": 1, "tools/a.cpp": 1}
    found = {path: n for path, n in calls.items() if n}, {path: n for path, n in crossings.items() if n}
    wrong = found != expected or dict(long) != {"bench/a.h": 1}
    wrong |= floor != ({"calls": 6, "crossings": 2, "long": 1}, {"tools/a.cpp": 2}, [])
    wrong |= [lines for lines, is_passed in passed.items() if is_passed] != [list(passed)[-3], list(passed)[-1]]
    wrong |= "floor: 2 calls of the operating system outside src/os, in 1 files (at most 4), and 4 in 2 files with a reason\n" not in last
    if wrong:
        print("expected:", expected, "found:", found, floor, passed, last, sep="\n")
    return wrong


sys.exit(self_test() if sys.argv[1:] == ["--self-test"] else check(sys.argv[1], "--all" in sys.argv[2:]))
