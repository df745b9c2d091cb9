#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# heshare run, on the GPUs of the lab with real processes: jobs run once, as planned; failures are
# reported separately. Every test's job leaves a line in "marks" when it is done: a job with two
# lines ran twice. What has to be during something when something else happens waits for it: no test
# counts on how quick the machine is.

load run_setup

@test "batches: every job runs once, its output in its own file, with the planned and the real times" {
	# 14000 iterations of 1 ms at 100 W: alone they are 1400 J.
	awk -F, 'BEGIN { print "workload,gpu_type,batch_size,clock_mhz,memory_mib,iteration_us,busy,sm_util,dram_util,l2_util,power_mw" }
		NR > 1 { print $3 ",T4," $4 ",1590,900,1000,0.9,0.5,0.2,0.1,100000"; print $3 ",A100-SXM-80," $4 ",1410,900,1000,0.9,0.5,0.2,0.1,100000" }' \
		jobs.csv | awk '!seen[$0]++' >p.csv
	# The CUDA_VISIBLE_DEVICES of the caller does not reach the jobs.
	lab 40 sh -c 'CUDA_VISIBLE_DEVICES=0,1 heshare run batches.json --profiles p.csv --json -c "$task"; echo $? >status; sh left'
	[ "$(cat status)" = 0 ]
	once
	jq -e '.jobs_done == 8 and .state == "done" and .repeated == 0 and (.jobs | length) == 8 and (.gpus | length) == 2' <<<"$output"
	jq -e '[.jobs[] | .state == "done" and .attempts == 1 and .attributed_j > 0 and .end_s > .start_s] | all' <<<"$output"
	# Parts of the meter's joules: jobs' sum to those of their GPUs.
	jq -e '([.jobs[].attributed_j] | add) as $j | ([.gpus[].busy_energy_j] | add) as $g | ($j / $g - 1) | fabs < 0.01' <<<"$output"
	# One job at a time: each GPU ends after the sum of its jobs.
	jq -e --slurpfile p batches.json '([.jobs[].attributed_j] | add) as $j |
		([$p[0].jobs[] | {(.id): .iterations}] | add) as $n |
		([.jobs | group_by(.gpu)[] | map($n[.job] * 1e-3) | add] | max) as $last |
		.baseline | .by_profiles == 8 and .by_model == 0 and .jobs_done == 8 and
		(.jobs_j - 1400 | fabs) < 1e-3 and (.measured_jobs_j / $j - 1 | fabs) < 1e-6 and
		(.makespan_s - $last | fabs) < 1e-6 and .avg_jct_s > 0 and .avg_jct_s < $last and .fleet_energy_j > 1400' <<<"$output"
	[[ "$output" != *left:* ]]
	grep -q "heshare: 1500 iterations" batches.run/a.log
	[ "$(find batches.run -name '*.status' | wc -l)" = 0 ]
	jq -e '.jobs_done == 8 and .baseline.by_profiles == 8' batches.run/report.json
	# Another run of the same plan is another run.
	lab 40 sh -c 'heshare run batches.json --no-mps -c "$quick" --jobs again'
	[ "$status" -eq 0 ]
	[[ "$output" == *"run 2: 8 of 8 jobs done"*"against one job per GPU at the default clock, estimated for 8 of 8 jobs ("*" by measurements, "*" by the GPU model)"* ]]
	jq '.jobs[].workload |= "my-" + .' batches.json >mine.json
	lab 40 sh -c 'heshare run mine.json --no-mps -c "$quick"'
	[[ "$output" == *"8 of 8 jobs done"*"against one job per GPU at the default clock is not known: its jobs have no profile"* ]]
	jq -e '.baseline == null' mine.run/report.json
}

