#!/usr/bin/env python3
"""check_layers.py SOURCE_DIR | --self-test: a module links and includes only modules that stand before it in CMakeLists.txt's list of layers.

Looks at the links of src/MODULE/CMakeLists.txt and at the includes of include/situ/MODULE and src/MODULE. src/preload stands beside all of them,
and links the C library alone: of their headers it includes only PRELOADED, which include none of the project.
Friends: a folder's CMakeLists.txt names the modules whose private headers its sources include, all of them and no others:
situ_module(... FRIEND_OF module...), or situ_friend_of(module...) for a part that is no module. The headers of base and os are for all.
APART are modules that link and include only these, though others stand before them. JOINS are headers of their own that join such a module with
others: no other file of a module includes them, and a program that does links both.
Prints file:line: what is above, and fails.
"""
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
import page_checks  # noqa: E402

APART = {name: {"base", "os", "machine", "pages"} for name in ("pim", "rmem", "stencil")}
JOINS = {"include/situ/rmem/fetch_async.h"}
PRELOADED = {"src/pages/room_ledger.h"}

LAYERS = re.compile(r"foreach\(module ([\w ]+)\)\s*\n\s*add_subdirectory\(src/\$\{module\}\)")
INCLUDE = re.compile(r'#include (?:<situ/(\w+)/|"(\w+)/)')
LINKED = re.compile(r"\bsitu::(\w+)\b")
PRIVATE_HEADER = re.compile(r'\s*#\s*include "((\w+)/[^"]+)"')
FRIENDS = re.compile(r"\bFRIEND_OF\s+([a-z_\s]+)|\bsitu_friend_of\(([a-z_\s]+)\)")
PARTS = ("src", "tools", "studies", "bench", "compat", "examples")
FOR_ALL = {"base", "os"}


def uses_of(name, line):
    """The modules that a line of a file links or includes."""
    if os.path.basename(name) == "CMakeLists.txt":
        return LINKED.findall(line.split("#")[0])
    match = INCLUDE.match(line.strip())
    return [match[1] or match[2]] if match else []


def list_of(root, path):
    """The CMakeLists.txt that names the friends of a source: its module's, else the next one above it."""
    parts = path.split("/")
    if parts[0] == "src":
        return f"src/{parts[1]}/CMakeLists.txt"
    folder = os.path.dirname(path)
    while folder and not os.path.exists(os.path.join(root, folder, "CMakeLists.txt")):
        folder = os.path.dirname(folder)
    return os.path.join(folder, "CMakeLists.txt")


def named_friends(root, path):
    if not os.path.exists(os.path.join(root, path)):
        return set()
    with open(os.path.join(root, path), encoding="utf-8") as file:
        text = "".join(line.split("#")[0] + "\n" for line in file)
    return {name for match in FRIENDS.finditer(text) for name in (match[1] or match[2]).split()}


def check_friends(root):
    """A folder names the modules whose private headers it includes, and no others."""
    found, used, lists = [], {}, set()
    for part in PARTS:
        for at, _, names in sorted(os.walk(os.path.join(root, part))):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(at, name), root)
                if name == "CMakeLists.txt":
                    lists.add(path)
                if not name.endswith((".h", ".cpp", ".inl")):
                    continue
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    for number, line in enumerate(file, 1):
                        header = PRIVATE_HEADER.match(line)
                        if not header or header[2] in FOR_ALL or path.startswith(f"src/{header[2]}/"):
                            continue
                        if not os.path.exists(os.path.join(root, "src", header[1])):
                            continue  # a folder of the tool's own, of that name
                        if path.startswith("src/preload/"):
                            continue  # see check_preload
                        names_it = list_of(root, path)
                        used.setdefault(names_it, set()).add(header[2])
                        if header[2] not in named_friends(root, names_it):
                            found.append(f"{path}:{number}: {names_it} names no friend {header[2]}, whose private header this includes")
    for path in sorted(lists):
        found += [f"{path}: it names {name} as a friend, and includes no private header of it"
                  for name in sorted(named_friends(root, path) - used.get(path, set()))]
    return found


