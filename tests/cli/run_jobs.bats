#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# heshare run with a jobs file, on GPUs of the lab: what nobody knows runs alone, what is known is
# planned, and both are planned again while the run goes on.

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	PATH=$(dirname "$HESHARE"):$PATH
	unset LD_LIBRARY_PATH
	cd "$BATS_TEST_TMPDIR"
	export HESHARE_STORE=$PWD/store.db
	printf 'types:\n  - { name: Odd, driver_names: ["NVIDIA Odd GPU 7"], compute: 8.6, sms: 46, memory_mib: 12288, bandwidth_gbs: 504,
      l2_kib: 4096, pcie_gbs: 24, power_limit_w: 220, idle_w: 18, clocks: { min: 210, max: 1800, step: 15, default: 1800 } }\n' >odd.yaml
	printf 'name: mine\nnodes:\n  - name: a\n    gpus: [ { type: GeForce-RTX-4090, count: 1 }, { type: Odd, count: 1 } ]\n' >mine.yaml
	printf 'name: two\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 2 } ]\n' >two.yaml
	: >marks
}

lab() { # FLEET COMMAND...
	local fleet=$1
	shift
	"$HES_LAB" --fleet "$fleet.yaml" --catalogue odd.yaml --speed "${SPEED:-50}" -- "$@"
}

done_jobs() {
	sort -n marks | tr '\n' ' '
}

# The sums of the report in file $1: every joule of the meters is somewhere.
joules_sum() {
	jq -e '.energy | (.jobs_j + .aborted_j + .idle_j + .learning_j + .unattributed_j) / .meter_j - 1 | fabs < 0.001' "$1"
}

@test "eight scripts without progress, one column: one command, no option, all done" {
	local network at=0
	SPEED=20 # so that each is seen long enough, also on a busy machine
	echo command >scripts.csv
	for network in resnet50 resnet34 mobilenet vgg16 resnet18 densenet121 mobilenetv2 resnet101; do
		at=$((at + 1))
		cat >"train-$at.sh" <<-END
			#!/bin/sh
			vgpu-task --workload $network --batch 16 --iterations 4000 >/dev/null && echo "$at" >>$PWD/marks
		END
		chmod +x "train-$at.sh"
		echo "./train-$at.sh" >>scripts.csv
	done
	run -0 --separate-stderr lab mine heshare run scripts.csv
	[[ "$stderr" == *"8 jobs on 2 GPUs: 8 unknown; they run alone and are measured"* ]]
	[[ "$output" == *"run 1: 8 of 8 jobs done"* ]]
	grep -E '^3 .* 1  done +\./train-3\.sh' <<<"$output" # jobs by number say little
	[ "$(done_jobs)" = "1 2 3 4 5 6 7 8 " ]
	joules_sum scripts.run/report.json
	# Each ran alone, unlocked, and the GPU that was free took the next: no GPU had them all.
	jq -e '.jobs | all(.sm_pct == 100 and .planned_j == null and .attempts == 1)' scripts.run/report.json
	jq -e '[.jobs[].gpu] | unique | length == 2' scripts.run/report.json
	[ "$(sqlite3 store.db 'SELECT max(clock_mhz) FROM attempts')" = 0 ]
	jq -e '[.gpus[].batches[]] | length == 8 and all(.unknown)' scripts.run/plan.json
	jq .energy.jobs_j scripts.run/report.json >first
	# The same file again is a new run of all jobs, and says so. It is planned from what the first
	# one measured, and needs less energy.
	run -0 --separate-stderr lab mine heshare run scripts.csv
	[[ "$stderr" == *"run 1 of scripts.csv is done; this is a new run of all its jobs"* ]]
	# On the GPU where they ran they are measured, on the other one derived.
	[[ "$stderr" =~ "8 jobs on 2 GPUs: "[0-9]" measured" ]]
	jq -e --slurpfile first first '.energy.jobs_j < 0.9 * $first[0]' scripts.run/report.json
	[[ "$output" == *"run 2: 8 of 8 jobs done"* ]]
	[ "$(done_jobs | wc -w)" = 16 ]
}

