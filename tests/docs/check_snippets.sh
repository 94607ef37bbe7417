#!/bin/bash
# check_snippets.sh SOURCE_DIR DOCUMENT WORK_PREFIX INCLUDE_DIR COMPILER: compiles what extract.awk takes for the snippets of a document.
set -euo pipefail
here=$(dirname "$0")
rm -f "$3.cpp"
awk -v doc="$2" -v mode=snippets -v out="$3" -f "$here/extract.awk" "$1/$2"
[[ -f $3.cpp ]] || exit 0
"$5" -std=c++20 -fsyntax-only -I"$4" "$3.cpp"
