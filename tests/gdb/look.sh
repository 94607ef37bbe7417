# Sourced by the scripts beside it, which set `program` and `script`: runs gdb on the program, and compares what it prints.
set -euo pipefail
if ! command -v gdb >/dev/null; then
  echo "skipped: no gdb"
  exit 77
fi

# look COMMAND...: runs to look_here, and then these.
look() {
  local commands=()
  for command in "$@"; do commands+=(-ex "$command"); done
  output=$(gdb -nx -batch -ex 'set debuginfod enabled off' -ex "source $script" -ex 'break look_here' -ex run -ex up \
    "${commands[@]}" "$program" </dev/null 2>&1) || true
  echo "$output"
  if grep -qi 'ptrace: operation not permitted\|could not trace\|cannot create process' <<<"$output"; then
    echo "skipped: tracing is not allowed here"
    exit 77
  fi
}

# expect LINE: a line of the output, as an extended regular expression.
failed=0
expect() {
  if ! grep -qE "^$1\$" <<<"$output"; then
    echo "missing: $1"
    failed=1
  fi
}
