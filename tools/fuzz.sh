#!/usr/bin/env bash
# fuzz.sh [PROGRAM SEEDS] - run one fuzzer, or build and run all of them, for FUZZ_SECONDS each.
#
# New inputs go to a folder of the build, never into the seeds. An input that
# breaks a program is left in the current folder as crash-HASH.
set -euo pipefail
seconds=${FUZZ_SECONDS:-60}
export ASAN_OPTIONS=${ASAN_OPTIONS:-allocator_may_return_null=1}

one() {
	local found=$1.found max_len=4096
	# The smallest store of all tables takes more.
	[ "$(basename "$1")" != fuzz_store ] || max_len=65536
	mkdir -p "$found"
	"$1" -max_total_time="$seconds" -timeout=10 -max_len="$max_len" -print_final_stats=1 \
		-verbosity=0 \
		"$found" "$2"
}

if [ $# -eq 2 ]; then
	one "$1" "$2"
	exit
fi
cd "$(dirname "$0")/.."
[ -f build-fuzz/build.ninja ] ||
	CC=clang meson setup build-fuzz -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false
ninja -C build-fuzz --quiet fuzzers
for program in build-fuzz/tests/fuzz/fuzz_*; do
	[ -f "$program" ] && [ -x "$program" ] || continue
	echo "== $program, $seconds s"
	one "$program" "tests/fuzz/corpus/$(basename "$program" | sed 's/^fuzz_//')"
done
