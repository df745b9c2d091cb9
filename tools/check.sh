#!/usr/bin/env bash
# check.sh - every test, in every build: gcc, clang, then under AddressSanitizer and UBSan.
#
# A build that fails ends the run; a test that fails does not keep the rest
# from running. The last line sums up all runs.
set -euo pipefail
cd "$(dirname "$0")/.."

export ASAN_OPTIONS=${ASAN_OPTIONS:-abort_on_error=0:allocator_may_return_null=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}
# Many tests wait, for boards of the lab or for what they started.
export MESON_TESTTHREADS=${MESON_TESTTHREADS:-$(($(nproc) + 2))}
builds=()
failed=0

# run DIR COMPILER SUITES [MESON OPTION]...: build without a warning and run the tests of the suites there;
# of a build for fuzzers, these alone
run() {
	local dir=$1 compiler=$2 target=all suites=() suite
	for suite in $3; do suites+=(--suite "$suite"); done
	[ "$3" != fuzz ] || target="fuzzers paper-fuzzers"
	shift 3
	echo "== $dir: $compiler $*"
	[ -f "$dir/build.ninja" ] || CC=$compiler meson setup "$dir" -Dwerror=true "$@" >"$dir.log" ||
		{ cat "$dir.log"; exit 1; }
	rm -f "$dir.log"
	# shellcheck disable=SC2086
	ninja -C "$dir" --quiet $target
	meson test -C "$dir" --no-rebuild --print-errorlogs "${suites[@]}" || failed=1
	builds+=("$dir")
}

# Without what only a debugger reads, and fuzzers with little optimisation: compilers take half of the time here.
run build-gcc gcc "tree unit cli lab golden papers" -Dpapers=true -Ddebug=false
run build-clang clang "unit golden" -Ddebug=false
run build-portable gcc "portable golden" -Dportable=true -Ddebug=false
# With what these put in between, -O3 makes gcc warn of what cannot be.
run build-asan gcc "unit cli lab" -Db_sanitize=address,undefined -Dbuildtype=debugoptimized -Dc_args=-g1
run build-fuzz clang "fuzz" -Dfuzz=true -Dpapers=true -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1 -Ddebug=false

python3 tools/count-tests.py "${builds[@]}" || failed=1
exit "$failed"
