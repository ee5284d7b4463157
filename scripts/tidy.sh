#!/usr/bin/env bash
# clang-tidy over the sources, by the compile database of the release preset.
#   scripts/tidy.sh              sources that differ from main, and those that include a header
#                                that does
#   scripts/tidy.sh --all        every source
#   scripts/tidy.sh FILE...      these
# Tests are left out unless named: the macros of GoogleTest cost more than 10 s a file.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tool=clang-tidy-14
database=build/release
if ! command -v "$tool" >/dev/null; then
  echo "tidy.sh: $tool is missing: run scripts/install.sh tidy" >&2
  exit 1
fi
if [ ! -f "$database/compile_commands.json" ]; then
  echo "tidy.sh: no compile database: run cmake --preset release" >&2
  exit 1
fi

sources() { git ls-files --cached --others --exclude-standard 'src/*.cc' | grep -v '_test\.cc$'; }

changed() {
  local base=$1 file header
  {
    git diff --name-only --diff-filter=d "$base" -- 'src/*.cc'
    git ls-files --others --exclude-standard 'src/*.cc'
    {
      git diff --name-only --diff-filter=d "$base" -- 'src/*.h'
      git ls-files --others --exclude-standard 'src/*.h'
    } | while read -r header; do
      git grep -l --untracked -F "#include \"${header#src/}\"" -- 'src/*.cc' || true
    done
  } | sort -u | while read -r file; do
    case "$file" in *_test.cc) ;; *) echo "$file" ;; esac
  done
}

case "${1:-}" in
  --all) mapfile -t files < <(sources) ;;
  "")
    if ! base=$( (git merge-base HEAD main || git merge-base HEAD origin/main) 2>/dev/null); then
      echo "tidy.sh: there is no branch main to compare with; use --all" >&2
      exit 1
    fi
    mapfile -t files < <(changed "$base")
    ;;
  -*)
    echo "tidy.sh: unknown option '$1': write --all, names of files, or nothing" >&2
    exit 2
    ;;
  *) files=("$@") ;;
esac

count=${#files[@]}
if [ "$count" -eq 0 ]; then
  echo "no source differs from main; use --all"
  exit 0
fi
echo "$tool over $count sources"
# The counts of suppressed warnings in system headers are left out.
check_one() {
  local output code=0
  output=$("$tool" --quiet -p "$database" "$1" 2>&1) || code=$?
  printf '%s: %s\n' "$1" "$([ "$code" -eq 0 ] && echo clean || echo FAILED)"
  if [ "$code" -ne 0 ]; then grep -v '^[0-9]* warnings* \(and .*\)*generated' <<<"$output"; fi
  return "$code"
}
export -f check_one
export tool database
# shellcheck disable=SC2016  # the inner shell expands it
if ! printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -I{} bash -c 'check_one "$1"' _ {}; then
  echo "tidy.sh: findings above after $SECONDS s" >&2
  exit 1
fi
echo "clean: $count sources in $SECONDS s"