@test "a job that nobody knows is taken to run as long as its script did with other arguments" {
	printf '#!/bin/sh\nexec vgpu-task --workload resnet34 --batch 16 --iterations "$1" --every 100\n' >net.sh
	chmod +x net.sh
	printf 'command\n./net.sh 4000\n' >first.csv
	run -0 lab two heshare run first.csv --gpus 0 --explore 0
	jq -e '.gpus[0].batches[0] | .unknown and .end_us - .start_us == 600e6' first.run/plan.json
	run_us=$(sqlite3 store.db 'SELECT run_s * 1e6 FROM points')
	printf 'command\n./net.sh 4000\nsh -e ./net.sh 3900\n./other.sh\n' >second.csv
	printf '#!/bin/sh\n' >other.sh
	chmod +x other.sh
	run -0 --separate-stderr lab two heshare run second.csv --gpus 0
	[[ "$stderr" == *"3 jobs on 1 GPU: 1 measured, 2 unknown; they run alone and are measured"* ]]
	[[ "$output" == *"Jobs: 1 measured, 2 unknown."* ]]
	jq -e '.jobs_known == { measured: 1, known: 0, derived: 0, unknown: 2 }' second.run/plan.json
	jq -e --argjson us "$run_us" '[.gpus[0].batches[] | { of: .jobs[0].job, us: (.end_us - .start_us) }] | INDEX(.of) |
		(.["1"].us / $us | . > 0.8 and . < 1.25) and (.["2"].us / $us - 1 | fabs < 0.001) and .["3"].us == 600e6' second.run/plan.json
	# heshare plan places such jobs, too, and a run of its plan measures them, without a time limit.
	printf 'command\n./net.sh 4000\n./net.sh 3800\n' >third.csv
	run -0 --separate-stderr lab two heshare plan third.csv --gpus 0 -o third.json
	[[ "$output" == *" unlocked "*"2 ./net.sh 3800"*"Jobs: 1 measured, 1 unknown. heshare run measures unknown jobs; "* ]]
	jq -e '.gpus[0].batches[0] | .unknown and .jobs[0].job == "2"' third.json
	run -0 lab two heshare run third.json --explore 0 --timeout-factor 0.01 --timeout-least 0 --retries 0
	[[ "$output" == *"2 of 2 jobs done"* ]]
	[ "$(sqlite3 store.db "SELECT clock_mhz, sm_pct FROM attempts WHERE run_id = 3 AND job = '2'")" = "0|100" ]
	run -0 lab two heshare plan third.csv --gpus 0
	[[ "$output" == *"Jobs: 2 measured."* ]]
}

@test "however many unknown jobs wait, they are planned again: no search is needed" {
	{ echo command; seq -f 'true %g' 105; } >many.csv
	run -0 --separate-stderr lab two heshare run many.csv
	[[ "$output" == *"run 1: 105 of 105 jobs done"* ]]
	[[ "$stderr" != *"would take too long"* ]]
	[ "$(sqlite3 store.db "SELECT count(*) > 0 FROM acts WHERE what LIKE 'planned again, %'")" = 1 ]
}

