#!/usr/bin/env python3
"""check_trail.py SOURCE_DIR | --self-test: the guide is one trail, and the index names every page.

  trail     from docs/guide/first_program.md on, each page ends with `Next: [...](page)`; so each page of docs/guide is reached, once, and
            the last leads to docs/README.md
  fourth    docs/guide/errors.md is the fourth page: a newcomer needs it early
  index     docs/README.md lists the pages of the guide in the order of the trail, and links each page of docs/ but those in docs/results
  glossary  docs/GLOSSARY.md has one entry a word
  modules   each folder of src/ has a page in docs/design, and some page of the trail links to it; its README.md names each of its sources

Prints file: what is wrong, and fails.
"""
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
import page_checks  # noqa: E402

INDEX, FIRST, FOURTH = "docs/README.md", "docs/guide/first_program.md", "docs/guide/errors.md"
GLOSSARY = "docs/GLOSSARY.md"
ENTRY = re.compile(r"^\| ([^|]+) \|", re.M)
NEXT = re.compile(r"^Next:\s+\[[^\]]+\]\(([^)#\s]+)\)", re.M)
LINK = re.compile(r"\]\(([^)\s]+)\)")
# Modules whose page has another name, or is a part of another's.
PAGES = {"trees": "place_trees", "preload": "memory"}


def text_of(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as file:
        return file.read()


def target_of(name, link):
    return os.path.normpath(os.path.join(os.path.dirname(name), link.partition("#")[0]))


def links_of(root, name):
    return [target_of(name, match[1]) for match in LINK.finditer(text_of(root, name)) if "://" not in match[1]]


def pages_of(root, folder):
    for at, _, names in os.walk(os.path.join(root, folder)):
        yield from (os.path.relpath(os.path.join(at, name), root) for name in names if name.endswith(".md"))


def trail_of(root, found):
    """The pages in order. Adds what is wrong to `found`."""
    trail, name = [], FIRST
    while True:
        if not os.path.exists(os.path.join(root, name)):
            found.append(f"{trail[-1] if trail else FIRST}: Next leads to {name}, which is not there")
            return trail
        if name in trail:
            found.append(f"{trail[-1]}: Next leads back to {name}")
            return trail
        trail.append(name)
        following = NEXT.findall(text_of(root, name))
        if len(following) != 1:
            found.append(f"{name}: {len(following)} lines begin with Next, not one")
            return trail
        name = target_of(name, following[0])
        if name == INDEX:
            return trail


def sources_not_named(root, folder):
    if not os.path.exists(os.path.join(root, folder, "README.md")):
        return []
    text = text_of(root, f"{folder}/README.md")
    sources = [name for name in sorted(os.listdir(os.path.join(root, folder))) if name.endswith((".h", ".cpp", ".inl"))]
    return [f"{folder}/README.md: it does not name {name}" for name in sources if name.split(".")[0] not in text]


def words_with_several_entries(root):
    if not os.path.exists(os.path.join(root, GLOSSARY)):
        return []
    rows = [match[1] for match in ENTRY.finditer(text_of(root, GLOSSARY)) if match[1] not in ("word", "---")]
    words = [word.strip(" *`") for row in rows for word in row.split(",")]
    return [f"{GLOSSARY}: it has {words.count(word)} entries of '{word}'" for word in dict.fromkeys(words) if words.count(word) > 1]


def check(root):
    found = words_with_several_entries(root)
    trail = trail_of(root, found)
    guide = set(pages_of(root, "docs/guide"))
    found += [f"{name}: Next of no page leads here" for name in sorted(guide - set(trail))]
    if trail[3:4] != [FOURTH]:
        found.append(f"{FOURTH}: it is not the fourth page of the trail")
    index = links_of(root, INDEX)
    if [name for name in dict.fromkeys(index) if name in guide] != trail:
        found.append(f"{INDEX}: it lists the guide in another order than Next")
    pages = set(pages_of(root, "docs")) - {INDEX}
    found += [f"{INDEX}: it has no link to {name}" for name in sorted(pages - set(index)) if not name.startswith("docs/results/")]
    linked = {target for name in trail for target in links_of(root, name)}
    for module in sorted(os.listdir(os.path.join(root, "src"))):
        page = f"docs/design/{PAGES.get(module, module)}.md"
        if os.path.isdir(os.path.join(root, "src", module)) and page not in linked:
            found.append(f"src/{module}: no page of the guide links to {page}")
        found += sources_not_named(root, f"src/{module}")
    return found


def self_test():
    good = {
        FIRST: "Next: [b](b.md).\n",
        "docs/guide/b.md": "[how](../design/memory.md#a)\n\nNext: [c](c.md), then more.\n",
        "docs/guide/c.md": "Next: [wrong](errors.md).\n",
        FOURTH: "How it works: [x](../design/place_trees.md).\n\nNext: [the index](../README.md).\n",
        "docs/design/memory.md": "",
        "docs/design/place_trees.md": "",
        "docs/results/of_a_day.md": "",
        INDEX: "[a](guide/first_program.md) [b](guide/b.md) [c](guide/c.md) [e](guide/errors.md)\n"
        "[m](design/memory.md) [t](design/place_trees.md)\n",
        "src/memory/README.md": "", "src/trees/README.md": "", "src/preload/README.md": "", "src/CMakeLists.txt": "",
    }

    def found_in(changes):
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**good, **changes}.items():
                if text is None:
                    continue
                os.makedirs(os.path.join(root, os.path.dirname(name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            return check(root)

    cases = [
        ({}, []),
        ({"docs/guide/d.md": ""}, ["docs/guide/d.md: Next of no page leads here", f"{INDEX}: it has no link to docs/guide/d.md"]),
        ({"docs/guide/c.md": "Next: [b](b.md).\n"},
         ["docs/guide/c.md: Next leads back to docs/guide/b.md", f"{FOURTH}: Next of no page leads here",
          f"{FOURTH}: it is not the fourth page of the trail", f"{INDEX}: it lists the guide in another order than Next",
          "src/trees: no page of the guide links to docs/design/place_trees.md"]),
        ({FOURTH: "[x](../design/place_trees.md)\n"}, [f"{FOURTH}: 0 lines begin with Next, not one"]),
        ({FOURTH: "[x](../design/place_trees.md)\nNext: [z](z.md)\n"},
         [f"{FOURTH}: Next leads to docs/guide/z.md, which is not there"]),
        ({INDEX: good[INDEX].replace("[b](guide/b.md) [c](guide/c.md)", "[c](guide/c.md) [b](guide/b.md)")},
         [f"{INDEX}: it lists the guide in another order than Next"]),
        ({INDEX: good[INDEX].replace("[m](design/memory.md) ", "")}, [f"{INDEX}: it has no link to docs/design/memory.md"]),
        ({"src/pool/README.md": ""}, ["src/pool: no page of the guide links to docs/design/pool.md"]),
        ({"src/memory/README.md": "heap.h", "src/memory/heap.cpp": "", "src/memory/job.cpp": ""},
         ["src/memory/README.md: it does not name job.cpp"]),
        ({GLOSSARY: "| word | definition |\n| --- | --- |\n| put, *get* | a |\n\n| word | definition |\n| --- | --- |\n| here | b |\n| `get` | c |\n"},
         [f"{GLOSSARY}: it has 2 entries of 'get'", f"{INDEX}: it has no link to {GLOSSARY}"]),
    ]
    return [line for changes, expected in cases if (found := found_in(changes)) != expected
            for line in ["expected:", *expected, "found:", *found]]


page_checks.run(check, self_test)
