#!/usr/bin/env python3
"""check_links.py SOURCE_DIR | --self-test: whatever the documents and comments of the tree name by its path exists.

  links      [text](path#heading) in Markdown: the file, and the heading within it
  paths      docs/..., src/..., tests/... anywhere in Markdown outside code blocks, and in comments of sources
  files      graph/plan.h, plan.cpp, situ/fabric/rma.h: some file of the tree ends so
  names      `place_context::told_of` in comments, and in the documents but for decisions, results and notes, which name what is gone or
             others have: the code has each of its words

  pages      each page of docs/ is reached by links from docs/README.md, but for the pages that `situ bench` writes

Prints file:line: what is not there, and fails.
"""
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
import page_checks  # noqa: E402

SKIPPED = {"build", "install", ".git", ".cache"}
MARKED = (".md",)
SLASHES = (".h", ".cpp", ".inl", ".c")
HASHES = (".cmake", ".in", ".sh", ".awk", ".py", ".toml", "CMakeLists.txt", "Makefile", ".txt")
TOPS = "bench|cmake|compat|development|docs|examples|include|kernel|machines|src|tests|tools"
# What other projects, the reader's own programs and builds call their files.
FOREIGN = {"first.cpp", "count.cpp", "study.toml", "m.toml", "here.toml", "two.toml", "complex.h", "ops_dummy_singlenode.cpp", "SituConfig.cmake", "PREFIX.cpp", "OUT/NAME.md", "NAME.md"}

FOREIGN_NAMES = {"fallocate", "uN", "OPS_CPP_API"}
NAMED = re.compile(r"`[$~]?((?:[A-Za-z]\w*)(?:(?:::|\.)~?[A-Za-z]\w*)*)(?:\(\))?`")
UNCHECKED = ("docs/decisions/", "docs/results/", "development/", "CHANGELOG.md", "CONTRIBUTING.md")

LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(rf"(?<![\w./<$}}~-])(?:{TOPS})/[\w./*-]*[\w*]")
FILE = re.compile(r"(?<![\w./<*$}-])(?:[\w-]+/)*[\w-]+\.(?:h|cpp|inl|md|cmake|awk|toml)(?![\w/>*])")
HEADING = re.compile(r"#+ +(.*?) *$")


def files_of(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED)
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), root)


def prose_of(name, lines):
    """(line number, text) of what people read: Markdown without code blocks, comments of sources."""
    in_code = False
    for number, line in enumerate(lines, 1):
        if name.endswith(MARKED):
            if line.lstrip().startswith("```"):
                in_code = not in_code
            elif not in_code:
                yield number, line
        elif name.endswith(SLASHES):
            at = line.find("//")
            if at >= 0 and "://" not in line[at - 1 : at + 2]:
                yield number, line[at + 2 :]
        else:
            at = line.find("#")
            if at >= 0:
                yield number, line[at + 1 :]


