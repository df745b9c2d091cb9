#!/usr/bin/env bash
# lint.sh - what can be said without running anything: layers, text, scripts, static analysis.
set -euo pipefail
cd "$(dirname "$0")/.."
failed=0

# files PATTERN...: the tree's files of these names, what was built aside
files() {
	local name patterns=()
	for name in "$@"; do patterns+=(-o -name "$name"); done
	find . \( -name 'build*' -o -name .git -o -name .cache \) -type d -prune -o -type f \( \
		"${patterns[@]:1}" \) -print |
		LC_ALL=C sort
}

echo "== layers"
tools/check-layers.py || failed=1

echo "== words"
tools/check-words.py || failed=1

echo "== words and long sentences of the documents"
tools/count-sentences.py | sort -k5,5nr | head -n 8
tools/count-sentences.py --list README.md docs/running.md || failed=1

echo "== text"
mapfile -t texts < <(files '*.c' '*.h' '*.md' '*.py' '*.sh' '*.bats' '*.build' '*.yaml' '*.txt' \
	Makefile run)
if grep -nE '[[:space:]]+$' "${texts[@]}"; then echo "trailing space"; failed=1; fi
if grep -nE 'TODO|FIXME|XXX[^X]' "${texts[@]}" | grep -vE 'XXXXXX|^\./tools/lint.sh:'
then echo "unfinished work"; failed=1; fi
if grep -nE '@@[A-Z_]+@@' "${texts[@]}" | grep -v '^\./tools/lint.sh:'
then echo "a mark that was to be filled in"; failed=1; fi

mapfile -t pages < <(printf '%s\n' "${texts[@]}" | grep '\.md$')
tools/check-links.py "${pages[@]}" || failed=1

# Documents wrap at 100 columns; tables, code, headings of pictures and what programs wrote may be
# longer.
mapfile -t documents < <(printf '%s\n' "${pages[@]}" | grep -v '^\./docs/results/')
if ! awk 'FNR == 1 { code = 0 } /^```/ { code = !code } !code && !/^(\||    |!\[)/ && length > 100 {
	print FILENAME ":" FNR ": " length " columns; wrap it at 100"; wide = 1 } END { exit wide }' "${documents[@]}"; then failed=1; fi

echo "== layout"
mapfile -t code < <(files '*.c' '*.h')
clang-format --dry-run --Werror --style=file "${code[@]}" || { echo "make format lays it out"; failed=1; }
for file in "${code[@]}"; do
	expand "$file" | awk -v file="${file#./}" 'length > 100 {
		print file ":" NR ": " length " columns; at most 100"; wide = 1 } END { exit wide }' || failed=1
done

echo "== scripts"
mapfile -t scripts < <(files '*.sh'; echo data/completion/heshare.bash; grep -lE '^#!.*\b(ba)?sh\b' .ci/run bench/* tests/lab/* \
	2>/dev/null || true)
shellcheck -S warning -e SC2046,SC2086 "${scripts[@]}" || failed=1
PYTHONPYCACHEPREFIX=$(mktemp -d) python3 -m py_compile tools/*.py papers/*/*.py bench/gpu/*.py \
	bench/gpu/measure bench/gpu/figures bench/gpu/results bench/gpu/run bench/gpu/partition bench/gpu/fair bench/gpu/first tests/gpu/*.py ||
	failed=1

# Looked at and wrong: a key that bsearch reads one member of, a fleet that is never empty, a block
# freed by its owner.
echo "== cppcheck"
cppcheck --quiet -j "$(nproc)" --std=c11 --enable=warning,performance,portability --inline-suppr \
	--suppress=uninitvar:src/core/plan_json.c --suppress=uninitvar:src/plan/problem.c \
	--suppress=nullPointer:src/plan/problem.c \
		--suppress=memleak:src/predict/predictor_file.c \
		--suppress=memleak:src/trees/model_bytes.c \
		--suppress=memleak:papers/heshare/learners/exact_tree.c \
	--suppress=missingInclude --suppress=internalAstError --error-exitcode=1 \
	-D_GNU_SOURCE -Iinclude -Isrc -Ilab -Iinterpose -Itools -Ipapers/partition -Ipapers/fairness -Ipapers/fairness/scheduler src \
		lab interpose papers tools/measured || failed=1

echo "== clang-tidy"
[ -f build-clang/build.ninja ] || CC=clang meson setup build-clang -Dwerror=true -Ddebug=false \
	>/dev/null
mapfile -t sources < <(files '*.c' | grep -E '^\./(src|lab|interpose|tools/measured)/')
printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p build-clang --warnings-as-errors='*' \
	2> >(grep -vE 'warnings? (generated|treated)|Suppressed' >&2) || failed=1

[ "$failed" -eq 0 ] && echo "lint: clean"
exit "$failed"
