#!/bin/sh
# seal.sh OBJCOPY NM KEPT WHOLE SEALED NAME...: makes all names of the object WHOLE local but those of the file KEPT, and writes it to SEALED. What it
# calls by one of the NAMEs is the C library's own (__real_NAME), where the linker wraps that name for the program.
set -eu
objcopy=$1 nm=$2 kept=$3 whole=$4 sealed=$5
shift 5
# Names that are unique in a process cannot be made local: they get other names.
"$nm" "$whole" | awk '$2 == "u" { print $3, "situ_own." $3 }' >"$sealed.names"
for name in "$@"; do
  echo "$name __real_$name" >>"$sealed.names"
done
"$objcopy" --wildcard --keep-global-symbols="$kept" --redefine-syms="$sealed.names" "$whole" "$sealed"
