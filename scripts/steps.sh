# shellcheck shell=bash
# Sourced by demo.sh and test.sh: numbered steps with elapsed time; a step that fails is named.

steps_total=0
step_number=0

# steps COUNT: how many steps will follow.
steps() {
  steps_total=$1
  step_number=0
}

# step NAME COMMAND...: runs the command with its output shown. The script ends with the code of
# the command when that fails.
step() {
  local name=$1
  shift
  step_number=$((step_number + 1))
  local label="[$step_number/$steps_total] $name"
  local begin=$SECONDS
  local code=0
  printf '%s ...\n' "$label"
  "$@" || code=$?
  if [ "$code" -ne 0 ]; then
    printf '%s: FAILED after %d s (exit code %d)\n' "$label" $((SECONDS - begin)) "$code" >&2
    printf '  the command was: %s\n' "$*" >&2
    exit "$code"
  fi
  printf '%s: done in %d s\n' "$label" $((SECONDS - begin))
}
