#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# heshare status and heshare add, on the GPUs of the lab with real processes. Every job leaves a
# line in "marks" when it is done: a job with two lines ran twice. Jobs wait for files, and the
# tests for what the journal says.

setup_file() {
	[ -n "${HES_LAB:-}" ] || return 0
	cd "$BATS_FILE_TMPDIR"
	printf 'name: two\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 1 }, { type: T4, count: 1 } ]\n' >two.yaml
	cat >jobs.csv <<-END
		id,arrival_s,workload,batch_size,iterations,memory_mib
		a,0,resnet34,8,1500,1813
		b,0,resnet18,4,1500,1194
		c,0,mobilenet,4,1500,1266
		d,0,resnet18,4,2500,1194
		e,0,resnet34,4,1500,1373
	END
	cat >more.csv <<-END
		id,arrival_s,workload,batch_size,iterations,memory_mib
		x,0,resnet34,8,1500,1813
		y,0,mobilenet,4,1500,1266
	END
	head -3 jobs.csv >few.csv
	head -2 jobs.csv >one.csv
	# Planned times are stretched: a job's time limit follows from its planned time, and a
	# second of the lab is short.
	"$HESHARE" plan jobs.csv -f two.yaml --policy joint --budget 3000 --json |
		jq '.gpus[].batches[] |= (.clock_mhz = ([.clock_mhz, 1125] | min) | del(.unlocked))' |
		stretch >open.json
	"$HESHARE" plan jobs.csv -f two.yaml --policy heshare --json | stretch >batches.json
	# With a clock that is locked: its unlocking shows that a GPU's queue is over.
	"$HESHARE" plan few.csv -f two.yaml --policy exclusive --json |
		jq '.gpus[].batches[] |= (.clock_mhz = 900 | del(.unlocked))' | stretch >exclusive.json
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 1 } ]\n' \
		>one.yaml
	"$HESHARE" plan one.csv -f one.yaml --policy joint --json |
		jq '.gpus[].batches[].jobs[].sm_pct = 100' | stretch >alone.json
}

