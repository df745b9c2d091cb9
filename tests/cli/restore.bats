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
	run "$HESHARE" restore --json .
	[ "$(jq -c . <<<"$output")" = '{"format":"heshare-restore","version":1,"folder":".","clocks_unlocked":0,"mps_daemons_ended":0,"jobs_killed":0}' ]
}

@test "a missing folder is reported" {
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
	until grep -q sleep /proc/$pid/comm; do sleep 0.05; done # before, it is a copy of this shell
	leave "+ job $pid $(cut -d ' ' -f 22 /proc/$pid/stat) 0123456789abcdef "
	run "$HESHARE" restore .
	[ "$status" -eq 0 ]
	[ "$output" = ".: clocks unlocked 0, MPS daemons ended 0, jobs killed 1" ]
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
	[[ "$output" == *"guard.list: line 3: "*"is no undo entry"* ]]
	[ -e guard.list ]
}

@test "a list that others may have written is refused" {
	leave "+ clock GPU-1"
	chmod 666 guard.list
	run "$HESHARE" restore .
	[ "$status" -eq 1 ]
	[[ "$output" == *"writable by you alone"* ]]
}

# In namespaces of its own: nothing outside can be reached by a signal. Its first process is the
# shell that runs SCRIPT.
apart() { # SCRIPT
	local user=
	[ "$(id -u)" -eq 0 ] || user="--user --map-root-user"
	unshare $user --fork --pid --mount-proc --cgroup true 2>/dev/null ||
		skip "this system lets us make no namespaces"
	run unshare $user --fork --pid --mount-proc --cgroup timeout -k 5 60 bash -c "$1"
}

# In a script: a stranger, and what a list needs to name it.
export STRANGER='
	leave() {
		printf "heshare guard 1 %s\n= 999999 1\n%s\n" "$(cat /proc/sys/kernel/random/boot_id)" "$*" >guard.list
		chmod 600 guard.list
	}
	started() { cut -d " " -f 22 "/proc/$1/stat"; }
	spared() { [ "$(cut -d " " -f 3 /proc/$1/stat)" = S ] && echo spared; }
	env -u HESHARE_LAUNCH setsid sleep 1000 &
	stranger=$!
	until grep -q sleep /proc/$stranger/comm; do :; done
	mark=0123456789abcdef'

@test "a list whose cgroup is none of a job's stops nobody" {
	apart "$STRANGER"'
		mkdir everything
		printf "%s\n" 0 1 $stranger >everything/cgroup.procs
		: >everything/cgroup.kill
		leave "+ job 4000000 1 $mark $PWD/everything"
		"$HESHARE" restore .
		echo "status $?, kill requested: $(cat everything/cgroup.kill)"
		[ -e guard.list ] && spared $stranger'
	[[ "$output" == *"line 3: "*"/everything: it is no cgroup of a job"* ]]
	[[ "$output" == *"status 1, kill requested: "*spared ]]
}

@test "a folder that only has the name of a job's cgroup stops nobody, nor does a link to the root's" {
	apart "$STRANGER"'
		name=heshare-77-$mark
		mkdir "$name"
		printf "%s\n" $stranger >"$name/cgroup.procs"
		mkdir "$name/empty"
		leave "+ job 4000000 1 $mark $PWD/$name"
		"$HESHARE" restore .
		[ -d "$name/empty" ] && spared $stranger
		root=$(awk "/ - cgroup2 /{ print \$5; exit }" /proc/self/mountinfo)
		mv "$name" away
		ln -s "${root:-/sys/fs/cgroup}" "$name"
		leave "+ job 4000000 1 $mark $PWD/$name"
		"$HESHARE" restore .
		spared $stranger'
	[ "$(grep -c '^spared' <<<"$output")" = 2 ]
}

@test "a process without a job's mark is left alone, though its number and start are on the list" {
	apart "$STRANGER"'
		leave "+ job $stranger $(started $stranger) $mark "
		"$HESHARE" restore .
		spared $stranger'
	[[ "$output" == *"jobs killed 0"*spared ]]
}

@test "a list that names the process that restores, or one above it, is refused" {
	apart "$STRANGER"'
		leave "+ job $$ $(started $$) $mark "
		"$HESHARE" restore .; echo $?
		export HESHARE_LAUNCH=$mark
		leave "+ job 4000000 1 $mark "
		"$HESHARE" restore .; echo $?
		spared $stranger'
	[[ "$output" == *"line 3: process "*" is this one, or one above it"*1* ]]
	[[ "$output" == \
		*"line 3: "*"this process belongs to job 0123456789abcdef itself"*1*spared ]]
}

@test "a foreign MPS daemon is left alone, and a list with impossible values is refused" {
	apart "$STRANGER"'
		cp /bin/sleep nvidia-cuda-mps-control
		CUDA_MPS_PIPE_DIRECTORY=/var/run/theirs/pipe ./nvidia-cuda-mps-control 1000 &
		theirs=$!
		until grep -q nvidia-cuda-mps /proc/$theirs/comm; do :; done
		leave "+ mps GPU-1 /var/run/theirs"
		"$HESHARE" restore .
		leave "+ mps GPU-1 $PWD/../../../var/run/theirs"
		"$HESHARE" restore .
		leave "+ clock ../../etc"
		"$HESHARE" restore .
		spared $theirs'
	[[ "$output" == *"/var/run/theirs: it is no folder of this run's MPS daemons"* ]]
	[ "$(grep -c 'it is no folder of this run' <<<"$output")" = 2 ]
	[[ "$output" == *"line 3: "*"../../etc\" is no UUID of a GPU"*spared ]]
}

# A cgroup with a job's name, of our own making; its folder goes to "cgroup".
job_cgroup() { # MARK
	local root
	root=$(awk '/ - cgroup2 /{ print $5; exit }' /proc/self/mountinfo)
	[ -n "$root" ] || skip "there is no cgroup file system of version 2"
	cgroup=$root/heshare-$$-$1
	mkdir "$cgroup" 2>/dev/null || skip "this system lets us make no cgroups"
	[ -e "$cgroup/cgroup.kill" ] || { rmdir "$cgroup"
	skip "cgroups cannot be killed whole here"; }
}

@test "a job's cgroup that is left is killed, and goes" {
	job_cgroup fedcba9876543210
	export cgroup
	apart "$STRANGER"'
		echo $stranger >"$cgroup/cgroup.procs"
		leave "+ job 4000000 1 fedcba9876543210 $cgroup"
		"$HESHARE" restore .
		wait $stranger
		echo "status $?"'
	rmdir "$cgroup" 2>/dev/null && false
	[[ "$output" == *"jobs killed 1"*"status 137" ]]
}

@test "a job's cgroup that has a process of another PID namespace in it is not killed" {
	job_cgroup fedcba9876543211
	export cgroup
	sleep 1000 3>&- &
	local outside=$!
	echo "$outside" >"$cgroup/cgroup.procs"
	apart "$STRANGER"'
		cat "$cgroup/cgroup.procs"
		leave "+ job 4000000 1 fedcba9876543211 $cgroup"
		"$HESHARE" restore .
		spared $stranger'
	local state
	state=$(cut -d ' ' -f 3 /proc/$outside/stat)
	kill "$outside"
	wait "$outside" || true
	rmdir "$cgroup"
	[ "${lines[0]}" = 0 ]
	[[ "$output" == *"processes of jobs cannot be killed: their cgroup holds "*spared ]]
	[ "$state" = S ]
}
