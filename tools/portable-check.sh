#!/usr/bin/env bash
# portable-check.sh - portable builds in the roots of other Debian releases.
#
# What is built here runs on Debian 13; what is built against Debian 11's C library runs
# there and on 13. Exit status 77, and a word why, where no root can be made.
set -euo pipefail
cd "$(dirname "$0")/.."
roots=$PWD/build-roots

tools/portable-root.sh trixie "$roots/trixie"
tools/portable-root.sh bullseye "$roots/bullseye" libc6-dev
[ -f build-portable-old/build.ninja ] ||
	CC=gcc meson setup build-portable-old -Dportable=true -Dwerror=true \
		-Dportable_root="$roots/bullseye" >/dev/null
ninja -C build-portable-old --quiet

# check BUILD RELEASE...
check() {
	local build=$1 release
	shift
	for release; do
		echo "== $build in $release"
		HES_PORTABLE_ROOT=$roots/$release meson test -C "$build" --no-rebuild \
			--print-errorlogs cli-portable
	done
}

check build-portable trixie
check build-portable-old bullseye trixie