stretch() {
	jq '(.gpus[].batches[] | .start_us, .end_us, (.jobs[] | .start_us, .end_us)) *= 1000'
}

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	PATH=$(dirname "$HESHARE"):$PATH
	unset LD_LIBRARY_PATH HESHARE_STORE
	cd "$BATS_TEST_TMPDIR"
	cp "$BATS_FILE_TMPDIR"/*.{yaml,csv,json} .
	: >marks
	export HESHARE_STORE=$PWD/store.db
	local work='vgpu-task --workload {workload} --batch {batch} --iterations {iterations}'
	export task="$work && echo {job} >>$PWD/marks"
	# One that does not end before there is a file "go" or "go-JOB".
	export gated="$work && until [ -e $PWD/go ] || [ -e $PWD/go-{job} ]; do sleep 1; done && echo {job} >>$PWD/marks"
	export endless_first="[ \$HESHARE_ATTEMPT != 1 ] || exec vgpu-task --workload {workload} --batch {batch} --iterations 1000000000 --every 2; $task"
	# In a script: wait until so many jobs that were added have a place.
	cat >placed <<-'END'
		until [ "$(sqlite3 store.db "SELECT count(*) FROM run_jobs WHERE job > 'w' AND planned_end_us > planned_start_us")" = "$1" ]; do sleep 1; done
	END
	# In a script: wait until a filter of jq holds for run 1.
	cat >await <<-'END'
		until heshare status 1 --json >seen 2>/dev/null && jq -e "$1" seen >/dev/null; do sleep 2; done
	END
}

lab() { # FLEET SCRIPT...
	local fleet=$1
	shift
	run --separate-stderr "$HES_LAB" --fleet "$fleet.yaml" --speed 40 -- bash -c "$@"
}

once() { # JOBS: each of these left its line once
	[ "$(sort marks | tr -d '\n')" = "$1" ]
}

@test "before the first run there is nothing to show, and that is no error" {
	run -0 "$HESHARE" status
	[ "$output" = "no run yet ($HESHARE_STORE: no store there)" ]
	HESHARE_STORE=wrong.db run -0 "$HESHARE" status
	[ "$output" = "no run yet (wrong.db: no store there)" ]
	run -0 "$HESHARE" status --json
	[ "$(jq -c .runs <<<"$output")" = "[]" ]
	run -1 "$HESHARE" status --store nowhere.db
	[[ "$output" == *"nowhere.db: no store there"* ]]
	"$HESHARE" profile --modelled --samples 2 --store empty.db -o rows >/dev/null
	run -0 "$HESHARE" status --store empty.db
	[ "$output" = "no run yet in empty.db" ]
}

@test "a run that goes on: its jobs, power, energy and times left; then it is done" {
	lab two 'heshare run open.json -c "$gated" >out 2>err & p=$!
		sh await "[.jobs[] | select(.state == \"running\" and .done == 1)] | length > 0"
		heshare status; heshare status --json >going.json
		: >go; wait $p; heshare status --json >done.json; heshare status >done.txt'
	[ "$status" -eq 0 ]
	[[ "$output" == *"run 1  going, process "*"/open.json"*" waiting, 0 done, 0 failed"*" W now"*"GPU "*"a/0 "*"time left  workload"* ]]
	jq -e '.runs[0] | .state == "going" and .runner == "alive" and .power_w > 0 and .energy_j > 0 and .left_s > 0 and .age_s != null' going.json
	jq -e '.runs[0] | (.jobs | length) == 5 and .jobs_running + .jobs_waiting == 5 and .jobs_running > 0 and (.gpus | length) == 2' going.json
	# What the table of jobs says sums to the counts.
	jq -e '.runs[0] | ([.jobs[] | select(.state == "running")] | length) == .jobs_running' \
		going.json
	jq -e '[.runs[0].jobs[] | select(.state == "running") | .clock_mhz > 0 and .sm_pct > 0 and .left_s >= 0] | all' going.json
	jq -e '.runs[0] | .state == "done" and .runner == null and .jobs_done == 5 and .power_w == null and .energy_j > 0 and .left_s == null' done.json
	[[ "$(cat done.txt)" == "ended, the last first:"*"  started, UTC "*"  done of jobs  failed  "*"1"*" done "*" 5 of 5 "*"open.json" ]]
	# Energy so far only rises, up to that of the report.
	jq -e --slurpfile going going.json --slurpfile done done.json -n \
		'$done[0].runs[0].energy_j > $going[0].runs[0].energy_j'
	jq -e --slurpfile done done.json '.measured.fleet_energy_j == $done[0].runs[0].energy_j' \
		open.run/report.json
	[ ! -e open.run/live.json ]
}

@test "the clock of a job is the one that its GPU has now, not the one of its start" {
	"$HESHARE" plan few.csv -f one.yaml --policy joint --json | stretch |
		jq '.gpus[].batches |= [.[] | .jobs[] as $j | . + { jobs: [$j + { sm_pct: 50 }], clock_mhz: (if $j.job == "a" then 1050 else 900 end) } | del(.unlocked)]' >clocks.json
	lab one 'heshare run clocks.json -c "$gated" >out 2>err & p=$!
		sh await "[.jobs[] | select(.clock_mhz == 1050)] | length == 2"
		: >go-a; sh await "[.jobs[] | select(.job == \"b\" and .clock_mhz == 900)] | length == 1 or .state != \"going\""
		: >go; wait $p; jq -e ".state == \"going\"" seen'
	[ "$status" -eq 0 ]
}

@test "a run whose runner was killed is interrupted, one that was stopped is stopped" {
	lab two 'heshare run open.json -c "$endless_first" >out 2>err & p=$!
		sh await ".energy_j > 0 and .jobs_running > 0"
		kill -KILL $p; wait $p; heshare status; heshare status 1 --json >dead.json
		heshare run open.json --resume -c "exec vgpu-task --workload {workload} --batch {batch} --iterations 1000000000 --every 2" >out 2>err & p=$!
		sh await ".runner == \"alive\" and .jobs_running > 0"
		kill -TERM $p; wait $p; heshare status 1; heshare status 1 --json >stopped.json'
	[[ "$output" == *"run 1  interrupted: its process "*" is dead; heshare run open.json --resume, with the options of its start, goes on"*"the last that the runner wrote"* ]]
	[[ "$output" == *"run 1  stopped; heshare run open.json --resume, with the options of its start, goes on"* ]]
	jq -e '.state == "going" and .runner == "dead" and .jobs_running == 0 and .jobs_waiting == 5 and .power_w == null and .energy_j > 0' dead.json
	jq -e '.state == "stopped" and .runner == null and .jobs_waiting == 5' stopped.json
}

@test "--watch follows a run to its end, and leaves a terminal as it was at Ctrl-C" {
	cat >at_terminal.py <<-'END'
		# COMMAND...: run it on a terminal, press Ctrl-C once it has drawn twice, print what
		# it wrote and its exit status.
		import fcntl, os, pty, struct, sys, termios
		pid, fd = pty.fork()
		if pid == 0:
		    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, 40, 0, 0))
		    os.environ["TERM"] = "xterm"
		    os.execvp(sys.argv[1], sys.argv[1:])
		text, pressed = b"", False
		while True:
		    try:
		        more = os.read(fd, 4096)
		    except OSError:
		        break
		    if not more:
		        break
		    text += more
		    if not pressed and text.count(b"\x1b[H") >= 2:
		        os.write(fd, b"\x03")
		        pressed = True
		print(repr(text), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	END
	lab two 'heshare run open.json -c "$gated" >out 2>err & p=$!
		sh await ".jobs_running > 0"
		python3 at_terminal.py heshare status --watch >drawn
		TERM=dumb heshare status 1 --watch >watched & w=$!
		until grep -q "going, process" watched; do sleep 1; done
		: >go; wait $p; wait $w; echo $? >watch.rc'
	# The other screen and cut lines, and back; then the last look stays.
	[[ "$(cat drawn)" == "b'"*'\x1b[?1049h\x1b[?7l\x1b[H'*'\x1b[?7h\x1b[?1049l'*"run 1  going"*"' 0" ]]
	[ "$(grep -o '1049l' drawn | wc -l)" = 1 ]
	[[ "$(sed 's/1049l.*//' drawn)" == *" waiting, 0 done, 0 failed"* && "$(sed 's/.*1049l//' drawn)" != *" waiting, 0 done, 0 failed"* ]]
	[ "$(cat watch.rc)" = 0 ]
	! grep -q $'\033' watched
	tail -8 watched | grep -q "run 1  done"
	run -2 "$HESHARE" status --watch --json
	[[ "$output" == *"one document, so not with --watch" ]]
}

