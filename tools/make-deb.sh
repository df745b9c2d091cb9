#!/usr/bin/env bash
# make-deb.sh DIR - build the Debian packages of debian/ into DIR, from a copy of the tree.
#
# The version is that of meson.build. If CHANGELOG.md has no section of that version yet, ~git and
# the date of the last commit follow, so that the release is newer than such a package.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mkdir -p "$1" && cd "$1" && pwd)

version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" meson.build)
[ -n "$version" ] || { echo "make-deb.sh: meson.build names no version" >&2; exit 1; }
distribution=unstable
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null ||
	stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH
if ! grep -qF "## [$version]" CHANGELOG.md; then
	version=$version~git$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S)
	distribution=UNRELEASED
fi

rm -rf "$dir/heshare" "$dir"/*.{deb,buildinfo,changes}
mkdir "$dir/heshare"
tar -c --exclude-vcs --exclude='./build*' . | tar -x -C "$dir/heshare"
cd "$dir/heshare"
cat >debian/changelog <<END
heshare ($version-0heshare1) $distribution; urgency=medium

  * The changes are those of /usr/share/doc/heshare/changelog.gz.

 -- $(sed -n 's/^Maintainer: //p' debian/control)  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END
# debhelper gives builds another home.
if command -v ccache >/dev/null; then CCACHE_DIR=$(ccache -k cache_dir); export CCACHE_DIR; fi
dpkg-buildpackage --build=binary --no-sign >"$dir/build.log" 2>&1 ||
	{ tail -n 40 "$dir/build.log" >&2; exit 1; }
rm -rf "$dir/heshare"
ls "$dir"/*.deb
