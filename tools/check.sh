#!/usr/bin/env bash
# check.sh - every test, in three builds: gcc, clang with AddressSanitizer, UBSan and fuzzers,
# portable.
# check.sh --quick BUILD - what a change breaks most often, in this build, within two minutes.
#
# Unit and golden tests run in the first two, all other tests once: those of commands with
# sanitizers unless they take long.
# A build that fails ends the run. A test that fails does not keep the rest from running; it runs
# once more, alone, after the other tests of its build, and only the second failure counts. The last
# line sums up all runs and names such tests.
set -euo pipefail
cd "$(dirname "$0")/.."

export ASAN_OPTIONS=${ASAN_OPTIONS:-abort_on_error=0:allocator_may_return_null=1}
# The OpenMP runtime of clang keeps two blocks of memory. LeakSanitizer crashes in the thread-local
# storage of its threads.
export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$PWD/tests/leaks.txt:use_tls=0:print_suppressions=0}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}
# Many tests wait, for GPUs of the lab or for what they started.
export MESON_TESTTHREADS=${MESON_TESTTHREADS:-$(($(nproc) + 2))}
builds=()
failed=0

# run DIR COMPILER SUITES [MESON OPTION]...: build without a warning and run the tests of the suites
# there
run() {
	local dir=$1 compiler=$2 suites=$3
	shift 3
	echo "== $dir: $compiler $*"
	[ -f "$dir/build.ninja" ] || CC=$compiler meson setup "$dir" -Dwerror=true "$@" \
		>"$dir.log" ||
		{ cat "$dir.log"; exit 1; }
	rm -f "$dir.log"
	ninja -C "$dir" --quiet
	run_tests "$dir" $suites
}

# run_tests DIR SUITE...
run_tests() {
	local dir=$1 suites=() suite
	shift
	for suite; do suites+=(--suite "$suite"); done
	rm -f "$dir"/meson-logs/testlog*
	meson test -C "$dir" --no-rebuild "${suites[@]}" || run_again "$dir"
	builds+=("$dir")
}

# run_again DIR: show the whole output of the tests that failed, then run these, one at a time
run_again() {
	local names
	mapfile -t names < <(tools/count-tests.py --failed "$1")
	[ ${#names[@]} -gt 0 ] || { failed=1; return; }
	echo "== $1: once more, alone: ${names[*]}"
	meson test -C "$1" --no-rebuild --num-processes 1 --logbase testlog-again \
		--print-errorlogs "${names[@]}" || failed=1
}

finish() {
	python3 tools/count-tests.py "${builds[@]}" || failed=1
	exit "$failed"
}

# Compilers take much of the time: they leave out what only a debugger reads, and optimise less
# where that changes no result.
gcc_options=(-Dpapers=true -Ddebug=false)
if [ "${1:-}" = --quick ]; then
	run_tests "${2:-build}" unit cli lab golden
	echo "What the tests printed: ${2:-build}/meson-logs/testlog.txt"
	finish
fi
run build-gcc gcc "tree unit golden papers slurm" "${gcc_options[@]}"
run build-sanitized clang "unit cli lab golden fuzz" -Db_sanitize=address,undefined \
	-Db_lundef=false -Dfuzz=true -Dpapers=true \
	-Doptimization=1 -Ddebug=false -Dc_args=-g1
run build-portable gcc "portable golden" -Dportable=true -Doptimization=1 -Ddebug=false
finish
