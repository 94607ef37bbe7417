#!/usr/bin/env python3
"""check_claims.py SOURCE_DIR | --self-test: what the pages say of Situ's state is held by tests, by the list tests/docs/claims.txt.

A line of the list that is not indented begins with "== " and names a page, or is a claim: a distinctive part of a sentence of that page, as it
reads without links and emphasis, wherever its lines break. The indented line below names its tests, by blanks:

  Suite.case        a case of GoogleTest in tests/, or of a class of Python's unittest: Run.test_exit_codes
  name              a test of ctest, or of a folder's list of names: compile_fail.at_private_field, hosts.bodies, faults.some
  runs, compiles    the page's own programs are run by tests and print what it says; its snippets are compiled

It finds, and fails:

  claims  that are not on their page any more
  tests   that do not exist
  pages   of PAGES without a claim, points of README's limits and of SECURITY's model without one, and sentences that say that something is not
          there (MISSING) without one
"""
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
import page_checks  # noqa: E402

LIST = "tests/docs/claims.txt"
PAGES = ("README.md", "SECURITY.md", "ARCHITECTURE.md", "docs/guide", "docs/design")
# (page, heading or none): each point of that list is a claim, or has one.
POINTS = (("README.md", "## Limits"), ("SECURITY.md", ""))
MISSING = re.compile(r"not built|not_supported|stays? within a host|do(?:es)? not span", re.I)

LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
CASE = re.compile(r"\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)")
NAMED = re.compile(r"add_test\(\s*NAME\s+([^\s)]+)|^\s*(?:situ_test|situ_test_on_hosts|hosts_test|faults_test)\(\s*([^\s)]+)", re.M)
PREFIXES = {"hosts_test": "hosts.", "faults_test": "faults."}


def text_of(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as file:
        return file.read()


def plain(text):
    """As a claim is written: without links and emphasis, a blank for every space."""
    return " ".join(LINK.sub(r"\1", text).replace("**", "").replace("*", "").split())


def read_list(text):
    """[(page, claim, tests, line)]"""
    claims, page = [], ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("== "):
            page = line[3:].strip()
        elif line.startswith("  ") and claims and line.strip():
            claims[-1][2].extend(line.split())
        elif line.strip() and not line.startswith("#"):
            claims.append((page, line.strip(), [], number))
    return claims


def sources_of(root, folder, endings):
    for at, folders, names in os.walk(os.path.join(root, folder)):
        folders[:] = sorted(f for f in folders if f not in ("build", ".git"))
        for name in sorted(names):
            if name.endswith(endings):
                with open(os.path.join(at, name), encoding="utf-8") as file:
                    yield at, file.read()


def cases_of(root):
    cases = {f"{m[1]}.{m[2]}" for _, text in sources_of(root, "tests", (".cpp", ".h", ".inl")) for m in CASE.finditer(text)}
    for _, text in sources_of(root, "tests", (".py",)):
        for part in re.split(r"^class ", text, flags=re.M)[1:]:
            cases |= {f"{part.split('(')[0].split(':')[0]}.{name}" for name in re.findall(r"^    def (test_\w+)", part, re.M)}
    return cases


class test_names:
    """What ctest calls them: literal names, and patterns with ${...} whose values stand in their CMakeLists.txt or are files beside it."""

    def __init__(self, root):
        self.literal, self.patterns = set(), []
        for folder, text in sources_of(root, "tests", ("CMakeLists.txt", ".cmake")):
            words = set(re.findall(r"[\w-]+", re.sub(r"#[^\n]*", "", text)))
            words |= {word.lower() for word in words} | {name.split(".")[0] for name in os.listdir(folder)}
            for match in NAMED.finditer(text):
                call = match[0].strip().split("(")[0]
                name = PREFIXES.get(call, "") + (match[1] or match[2])
                if "${" in name:
                    self.patterns.append((re.compile("(.+)".join(re.escape(part) for part in re.split(r"\$\{\w+\}", name))), words))
                else:
                    self.literal.add(name)

    def have(self, name):
        if name in self.literal:
            return True
        return any((m := pattern.fullmatch(name)) and all(part in words for part in m.groups()) for pattern, words in self.patterns)


def proves(test, page_text, cases, names):
    if test == "runs":
        return "<!-- run: " in page_text
    if test == "compiles":
        return bool(re.search(r"<!-- (?:run|compile: (?!no))", page_text)) or "\n```cpp\n" in page_text
    return test in cases or names.have(test)


def pages_of(root):
    for name in PAGES:
        if name.endswith(".md"):
            yield name
        elif os.path.isdir(os.path.join(root, name)):
            yield from (f"{name}/{each}" for each in sorted(os.listdir(os.path.join(root, name))) if each.endswith(".md"))


def sentences_of(text):
    """Of prose, not of code: paragraphs, points of lists and rows of tables, each in sentences."""
    text = re.sub(r"^\s*```.*?^\s*```", "\n", text, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.|\|)\s)", text):
        yield from re.split(r"(?<=[.!?:])\s+(?=[A-Z`\"])", plain(block))


