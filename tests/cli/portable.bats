#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# A portable build: what it needs of the machine, and that it finds the driver's library there.
# HES_PORTABLE_ROOT names the root of another system to run it in (tools/portable-check.sh).

setup() {
	PATH=$(dirname "$HESHARE"):$PATH
	cd "$BATS_TEST_TMPDIR"
}

# Programs and libraries that belong together.
parts() {
	printf '%s\n' "$HESHARE"
	find "$(dirname "$HES_LAB")" -maxdepth 1 -type f \( -name 'lab' -o -name 'vgpu-*' -o -name 'lib*.so*' -o -name 'nvidia-*' \)
}

@test "nothing but the C library is needed" {
	run -0 parts
	[ "${#lines[@]}" -ge 9 ]
	for file in "${lines[@]}"; do
		needed=$(objdump -p "$file" | awk '$1 == "NEEDED" { print $2 }' | grep -vE '^(libc|libm|libdl|libpthread|ld-linux[a-z0-9-]*)\.so\.[0-9]+$' || true)
		[ -z "$needed" ] || { echo "$file needs $needed"; false; }
	done
}

@test "a C library of 2.34 will do" {
	[ "$(printf '%s\n' "$(getconf GNU_LIBC_VERSION)" "glibc 2.37" | sort -V | head -n 1)" != "glibc 2.37" ] || skip "built with a newer C library"
	highest=$(parts | xargs objdump -T | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
	echo "$highest"
	[ "$(printf '%s\n' "$highest" GLIBC_2.34 | sort -V | tail -n 1)" = GLIBC_2.34 ]
}

@test "boards are found through the driver's library, and measured" {
	run -0 --separate-stderr "$HES_LAB" --dcgm -- heshare gpus --json
	[ "$(jq length <<<"$output")" -eq 8 ]
	run -0 "$HES_LAB" --dcgm --speed 10 -- heshare measure -g 0 --json -o - -- sleep 3
	[ "$(jq -r '.gpus[0] | .energy_from + " " + .activity.from' <<<"$output")" = "counter DCGM" ]
}

@test "the same in the root of another system" {
	[ -n "${HES_PORTABLE_ROOT:-}" ] || skip "HES_PORTABLE_ROOT is not set: tools/portable-check.sh"
	at=$HES_PORTABLE_ROOT/opt/heshare
	mkdir -p "$at"
	parts | xargs cp -t "$at"
	run -0 unshare -m sh -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"' "$HES_PORTABLE_ROOT" \
		sh -c 'cd /tmp; PATH=/opt/heshare:$PATH; lab --dcgm --speed 10 -- sh -c "heshare gpus && heshare measure -g 0 -o - -- sleep 3
			heshare plan --policy list && nvidia-cuda-mps-control -d && echo quit | nvidia-cuda-mps-control"'
	rm -rf "$at"
	echo "$output"
	[[ "$output" == *"NVIDIA A100-SXM4-80GB"*"J on 1 of 1 GPU,"*"exclusive"* ]]
}
