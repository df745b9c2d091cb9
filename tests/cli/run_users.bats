#!/usr/bin/env bats
bats_require_minimum_version 1.5.0
load open_build

# heshare run as root for jobs of another user, in a folder that this user can or cannot change, and
# jobs that change the files of their run. Jobs of another user need root.

setup_file() {
	[ -n "${HES_LAB:-}" ] || return 0
	cd "$BATS_FILE_TMPDIR"
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 1 } ]\n' >one.yaml
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\na,0,resnet34,8,1500,1813\nb,0,resnet18,4,1500,1194\n' >jobs.csv
	"$HESHARE" plan jobs.csv -f one.yaml --policy exclusive -o plan.json >/dev/null
}

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	place=$(mktemp -d /tmp/heshare-users.XXXXXX)
	chmod 755 "$place"
	cd "$place"
	cp "$BATS_FILE_TMPDIR"/{one.yaml,plan.json} .
	export HESHARE_STORE=$BATS_TEST_TMPDIR/store.db
	unset LD_LIBRARY_PATH
}

teardown() {
	cd /
	[ -z "${place:-}" ] || rm -rf "$place"
}

need_root() {
	[ "$(id -u)" -eq 0 ] || skip "jobs of another user need root"
	id nobody >/dev/null || skip "there is no user nobody"
}

run_plan() { # FOLDER COMMAND [OPTION]...
	local folder=$1 command=$2
	shift 2
	run --separate-stderr timeout -k 5 100 "$HES_LAB" --fleet one.yaml --speed 100 -- \
		"$HESHARE" run plan.json --no-mps --early-ok --jobs "$folder" -c "$command" "$@" # jobs without work
}

@test "a job that replaces the run's folder by a link gets no file of root's elsewhere" {
	need_root
	mkdir alice target
	chown nobody alice
	export SUDO_USER=nobody
	run_plan alice/run \
		"mv $place/alice/run $place/alice/away; ln -s $place/target $place/alice/run"
	ls -la target alice
	[ -z "$(ls -A target)" ]
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"$place/alice: user 65534 could replace it"*"only root can write"* ]]
	[ -z "$(ls -A alice)" ]
}

@test "another user's folder is refused for that user's jobs, as is one that all may write" {
	need_root
	export SUDO_USER=nobody
	mkdir own all
	chown nobody own
	chmod 777 all
	run_plan own true
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"$place/own: user 65534 could replace it"* ]]
	run_plan all true
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"$place/all: others than root may write it"* ]]
}

@test "another user's job has a clean environment, and its log is its own" {
	need_root
	export SUDO_USER=nobody SECRET_TOKEN=of-root LD_PRELOAD_OF_ROOT=x TERM=dumb LANG=C.UTF-8
	umask 077
	mkdir -m 755 run
	run_plan run 'env; umask; : >>/proc/self/fd/1'
	[ "$status" -eq 0 ]
	cat run/a.log
	[ "$(stat -c '%U %a' run/a.log)" = "nobody 644" ]
	! grep -q 'of-root\|LD_PRELOAD\|SUDO_\|HESHARE_STORE\|HESHARE_LAB' run/a.log
	grep -qx 'PATH=/usr/local/bin:/usr/bin:/bin' run/a.log
	grep -qx "HOME=$(getent passwd nobody | cut -d : -f 6)" run/a.log
	grep -qx "SHELL=$(getent passwd nobody | cut -d : -f 7)" run/a.log
	grep -qx 'USER=nobody' run/a.log && grep -qx 'LOGNAME=nobody' run/a.log
	grep -qx 'TERM=dumb' run/a.log && grep -qx 'LANG=C.UTF-8' run/a.log
	grep -qx 'HESHARE_JOB=a' run/a.log && grep -q '^CUDA_VISIBLE_DEVICES=GPU-' run/a.log
	grep -qx '0022' run/a.log
}

@test "a log that another user has is not given to a job" {
	need_root
	export SUDO_USER=nobody
	mkdir -m 755 run
	echo of bin >run/a.log
	chown 1 run/a.log
	run_plan run 'echo here' --retries 0
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"run/a.log: it belongs to user 1, not to the job's; remove it"* ]]
	[ "$(cat run/a.log)" = "of bin" ]
	[ "$(cat run/b.log)" = here ]
}

@test "a job that puts a pipe in place of its log holds nobody up" {
	run_plan run 'rm run/{job}.log && mkfifo run/{job}.log; sleep 1; exit 3' --retries 0
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"job a: run/a.log: it is not a plain file; passed over"* ||
		"$stderr" == *"run/a.log: it is not a plain file"*"passed over"* ]]
	[[ "$stderr" == *"job a failed with status 3"* &&
		"$stderr" == *"job b failed with status 3"* ]]
}

