#!/usr/bin/env bash
# portable-root.sh - make the root of a Debian release in a folder: portable-root.sh RELEASE DIR
# [PACKAGE]...
#
# As root, with debootstrap. What is there is left alone. The links of its
# libraries lead to where they are inside of DIR, so that a linker outside can follow them
# (-Dportable_root=DIR).
set -euo pipefail

release=$1 dir=$2
shift 2
[ ! -e "$dir/.complete" ] || exit 0
command -v debootstrap >/dev/null || { echo "portable-root.sh: debootstrap is not installed" \
	>&2; exit 77; }
[ "$(id -u)" -eq 0 ] || { echo "portable-root.sh: debootstrap is for root" >&2; exit 77; }

rm -rf "$dir"
mkdir -p "$dir"
packages=("$@")
include=$(IFS=, && echo "${packages[*]}")
debootstrap --variant=minbase ${include:+"--include=$include"} "$release" "$dir" \
	http://deb.debian.org/debian >"$dir.log" ||
	{ tail -n 5 "$dir.log" >&2; exit 77; }
find "$dir/usr/lib64" "$dir/usr/lib/"*-linux-gnu -maxdepth 1 -type l -lname '/*' |
	while read -r link; do
	ln -sfnr "$dir$(readlink "$link")" "$link"
done
rm -f "$dir.log"
touch "$dir/.complete"
