#!/usr/bin/env bash
# check.sh - every test once, in three builds: gcc, clang with AddressSanitizer, UBSan and fuzzers,
# portable.
# check.sh --quick BUILD - what a change breaks most often, in this build, within two minutes.
# check.sh --sanitized - every test with sanitizers, too; half an hour.
#
# tests/meson.build says which tests run with sanitizers. The second and third build are compiled
# while tests of the first one wait.
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
# Threads of several tests share a core: one that waits leaves it to the others.
export OMP_WAIT_POLICY=passive
# Many tests wait, for GPUs of the lab or for what they started.
export MESON_TESTTHREADS=${MESON_TESTTHREADS:-$(($(nproc) + 3))}
builds=()
failed=0

# compile DIR SUITES COMPILER [MESON OPTION]...: build without a warning what tests of these suites
# need; without suites everything
compile() {
	local dir=$1 suites=$2 compiler=$3 targets=
	shift 3
	echo "== $dir: $compiler $*"
	[ -f "$dir/build.ninja" ] || CC=$compiler meson setup "$dir" -Dwerror=true "$@" \
		>"$dir.log" ||
		{ cat "$dir.log"; exit 1; }
	rm -f "$dir.log"
	[ -z "$suites" ] || targets=$(tools/test-targets.py "$dir" $suites)
	ninja -C "$dir" --quiet $targets
}

# run_tests DIR SUITES [MESON OPTION]...
run_tests() {
	local dir=$1 suites=() suite
	for suite in $2; do suites+=(--suite "$suite"); done
	shift 2
	rm -f "$dir"/meson-logs/testlog*
	meson test -C "$dir" --no-rebuild "${suites[@]}" "$@" || run_again "$dir"
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

if [ "${1:-}" = --quick ]; then
	run_tests "${2:-build}" "unit cli lab golden"
	echo "What the tests printed: ${2:-build}/meson-logs/testlog.txt"
	finish
fi

# Compilers take much of the time: they leave out what only a debugger reads, and optimise less
# where that changes no result.
sanitizers=("-Db_sanitize=address,undefined" -Db_lundef=false -Dfuzz=true -Dpapers=true
	-Doptimization=1 -Ddebug=false "-Dc_args=-g1 -fno-sanitize-recover=all")
if [ "${1:-}" = --sanitized ]; then
	compile build-sanitized "" clang "${sanitizers[@]}"
	run_tests build-sanitized "unit long cli lab tree golden papers fuzz"
	finish
fi
compile build-gcc "" gcc -Dpapers=true -Ddebug=false
sanitized="sanitized fuzz"
(
	renice -n 19 -p "$BASHPID" >/dev/null
	compile build-sanitized "$sanitized" clang "${sanitizers[@]}"
	compile build-portable "" gcc -Dportable=true -Doptimization=1 -Ddebug=false
) >build-others.log 2>&1 &
others=$!
run_tests build-gcc "tree unit cli lab golden papers slurm" --no-suite sanitized
wait "$others" || { cat build-others.log; exit 1; }
run_tests build-sanitized "$sanitized"
run_tests build-portable "portable golden"
finish
