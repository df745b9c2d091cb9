#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# Plans on several nodes in a real Slurm, on virtual GPUs with real processes (slurm_lab.bash). A
# job leaves a line in "marks" when it is done: a job with two lines ran twice. SEED sets the
# moments at which something is killed.

load slurm_lab

setup_file() {
	[ "$(id -u)" = 0 ] && command -v slurmctld slurmd sbatch >/dev/null && [ -n "${HES_LAB:-}" ] || return 0
	export SEED=${SEED:-1} SLURM_DIR SLURM_CONF SLURM_PORT
	cd "$BATS_FILE_TMPDIR"
	slurm_up
}

teardown_file() {
	[ -z "${SLURM_CONF:-}" ] || slurm_down
}

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	[ "$(id -u)" = 0 ] || skip "devices for Slurm are made as root"
	[ -n "${SLURM_CONF:-}" ] || skip "Slurm is not installed: make check-slurm installs it"
	cd "$BATS_TEST_TMPDIR"
	unset LD_LIBRARY_PATH
	: >marks
	export work='vgpu-task --workload {workload} --batch {batch} --iterations {iterations}'
	export task="$work && echo {job} >>$PWD/marks"
}

# What a failed test shows.
teardown() {
	[ -n "${BATS_TEST_COMPLETED:-}" ] || grep -hv '^j[0-9]* *n' jobs.pilot/pilot.*.log |
		cut -c1-300
	[ -n "${BATS_TEST_COMPLETED:-}" ] || jq -c '[.nodes, .rounds, .state, .jobs_done]' \
		jobs.pilot/plan.run/report.json
}

# make_jobs N SCALE: jobs.csv, of half a second to two seconds each times SCALE
make_jobs() {
	local i kinds=("resnet18,4,150,1194" "mobilenet,4,150,1266" "resnet34,4,100,1373" \
		"gpt2,1,30,1513")
	echo id,arrival_s,workload,batch_size,iterations,memory_mib
	for ((i = 0; i < $1; i++)); do
		IFS=, read -r name batch iterations memory <<<"${kinds[i % 4]}"
		echo "j$i,0,$name,$batch,$((iterations * $2)),$memory"
	done
}

# pilot OPTIONS...: submitted, not waited for; sets $id
pilot() {
	"$HESHARE" pilot jobs.csv --no-wait --nodes 3 --time 10 --gpus-per-node 1 --sbatch \
		--exclusive --budget 3000 "$@" >pilot.txt
	id=$(grep -o 'Slurm job [0-9]*' pilot.txt | grep -o '[0-9]*$')
}

ended() { # ID: wait for the end of a Slurm job; print its state, FORGOTTEN where Slurm does not know it any more
	local state
	until state=$(squeue -h --states=all -j "$1" -o %T 2>&1) &&
		[[ $state =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)$ ]]; do
		[[ $state != *"Invalid job id"* ]] || state=FORGOTTEN
		[ "$state" != FORGOTTEN ] || break
		sleep 0.2
	done
	echo "$state"
}

await_marks() { # N
	until [ "$(wc -l <marks)" -ge "$1" ]; do sleep 0.05; done
}

once() { # N: each of N jobs left its line once
	[ "$(sort marks | uniq | wc -l)" = "$1" ] && [ "$(wc -l <marks)" = "$1" ]
}

clean() {
	local n=0
	until [ -z "$(nothing_left)" ] || [ $((n += 1)) -gt 50 ]; do sleep 0.2; done
	[ -z "$(nothing_left)" ]
}

all_idle() {
	until [ "$(sinfo -h -o '%D %t')" = "3 idle" ]; do sleep 0.2; done
}

# process WORD...: the heshare process of this test with these words at the start of its command
# line
process() {
	local p
	for p in $(pgrep -f -- "^$HESHARE $* "); do
		[ "$(readlink "/proc/$p/cwd")" != "$PWD" ] || echo "$p"
	done
}

report=jobs.pilot/plan.run/report.json

