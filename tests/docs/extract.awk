# Takes the C++ of a Markdown document apart: awk -v doc=NAME -v mode=programs|snippets -v out=PREFIX -f extract.awk FILE
#
#   programs   a ```cpp block with a main is a program: written to PREFIX-<line>.cpp, the name printed. A comment on the line before the
#              fence says whether it is run, too: then it must print what the next ```text block says. The command is written to
#              PREFIX-<line>.run, the text to PREFIX-<line>.expected.
#     <!-- run: situ run -n 4 -->                   by the launcher, with its options
#     <!-- run: situ model run --machine flat -->   on a modelled machine
#     <!-- run: alone -->                           by itself
#   snippets   every other ```cpp block, all in PREFIX.cpp (none: no such file), each in a namespace of its own. A comment on the line
#              before the fence says what it is; a block without one is an error, so that no code escapes by oversight:
#     <!-- compile: snippet -->                     statements: they become the body of a function
#     <!-- compile: snippet, given: int n = 3; -->  the same, after these declarations
#     <!-- compile: declarations -->                functions and types, at namespace scope
#     <!-- compile: no, because ... -->             not code of this project
# Lines with #include are moved to the front; <situ/situ.h> and <situ/graph.h> are included before them (snippets.h). Errors of the compiler name the document and its lines.

function missing_output() {
  printf "%s:%d: this program is run, but no ```text block after it says what it prints\n", doc, expected_line > "/dev/stderr"
  bad = 1
}

function flush_block(   kind, given, name) {
  if (marker ~ /^no, because ./) return
  if (block ~ /(^|\n)int main\(/) {
    if (mode == "programs") {
      name = out "-" first ".cpp"
      printf "#line %d \"%s\"\n%s", first, doc, block > name
      close(name)
      print name
      if (marker ~ /^run: /) {
        if (expected_by != "") missing_output()
        expected_by = substr(name, 1, length(name) - 4)
        print substr(marker, 6) > (expected_by ".run")
        expected_line = first
      }
    }
    return
  }
  if (mode != "snippets") return
  includes = includes own_includes
  given = ""
  kind = marker
  if (match(marker, /^snippet, given: /)) { given = substr(marker, RLENGTH + 1); kind = "snippet" }
  if (kind == "snippet")
    bodies = bodies sprintf("namespace at_line_%d {\n[[maybe_unused]] static auto snippet() {\n%s\n#line %d \"%s\"\n%s}\n}\n", first, given, first, doc, block)
  else if (kind == "declarations")
    bodies = bodies sprintf("namespace at_line_%d {\n#line %d \"%s\"\n%s}\n", first, first, doc, block)
  else {
    printf "%s:%d: this block does not say how it is compiled; put <!-- compile: snippet --> or such before it\n", doc, first > "/dev/stderr"
    bad = 1
  }
}

inside && /^```[ \t]*$/ { inside = 0; flush_block(); marker = ""; next }
inside {
  if (mode == "snippets" && /^#include/) { own_includes = own_includes $0 "\n"; block = block "\n" }
  else block = block $0 "\n"
  next
}
/^```(cpp|c\+\+)[ \t]*$/ { inside = 1; first = NR + 1; block = own_includes = ""; next }
mode == "programs" && expected_by != "" && /^```text[ \t]*$/ { in_output = 1; output = ""; next }
in_output && /^```[ \t]*$/ { printf "%s", output > (expected_by ".expected"); in_output = 0; expected_by = ""; next }
in_output { output = output $0 "\n"; next }
/^<!-- run: .* -->[ \t]*$/ { marker = $0; sub(/^<!-- /, "", marker); sub(/ -->[ \t]*$/, "", marker); next }
/^<!-- compile: .* -->[ \t]*$/ { marker = $0; sub(/^<!-- compile: /, "", marker); sub(/ -->[ \t]*$/, "", marker); next }
{ marker = "" }

END {
  if (expected_by != "") missing_output()
  if (inside && mode == "snippets") { printf "%s:%d: this block does not end\n", doc, first > "/dev/stderr"; exit 1 }
  if (mode == "snippets" && bodies != "") printf "%s%s", includes, bodies > (out ".cpp")
  if (bad) exit 1
}
