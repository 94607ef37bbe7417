#!/bin/bash
# run_readme_program.sh README SITU PROGRAM: runs README's first program at four places, and compares what it prints with the first
# ```text block of README.
set -euo pipefail
expected=$(awk '/^```text[ \t]*$/ { inside = 1; next } inside && /^```/ { exit } inside' "$1")
printed=$("$2" run -n 4 "$3" </dev/null)
if [[ -z $expected || $printed != "$expected" ]]; then
  printf 'README says:\n%s\nprinted:\n%s\n' "$expected" "$printed"
  exit 1
fi