@test "an open queue: admitted as share and memory are free" {
	lab 40 sh -c 'heshare run open.json --json -c "$task"; echo $? >status; sh left'
	[ "$(cat status)" = 0 ]
	once
	jq -e '.jobs_done == 8' <<<"$output"
	[[ "$output" != *left:* ]]
	# Shares never sum to more than the plan's limit for the GPU.
	jq -e --slurpfile plan open.json '[.jobs[] as $x | ($plan[0].gpus[] | select(.gpu == $x.gpu) | .shares_pct // 100) as $limit |
		[.jobs[] | select(.gpu == $x.gpu and .start_s <= $x.start_s and .end_s > $x.start_s + 0.001) | .sm_pct] | add <= $limit] | all' <<<"$output"
}

@test "a rehearsal tells every act in order and touches nothing" {
	lab 1 heshare run batches.json --dry-run -c "$task"
	[ "$status" -eq 0 ]
	[ "$(grep -c 'start attempt' <<<"$output")" = 8 ]
	[ "$(grep -c 'ends, as planned' <<<"$output")" = 8 ]
	grep -q 'lock the clock at' <<<"$output"
	grep -q 'start the MPS daemon of GPU-' <<<"$output"
	grep -q 'CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=' <<<"$output"
	[ "$(grep -c 'unlock the clock' <<<"$output")" = 2 ]
	# In order of time, and of each GPU a clock before its jobs.
	awk '/^ *[0-9]+\.[0-9]+ / { if ($1 + 0 < last) exit 1; last = $1 + 0 }' <<<"$output"
	[ ! -e store.db ] && [ ! -e batches.run ] && [ ! -s marks ]
	if ldconfig -p | grep -q libnvidia-ml.so.1; then return; fi
	# On a machine without GPUs too.
	run -0 --separate-stderr "$HESHARE" run batches.json --dry-run -c "$task"
	[ "$(grep -c 'start attempt' <<<"$output")" = 8 ]
	[[ "$stderr" == *"the rehearsal goes by the plan's GPUs" ]]
}

@test "a rehearsal shows commands whole, their user, and control characters as numbers" {
	long=$(printf 'x%.0s' $(seq 6000))
	jq --arg long "$long" '(.jobs[] | select(.id == "c")) |= (.user = "nobody" | .command = ": " + $long + " end\u001b[2J\u009b2J\nHESHARE_JOB=z")' \
		batches.json >p.json
	lab 1 heshare run p.json --dry-run -c true
	[ "$status" -eq 0 ]
	grep -q "start attempt 1 as nobody with [0-9]* % of the SMs: : $long end"'\\x1b\[2J\\xc2\\x9b2J\\x0aHESHARE_JOB=z$' <<<"$output"
	! grep -q $'\x1b' <<<"$output"
	[ "$(grep -c "start attempt 1 as $(id -un) with" <<<"$output")" = 7 ]
	SUDO_USER=nobody lab 1 heshare run p.json --dry-run -c true
	[ "$(id -u)" != 0 ] || [ "$(grep -c "start attempt 1 as nobody with" <<<"$output")" = 8 ]
}

@test "a job that fails is tried again and given up; --resume tries it once more" {
	jq '(.jobs[] | select(.id == "c")).command = "test -e fixed && echo c >>marks && echo heshare: 1500 iterations"' \
		batches.json >p.json
	lab 40 heshare run p.json --retries 1 --json -c "$task"
	[ "$status" -eq 1 ]
	jq -e '.jobs_done == 7 and .jobs_failed == 1 and .repeated == 1 and .co_failed == 0' \
		<<<"$output"
	jq -e '.jobs[] | select(.job == "c") | .state == "failed" and .attempts == 2' <<<"$output"
	[[ "$stderr" == *"job c failed with status 1 in attempt 2; it is given up"* ]]
	# Also later, from elsewhere.
	heshare status | grep -x "heshare status 1 says why its jobs failed"
	[[ "$(heshare status 1)" == *"job c failed with status 1; no output in "*"p.run"* ]]
	heshare status 1 --json | jq -e '[.jobs[] | select(.failure) | .job, .failure.status] == ["c", 1]'
	run bash -c 'set -o pipefail; heshare status --watch 2>err | head -1'
	[ "$status" -eq 141 ]
	[ ! -s err ]
	touch fixed
	lab 40 sh -c 'heshare run p.json --resume --json -c "$task"; sh left'
	[ "$status" -eq 0 ]
	jq -e '.jobs_done == 8 and .run == 1' <<<"$output"
	once
}

