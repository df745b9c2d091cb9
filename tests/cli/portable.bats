#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# A portable build: what it needs of the machine, and that it does a day's work with the driver's
# library there. HES_PORTABLE_ROOT names the root of another system to run it in
# (tools/portable-check.sh).

setup() {
	PATH=$(dirname "$HESHARE"):$PATH
	cd "$BATS_TEST_TMPDIR"
}

# Programs and libraries that belong together.
parts() {
	printf '%s\n' "$HESHARE"
	find "$(dirname "$HES_LAB")" -maxdepth 1 -type f \( -name 'lab' -o -name 'vgpu-*' -o -name 'lib*.so*' -o -name 'nvidia-*' \)
}

# Into folder $1: a script for the lab that looks, measures, plans, runs, profiles and simulates.
# The shell is all it needs.
write_work() {
	printf 'name: two\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 1 }, { type: T4, count: 1 } ]\n' >"$1/two.yaml"
	cat >"$1/jobs.csv" <<-END
		id,arrival_s,workload,batch_size,iterations,memory_mib
		a,0,resnet34,8,900,1813
		b,0,resnet18,4,900,1194
		c,0,mobilenet,4,900,1266
		d,0,gpt2,1,900,1513
	END
	cat >"$1/work" <<-'END'
		set -e
		task='vgpu-task --workload {workload} --batch {batch} --iterations'
		heshare gpus --json >gpus.json
		heshare measure -g 0 --json -o measure.json -- sleep 3
		heshare plan jobs.csv -f two.yaml -o plan.json >plan.txt
		heshare run plan.json --store store.db --json -c "$task {iterations}" >run.json
		heshare profile gpt2 -g 0 --shares 50 --clocks default --warm-up 1 --window 2 --repeats 2..2 --patience 2000 --store store.db --json -- "$task 1000000000 --every 5" >profile.json
		heshare simulate jobs.csv -f two.yaml --burst --plan plan.json --json >simulate.json
		heshare gpus --json >after.json
	END
}

# What the work left in folder $1: all was done, and GPUs are as they were.
worked() {
	cd "$1"
	jq -e '.gpus | length == 2 and .[0].name == "NVIDIA A100-SXM4-80GB"' gpus.json
	jq -e '.gpus[0] | .energy_from + " " + .activity.from == "counter DCGM"' measure.json
	jq -e '.jobs_done == 4 and .repeated == 0 and ([.jobs[].attributed_j > 0] | all) and (.gpus | length) == 2' run.json
	grep -qx 'heshare: 900 iterations' plan.run/d*.log
	jq -e '.measured == 1 and .failed == 0' profile.json
	jq -e '.policies[0].avg_jct_s > 0' simulate.json
	jq -e '.gpus | all(.clock_mhz < 400)' after.json
}

# Functions that the programs ask this machine's C library for, and that glibc 2.31 has not. Many
# came into libc.so.6 with a new version later, and are there under their old one, too; those of the
# file status were linked in before.
newer_than_2_31() {
	local libraries
	libraries=$(ldd "$HESHARE" | awk '$3 ~ "^/" { print $3 }')
	{ objdump -T $libraries | grep -vF '*UND*' && parts | xargs objdump -T; } | awk -v also='fstat64 fstatat64 lstat64 stat64 mknod' '
		BEGIN { split(also, names, " "); for (i in names) old[names[i]] = 1 }
		!match($0, /GLIBC_2\.[0-9]+/) { next }
		{ minor = substr($0, RSTART + 8, RLENGTH - 8) + 0 }
		/\*UND\*/ { if (minor > 31) wanted[$NF] = minor; next }
		minor <= 31 { old[$NF] = 1 }
		END { for (name in wanted) if (!(name in old)) print name " is of glibc 2." wanted[name] }'
}

# Numbers of system calls that the sources take from headers, where headers before Linux 5.5 lack
# them.
newer_than_5_4() {
	cd "$HES_SOURCE_ROOT"
	grep -roE '\bSYS_[a-z0-9_]+' --include='*.[ch]' src lab | sort -u |
		while IFS=: read -r file name; do
		grep -q "^#ifndef $name\$" "$file" && continue
		number=$(printf '#include <sys/syscall.h>\n%s\n' "$name" | ${CC:-gcc} -E -P - |
			tail -n 1)
		[[ "$number" =~ ^[0-9]+$ && "$number" -le 435 ]] ||
			echo "$file: $name is $number; give its number where the headers do not"
	done
}