@test "known jobs by a command for all: planned, --dry-run shows it, the plan is in the folder" {
	printf 'id,workload,batch_size,iterations,memory_mib\na,resnet34,8,1500,1813\nb,mobilenet,4,1500,1266\nc,resnet34,8,900,1813\n' >jobs.csv
	printf '#!/bin/sh\nvgpu-task --workload "$1" --batch "$2" --iterations "$3" --every 2 && echo "$HESHARE_JOB" >>%s/marks\n' "$PWD" >job.sh
	chmod +x job.sh
	run -0 --separate-stderr lab two heshare run jobs.csv --dry-run -- ./job.sh '{workload}' '{batch}' '{iterations}'
	[[ "$output" == *"start attempt 1"*"exec ./job.sh resnet34 8 1500"* ]]
	[[ "$stderr" == *"3 jobs on 2 GPUs: 3 known" ]]
	[ ! -e jobs.run ] && [ ! -e store.db ]
	run -0 lab two heshare run jobs.csv --gpus 1 --prefer energy --power-cap 500 -- ./job.sh '{workload}' '{batch}' '{iterations}'
	[ "$(done_jobs)" = "a b c " ]
	jq -e '.prefer == "energy" and .predicted.power_cap_w == 500 and (.gpus | length) == 1 and .jobs[0].command == "exec ./job.sh resnet34 8 1500"' jobs.run/plan.json
	[ "$(sqlite3 store.db "SELECT group_concat(substr(uuid, -4)) FROM run_gpus")" = 0002 ]
	joules_sum jobs.run/report.json
	# The estimates are of known networks: nothing was measured before.
	[[ "$output" == *"estimated for 3 of 3 jobs ("*" by measurements, "*" by the GPU model)"* ]]
	jq -e '.baseline | .by_profiles + .by_model == 3 and .by_model > 0' jobs.run/report.json
	# The plan in the folder is a plan like any other.
	run -0 lab two heshare run jobs.run/plan.json --jobs again
	[ "$(done_jobs)" = "a a b b c c " ]
}

@test "a named workload without iterations is no known network; its whole run is measured" {
	printf 'workload,batch_size,command\nresnet50,16,"vgpu-task --workload resnet50 --batch 16 --iterations 4000 >/dev/null; echo $HESHARE_WORKLOAD >name"\n' >named.csv
	run -0 --separate-stderr lab two heshare run named.csv
	[[ "$stderr" == *"1 job on 2 GPUs: 1 unknown; it runs alone and is measured"* ]]
	[ "$(cat name)" = resnet50 ]
	[ "$(sqlite3 store.db 'SELECT workload FROM points')" = "resnet50: whole run" ]
	run -0 heshare predict resnet50 --batch 16 --gpu T4 # that of an iteration is known, too
	grep -q '^  an iteration ' <<<"$output"
	run -0 heshare profiles list
	grep -E '^resnet50: whole run +T4 +16 +0 +0 +1$' <<<"$output"
	grep -E '^resnet50: whole run +T4 +[0-9-]+ ' <<<"$output"
	run -0 heshare profiles show resnet50
	grep -E '^T4 +16 +100 +- +[0-9.]+ +[0-9.]+ +[0-9.]+ ' <<<"$output"
	heshare profiles show "resnet50: whole run" --json | jq -e '.workload == "resnet50: whole run" and .profiles == [] and (.points[0] | .run_s > 0 and .memory_mib > 0)'
	# How much work it has the next time is not known, so it has no time limit.
	run -0 --separate-stderr lab two heshare run named.csv --timeout-factor 0.1 --timeout-least 0
	[[ "$stderr" == *"1 job on 2 GPUs: 1 measured"* ]]
	[[ "$output" == *"against one job per GPU at the default clock, estimated for 1 of 1 job (1 by measurements"* ]]
}

@test "a rehearsal makes up no time for an unknown job, and one that was alone is just tried again" {
	printf 'command\ntest $HESHARE_ATTEMPT = 2\n' >fails.csv
	run -0 --separate-stderr lab two heshare run fails.csv --dry-run
	[[ "$output" == *"0.000"*"start attempt 1 "*"600.000"*"ends, if it takes 600 s: how long it takes is not known" ]]
	[ "$(grep -c = <<<"${output/ATTEMPT = 2/}")" = 2 ] # the GPU, and no MPS
	sed -i 's/^test/vgpu-task --workload resnet50 --batch 16 --iterations 4000 >trash \&\& test/' fails.csv
	run -0 --separate-stderr lab two heshare run fails.csv
	[[ "$stderr" == *"job 1 failed with status 1 in attempt 1; it is tried again; "* ]]
	run -0 heshare predict "$(sed 1d fails.csv)" --batch 1 --gpu T4
	grep -E '^  a whole run +[0-9]' <<<"$output"
}