@test "the report shows the log and the last lines of jobs that failed; a command that is not there is not tried again" {
	jq '(.jobs[] | select(.id == "c")).command = "printf \"one\\ntwo\\n\\033[31mthree\\rfour \\377\\n\\n\"; exit 3"
		| (.jobs[] | select(.id == "d")).command = "nothing-like-this"
		| (.jobs[] | select(.id == "e")).command = "/etc/passwd"
		| (.jobs[] | select(.id == "f")).command = "[ $HESHARE_ATTEMPT != 1 ] || echo first; exit 4"' batches.json >p.json
	lab 40 heshare run p.json --retries 1 --no-mps -c "$quick"
	[ "$status" -eq 1 ]
	[[ "$output" == *"job c failed with status 3; the end of $PWD/p.run/c.log:"$'\n    two\n    \\x1b[31mthree\n    four \\xff\n'* ]]
	[[ "$output" == *"job d failed: its command was not found (status 127); the end of $PWD/p.run/d.log:"$'\n'*"nothing-like-this: not found"* ]]
	[[ "$output" == *"job e failed: its command cannot be executed (status 126)"* ]]
	[[ "$output" == *"job f failed with status 4; no output in $PWD/p.run/f.log"$'\n'* ]]
	# The excerpt is of the last attempt.
	[[ "$stderr" == *"job f failed with status 4 in attempt 1; it is tried again; "*"/p.run/f.log has its output"* ]]
	[[ "$stderr" == *"job f failed with status 4 in attempt 2; it is given up; it wrote no output"* ]]
	[ "$(cat p.run/f.log)" = $'first\n\n[heshare: the next attempt]' ]
	[[ "$output" != *$'\e'* ]]
	[[ "$stderr" == *"job d: its command was not found, status 127 in attempt 1; another attempt would end like this, so it is given up"* ]]
	jq -e '[.jobs[] | select(.failure) | [.job, .attempts, .failure.status]] | sort == [["c", 2, 3], ["d", 1, 127], ["e", 1, 126], ["f", 2, 4]]' p.run/report.json
	jq -e '.jobs[] | select(.job == "c").failure | .log == "'"$PWD"'/p.run/c.log" and .last_lines[2] == "four \\xff"' p.run/report.json
	# What is compared is the part of the plan that was done.
	[[ "$output" == *"the 4 jobs that are done, against their part of the plan"* ]]
	jq -e '([.jobs[] | select(.state == "done").planned_j] | add) as $j | (.part.busy_energy_j / $j - 1 | fabs) < 0.001 and .part.busy_energy_j < .planned.busy_energy_j
		and .part.fleet_energy_j == null' p.run/report.json
}

@test "a job that takes too long is ended" {
	only_limited batches.json d >p.json
	lab 40 sh -c 'heshare run p.json --timeout-factor 1 --timeout-least 20 --retries 0 --grace 5 --json -c "test {job} != d || sleep 100000; $quick"; sh left'
	jq -e '.jobs_done == 7 and .timeouts == 1' <<<"$output"
	[[ "$stderr" == *"job d timed out in attempt 1; it is given up"* ]]
	[[ "$output" != *left:* ]]
}

@test "SIGINT stops in order, --resume-if-begun goes on with what is left" {
	first=$(jq -r '.gpus[0].batches[0].jobs[0].job' batches.json)
	export first
	lab 20 bash -c 'heshare run batches.json --resume-if-begun --json -c "[ {job} = $first ] || $endless; $task" >out1 &
		p=$!; sh await_done 1; kill -TERM $p; wait $p; echo $? >status; sh left'
	[ "$(cat status)" = 1 ]
	[[ "$output" != *left:* ]]
	[[ "$stderr" == *"stopping: no job starts any more"* ]]
	jq -e '.state == "stopped" and .jobs_done == 1 and .jobs_waiting == 7' out1
	lab 40 sh -c 'heshare run batches.json -c "$task"'
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"run 1 of batches.json was interrupted; --resume goes on with it, --restart starts over"* ]]
	lab 40 sh -c 'heshare run batches.json --resume-if-begun --json -c "$task"'
	[ "$status" -eq 0 ]
	jq -e '.jobs_done == 8 and .state == "done"' <<<"$output"
	once
}

