// outline: a tree that is edited at another place. A document is a tree of sections with links to their parents. The
// last place gets a copy of it by `at`, keeps the copy, edits it at each call, and sends it back. The same edits of the
// original, at place 0, must give the same document.
//
//   situ run -n 2 outline
#include <situ/graph.h>
#include <situ/graph/containers.h>
#include <situ/situ.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

struct section {
  situ::string title;
  situ::vector<section*> parts = {};
  section* parent = nullptr;  // cycles are no matter
};

struct edit {
  enum class kind { add, move, rename, remove } what;
  std::string section;
  std::string to;  // the new parent, or the new title
};

section* find(section* in, std::string_view title) {
  if (in->title == title) return in;
  for (section* const part : in->parts)
    if (section* const found = find(part, title)) return found;
  return nullptr;
}

void unlink(section* part) {
  situ::vector<section*>& siblings = part->parent->parts;
  siblings.erase(std::find(siblings.begin(), siblings.end(), part));
}

void append(section* parent, section* part) {
  part->parent = parent;
  parent->parts.push_back(part);
}

// A section that is added lies in `made`, which has to live as long as the tree.
void apply(section* root, std::deque<section>& made, const edit& change) {
  if (change.what == edit::kind::add) {
    append(find(root, change.to), &made.emplace_back(section{.title = change.section}));
    return;
  }
  section* const part = find(root, change.section);
  if (change.what == edit::kind::rename) {
    part->title = change.to;
    return;
  }
  unlink(part);
  if (change.what == edit::kind::move) append(find(root, change.to), part);
}

std::string text_of(const section* part, std::size_t depth = 0) {
  std::string text = std::string(2 * depth, ' ') + part->title.c_str() + "\n";
  for (const section* each : part->parts) text += text_of(each, depth + 1);
  return text;
}

bool is_linked(const section* part) {
  return std::all_of(part->parts.begin(), part->parts.end(),
                     [&](const section* each) { return each->parent == part && is_linked(each); });
}

struct desk {  // the copy that a place edits, and the sections that it has added
  static inline thread_local std::deque<section> made;
  static inline thread_local situ::owned<section> document;
};

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  if (situ::here().index() == 0) {
    std::deque<section> original;
    section* const root = &original.emplace_back(section{.title = "Guide"});
    for (const auto& [title, parent] :
         {std::pair{"Start", "Guide"}, {"Install", "Start"}, {"Run", "Start"}, {"Memory", "Guide"}})
      apply(root, original, {edit::kind::add, title, parent});
    const std::vector<edit> edits{{edit::kind::add, "Pools", "Memory"},
                                  {edit::kind::move, "Install", "Guide"},
                                  {edit::kind::rename, "Run", "A first program"},
                                  {edit::kind::add, "Messages", "A first program"},
                                  {edit::kind::remove, "Pools", ""}};

    const situ::place editor{situ::place_count() - 1};
    situ::at(editor, [](situ::owned<section> copy) { desk::document = std::move(copy); }, root);
    for (const edit& each : edits)
      situ::at(editor, [](const edit& change) { apply(desk::document.get(), desk::made, change); }, each);
    const situ::owned<section> back = situ::at(editor, [] { return desk::document.get(); });

    const std::string before = text_of(root);
    for (const edit& each : edits) apply(root, original, each);
    const bool is_right = text_of(back.get()) == text_of(root) && text_of(root) != before && is_linked(back.get());
    std::printf("%sedited at place %u: %s\n", text_of(back.get()).c_str(), editor.index(),
                is_right ? "as the original, edited here" : "not as the original, edited here");
  }
}