@test "add: all jobs that wait are planned again with the new ones, and every job runs once" {
	for plan in open batches; do
		rm -rf store.db* marks go*
		plan=$plan lab two 'heshare run $plan.json --json -c "$gated" >out 2>err & p=$!
			sh await ".jobs_running > 0"
			heshare add 1 more.csv -c "$gated" --json; heshare status 1 --json >added.json
			: >go; wait $p; echo $? >status'
		[ "$status" -eq 0 ]
		jq -e '.run == 1 and .taken and (.jobs | map(.job) | sort) == ["x", "y"]' \
			<<<"$output"
		jq -e '.jobs_added == 2 and (.jobs | length) == 7 and .jobs_done == 0' added.json
		jq -e '[.jobs[] | select(.added) | .state] == ["waiting", "waiting"] or (.jobs_running > 0)' added.json
		[ "$(cat status)" = 0 ]
		jq -e '.jobs_done == 7 and .jobs_added == 2 and .state == "done"' out
		jq -e '[.jobs[] | .attempts == 1 and .planned_j > 0 and .attributed_j > 0] | all' out
		sqlite3 store.db "SELECT what FROM acts" | grep -q "planned again, because jobs were added"
		grep -q "2 jobs were added: there are 7 now" err
		once abcdexy
	done
}

@test "add to a run, kill it at once, resume: no job is lost and none runs twice" {
	lab two 'heshare run open.json --json -c "$gated" >out 2>err & p=$!
		sh await ".jobs_running > 0"
		kill -STOP $p
		heshare add 1 more.csv -c "$task" --no-wait
		kill -KILL $p; wait $p
		head -2 more.csv | cut -d, -f2- >third.csv # its id goes on from the run
		heshare add 1 third.csv -c "$task" --progress "step ([0-9]+)"
		: >go; heshare run open.json --resume --json -c "$task" >out 2>err2; echo $? >status; heshare status'
	[[ "$output" == *"2 jobs written for run 1"*"1 job written for run 1, which is interrupted: heshare run $PWD/open.json --resume, with the options of its start, starts it"* ]]
	[ "$(cat status)" = 0 ]
	jq -e '.jobs_done == 8 and .jobs_added == 3 and .state == "done" and .run == 1' out
	once 8abcdexy
	[ "$(sqlite3 store.db "SELECT progress FROM added_jobs ORDER BY id" | xargs)" = "step ([0-9]+)" ]
}