@test "a wall clock that is set while a run is interrupted changes no duration" {
	first=$(jq -r '.gpus[0].batches[0].jobs[0].job' batches.json)
	export first
	for hours in -1 1; do # the journal's start is moved: for the run it is as if the clock was moved the other way
		rm -rf store.db* batches.run marks
		lab 1 bash -c 'heshare run batches.json --no-mps -c "[ {job} = $first ] || exec sleep 1000; echo {job} >>marks; $quick" >/dev/null 2>&1 &
			p=$!; sh await_done 1; kill -TERM $p; wait $p
			sqlite3 store.db "UPDATE runs SET started_us = started_us + 3600000000 * '$hours'"
			heshare run batches.json --no-mps --resume --json -c "echo {job} >>marks; $quick"'
		[ "$status" -eq 0 ]
		once
		jq -e '[.jobs[] | .end_s >= .start_s and .end_s < 600] | all' <<<"$output"
		[[ "$stderr" != *"was set back"* ]]
	done
}

@test "a stop that comes after the last job does not take the report" {
	lab 1 bash -c 'heshare run batches.json --json -c "$quick" >out1 & p=$!
		until [ "$(sqlite3 store.db "SELECT count(*) FROM run_jobs WHERE state = '"'done'"'" 2>/dev/null)" = 8 ]; do :; done
		kill -TERM $p; wait $p; echo $? >status; sh left'
	[ "$(cat status)" = 0 ]
	[[ "$output" != *left:* ]]
	jq -e '.jobs_done == 8 and .state == "done"' out1
}

@test "a reader that goes away ends no run" {
	first_fails="[ \$HESHARE_ATTEMPT != 1 ] && $task"
	export first_fails
	for report in "" --json; do
		rm -rf batches.run store.db* status
		: >marks
		lab 40 bash -c "{ heshare run batches.json $report -c \"\$first_fails\" 2>&1; echo \$? >status; } | head -1; sh left"
		echo "status $(cat status)"
		[ "$(cat status)" = 0 ]
		[ "${#lines[@]}" = 1 ]
		[[ "$output" == "heshare run: "* ]]
		once
		jq -e '.jobs_done == 8 and .state == "done"' batches.run/report.json
		[ "$(sqlite3 store.db "SELECT state || (SELECT count(*) FROM run_jobs WHERE state = 'done') FROM runs")" = done8 ]
	done
	# What is no pipe is an error, as before.
	lab 40 bash -c 'heshare run batches.json --jobs again -c true >/dev/full; echo $? >status'
	[ "$(cat status)" = 1 ]
	[[ "$stderr" == *"cannot write standard output: No space left on device"* ]]
}

@test "a clock set back, and a restart of the machine during an interrupted run, make no time negative" {
	lab 20 bash -c 'heshare run batches.json --json -c "$gated" >out1 & p=$!
		sh await 2; touch go-a go-b go-d go-f; sh await_done 1; kill -TERM $p; wait $p; touch go
		# As if it were 2000 s earlier than when the run began, and the machine had been
		# restarted.
		rm batches.run/.clock
		sqlite3 store.db "UPDATE runs SET started_us = started_us + 2000000000" \
			"UPDATE run_jobs SET end_us = end_us - 2000000000 WHERE id = (SELECT min(id) FROM run_jobs WHERE end_us NOT NULL)"
		heshare run batches.json --resume --json -c "$gated"; echo $? >status'
	[ "$(cat status)" = 0 ]
	jq -e '.jobs_done == 8 and .measured.avg_jct_s > 0 and ([.jobs[] | .start_s >= 0 and .end_s >= .start_s] | all)' <<<"$output"
	[[ "$stderr" == *"the clock of this machine was set back while the run was interrupted"* ]]
	[[ "$stderr" == *"1 job ended before it began by the clock"* ]]
}