def check(root):
    return check_layers(root) + check_friends(root)


def check_layers(root):
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
                    below = set(layers[:layers.index(module)])
                    allowed = below if path in JOINS else below & APART.get(module, below)
                    with open(os.path.join(root, path), encoding="utf-8") as file:
                        for number, line in enumerate(file, 1):
                            joined = [join for join in JOINS if join.removeprefix("include/") in line and line.startswith("#include")]
                            found += [f"{path}:{number}: it includes {join}, which joins two modules" for join in joined]
                            for used in sorted(set(uses_of(path, line)) & set(layers) - allowed - {module}):
                                found.append(f"{path}:{number}: {module} stands {'apart from' if used in below else 'below'} {used}")
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
            "CMakeLists.txt": "foreach(module base memory graph rmem)\n  add_subdirectory(src/${module})\nendforeach()\n",
            "include/situ/base/a.h": "#include <situ/base/b.h>\n#include <vector>\n",
            "include/situ/memory/a.h": '#include <situ/base/a.h>\n#include "graph/plan.h"\n',
            "src/memory/CMakeLists.txt": "situ_module(memory\n  LINKS situ::base situ::graph)  # not situ::graph\n",
            "src/graph/CMakeLists.txt": "situ_module(graph\n  LINKS situ::memory\n  FRIEND_OF memory  # not base\n    pages)\n",
            "src/graph/a.cpp": '#include "memory/job.h"\n#include <situ/rmem/fetch_async.h>\n',
            "src/preload/a.h": '#include "pages/room_ledger.h"\n#include "preload/control.h"\n#include "memory/job.h"\n',
            "src/pages/room_ledger.h": "#include <atomic>\n#include <situ/base/a.h>\n",
            "src/graph/parts/b.h": '#include "os/child.h"\n#include "graph/plan.h"\n',
            "src/graph/plan.h": "",
            "src/memory/job.h": "",
            "src/os/child.h": "",
            "src/rmem/link.h": '#include <situ/graph/at.h>\n#include <situ/base/a.h>\n#include "rmem/link.h"\n',
            "src/rmem/CMakeLists.txt": "situ_module(rmem APART\n  LINKS situ::memory)\n",
            "include/situ/rmem/fetch_async.h": "#include <situ/graph/at.h>\n",
            "tools/CMakeLists.txt": "situ_friend_of(graph rmem)\n",
            "tools/a/b.cpp": '#include "graph/plan.h"\n#include "memory/job.h"\n#include "rmem/bostan.h"\n',
        }
        for name, text in contents.items():
            os.makedirs(os.path.join(root, os.path.dirname(name)), exist_ok=True)
            with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                file.write(text)
        expected = ["include/situ/memory/a.h:2: memory stands below graph", "src/memory/CMakeLists.txt:2: memory stands below graph",
                    "src/graph/a.cpp:2: it includes include/situ/rmem/fetch_async.h, which joins two modules",
                    "src/graph/a.cpp:2: graph stands below rmem",
                    "src/rmem/CMakeLists.txt:2: rmem stands apart from memory", "src/rmem/link.h:1: rmem stands apart from graph",
                    "src/preload/a.h:3: src/preload can't have memory", "src/pages/room_ledger.h:2: src/preload can't have base",
                    "tools/a/b.cpp:2: tools/CMakeLists.txt names no friend memory, whose private header this includes",
                    "src/graph/CMakeLists.txt: it names pages as a friend, and includes no private header of it",
                    "tools/CMakeLists.txt: it names rmem as a friend, and includes no private header of it"]
        found = check(root)
        return [] if found == expected else ["expected:", *expected, "found:", *found]


page_checks.run(check, self_test)