@test "a run that took added jobs is killed while they run, and resumed twice" {
	lab two 'heshare run batches.json --json -c "$gated" >out 2>err & p=$!
		sh await ".jobs_running > 0"
		heshare add 1 more.csv -c "$endless_first"; : >go
		sh await "[.jobs[] | select(.state != \"done\")] | map(.added) == [true, true] and any(.[]; .state == \"running\")"
		kill -KILL $p; wait $p
		heshare run batches.json --resume --json -c "$task" >out 2>err; echo $? >status'
	[ "$(cat status)" = 0 ]
	jq -e '.jobs_done == 7 and .jobs_added == 2' out
	once abcdexy
}

@test "add uses a GPU whose queue was over, and starts MPS once the job without it has ended" {
	lab two 'heshare run exclusive.json --json -c "if [ {job} = b ]; then $task; else $gated; fi" >out 2>err & p=$!
		sh await ".jobs_done == 1"
		until sqlite3 store.db "SELECT what FROM acts" | grep -q unlock; do sleep 1; done
		head -2 more.csv >x.csv; heshare add 1 x.csv -c "$task" --json
		sh await "[.jobs[] | select(.job == \"x\" and .state == \"done\")] | length == 1"
		: >go; wait $p; echo $? >status'
	[ "$(cat status)" = 0 ]
	jq -e '.jobs_done == 3' out
	once abx
	rm -rf store.db* marks go
	lab one 'heshare run alone.json --json -c "$gated" >out 2>err & p=$!
		sh await ".jobs_running == 1"
		heshare add 1 more.csv -c "$task" --json >added.json
		: >go; wait $p; echo $? >status; sqlite3 store.db "SELECT what FROM acts ORDER BY id"'
	[ "$(cat status)" = 0 ]
	[[ "$output" == \
		"start attempt 1 "*"start the MPS daemon"*"start attempt 1 "*"start attempt 1 "* \
		|| "$output" == \
		*"lock the clock"*"start attempt 1 "*"start the MPS daemon"*"start attempt 1 "* ]]
	jq -e '.jobs_done == 3' out
	once axy
}

@test "jobs of a batch that was added count once when more are added behind them" {
	printf 'a,0,resnet34,8,10000,1813\n' | cat <(head -1 jobs.csv) - >one.csv
	printf 'x,0,resnet34,8,10000,1813\ny,0,mobilenet,4,10000,1266\n' |
		cat <(head -1 jobs.csv) - >more.csv
	printf 'z,0,resnet34,8,10000,1813\n' | cat <(head -1 jobs.csv) - >third.csv
	# Its end does not pass while jobs are added, and no progress moves it.
	export quiet="until [ -e $PWD/go ]; do sleep 1; done && echo {job} >>$PWD/marks"
	"$HESHARE" plan one.csv -f one.yaml --policy heshare --json | stretch >one.json
	lab one 'heshare run one.json --early-ok --json -c "$quiet" >out 2>err & p=$!
		sh await ".jobs_running > 0"
		heshare add 1 more.csv -c "$quiet"
		sh placed 2
		heshare add 1 third.csv -c "$quiet"
		sh placed 3; : >go; wait $p'
	[ "$status" -eq 0 ]
	once axyz
	jq -e '.jobs | map({(.job): .}) | add | .x.planned_start_s == .y.planned_start_s and
		.z.planned_start_s - .x.planned_start_s <
		([.x, .y | .planned_end_s - .planned_start_s] | max + 0.5 * min)' out
}