@test "iterations that profile counted are no whole run of the same command" {
	printf '#!/bin/sh\nexec vgpu-task --workload resnet50 --batch 16 --iterations 4000 --every 1\n' >long.sh
	chmod +x long.sh
	printf 'command\n./long.sh\n' >long.csv
	printf 'command,iterations\n./long.sh,4000\n' >counted.csv
	lab two heshare profile --jobs long.csv --samples 0 --gpus 0 --warm-up 5 --window 10 --repeats 2
	run -0 --separate-stderr lab two heshare run long.csv
	[[ "$stderr" == *"1 job on 2 GPUs: 1 unknown; it runs alone and is measured"* ]]
	[ "$(sqlite3 store.db 'SELECT DISTINCT workload FROM points ORDER BY 1')" = $'./long.sh\n./long.sh: whole run' ]
	# Both are measured now, each in its unit: the planned times are alike.
	lab two heshare plan long.csv --gpus 0 -o long.json
	lab two heshare plan counted.csv --gpus 0 -o counted.json
	jq -es '.[0].predicted.makespan_us / .[1].predicted.makespan_us | . > 0.8 and . < 1.25' long.json counted.json
}

@test "the report of a run is the same at --resume when nothing is left to do, though it was planned again" {
	printf '#!/bin/sh\nexec vgpu-task --workload resnet50 --batch 16 --iterations 4000 >/dev/null\n' >new.sh
	chmod +x new.sh
	printf 'command\n./new.sh\n./new.sh\n' >twice.csv
	lab two heshare run twice.csv --gpus 0
	cp twice.run/report.json first
	# The first one measured it for the second.
	jq -e '.jobs | map(.planned_j != null and .planned_j > 0) == [false, true]' first
	lab two heshare run twice.csv --resume --json >again
	jq -es '.[0].jobs[1].planned_j == .[1].jobs[1].planned_j' first again
}

