#!/usr/bin/env bash
# golden.sh [--accept] - commands whose output is kept byte for byte; prints TAP.
#
# NAME.cmd is a line of shell that uses $HESHARE and $ROOT, NAME.out what it
# printed when somebody last looked. Every build runs against the same .out,
# so that compilers are compared as well. --accept writes the .out files.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
ROOT=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
# Plans read the store.
export ROOT HESHARE HESHARE_STORE=$work/store.db
trap 'rm -rf "$work"' EXIT
cd "$work" || exit

mapfile -t cases < <(LC_ALL=C ls "$here"/*.cmd)
echo "1..${#cases[@]}"
for i in "${!cases[@]}"; do
	name=$(basename "${cases[i]}" .cmd)
	bash -euo pipefail "${cases[i]}" >"$name.out" 2>"$name.err"
	status=$?
	if [ "$status" -ne 0 ]; then
		echo "not ok $((i + 1)) - $name: exit status $status"
		sed 's/^/# /' "$name.err"
	elif [ "${1:-}" = --accept ]; then
		cp "$name.out" "$here/$name.out"
		echo "ok $((i + 1)) - $name accepted"
	elif cmp -s "$name.out" "$here/$name.out"; then
		echo "ok $((i + 1)) - $name is as it was"
	else
		echo "not ok $((i + 1)) - $name differs from tests/golden/$name.out"
		diff -u "$here/$name.out" "$name.out" | head -40 | sed 's/^/# /'
	fi
done
