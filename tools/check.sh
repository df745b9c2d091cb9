#!/usr/bin/env bash
# check.sh - every test, in every build: gcc, clang, then under AddressSanitizer and UBSan.
#
# A build that fails ends the run; a test that fails does not keep the rest
# from running. The last line sums up all runs.
set -euo pipefail
cd "$(dirname "$0")/.."

export ASAN_OPTIONS=${ASAN_OPTIONS:-abort_on_error=0:allocator_may_return_null=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}
builds=()
failed=0

# run DIR COMPILER [MESON OPTION]...: build without a warning and run the tests there
run() {
	local dir=$1 compiler=$2
	shift 2
	echo "== $dir: $compiler $*"
	[ -f "$dir/build.ninja" ] || CC=$compiler meson setup "$dir" -Dwerror=true "$@" >"$dir.log" ||
		{ cat "$dir.log"; exit 1; }
	rm -f "$dir.log"
	ninja -C "$dir" --quiet
	meson test -C "$dir" --no-rebuild --print-errorlogs || failed=1
	builds+=("$dir")
}

run build-gcc gcc
run build-clang clang
run build-asan gcc -Db_sanitize=address,undefined
run build-fuzz clang -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false

python3 tools/count-tests.py "${builds[@]}" || failed=1
exit "$failed"