@test "a pattern that matches no line is reported once" {
	printf 'command\necho step 7\necho step 8\ntrue\n' >steps.csv
	run -0 --separate-stderr lab two heshare run steps.csv --progress 'nomatch (\d+)'
	[ "$(grep -c "its progress is not seen: it printed 7 bytes but no line that --progress 'nomatch (" <<<"$stderr")" = 1 ]
	run -2 --separate-stderr lab two heshare run steps.csv --progress 'step (foo)'
	[[ "$stderr" == *"--progress: \"step (foo)\": byte 6: this group can match no whole number"* ]]
}

@test "what cannot work is refused before anything runs" {
	local wrong=1
	printf 'id,workload,batch_size,iterations\na,resnet34,8,1500\n' >jobs.csv
	printf 'id,memory_mib,command\na,90000,true\n' >large.csv
	refused() { # SENTENCE ARGUMENT...
		run -$wrong lab two heshare run "${@:2}"
		[[ "$output" == *"heshare run: "*"$1"* ]]
	}
	refused 'job a has no command; ' jobs.csv
	[[ "$output" == *"column command"*"-- ./job.sh {workload}"* ]]
	refused 'no value {iteration} for a command' jobs.csv -- 'x {iteration}'
	printf 'command\ntrue\n' >own.csv
	refused 'no value {foo} for a command' own.csv -- ./other.sh '{foo}'
	run -0 lab two heshare run own.csv --dry-run -- ./other.sh '{iterations}'
	[[ "$output" == *"heshare run: no job runs the command for all, because each has one of its own"* ]]
	refused 'job a needs 90000 MiB of memory, and no GPU here has more than 15360 MiB' large.csv
	refused 'none.csv' none.csv -- true
	# With a command for all, too, the file must be one of jobs: no column misspelt, no plan.
	printf 'comand\n./a.sh\n' >misspelt.csv
	printf '{\n"version": 3\n}\n' >renamed.csv
	refused 'misspelt.csv:1: no column "command" ("comand"?); there are: comand; ' misspelt.csv -- true
	printf 'id,wrkload,batch_size,iterations\na,resnet50,16,100\n' >bad.csv
	refused 'bad.csv:1: no column "workload" ("wrkload"?); there are: id, wrkload, batch_size, iterations; the command needs it: exec ./job.sh {workload}' bad.csv -- ./job.sh {workload}
	refused 'renamed.csv:1: no column "command"; there are: {; ' renamed.csv -c true
	refused 'so there is nothing to resume' jobs.csv --resume -- true
	wrong=2
	refused '--prefer' jobs.csv --prefer speed -- true
	refused '--policy' jobs.csv --policy speedy -- true
	refused '--policy: a program plans once' jobs.csv --policy exec:./mine -- true
	refused 'no GPU "7"' jobs.csv --gpus 7 -- true
	refused '--power-cap: 10 W is below the ' jobs.csv --power-cap 10 -- true
	refused 'name one jobs file' jobs.csv more.csv
	refused '--command: there is a command after --' jobs.csv --command true -- true
	refused ': a pipe or a device; write the jobs into a file, by which --resume finds their run' <(printf 'command\ntrue\n')
	echo '{}' >plan.json
	refused '--gpus: it is for a jobs file' plan.json --gpus 1
	[ ! -e jobs.run ]
}

# await RUN CONDITION: until jq's condition holds for what heshare status prints
await() {
	until heshare status "$1" --json >seen 2>/dev/null && jq -e "$2" seen >/dev/null; do sleep 1; done
}

@test "jobs that are added to a run of a jobs file are planned by it; kill -9 and --resume lose none" {
	export -f await
	printf 'id,workload,batch_size,iterations,memory_mib\na,resnet34,8,1500,1813\nb,mobilenet,4,1500,1266\nc,resnet34,8,900,1813\nd,vgg16,8,900,4000\n' >jobs.csv
	printf 'workload,batch_size,iterations,memory_mib\nresnet34,8,1500,1813\nmobilenet,4,1500,1266\n' >more.csv
	printf 'command\n./own.sh\n' >own.csv
	printf '#!/bin/sh\nuntil [ -e go ]; do sleep 1; done\nvgpu-task --workload "$1" --batch "$2" --iterations "$3" --every 2 && echo "$HESHARE_JOB" >>%s/marks\n' "$PWD" >job.sh
	printf '#!/bin/sh\nvgpu-task --workload resnet18 --batch 4 --iterations 900 >/dev/null && echo "$HESHARE_JOB" >>%s/marks\n' "$PWD" >own.sh
	chmod +x job.sh own.sh
	cat >typed <<-'END'
		job="./job.sh {workload} {batch} {iterations}"
		heshare run jobs.csv -- $job >out 2>err & p=$!
		await 1 '.jobs_running > 0'
		heshare add 1 more.csv -- $job
		await 1 '.jobs | map(select(.added and .gpu != "")) | length == 2'
		kill -KILL $p; wait $p
		heshare add 1 own.csv
		: >go
		heshare run jobs.csv --resume --json >out 2>>err
	END
	run -0 lab two bash typed
	[[ "$output" == *"2 jobs added to run 1"*"1 job written for run 1, which is interrupted: heshare run $PWD/jobs.csv --resume, with the options of its start, starts it"* ]]
	jq -e '.jobs_done == 7 and .jobs_added == 3 and .state == "done" and .run == 1' out
	jq -e '.baseline | .by_profiles + .by_model >= 6' out # added ones, too
	# One that was added has no planned time: the others are compared with the plan.
	jq -e '.planned.avg_jct_s == null and .part.avg_jct_s > 0 and .part_measured.busy_energy_j < .measured.busy_energy_j and
		.part_measured.makespan_s <= .measured.makespan_s and .jobs_known.unknown == 1 and (.jobs_known | add) == 5' out
	[ "$(sort marks | uniq -d)" = "" ] && [ "$(wc -l <marks)" = 7 ]
	joules_sum jobs.run/report.json
	sqlite3 store.db 'SELECT what FROM acts' | grep 'start the MPS daemon'
	[ ! -e jobs.run/mps ]
	sqlite3 store.db 'SELECT what FROM acts' | grep 'planned again, because '
	[ "$(sqlite3 store.db "SELECT count(*) FROM acts WHERE what = 'planned again, because jobs were added'")" -ge 1 ]
	[ "$(sqlite3 store.db "SELECT count(*) FROM acts WHERE what = 'planned again, because the run is resumed'")" = 1 ]
}

@test "a slow job that is tried again: its progress is seen, and that it ended early" {
	printf 'id,workload,batch_size,iterations,command\na,resnet34,16,4000,./slow.sh\n' >slow.csv
	printf '#!/bin/sh\nvgpu-task --workload vgg16 --batch 16 --iterations 1000 --every 1; [ "$HESHARE_ATTEMPT" = 2 ]\n' >slow.sh
	chmod +x slow.sh
	run -1 lab two heshare run slow.csv
	[[ "$output" == *"job a ended early, with status 0: its last progress line says 1000 of 4000 iterations"* ]]
}

@test "a job that is added while a GPU is idle waits for its plan, and is recorded with its GPU" {
	export -f await
	printf 'command\n./hold.sh 1\n./hold.sh 2\n' >held.csv
	printf '#!/bin/sh\nuntil [ -e "go${HESHARE_GPU##*/}" ]; do sleep 1; done\n' >hold.sh
	chmod +x hold.sh
	# The number of a row without an id is no id of another row.
	printf 'id,workload,batch_size,iterations\n,resnet18,4,900\n3,resnet18,4,900\n' >more.csv
	printf 'memory_mib,command\n90000,true\n' >large.csv
	cat >typed <<-'END'
		heshare run held.csv --jobs held >/dev/null 2>&1 & p=$!
		await 1 '.jobs_running == 2'
		: >go0
		await 1 '.jobs_done == 1'
		heshare add 1 large.csv
		heshare add 1 more.csv -- vgpu-task --workload '{workload}' --batch '{batch}' --iterations '{iterations}'
		await 1 '.jobs_done == 2'
		: >go1
		wait $p
	END
	run -0 lab two bash typed
	[[ "$output" == *"heshare add: job 3 needs 90000 MiB of memory, and no GPU here has more than 15360 MiB"* ]]
	[ "$(sqlite3 store.db "SELECT gpu, planned_end_us > planned_start_us FROM run_jobs WHERE job = '3'")" = "vm/0|1" ]
	[ "$(sqlite3 store.db "SELECT clock_mhz > 0 FROM attempts WHERE job = '3'")" = 1 ]
	[ "$(sqlite3 store.db "SELECT count(*) FROM attempts WHERE job = '4' AND ended_us")" = 1 ]
}

@test "rows without an id that moved are the same jobs at --resume, and the run keeps its plan" {
	export -f await
	printf 'command\n./net.sh 1\n./net.sh 2\n./net.sh 3\n./net.sh 4\n' >jobs.csv
	printf 'command\n./net.sh 5\n' >others.csv
	printf '#!/bin/sh\nuntil [ "$1" -le 2 ] || [ -e go ]; do sleep 1; done\nvgpu-task --workload resnet18 --batch 4 --iterations 900 >/dev/null && echo "$HESHARE_JOB:$1" >>%s/marks\n' "$PWD" >net.sh
	chmod +x net.sh
	cat >typed <<-'END'
		heshare run jobs.csv --jobs out 2>/dev/null & p=$!
		await 1 '.jobs_done == 2 and .jobs_running == 2'
		heshare run others.csv --jobs out
		kill -KILL $p; wait $p
		# As a kill leaves it that comes before the plan gets its name, with a plan of an earlier run.
		mv out/plan.json out/.plan.json.next
		heshare plan others.csv --gpus all -o out/plan.json >/dev/null 2>&1
		heshare run others.csv --jobs out
		[ ! -e out/.plan.json.next ] || exit 9
		# A start that comes to nothing leaves the run its plan, and no folder of its own.
		cp out/plan.json before.json
		heshare fair serve --gpus all 2>serve.log & s=$!
		until grep -qs shared serve.log; do sleep 0.1; done
		heshare run jobs.csv --jobs out --restart >out.txt && exit 9
		heshare run others.csv --jobs none >out.txt && exit 9
		kill $s; wait $s
		cmp out/plan.json before.json || exit 9
		[ ! -e none ] || exit 9
		mv out/plan.json out/.plan.json.next
		: >go
		printf 'command\n./net.sh 4\n./net.sh 2\n./net.sh 1\n./repaired.sh 3\n' >jobs.csv
		sed s/:/:repaired/ net.sh >repaired.sh; chmod +x repaired.sh
		heshare run jobs.csv --resume
		sed -i 's/net.sh 1/net.sh 9/' jobs.csv
		heshare run jobs.csv --resume >/dev/null
		heshare run others.csv --jobs out
		heshare run jobs.csv --resume
		true
	END
	run -0 lab two bash typed
	[[ "$output" == *"out has the plan of run 1 of $PWD/jobs.csv, which is going; name another folder with --jobs"*": since its run began, jobs or commands have changed: job 3 differs in workload, command"*"4 of 4 jobs done"*"run 2: 1 of 1 job done"*"out/plan.json is the plan of $PWD/others.csv by now, so run 1 cannot go on; without --resume the jobs run again" ]]
	# A job that is done does not run again, and its new script is not passed over in silence.
	[[ "$output" == *"; job 1 is done and does not run again (--restart runs all jobs again), though it differs in workload, command"* ]]
	[ "$(sort marks | tr '\n' ' ')" = "1:1 1:5 2:2 3:repaired3 4:4 " ]
}

@test "a GPU is lost: the jobs that wait are planned again, known and unknown ones" {
	export -f await
	printf 'id,workload,batch_size,iterations,memory_mib,command\n' >jobs.csv
	for i in 1 2 3 4; do
		echo "k$i,resnet34,8,1500,1813,./job.sh resnet34 8 1500"
		echo "u$i,mine$i,8,1500,,./job.sh resnet18 8 1500"
	done >>jobs.csv
	printf '#!/bin/sh\nuntil [ -e go ]; do sleep 1; done\nvgpu-task --workload "$1" --batch "$2" --iterations "$3" --every 2 && echo "$HESHARE_JOB" >>%s/marks\n' "$PWD" >job.sh
	chmod +x job.sh
	cat >typed <<-'END'
		heshare run jobs.csv --retries 0 --json >out 2>err & p=$!
		await 1 '.jobs_running > 1'
		vgpu-fault 0:gpu-lost
		: >go
		wait $p
	END
	run -0 lab two bash typed
	cat err
	grep -q 'waiting jobs of vm/0, which is lost, moved to vm/1: ' err
	[ "$(done_jobs)" = "$(printf '%s ' k1 k2 k3 k4 u1 u2 u3 u4)" ]
	jq -e '.jobs_done == 8 and ([.jobs[].gpu] | unique == ["vm/1"])' out
	[ "$(sqlite3 store.db "SELECT count(*) > 0 FROM acts WHERE what LIKE 'planned again, because % cannot be used'")" = 1 ]
}

@test "no right to set clocks, no MPS, one workload: still a run" {
	printf 'command\nvgpu-task --workload resnet18 --batch 4 --iterations 900\n' >one.csv
	run -0 "$HES_LAB" --fleet two.yaml --speed 50 --fault all:no-permission -- sh -c 'H=$(command -v heshare) T=$(dirname "$(command -v vgpu-task)")
		mkdir bin && ln -s "$T/vgpu-task" bin && PATH=$PWD/bin:/usr/bin:/bin "$H" run one.csv'
	[[ "$output" == *"run 1: 1 of 1 job done"* ]]
}
