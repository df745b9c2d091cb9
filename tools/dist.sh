#!/usr/bin/env bash
# dist.sh DIR PORTABLE - make a release of the last commit in DIR: source, Debian packages, the
# portable program PORTABLE, and SHA256SUMS of them.
# dist.sh --source DIR - the source alone.
#
# meson.build names the version; CHANGELOG.md and version.h must agree with it.
set -euo pipefail
source_only=
[ "$1" != --source ] || { source_only=1; shift; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

fail() {
	echo "dist.sh: $*" >&2
	exit 1
}

version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" meson.build)
grep -qF "#define HES_VERSION \"$version\"" include/heshare/version.h ||
	fail "include/heshare/version.h: HES_VERSION is not meson.build's $version"
first=$(sed -n 's/^## \[\(.*\)\].*/\1/p' CHANGELOG.md | head -n 1)
[ "$first" = "$version" ] ||
	fail "CHANGELOG.md: the first section is [$first]; the version of meson.build is $version"

name=heshare-$version
rm -f "$dir"/heshare* "$dir"/libheshare* "$dir/SHA256SUMS"
git archive --prefix="$name/" -o "$dir/$name.tar.gz" HEAD
if [ -z "$source_only" ]; then
	[ -z "$(git status --porcelain --untracked-files=no)" ] ||
		fail "there are changes that are not committed; a release is of the last commit"
	tools/make-deb.sh "$dir/deb" >/dev/null
	mv "$dir"/deb/*.deb "$dir"
	rm -r "$dir/deb"
	install -m 755 "$2" "$dir/$name-linux-$(uname -m)"
fi
cd "$dir"
sha256sum -- *heshare* >SHA256SUMS
ls -- "$dir"/*