# Killed between its last act and its end nobody can know that a job was done: what counts is what
# the journal says.
@test "killed at any moment: nothing is left, --resume does each job exactly once" {
	last=$(jq -r '.gpus[0].batches[-1].jobs[-1].job' batches.json)
	export last
	for jobs in 1 4 7; do
		: >marks
		rm -rf store.db* batches.run
		lab 20 bash -c 'heshare run batches.json -c "[ {job} != $last ] || $endless; $numbered" >/dev/null &
			p=$!; sh await "$0"; kill -KILL $p; wait $p; sh left_in_the_end
			heshare run batches.json --resume --json -c "$numbered" >out1' "$jobs"
		[ "$status" -eq 0 ]
		[[ "$output" != *left:* ]]
		jq -e '.jobs_done == 8' out1
		sqlite3 -separator ' ' store.db \
			"SELECT job, number FROM attempts WHERE verdict = 'done' ORDER BY job" >done
		[ "$(cut -d ' ' -f 1 done | tr -d '\n')" = abcdefgh ]
		[ -z "$(sort marks | comm -13 - done)" ]
	done
}

@test "while the store is locked jobs go on and nothing new starts" {
	lab 10 bash -c 'heshare run batches.json --json -c "$task" & sh await 1
		env -u LD_PRELOAD python3 -c "
import sqlite3, time
d = sqlite3.connect(\"store.db\", isolation_level=None)
d.execute(\"BEGIN IMMEDIATE\")
time.sleep(2)
d.execute(\"COMMIT\")"; wait'
	jq -e '.jobs_done == 8' <<<"$output"
	[ "$(grep -c 'the journal cannot be written, so nothing new starts until it can' <<<"$stderr")" -le 1 ]
	once
}

@test "a store that is removed or replaced while jobs run is noticed, and what it did not take is not called done" {
	local how
	for how in 'rm store.db' 'mv store.db away.db; sqlite3 store.db "CREATE TABLE t(x)"'; do
		rm -rf store.db* batches.run go
		lab 20 bash -c 'heshare run batches.json --grace 1 --json -c "$gated" 2>err & run=$!; sh await 1; '"$how"'; : >go
			until grep -q "the journal cannot be written" err; do sleep 1; done
			while kill -TERM $run; do sleep 20; done; wait $run; echo $? >status'
		[ "$(cat status)" = 1 ]
		[[ "$(cat err)" == *"the journal cannot be written, so nothing new starts until it can: "*"store.db: it was removed or replaced by another file while it was in use; put it back"* ]]
	done
}

@test "what was seen for long enough is learnt" {
	together
	jq '.jobs[] |= (.iterations = {"a": 90000, "c": 10000, "e": 60000}[.id])' three.json \
		>long.json
	"$HESHARE" profile --modelled -o known --samples 10 --types A100-SXM-80
	lab 25 heshare run long.json --profiles known/profiles.csv --json -c "$task"
	[ "$status" -eq 0 ]
	jq -e '.samples >= 2' <<<"$output"
	"$HESHARE" profiles export learnt
	[ "$(wc -l <learnt/samples.csv)" = $(($(jq .samples <<<"$output") + 1)) ]
	# With co-runners and alone, each with the power of the others alone; more than the 55 W
	# that the GPU draws by itself.
	awk -F, '{ gsub(/"[^"]*"/, "") } NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["power_mw"] < 60000 || $at["co_runner_power_mw"] < 50000 || $at["sm_pct"] != 30 || $at["clock_mhz"] != 0 { exit 1 }
		{ seen[$at["co_runner_count"]] = 1 } END { exit !(0 in seen) || !(1 in seen || 2 in seen) }' learnt/samples.csv
	"$HESHARE" profiles list --json | jq -e 'any(.deliveries[]; .source == "measured" and (.from | startswith("run 1 of long.json")))'
}

@test "two runs at a time are refused, on one plan and on one GPU" {
	lab 20 bash -c 'heshare run batches.json -c "$gated" >/dev/null & sh await 1
		heshare run batches.json -c "$task"; echo $?; heshare run open.json -c "$task"; echo $?; : >go; wait'
	[ "$output" = $'1\n1' ]
	[[ "$stderr" == *"batches.json is being carried out by process "* ]]
	[[ "$stderr" == *"GPU 0 is in use by run 1 of batches.json, process "* ]]
	once
}

@test "two runs with different stores do not have one GPU either" {
	lab 20 bash -c 'heshare run batches.json -c "$gated" >/dev/null & sh await 1
		heshare run open.json -c "$task" --store other.db; echo $?; : >go; wait'
	[ "$output" = 1 ]
	[[ "$stderr" == *"is in use by another run, profile or heshare fair serve on this machine; it has one at a time"* ]]
	once
}

@test "a run that may go on another host is not resumed" {
	lab 20 bash -c 'heshare run batches.json -c "$endless" >/dev/null & p=$!; sh await 1; kill -KILL $p; wait $p'
	python3 -c 'import sqlite3; db = sqlite3.connect("store.db")
with db: db.execute("UPDATE runs SET host = ?", ("elsewhere",))'
	lab 20 heshare run batches.json -c "$task" --resume
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"run 1 of batches.json began on elsewhere and has not ended"* ]]
}

@test "what cannot be run is refused before anything is touched" {
	jq 'del(.jobs)' batches.json >bare.json
	lab 1 sh -c 'heshare run batches.json; heshare run batches.json -c "x {iteration}"; heshare run batches.json --resume -c true
		heshare run batches.json -c true --node b; heshare run bare.json -c true'
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"job a has no command; give each job one in a column command"* ]]
	[[ "$stderr" == *"no value {iteration} for a command; there are {job}, {workload}, {batch}, {iterations}"* ]]
	[[ "$stderr" == *"batches.json was never run, so there is nothing to resume"* ]]
	[[ "$stderr" == *'no GPU of the plan is on a node "b"'* ]]
	[[ "$stderr" == \
		*"bare.json does not hold its jobs; name their file: heshare run PLAN JOBS"* ]]
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 1 } ]\n' >two.yaml
	lab 1 heshare run batches.json -c true
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"the plan has work for 1 GPU of type A100-SXM-80, this machine has 0, of 1 GPU in all; plan for the GPUs that are here"* ]]
	[ ! -e batches.run ] && [ ! -s marks ]
}