# The joules of jobs, attempts and idle GPUs are those of the meters, and the meters are those of
# the nodes.
joules_sum() {
	jq -e '.energy | (.jobs_j + .aborted_j + .idle_j + .learning_j + .unattributed_j) / .meter_j - 1 | fabs < 0.0001' $report
	local db
	for db in jobs.pilot/plan.run/n?/*.db; do sqlite3 "$db" \
		'SELECT energy_mj / 1000.0 FROM run_meters'; done >meters
	jq -e --slurpfile nodes meters '.energy.meter_j / ($nodes | add) - 1 | fabs < 0.001' $report
}

@test "60 jobs on three nodes by one sbatch: each once, joules sum to the meters, one report, the exit status" {
	make_jobs 60 1 >jobs.csv
	run "$HESHARE" pilot jobs.csv --nodes 3 --time 10 --gpus-per-node 1 --sbatch --exclusive \
		--budget 3000 -- "$task"
	[ "$status" -eq 0 ]
	once 60
	clean
	joules_sum
	jq -e '.jobs_done == 60 and .state == "done" and .rounds == 1 and (.gpus | length) == 3 and ([.gpus[].gpu_type] | unique | length) == 3' $report
	jq -e '[.jobs[] | .state == "done" and .attempts == 1 and .attributed_j > 0] | all' $report
	# What the nodes' reports say.
	jq -es '(map(.energy.meter_j) | add)' jobs.pilot/plan.run/n?/report.json >nodes_j
	jq -e --argjson j "$(cat nodes_j)" '.energy.meter_j / $j - 1 | fabs < 0.001' $report
	# From another terminal.
	[ "$("$HESHARE" status 1 --store jobs.pilot/store.db --json | jq -r '"\(.state) \(.jobs_done)"')" = "done 60" ]
	# Once more: there is nothing to do.
	run "$HESHARE" pilot jobs.csv --nodes 3 --time 10 --gpus-per-node 1 --sbatch --exclusive \
		-- "$task"
	[ "$status" -eq 0 ]
	once 60
}

@test "commands use the GPUs of their Slurm job alone; two pilots on one node do not disturb each other" {
	make_jobs 8 3 >jobs.csv
	mkdir b
	cp jobs.csv b
	pilot --nodes 1 --sbatch --nodelist=n1 -- "$task"
	first=$id
	(cd b && "$HESHARE" pilot ../jobs.csv --dir "$PWD/jobs.pilot" --no-wait --time 10 \
		--sbatch --nodelist=n1 --budget 3000 \
		-- "$work && echo {job} >>$PWD/marks" >pilot.txt)
	second=$((first + 1))
	until [ "$(squeue -h -t running -o %i | wc -l)" = 2 ]; do sleep 0.1; done
	[ "$(ended $first)" = COMPLETED ]
	[ "$(ended $second)" = COMPLETED ]
	once 8
	(cd b && once 8)
	clean
	[ "$(jq -s '[.[].gpus[].uuid] | unique | length' $report b/$report)" = 2 ]
	srun -w n1 --gpus=1 "$HESHARE" gpus --json >one.json
	[ "$(jq ".gpus | length" one.json)" = 1 ]
}

@test "a requeue in the middle: done jobs stay done, the others run" {
	make_jobs 24 2 >jobs.csv
	pilot -- "$task"
	await_marks $((1 + SEED % 8))
	scontrol requeue "$id"
	# Slurm lets it wait for two minutes. While it still completes, its start cannot be changed;
	# in the second of the requeue its start would be refused.
	all_idle
	[ "$(squeue -h -j "$id" -o %T)" = PENDING ]
	scontrol update jobid="$id" StartTime=now+2
	[ "$(ended "$id")" = COMPLETED ]
	once 24
	clean
	joules_sum
	jq -e '.jobs_done == 24 and .rounds == 2' $report
	grep -q 'is resumed on 3 nodes: done are' "jobs.pilot/pilot.$id.log"
}

@test "the time limit: the run stops in order before it, and the next job of the chain goes on" {
	make_jobs 24 1 >jobs.csv
	# Half of the jobs end only when there is a file "go".
	pilot --time 1 --before-end 52 --chain 1 -- "$work && { [ \$((\${HESHARE_JOB#j} % 2)) = 0 ] || until [ -e $PWD/go ]; do sleep 0.1; done; } && echo {job} >>$PWD/marks"
	[ "$(ended "$id")" = FAILED ]
	clean
	: >go
	[ "$(ended $((id + 1)))" = COMPLETED ]
	once 24
	clean
	grep -q 'the time limit is near; stopping' "jobs.pilot/pilot.$id.log"
	jq -e '.jobs_done == 24 and .rounds == 2 and .energy.aborted_j > 0' $report
}

@test "SIGTERM to the script, and to the runners: the runners stop in order, and --resume goes on" {
	make_jobs 24 2 >jobs.csv
	pilot -- "$task"
	await_marks $((1 + SEED % 5))
	scancel --batch --signal=TERM "$id"
	[ "$(ended "$id")" = FAILED ]
	clean
	jq -e '.state == "stopped" and .jobs_waiting > 0' $report
	joules_sum
	# To the runners, as Slurm does before it takes nodes away.
	pilot -- "$task"
	await_marks $(($(wc -l <marks) + 1 + SEED % 3))
	scancel --signal=TERM "$id"
	[ "$(ended "$id")" = FAILED ]
	clean
	grep -q 'the runners were requested to end; stopping' "jobs.pilot/pilot.$id.log"
	jq -e '.state == "stopped" and .jobs_waiting > 0' $report
	pilot -- "$task"
	[ "$(ended "$id")" = COMPLETED ]
	once 24
	joules_sum
}

@test "a runner is killed, then all is cancelled, before any job is done: rounds with equal plans" {
	make_jobs 6 1 >jobs.csv
	pilot -- "$work && { until [ -e $PWD/go ]; do sleep 0.1; done; } && echo {job} >>$PWD/marks"
	running() { "$HESHARE" status 1 --store jobs.pilot/store.db --json 2>&1 |
		jq -e ".jobs_running == $1" >/dev/null 2>&1; }
	until running 6; do sleep 0.1; done
	kill -KILL "$(process run --stop-file | head -1)"
	until compgen -G 'jobs.pilot/plan.run/*-2.json' >/dev/null; do sleep 0.1; done
	scancel "$id"
	[ "$(ended "$id")" = CANCELLED ]
	clean
	once 0
	: >go
	pilot -- "$work && echo {job} >>$PWD/marks"
	[ "$(ended "$id")" = COMPLETED ]
	once 6
	clean
	joules_sum
	jq -e '.jobs_done == 6 and .rounds == 3 and ([.jobs[].attempts] | max <= 3)' $report
}

@test "SIGKILL of a runner: its jobs are planned again, and the report tells it" {
	make_jobs 24 2 >jobs.csv
	pilot -- "$task"
	await_marks $((1 + SEED % 3))
	victim=n$((SEED % 2 * 2))
	for p in $(process run --stop-file --node $victim); do kill -KILL "$p"; done
	[ "$(ended "$id")" = COMPLETED ]
	once 24
	clean
	joules_sum
	jq -e --arg node $victim '.jobs_done == 24 and .rounds == 2 and (.nodes[] | select(.node == $node) | .failures == 1)' $report
	grep -q "node $victim: its runner ended with status 137" "jobs.pilot/pilot.$id.log"
}

@test "SIGKILL of the head, at its start and later: another one goes on" {
	make_jobs 24 2 >jobs.csv
	pilot -- "$task"
	until p=$(process run "$PWD/jobs.pilot/plan.json") && [ -n "$p" ]; do :; done
	kill -KILL "$p"
	await_marks $((1 + SEED % 8))
	kill -KILL "$(process run "$PWD/jobs.pilot/plan.json")"
	[ "$(ended "$id")" = COMPLETED ]
	once 24
	clean
	joules_sum
	jq -e '.jobs_done == 24 and .rounds >= 2' $report
}

@test "SIGKILL of slurmctld and of slurmd, started again: the run goes on" {
	make_jobs 24 4 >jobs.csv
	pilot -- "$task"
	await_marks 1
	# A slurmctld that dies before it has saved the start of a job forgets it. It saves every
	# five seconds what has changed.
	touch before
	scontrol update jobid="$id" name=changed
	until [ "$SLURM_DIR/state/job_state" -nt before ]; do sleep 0.1; done
	kill -KILL "$(slurm_pid ctld)"
	kill -KILL "$(slurm_pid n$((SEED % 3)))"
	await_marks $((8 + SEED % 4))
	slurm_ctld
	slurmd_on n$((SEED % 3))
	[ "$(ended "$id")" = COMPLETED ]
	once 24
	clean
	jq -e '.jobs_done == 24' $report
	all_idle
}

@test "a node fails for good: it loses its own jobs alone, and the others run them" {
	make_jobs 24 1 >jobs.csv
	pilot -- "$task"
	await_marks $((1 + SEED % 4))
	# Everything of node n2 but its GPU.
	kill -KILL "$(slurm_pid n2)" $(process run --stop-file --node n2)
	[ "$(ended "$id")" = COMPLETED ]
	once 24
	jq -e '.jobs_done == 24 and (.nodes[] | select(.node == "n2") | .state == "lost" and .failures == 1)' $report
	joules_sum
	jq -e '[.nodes[] | select(.node != "n2") | .failures == 0 and .state == "used"] | all' \
		$report
	clean
	slurmd_on n2
	all_idle
}

@test "a node that drains is given back, and its jobs run on the others" {
	make_jobs 24 1 >jobs.csv
	# On this node no job ends by itself.
	pilot -- "case \$HESHARE_GPU in n0/*) exec sleep 1000;; esac; $task"
	await_marks 1
	scontrol update nodename=n0 state=drain reason=test
	[ "$(ended "$id")" = COMPLETED ]
	once 24
	clean
	jq -e '.jobs_done == 24 and (.nodes[] | select(.node == "n0") | .state == "drained")' \
		$report
	scontrol update nodename=n0 state=resume
	all_idle
}

@test "without Slurm: the same runners by ssh" {
	mkdir bin
	# A host is a node of the lab here.
	cat >bin/ssh <<-END
		#!/bin/bash
		. "$BATS_TEST_DIRNAME/slurm_lab.bash"
		while [ "\$1" != -- ]; do shift; done
		shift
		in_lab "\${1#*@}" env -u SLURM_JOB_ID sh -c "\$2"
	END
	chmod +x bin/ssh
	export PATH=$PWD/bin:$PATH HESHARE_STORE=$PWD/store.db
	printf '# the lab\nn0\nn2\n' >hosts
	make_jobs 12 1 >jobs.csv
	"$HESHARE" plan jobs.csv --gpus ssh:hosts --budget 3000 -o plan.json
	run "$HESHARE" run plan.json --launcher ssh:hosts --command "$task"
	[ "$status" -eq 0 ]
	once 12
	jq -e '.jobs_done == 12 and ([.nodes[].node] == ["n0", "n2"])' plan.run/report.json
	clean
	# A host without work leaves the joules of the other known.
	make_jobs 1 1 >one.csv
	"$HESHARE" plan one.csv --gpus ssh:hosts --budget 3000 -o one.json
	run "$HESHARE" run one.json --launcher ssh:hosts --command "$work"
	[[ "$output" == *"on nodes where no job ran: not measured, and 0 J in the report"* ]]
	jq -e '.jobs_done == 1 and .energy.meter_j > 0' one.run/report.json
	# Other GPUs than those of the plan.
	echo u@n1 >hosts
	run "$HESHARE" run plan.json --launcher ssh:hosts --restart --command "$task"
	[ "$status" -eq 0 ]
	[[ "$output" == *"the plan is for other GPUs than these nodes have, so its jobs are planned again"* ]]
	jq -e '.jobs_done == 12 and ([.jobs[].gpu] | unique | map(startswith("u@n1/")) | all)' \
		plan.run/report.json
	# A head that is killed, and another one for fewer hosts: the runners of all of them end
	# before their jobs run elsewhere.
	: >marks
	printf 'u@n0\nu@n2\n' >hosts
	"$HESHARE" run plan.json --launcher ssh:hosts --restart --command "$task" >/dev/null 2>&1 &
	await_marks 1
	kill -KILL $!
	echo u@n0 >hosts
	run "$HESHARE" run plan.json --launcher ssh:hosts --resume --command "$task"
	[ "$status" -eq 0 ]
	once 12
	clean
}

# fails SBATCH_OPTIONS... -- COMMAND SENTENCE: what a batch script with the command prints
fails() {
	local options=()
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	run ! sbatch -N3 --ntasks-per-node=1 -t 5 --wait -o out "${options[@]}" --wrap "$2"
	[ "$(wc -l <out)" = 1 ]
	grep -qF -- "$3" out
}

@test "without the environment of who submits, and with GPUs bound to tasks" {
	make_jobs 5 1 >jobs.csv
	# shellcheck disable=SC2016
	sbatch -N3 --gpus-per-task=1 --gpu-bind=map_gpu:0 -t 5 --wait -o out --export=HESHARE="$HESHARE",work="$work" --wrap 'export mark=$PWD/marks
		"$HESHARE" plan jobs.csv --gpus slurm --budget 100 -o plan.json >plan.txt &&
		"$HESHARE" run plan.json --store store.db --command "$work && echo {job} >>\$mark"'
	once 5
	clean
}

@test "a mistake gets one clear sentence" {
	make_jobs 4 1 >jobs.csv
	plan="$HESHARE plan jobs.csv --gpus slurm -o x.json"
	fails -- "$plan" 'no node has a GPU to use; node n0: Slurm job'
	fails -- "$plan" 'ask for some, for example by --gres=gpu:1'
	fails --gpus=3 -- "$plan" 'the Slurm job asks for GPUs by --gpus, so a runner does not get those of its node: use --gpus-per-node'
	fails -N2 -w n0,n1 --ntasks-per-node=2 --gpus-per-task=1 -- "$plan" \
		'the Slurm job asks for GPUs by --gpus-per-task'
	fails --gpus-per-task=1 -- "$plan --program /nowhere/heshare" \
		'node n0: it did not answer, exit status 2'
	# shellcheck disable=SC2016
	printf '#!/bin/sh\necho "{\\"heshare\\":\\"0.0.9\\",\\"node\\":\\"$SLURMD_NODENAME\\",\\"index\\":0}"\n' >old
	chmod +x old
	fails --gpus-per-node=1 -- "$plan --program $PWD/old" \
		'node n0: it has heshare 0.0.9 and this is'
	mkdir bin
	ln -s "$(command -v scontrol)" bin
	fails --gpus-per-node=1 -- "PATH=$PWD/bin $plan" 'srun: not found'
	run "$HESHARE" plan jobs.csv --gpus slurm
	[ "$status" -eq 1 ]
	[ "$output" = "heshare plan: not in a Slurm job: SLURM_JOB_ID is not set; heshare pilot or sbatch starts one" ]
}