@test "a pipe in place of the next job's log, or of a job's status, holds nobody up" {
	run_plan run 'case {job} in a) mkfifo run/b.log;; esac' --retries 0
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"job b cannot be started and is given up: "*"run/b.log: it is not a plain file; remove it"* && "$stderr" != *"not found"* ]]
	run_plan again 'rm again/.{job}.1.status; mkfifo again/.{job}.1.status' --restart
	[ "$status" -eq 0 ]
}

@test "a job of another user whose folder is closed to that user is run exactly once" {
	need_root
	export SUDO_USER=nobody
	mkdir -m 700 closed
	mkdir -m 777 open
	cat >script <<-END
		"$HESHARE" run plan.json --no-mps --jobs $place/closed/run -c 'echo {job} >>$place/open/marks; until [ -e $place/open/go ]; do sleep 1; done; echo heshare: {iterations} iterations' &
		until [ -e open/marks ]; do sleep 1; done
		env -u LD_PRELOAD python3 -c '
		import os, signal, sqlite3, sys, time
		d = sqlite3.connect(os.environ["HESHARE_STORE"], isolation_level=None)
		d.execute("BEGIN IMMEDIATE")
		open("open/go", "w")
		while "0 " not in open("$place/closed/run/.a.1.status").read():
		    time.sleep(0.01)
		os.kill(int(sys.argv[1]), signal.SIGKILL)' \$!
		wait
		"$HESHARE" run plan.json --no-mps --resume -c 'echo {job} >>$place/open/marks'
	END
	sed -i 's/^\t*//' script
	run timeout -k 5 100 unshare --fork --pid --mount-proc "$HES_LAB" --fleet one.yaml \
		--speed 100 -- sh script
	[[ "$output" == *"done when the runner died, not run again: 1 job"* ]]
	[ "$(sort open/marks | tr -d '\n')" = ab ]
}

@test "jobs of another user share a GPU by MPS whatever root's umask is" {
	need_root
	export SUDO_USER=nobody
	"$HESHARE" plan "$BATS_FILE_TMPDIR/jobs.csv" -f one.yaml --policy mps-equal -o \
		shared.json >/dev/null
	jq -e '[.gpus[].batches[].jobs | length] | max > 1' shared.json
	open_build "$place/build"
	umask 077
	mkdir closed
	# The job's clean environment does not lead to the lab.
	run --separate-stderr timeout -k 5 100 "$HES_LAB" --fleet one.yaml --speed 50 -- sh -c '
		chmod 666 "$HESHARE_LAB"
		lab="env ASAN_OPTIONS=$ASAN_OPTIONS LD_LIBRARY_PATH=$LD_LIBRARY_PATH LD_PRELOAD=$LD_PRELOAD HESHARE_LAB=$HESHARE_LAB"
		"$HESHARE" run shared.json --json --jobs closed/run -c "$lab $(command -v vgpu-task) --workload {workload} --batch {batch} --iterations {iterations}"'
	cat closed/run/*.log
	[ "$status" -eq 0 ]
	jq -e '.jobs_done == 2 and .repeated == 0' <<<"$output"
	[[ "$stderr" != *"without MPS"* ]]
}

@test "what a job leaves running ends with it: without its environment, in a session of its own, and as a chain of forks" {
	cat >chain <<-'END'
		import os
		while True:
		    if os.fork():
		        os._exit(0)
	END
	need_root
	cat >script <<-'END'
		# Without a cgroup file system as well.
		[ "$1" = cgroup ] || mount -t tmpfs none /sys/fs/cgroup
		"$HESHARE" run plan.json --no-mps --jobs "run-$1" --restart -c "(setsid env -i sh -c 'sleep 98765 & exit') ; env -i python3 chain & sleep 1" 3>&-
		echo "status $?"
		sleep 2
		ps -eo args | grep -E "sleep 9876[5]|chai[n]" || echo none
	END
	for with in cgroup none; do
		run --separate-stderr timeout -k 5 100 unshare --fork --pid --mount-proc --mount \
			"$HES_LAB" --fleet one.yaml --speed 20 -- sh script "$with"
		[[ "$output" == *"0 of 2 jobs done, 2 ended early"*"status 1"*none ]]
	done
}

@test "a job gains no rights by setuid programs unless that is allowed; the guard is not killed for want of memory" {
	need_root
	run_plan run 'grep NoNewPrivs /proc/self/status; for p in $(pgrep -f "restore [-]-guard"); do cat /proc/$p/oom_score_adj; done'
	[ "$status" -eq 0 ]
	grep -q 'NoNewPrivs:.1' run/a.log
	# Where root may ask for it.
	! sh -c 'echo -1000 >/proc/self/oom_score_adj' 2>/dev/null || grep -qx -- -1000 run/a.log
	run_plan run2 'grep NoNewPrivs /proc/self/status' --restart --allow-setuid
	grep -q 'NoNewPrivs:.0' run2/a.log
}
