#!/bin/bash
# check_snippets.sh SOURCE_DIR DOCUMENT WORK_PREFIX INCLUDE_DIR COMPILER: compiles what extract.awk takes for the snippets of a document, after snippets.h.
# check_snippets.sh --headers WORK_DIR INCLUDE_DIR COMPILER: compiles that header, which takes most of the time, into WORK_DIR for all of these.
set -euo pipefail
here=$(dirname "$0")
if [[ $1 == --headers ]]; then
  cp "$here/snippets.h" "$2/snippets.h"
  exec "$4" -std=c++20 -I"$3" -x c++-header "$2/snippets.h" -o "$2/snippets.h.gch"
fi
rm -f "$3.cpp"
awk -v doc="$2" -v mode=snippets -v out="$3" -f "$here/extract.awk" "$1/$2"
[[ -f $3.cpp ]] || exit 0
# clang takes the compiled header only by another option; for it, snippets.h is a header as others.
"$5" -std=c++20 -fsyntax-only -I"$4" -include "$(dirname "$3")/snippets.h" "$3.cpp"