@test "nothing but the C library is needed" {
	run -0 parts
	[ "${#lines[@]}" -ge 9 ]
	for file in "${lines[@]}"; do
		needed=$(objdump -p "$file" | awk '$1 == "NEEDED" { print $2 }' |
			grep -vE '^(libc|libm|libdl|libpthread|ld-linux[a-z0-9-]*)\.so\.[0-9]+$' \
			|| true)
		[ -z "$needed" ] || { echo "$file needs $needed"; false; }
	done
}

@test "a C library of 2.34 will do" {
	[ "$(printf '%s\n' "$(getconf GNU_LIBC_VERSION)" "glibc 2.37" | sort -V | head -n 1)" != "glibc 2.37" ] || skip "built with a newer C library"
	highest=$(parts | xargs objdump -T | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
	echo "$highest"
	[ "$(printf '%s\n' "$highest" GLIBC_2.34 | sort -V | tail -n 1)" = GLIBC_2.34 ]
}

@test "the sources ask for nothing that glibc 2.31 and the headers of its time lack" {
	[ "$(printf '%s\n' "$(getconf GNU_LIBC_VERSION)" "glibc 2.37" | sort -V | head -n 1)" != "glibc 2.37" ] || skip "built with a newer C library"
	[ "$(parts | xargs objdump -T | grep -c 'UND.*GLIBC_2')" -gt 100 ]
	found=$(newer_than_2_31 && newer_than_5_4)
	echo "$found"
	[ -z "$found" ]
}

@test "a day's work in the lab" {
	write_work .
	run "$HES_LAB" --fleet two.yaml --dcgm --speed 40 -- sh work
	echo "$output"
	[ "$status" -eq 0 ]
	worked .
}

@test "the same without the system calls that came after Linux 5.4" {
	[[ "$("$HES_OLD_KERNEL" 435 true)" != *SKIP* ]] || skip "system calls cannot be filtered here"
	write_work .
	run "$HES_OLD_KERNEL" 435 "$HES_LAB" --fleet two.yaml --dcgm --speed 40 -- sh work
	echo "$output"
	[ "$status" -eq 0 ]
	worked .
}

@test "a kernel that cannot watch processes gets an error" {
	[[ "$("$HES_OLD_KERNEL" 433 true)" != *SKIP* ]] || skip "system calls cannot be filtered here"
	write_work .
	heshare plan jobs.csv -f two.yaml -o plan.json >plan.txt
	run "$HES_LAB" --fleet two.yaml -- "$HES_OLD_KERNEL" 433 heshare run plan.json --store \
		store.db -c true
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"watching the guard: Linux 5.3 or newer is needed"* ]]
}

# in_root COMMAND...: there, as in a container
in_root() {
	run unshare -m sh -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"' "$HES_PORTABLE_ROOT" "$@"
	echo "$output"
}

@test "the same in the root of another system, with its libc alone, as root and as an ordinary user" {
	[ -n "${HES_PORTABLE_ROOT:-}" ] || skip \
		"HES_PORTABLE_ROOT is not set: tools/portable-check.sh"
	[ "$(id -u)" -eq 0 ] || skip "only root may go into HES_PORTABLE_ROOT"
	[[ "$HES_PORTABLE_ROOT" = /* && -x "$HES_PORTABLE_ROOT/bin/sh" ]] ||
		{ echo "HES_PORTABLE_ROOT is no absolute path to a system's root: $HES_PORTABLE_ROOT"; false; }
	at=$(mktemp -d "$HES_PORTABLE_ROOT/opt/heshare.XXXXXX")
	chmod 755 "$at"
	parts | xargs cp -t "$at"
	cp "$HES_OLD_KERNEL" "$at/old_kernel"
	for user in 0:0 65534:65534; do
		mkdir "$at/$user"
		write_work "$at/$user"
		chown -R "$user" "$at/$user"
	done
	here=${at#"$HES_PORTABLE_ROOT"}

	in_root ldd "$here/heshare"
	[ "$status" -eq 0 ]
	[ -z "$(grep -vE '(libc|libm|libdl|libpthread|linux-vdso|ld-linux[a-z0-9-]*)\.so\.[0-9]+ ' <<<"$output")" ]

	work='cd "$1" && PATH=${1%/*}:$PATH && shift && exec "$@" lab --fleet two.yaml --dcgm --speed 40 -- sh work'
	in_root sh -c "$work" sh "$here/0:0"
	[ "$status" -eq 0 ]
	worked "$at/0:0"
	# What had its C library then had such kernels, too.
	in_root setpriv --reuid 65534 --regid 65534 --clear-groups sh -c "$work" sh \
		"$here/65534:65534" old_kernel 435
	[ "$status" -eq 0 ]
	worked "$at/65534:65534"
}

teardown() {
	rm -rf ${at:+"$at"}
}
