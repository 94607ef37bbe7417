#!/bin/bash
# run_program.sh PREFIX SITU PROGRAM: runs PROGRAM as PREFIX.run says ("situ run -n 4", "situ model run --machine flat" or "alone"), and compares what it prints with
# PREFIX.expected. Both files are extract.awk's.
set -euo pipefail
read -r -a how <"$1.run"
if [[ ${how[0]} == situ ]]; then
  command=("$2" "${how[@]:1}" "$3")
elif [[ ${how[*]} == alone ]]; then
  command=("$3")
else
  echo "$1.run: \"${how[*]}\" is neither \"situ ...\" nor \"alone\""
  exit 1
fi
expected=$(cat "$1.expected")
printed=$("${command[@]}" </dev/null)
if [[ -z $expected || $printed != "$expected" ]]; then
  printf 'The document says:\n%s\nprinted:\n%s\n' "$expected" "$printed"
  exit 1
fi