@test "jobs that are added to the plan of a program run alone" {
	cat >mine <<-'END'
		#!/usr/bin/env python3
		import json, os, sys
		jobs = [{"jobs": [{"job": j["id"], "sm_pct": 50}]} for j in json.load(sys.stdin)["jobs"]]
		queue = {"gpu": "a/0", "batches": jobs}
		json.dump({"gpus": [queue | {"together": 2} if "OPEN" in os.environ else queue]}, sys.stdout)
	END
	chmod +x mine
	"$HESHARE" plan jobs.csv -f two.yaml --policy exec:./mine --json | stretch >first.json
	OPEN=1 "$HESHARE" plan jobs.csv -f two.yaml --policy exec:./mine --json |
		stretch >second.json
	lab two 'heshare run first.json -c "$gated" >out 2>err & p=$!
		sh await ".jobs_running > 0"
		heshare add 1 more.csv -c "$task" 2>&1; : >go; wait $p; cat err; rm go
		heshare run second.json -c "$gated" >out 2>err & p=$!
		until heshare status 2 --json >seen 2>/dev/null && jq -e ".jobs_running > 0" seen >/dev/null; do sleep 2; done
		heshare add 2 more.csv -c "$task"; : >go; wait $p'
	[ "$status" -eq 0 ]
	[[ "$output" == "2 jobs added to run 1"*"heshare run: new jobs run alone, behind those that wait: the plan is that of a program, which plans once"$'\n'*"2 jobs added to run 2" ]]
	[ "$(sqlite3 store.db "SELECT sm_pct FROM run_jobs WHERE run_id = 1 AND job IN ('x', 'y')" | xargs)" = "100 100" ]
	# What a GPU did includes jobs without planned times: the plan has nothing to compare it with.
	jq -e '.jobs as $jobs | .gpus | all(.gpu as $g | (.planned_busy_s == null and .planned_busy_energy_j == null) ==
		([$jobs[] | select(.gpu == $g and .planned_start_s == null)] != [] or .busy_s == 0))' first.run/report.json
	once aabbccddeexxyy
	# What a shell offers where a run is named.
	run -0 bash --norc -c 'source <(heshare completion bash); COMP_WORDS=(heshare add "") COMP_CWORD=2
		_heshare; printf "%s\n" "${COMPREPLY[@]}"'
	[ "$output" = $'1\n2' ]
}

@test "what cannot be added is refused with the reason" {
	lab two 'heshare run open.json -c "$gated" >out 2>err & p=$!
		sh await ".jobs_running > 0"
		t() { echo "== $1"; shift; heshare add "$@" 2>&1; echo "rc $?"; }
		row() { { head -1 more.csv; echo "$1"; } >bad.csv; }
		t number nine more.csv
		t run 9 more.csv -c "$task"
		row a,0,resnet34,8,10,1813; t name 1 bad.csv -c "$task"
		row x,0,resnet34,8,10,999999; t memory 1 bad.csv -c "$task"
		t command 1 more.csv
		t file 1 none.csv
		{ echo "$(head -1 more.csv),user"; echo x,0,resnet34,8,10,1813,nobody; } >bad.csv; t user 1 bad.csv -c "$task"
		cp open.json kept; echo >>open.json; t changed 1 more.csv -c "$task"; cp kept open.json
		heshare status 1 --json | jq -c .jobs_added
		: >go; wait $p
		t over 1 more.csv -c "$task"'
	[[ "$output" == \
		*'== number'*'"nine" is no number of a run; heshare status prints them'*"rc 2"* ]]
	[[ "$output" == *"== run"*"there is no run 9"*"rc 1"* ]]
	[[ "$output" == \
		*"== name"*"run 1 has a job a already; give the new one another name"*"rc 1"* ]]
	[[ "$output" == *"== memory"*"job x "*"memory"*"rc 1"* ]]
	[[ "$output" == *"== command"*"job x has no command"*"rc 1"* ]]
	[[ "$output" == *"== file"*"none.csv"*"rc 1"* ]]
	[[ "$output" == *"== user"*"job x is to run as nobody; jobs with a user of their own cannot be added"*"rc 1"* ]]
	[[ "$output" == *"== changed"*"open.json: it has changed since run 1 began"*"rc 1"* ]]
	# Nothing of all this was added.
	[[ "$output" == *$'rc 1\n0\n'* ]]
	[[ "$output" == *"== over"*"run 1 is over, so no job can be added"*"rc 1"* ]]
	once abcde
}

@test "jobs that several add at a time are placed one after the other" {
	lab two 'heshare run open.json --json -c "$gated" >out 2>err & p=$!
		sh await ".jobs_running > 0"
		for i in 1 2 3; do
			sed "s/^\([xy]\),/\1$i,/" more.csv >more$i.csv
			heshare add 1 more$i.csv -c "$gated" >added$i 2>&1 &
			adds="$adds $!"
		done
		for a in $adds; do wait $a || cat added?; done
		: >go; wait $p'
	echo "$output"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	jq -e '.jobs_done == 11 and .jobs_added == 6' out
	# Each knew of those before: equal jobs did not all get one place.
	jq -e '[.jobs[] | select(.job | startswith("x")) | [.gpu, .planned_start_s]] | length == 3 and (unique | length) > 1' out
	jq -e '.planned.fleet_energy_j >= .planned.busy_energy_j' out
}
