#!/usr/bin/env bats
# What `heshare restore` makes of a folder that a run left.

setup() { cd "$BATS_TEST_TMPDIR" || exit; }

# leave LINE...: the list of a guard that is gone
leave() {
	printf 'heshare guard 1 %s\n= 999999999 1\n' "$(cat /proc/sys/kernel/random/boot_id)" >guard.list
	printf '%s\n' "$@" >>guard.list
	chmod 600 guard.list
}

@test "a folder without a list needs nothing" {
	run "$HESHARE" restore .
	[ "$status" -eq 0 ]
	[ "$output" = ".: nothing to restore" ]
}

@test "a folder that is not there is told" {
	run "$HESHARE" restore nowhere
	[ "$status" -eq 1 ]
	[[ "$output" == "heshare restore: nowhere: "* ]]
}

@test "without a folder, and with both, the usage is wrong" {
	run "$HESHARE" restore
	[ "$status" -eq 2 ]
	run "$HESHARE" restore --guard .
	[ "$status" -eq 2 ]
}

@test "a job that is left is killed, and the list goes" {
	HESHARE_LAUNCH=0123456789abcdef sleep 1000 3>&- &
	local pid=$!
	leave "+ job $pid $(cut -d ' ' -f 22 /proc/$pid/stat) 0123456789abcdef "
	run "$HESHARE" restore .
	[ "$status" -eq 0 ]
	[ "$output" = ".: clocks unlocked 0, power limits set back 0, MPS daemons ended 0, jobs killed 1" ]
	local code=0
	wait "$pid" || code=$?
	[ "$code" -eq 137 ]
	[ ! -e guard.list ]
}

@test "a process that has a job's number, and is another, is left alone" {
	sleep 1000 3>&- &
	local pid=$!
	leave "+ job $pid 1 0123456789abcdef "
	run "$HESHARE" restore .
	[ "$status" -eq 0 ]
	kill "$pid"
}

@test "a file that is no list is refused and left" {
	leave "+ fan GPU-1"
	run "$HESHARE" restore .
	[ "$status" -eq 1 ]
	[[ "$output" == *"guard.list: line 3: "*"is no duty"* ]]
	[ -e guard.list ]
}

@test "a list that others may have written is refused" {
	leave "+ clock GPU-1"
	chmod 666 guard.list
	run "$HESHARE" restore .
	[ "$status" -eq 1 ]
	[[ "$output" == *"writable by you alone"* ]]
}