@test "a job may have the name of the guard's log" {
	jq '(.jobs[] | select(.id == "c")).id = "guard" | (.. | objects | select(.job? == "c")).job = "guard"' batches.json >p.json
	lab 40 heshare run p.json --no-mps --early-ok -c 'echo {job}'
	[ "$status" -eq 0 ]
	[ "$(cat p.run/%67uard.log)" = guard ]
}

@test "a job that ends after its batch, and times beyond all bounds, are refused" {
	jq '.gpus[0].batches[0].jobs[0].end_us = .gpus[0].batches[0].end_us + 1' batches.json \
		>p.json
	jq '.gpus[0].batches[-1] |= (.end_us = "late" | .jobs[0].end_us = "late")' batches.json \
		| sed 's,"late",9223372036854775807,' >q.json
	for how in --dry-run ""; do
		lab 40 heshare run p.json $how -c true
		[ "$status" -eq 1 ]
		[[ "$stderr" == *"outside of its batch, from 0 to"* ]]
		lab 40 heshare run q.json $how -c true
		[ "$status" -eq 1 ]
		[[ "$stderr" == \
			*"end_us: 9223372036854775807 is outside "*" to 10000000000000000" ]]
	done
	# No time that a file may hold makes one of the rehearsal negative.
	sed s,9223372036854775807,10000000000000000, q.json >r.json
	lab 40 heshare run r.json --dry-run -c true
	[ "$status" -eq 0 ]
	! grep -q '^ *-' <<<"$output"
}