def points_of(text, heading):
    if heading:
        text = text[text.index(heading) :]
        text = text[: text.find("\n## ", 1)]
    for point in re.split(r"\n(?=(?:-|\d+\.) )", text)[1:]:
        yield plain(re.sub(r"^(?:-|\d+\.) ", "", point.split("\n\n")[0]))


def check(root):
    found = []
    claims = read_list(text_of(root, LIST))
    cases, names = cases_of(root), test_names(root)
    said = {}
    for page, claim, tests, line in claims:
        text = text_of(root, page) if os.path.exists(os.path.join(root, page)) else None
        if text is None or claim not in plain(text):
            found.append(f"{LIST}:{line}: {page} does not say this: {claim}")
            continue
        said.setdefault(page, []).append(claim)
        if not tests:
            found.append(f"{LIST}:{line}: no test holds this")
        found += [f"{LIST}:{line}: there is no test {test}" for test in tests if not proves(test, text, cases, names)]
    for page in pages_of(root):
        text = text_of(root, page)
        of_page = said.get(page, [])
        if not of_page:
            found.append(f"{page}: no claim of it is in {LIST}")
        points = [point for name, heading in POINTS if name == page for point in points_of(text, heading)]
        missing = [sentence for sentence in sentences_of(text) if MISSING.search(sentence)]
        found += [f"{page}: {LIST} has no claim of: {each[:120]}" for each in points + missing
                  if not any(claim in each or each in claim for claim in of_page)]
    return found


def self_test():
    good = {
        "README.md": "# A\n\n## Limits\n\n- One [machine](x.md) of\n  two.\n- Two.\n\n## More\n",
        "SECURITY.md": "1. Checked **where** it comes.\n\nMore.\n",
        "ARCHITECTURE.md": "A place sleeps.\n",
        "docs/guide/a.md": "It prints.\n\n<!-- run: alone -->\n```cpp\nint main() {}  // not built\n```\n",
        "docs/design/b.md": "Waves\nare not built. Others are.\n",
        "tests/CMakeLists.txt": "situ_test(b_test SOURCES b_test.cpp)\n",
        "tests/x/CMakeLists.txt": "hosts_test(bodies hosts Bodies)\nforeach(name one two)\n  add_test(NAME fail.${name} COMMAND x)\nendforeach()\n",
        "tests/x/three.cpp": "TEST(waves, refused) {}\n",
        "tests/x/four.py": "class Tides(T):\n    def test_rise(self):\n",
        LIST: "# why\n== README.md\nOne machine of two.\n  b_test\nTwo.\n  hosts.bodies\n== SECURITY.md\nChecked where\n  fail.one fail.three\n"
        "== ARCHITECTURE.md\nA place sleeps\n  waves.refused Tides.test_rise\n== docs/guide/a.md\nIt prints.\n  runs compiles\n"
        "== docs/design/b.md\nWaves are not built.\n  waves.refused\n",
    }

    def found_in(changes):
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**good, **changes}.items():
                os.makedirs(os.path.join(root, os.path.dirname(name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            return check(root)

    cases = [
        ({}, []),
        ({"README.md": good["README.md"].replace("Two", "Three")},
         [f"{LIST}:5: README.md does not say this: Two.", f"README.md: {LIST} has no claim of: Three."]),
        ({LIST: good[LIST].replace("fail.one", "fail.nine")}, [f"{LIST}:8: there is no test fail.nine"]),
        ({LIST: good[LIST].replace("b_test", "c_test")}, [f"{LIST}:3: there is no test c_test"]),
        ({LIST: good[LIST].replace("  runs compiles\n", "")}, [f"{LIST}:14: no test holds this"]),
        ({"docs/guide/a.md": "It prints.\n"}, [f"{LIST}:14: there is no test runs", f"{LIST}:14: there is no test compiles"]),
        ({"docs/guide/c.md": "A new page.\n"}, [f"docs/guide/c.md: no claim of it is in {LIST}"]),
        ({"docs/design/b.md": good["docs/design/b.md"] + "\nTides\nare not built.\n"},
         [f"docs/design/b.md: {LIST} has no claim of: Tides are not built."]),
    ]
    return [line for changes, expected in cases if (found := found_in(changes)) != expected
            for line in ["expected:", *expected, "found:", *found]]


page_checks.run(check, self_test)
