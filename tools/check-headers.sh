#!/usr/bin/env bash
# check-headers.sh COMPILER - every header compiles alone; prints TAP.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

# shellcheck disable=SC2207
flags=(-std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -Wno-unused-function -Iinclude \
	-Isrc -Ilab -Iinterpose -Itools
	$(pkg-config --cflags jansson libcyaml zlib))
mapfile -t headers < <(find include src lab interpose tools/measured -name '*.h' | LC_ALL=C sort)
echo "1..${#headers[@]}"
for i in "${!headers[@]}"; do
	if out=$(printf '#include "%s"\nextern int unused;\n' "${headers[i]}" |
		"$@" "${flags[@]}" -I. -fsyntax-only -x c - 2>&1); then
		echo "ok $((i + 1)) - ${headers[i]} compiles alone"
	else
		echo "not ok $((i + 1)) - ${headers[i]} compiles alone"
		printf '%s\n' "${out//$'\n'/$'\n'# }" | sed '1s/^/# /'
	fi
done