@test "progress in a job's own words: --progress, which the run keeps for --resume" {
	run -2 heshare run batches.json --progress '(\d+)/(\d+)' -c true
	[[ "$output" == *'--progress: "(\d+)/(\d+)": byte 7: a second group; one group is the count'* ]]
	local words='n={iterations}; [ {job} != h ] || [ -e go ] || n=400; printf "\r$n/9\r"'
	lab 40 heshare run batches.json --no-mps --progress '(\d+)/\d+' -c "$words"
	[ "$status" -eq 1 ]
	[ "$(grep -c "ended early" <<<"$stderr")" = 1 ]
	[[ "$stderr" == *"job h ended early, with status 0: its last progress line says 400 of 2000 iterations"* ]]
	: >go
	lab 40 heshare run batches.json --resume --no-mps --json -c "$words"
	[ "$status" -eq 0 ]
	jq -e '.jobs_done == 8' <<<"$output"
}

@test "a plan without its jobs runs with their file" {
	jq 'del(.jobs)' batches.json >bare.json
	lab 40 heshare run bare.json jobs.csv --no-mps -c "$quick"
	[ "$status" -eq 0 ]
}

@test "commands by workload, and a job's own before them" {
	printf 'workload,command\nresnet18,echo r {job} >>marks\nresnet34,echo R {job} >>marks\nmobilenet,echo m >>marks\ngpt2,echo "$HESHARE_WORKLOAD $HESHARE_BATCH $HESHARE_ITERATIONS" >>marks\n' >list.csv
	lab 40 heshare run batches.json --no-mps --early-ok --commands list.csv
	[ "$status" -eq 0 ]
	[ "$(sort marks | head -3 | tr '\n' ' ')" = "R a R e gpt2 1 1500 " ]
}

@test "a job whose iterations are not given is not judged by them, and counts in no command" {
	printf 'workload,iterations,command\nresnet18,1,"echo heshare: 3 iterations; echo ${HESHARE_ITERATIONS-none} >>marks"\nresnet34,1,\n' >open.csv
	"$HESHARE" plan open.csv -f two.yaml --policy heshare --json | stretch | jq 'del(.jobs[].iterations)' >open.json
	lab 40 heshare run open.json --no-mps -c 'echo {iterations}'
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"{iterations} for a command: iterations of job 2 are not given; give them, or leave {iterations} out" ]]
	printf 'workload,command\nresnet34,"echo ""$HESHARE_WORKLOAD"" >>marks"\n' >list.csv
	lab 40 heshare run open.json --no-mps --commands list.csv
	[ "$status" -eq 0 ]
	[[ "$stderr" != *"ended early"* && "$stderr" != *"cannot be seen"* ]]
	[ "$(sort marks | tr '\n' ' ')" = "none resnet34 " ]
}

@test "GPUs that the environment does not name are not used" {
	lab 1 env CUDA_VISIBLE_DEVICES=1 sh -c 'heshare run batches.json -c "$task"'
	[ "$status" = 1 ]
	[ "${stderr##*heshare run: }" = "the plan has work for 1 GPU of type A100-SXM-80, this machine has 0, of 1 GPU in all; plan for the GPUs that are here, or name one node of the plan by --node" ]
	[ ! -s marks ]
}

@test "a run stops in order before the time limit of its Slurm job" {
	# The lab's clock says when: nothing ends before.
	lab 1 sh -c 'SLURM_JOB_ID=7 SLURM_JOB_GPUS=0,1 SLURM_JOB_END_TIME=$(($(date +%s) + 100)) heshare run batches.json --before-end 99 --grace 1 -c "exec sleep 1000"; echo $? >status; sh left'
	[ "$(cat status)" = 1 ]
	[[ "$stderr" == *"the time limit is near; stopping: no job starts any more"* ]]
	[[ "$output" == *"0 of 8 jobs done, 8 wait for --resume"* ]]
	[[ "$output" != *left:* ]]
}

@test "indices of GPUs that heshare was started with do not reach jobs behind MPS" {
	lab 40 env CUDA_VISIBLE_DEVICES=1,0 sh -c 'heshare run batches.json -c "$task"'
	[ "$status" = 0 ]
	once
}