def slug(heading):
    """The name by which GitHub links to a heading."""
    text = re.sub(r"`|\*|\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def headings_of(path):
    with open(path, encoding="utf-8") as file:
        return {slug(m[1]) for _, line in prose_of(".md", file.read().split("\n")) if (m := HEADING.match(line))}


def missing_links(root, name, line):
    for match in LINK.finditer(line):
        target, _, heading = match[1].partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        path = os.path.normpath(os.path.join(root, os.path.dirname(name), target)) if target else os.path.join(root, name)
        if not os.path.exists(path):
            yield match[1]
        elif heading and path.endswith(".md") and heading not in headings_of(path):
            yield match[1]


def pages_out_of_reach(root, names):
    index = "docs/README.md"
    reached, ahead = {index}, [index]
    while ahead:
        name = ahead.pop()
        if not os.path.exists(os.path.join(root, name)):
            continue
        with open(os.path.join(root, name), encoding="utf-8") as file:
            targets = [match[1].partition("#")[0] for match in LINK.finditer(file.read())]
        for target in targets:
            page = os.path.normpath(os.path.join(os.path.dirname(name), target))
            if page.endswith(MARKED) and page not in reached:
                reached.add(page)
                ahead.append(page)
    return [name for name in names if name.startswith("docs/") and name.endswith(MARKED) and name not in reached
            and not name.startswith("docs/results/")]


def missing_paths(root, name, text, ends):
    text = LINK.sub("]", text)
    for match in PATH.finditer(text):
        path = match[0].rstrip(".")
        if "*" not in path and not os.path.exists(os.path.join(root, path)):
            if not os.path.exists(os.path.join(root, os.path.dirname(name), path)):
                yield path
    for match in FILE.finditer(text):
        path = match[0]
        if path in FOREIGN or path.split("/")[0] in TOPS.split("|"):
            continue
        if path not in ends:
            yield path


def missing_names(text, words):
    for match in NAMED.finditer(text):
        if match[1] not in FOREIGN_NAMES and not FILE.fullmatch(match[1]) and not match[1].endswith("_"):
            if any(word not in words for word in re.findall(r"\w+", match[1])):
                yield match[1]


def words_of(root, names):
    """All words of the code, without its comments."""
    words = set()
    for name in names:
        if name.endswith((*SLASHES, *HASHES, ".patch", ".config")) and not name.endswith("check_links.py"):
            with open(os.path.join(root, name), encoding="utf-8") as file:
                text = file.read()
            words.update(re.findall(r"\w+", re.sub(r"//[^\n]*", "", text) if name.endswith(SLASHES) else text))
    return words


def check(root):
    names = list(files_of(root))
    words = words_of(root, names)
    ends = set()  # of each path every end, from the whole to the name alone; without detail/ as well, since a module's headers are named without it
    for name in names:
        for parts in (name.split("/"), [p for p in name.split("/") if p != "detail"]):
            ends.update("/".join(parts[i:]) for i in range(len(parts)))
    found = []
    for name in names:
        if not name.endswith(MARKED + SLASHES + HASHES) or any(f"/{data}/" in name for data in ("fixtures", "corpus", "golden")):
            continue
        with open(os.path.join(root, name), encoding="utf-8") as file:
            lines = file.read().split("\n")
        for number, text in prose_of(name, lines):
            wrong = list(missing_links(root, name, text)) if name.endswith(MARKED) else []
            wrong += missing_paths(root, name, text, ends)
            if not name.startswith(UNCHECKED):
                wrong += missing_names(text, words)
            found += [f"{name}:{number}: there is no {what}" for what in wrong]
    return found + [f"{name}:1: no link leads here from docs/README.md" for name in pages_out_of_reach(root, names)]


def self_test():
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "docs"))
        os.makedirs(os.path.join(root, "src/graph"))
        contents = {
            "docs/a.md": "# One `f`, two\n[b](b.md) [c](c.md) [h](#one-f-two) [x](#no-such)\n`src/graph/plan.h`\n"
            "src/graph/gone.h\n```\ndocs/in_code.md\n```\n",
            "docs/README.md": "[a](a.md)\n",
            "docs/lost.md": "nobody links here\n",
            "docs/b.md": "[a](a.md#one-f-two)\n[a](a.md#two)\n",
            "src/graph/plan.h": "// docs/a.md, docs/z.md, graph/plan.h, plan.cpp\n#include <no/such.h>\n"
            "int f;  // `f()`, `f::g`, `n > 0`\n",
        }
        for name, text in contents.items():
            with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                file.write(text)
        expected = [
            "docs/a.md:2: there is no c.md",
            "docs/a.md:2: there is no #no-such",
            "docs/a.md:4: there is no src/graph/gone.h",
            "docs/b.md:2: there is no a.md#two",
            "src/graph/plan.h:1: there is no docs/z.md",
            "src/graph/plan.h:1: there is no plan.cpp",
            "src/graph/plan.h:3: there is no f::g",
            "docs/lost.md:1: no link leads here from docs/README.md",
        ]
        found = check(root)
        return [] if found == expected else ["expected:", *expected, "found:", *found]


page_checks.run(check, self_test)
