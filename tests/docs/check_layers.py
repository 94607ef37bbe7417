#!/usr/bin/env python3
"""check_layers.py SOURCE_DIR | --self-test: a module links and includes only modules that stand before it in CMakeLists.txt's list of layers.

Looks at the links of src/MODULE/CMakeLists.txt and at the includes of include/situ/MODULE and src/MODULE. src/preload stands beside all of them,
and links the C library alone: of their headers it includes only PRELOADED, which include none of the project.
JOINS are headers of their own that join two modules: no other header of the module includes them, and a program that does links both.
Prints file:line: what is above, and fails.
"""
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
import page_checks  # noqa: E402

JOINS = {"include/situ/rmem/fetch_async.h"}
PRELOADED = {"src/pages/room_ledger.h"}

LAYERS = re.compile(r"foreach\(module ([\w ]+)\)\s*\n\s*add_subdirectory\(src/\$\{module\}\)")
INCLUDE = re.compile(r'#include (?:<situ/(\w+)/|"(\w+)/)')
LINKED = re.compile(r"\bsitu::(\w+)\b")


def uses_of(name, line):
    """The modules that a line of a file links or includes."""
    if os.path.basename(name) == "CMakeLists.txt":
        return LINKED.findall(line.split("#")[0])
    match = INCLUDE.match(line.strip())
    return [match[1] or match[2]] if match else []


def check(root):
    with open(os.path.join(root, "CMakeLists.txt"), encoding="utf-8") as file:
        layers = LAYERS.search(file.read())[1].split()
    found = []
    for module in layers:
        for folder in (f"include/situ/{module}", f"src/{module}"):
            for at, _, names in sorted(os.walk(os.path.join(root, folder))):
                for name in sorted(names):
                    if not name.endswith((".h", ".cpp", ".inl", "CMakeLists.txt")):
                        continue
                    path = os.path.relpath(os.path.join(at, name), root)
                    if path in JOINS:
                        continue
                    with open(os.path.join(root, path), encoding="utf-8") as file:
                        for number, line in enumerate(file, 1):
                            joined = [join for join in JOINS if join.removeprefix("include/") in line and line.startswith("#include")]
                            found += [f"{path}:{number}: it includes {join}, which joins two modules" for join in joined]
                            found += [f"{path}:{number}: {module} stands below {used}" for used in uses_of(path, line)
                                      if used in layers and layers.index(used) > layers.index(module)]
    return found + check_preload(root, layers)


def check_preload(root, layers):
    found = []
    folder = os.path.join(root, "src/preload")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for path in [f"src/preload/{name}" for name in names] + sorted(PRELOADED):
        if not os.path.exists(os.path.join(root, path)):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if path not in PRELOADED and any(f'#include "{header.removeprefix("src/")}"' in line for header in PRELOADED):
                    continue
                found += [f"{path}:{number}: src/preload can't have {used}" for used in uses_of(path, line) if used in layers]
    return found


def self_test():
    with tempfile.TemporaryDirectory() as root:
        contents = {
            "CMakeLists.txt": "foreach(module base memory graph)\n  add_subdirectory(src/${module})\nendforeach()\n",
            "include/situ/base/a.h": "#include <situ/base/b.h>\n#include <vector>\n",
            "include/situ/memory/a.h": '#include <situ/base/a.h>\n#include "graph/plan.h"\n',
            "src/memory/CMakeLists.txt": "situ_module(memory\n  LINKS situ::base situ::graph)  # not situ::graph\n",
            "src/graph/a.cpp": '#include "memory/job.h"\n#include <situ/rmem/fetch_async.h>\n',
            "src/preload/a.h": '#include "pages/room_ledger.h"\n#include "preload/control.h"\n#include "memory/job.h"\n',
            "src/pages/room_ledger.h": "#include <atomic>\n#include <situ/base/a.h>\n",
        }
        for name, text in contents.items():
            os.makedirs(os.path.join(root, os.path.dirname(name)), exist_ok=True)
            with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                file.write(text)
        expected = ["include/situ/memory/a.h:2: memory stands below graph", "src/memory/CMakeLists.txt:2: memory stands below graph",
                    "src/graph/a.cpp:2: it includes include/situ/rmem/fetch_async.h, which joins two modules",
                    "src/preload/a.h:3: src/preload can't have memory", "src/pages/room_ledger.h:2: src/preload can't have base"]
        found = check(root)
        return [] if found == expected else ["expected:", *expected, "found:", *found]


page_checks.run(check, self_test)
