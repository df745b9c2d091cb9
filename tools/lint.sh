#!/usr/bin/env bash
# lint.sh - what can be said without running anything: layers, text, scripts, static analysis.
set -euo pipefail
cd "$(dirname "$0")/.."
failed=0

echo "== layers"
tools/check-layers.py || failed=1

echo "== text"
mapfile -t texts < <(git ls-files -- '*.c' '*.h' '*.md' '*.py' '*.sh' '*.bats' '*.build' '*.yaml' Makefile .ci/run |
	while read -r f; do [ -f "$f" ] && echo "$f"; done)
if grep -nE '[[:space:]]+$' "${texts[@]}"; then echo "trailing space"; failed=1; fi
if grep -nE 'TODO|FIXME|XXX[^X]' "${texts[@]}" | grep -vE 'XXXXXX|^tools/lint.sh:'; then echo "unfinished work"; failed=1; fi

echo "== scripts"
mapfile -t scripts < <(git ls-files -- '*.sh' .ci/run bench | while read -r f; do
	[ -f "$f" ] && head -1 "$f" | grep -qE '^#!.*\b(ba)?sh\b' && echo "$f"; done || true)
shellcheck -S warning -e SC2046,SC2086 "${scripts[@]}" || failed=1
python3 -m py_compile tools/*.py || failed=1
rm -rf tools/__pycache__

# Looked at and wrong: a key that bsearch reads one member of, a fleet that is never empty, a block freed by its owner.
echo "== cppcheck"
cppcheck --quiet -j "$(nproc)" --std=c11 --enable=warning,performance,portability --inline-suppr \
	--suppress=uninitvar:src/core/plan_json.c --suppress=uninitvar:src/plan/problem.c \
	--suppress=nullPointer:src/plan/problem.c --suppress=memleak:src/predict/predictor_file.c \
	--suppress=missingInclude --suppress=internalAstError --error-exitcode=1 \
	-D_GNU_SOURCE -Iinclude -Isrc src || failed=1

echo "== clang-tidy"
[ -f build-clang/build.ninja ] || CC=clang meson setup build-clang -Dwerror=true >/dev/null
mapfile -t sources < <(git ls-files -- 'src/*.c' | while read -r f; do [ -f "$f" ] && echo "$f"; done)
printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p build-clang --warnings-as-errors='*' \
	2> >(grep -vE 'warnings? (generated|treated)|Suppressed' >&2) || failed=1

[ "$failed" -eq 0 ] && echo "lint: clean"
exit "$failed"
