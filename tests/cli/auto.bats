#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# heshare auto on GPUs of the lab: the commands of its steps, what stops them, and how they go on.

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	PATH=$(dirname "$HESHARE"):$PATH
	unset LD_LIBRARY_PATH
	cd "$BATS_TEST_TMPDIR"
	export HESHARE_STORE=$PWD/store.db
	printf 'name: two\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 1 }, { type: T4, count: 1 } ]\n' >two.yaml
	printf 'name: same\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 2 } ]\n' >same.yaml
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\na,0,resnet34,8,1500,1813\nb,0,mobilenet,4,1500,1266\nc,0,resnet34,8,900,1813\n' >jobs.csv
	head -2 jobs.csv >one.csv
	: >marks
	# Leaves a line in "marks" when it is done as a job of a run.
	cat >job.sh <<-'EOF'
		#!/bin/sh
		[ -z "$HESHARE_JOB" ] || [ ! -e "fail-$HESHARE_JOB" ] || { echo no such data; exit 3; }
		vgpu-task --workload "$1" --batch "$2" --iterations "$3" --every 2 || exit
		until [ -z "$HESHARE_JOB" ] || [ ! -e hold ] || [ -e "go-$HESHARE_JOB" ]; do sleep 1; done
		[ -z "$HESHARE_JOB" ] || echo "$HESHARE_JOB" >>marks
	EOF
	chmod +x job.sh
	QUICK=(--samples 20 --patience 100000)
	JOB=(./job.sh '{workload}' '{batch}' '{iterations}')
}

lab() { # FLEET COMMAND...
	local fleet=$1
	shift
	"$HES_LAB" --fleet "$fleet.yaml" --speed 20 -- "$@"
}

# points: how many the store has
points() {
	sqlite3 store.db "SELECT count(*) FROM points"
}

done_jobs() {
	sort marks | tr -d '\n'
}

@test "from jobs to joules in one go; what the store knows is not measured again" {
	# The rehearsal prints the commands that are run, and makes nothing.
	run -0 lab two heshare auto jobs.csv "${QUICK[@]}" --dry-run -- "${JOB[@]}"
	grep '^\$ ' <<<"$output" >rehearsed
	[ "$(wc -l <rehearsed)" = 7 ]
	[ ! -e store.db ] && [ ! -e jobs.auto ]
	run -0 lab two heshare auto jobs.csv "${QUICK[@]}" -- "${JOB[@]}"
	cmp rehearsed <(grep '^\$ ' <<<"$output")
	[ "$(grep -o '^Step [1-5] of 5, [a-z]*:' <<<"$output" | tr -d '\n')" = \
		"Step 1 of 5, gpus:Step 2 of 5, profile:Step 3 of 5, train:Step 4 of 5, plan:Step 5 of 5, run:" ]
	[[ "$output" == *"the store lacks 4 of 4 profiles"*" min of one GPU at least"*"points: "*" measured, 0 known before, 0 failed"* ]]
	[[ "$output" == *"run 1: 3 of 3 jobs done"*"busy energy "*J* ]]
	[ "$(done_jobs)" = abc ]
	[ "$(ls jobs.auto | tr '\n' ' ')" = "plan.json plan.run predictor rows " ]
	jq -e '.jobs_done == 3 and .measured.fleet_j > 0' jobs.auto/plan.run/report.json
	measured=$(points)
	[ "$(sqlite3 store.db "SELECT DISTINCT command FROM points ORDER BY 1 LIMIT 1")" = "exec ./job.sh mobilenet 4 1000000000" ]
	run -0 lab two heshare auto jobs.csv "${QUICK[@]}" --dir second -- "${JOB[@]}"
	[[ "$output" == *"Step 2 of 5, profile: not needed. The store has all 4 profiles"*"run 2: 3 of 3 jobs done"* ]]
	[[ "$output" != *'$ heshare profile --jobs'* ]]
	[ "$(points)" = "$measured" ]
	# The folder is taken; to go on there is nothing to do.
	run -1 lab two heshare auto jobs.csv -- "${JOB[@]}"
	[[ "$output" == "heshare auto: jobs.auto was begun before; --resume goes on with it, --dir names another folder" ]]
	run -0 lab two heshare auto jobs.csv --resume -- "${JOB[@]}"
	[ "$(grep -c 'of 5, [a-z]*: not needed' <<<"$output")" = 4 ]
	[ "$(done_jobs)" = aabbcc ]
}

@test "the printed commands can be typed" {
	run -0 lab two heshare auto one.csv "${QUICK[@]}" --dry-run --dir 'my folder' -- \
		./job.sh '{workload}' '{batch}' '{iterations}' "it's"
	sed -n 's/^\$ //p' <<<"$output" >typed
	mkdir 'my folder'
	run -0 lab two bash -euo pipefail typed
	[[ "$output" == *"run 1: 1 of 1 job done"* ]]
	[ -s 'my folder/predictor' ]
}

@test "a step that fails ends auto with its status; --resume goes on there" {
	# The run: one job's data is missing.
	: >fail-a
	run -1 lab two heshare auto jobs.csv "${QUICK[@]}" -- "${JOB[@]}"
	[[ "$output" == *"2 of 3 jobs done"*"heshare auto: step 5 of 5 ended with exit status 1; the same command with --resume goes on from there" ]]
	[ "$(done_jobs)" = bc ]
	rm fail-a
	run -0 lab two heshare auto jobs.csv "${QUICK[@]}" --resume -- "${JOB[@]}"
	[[ "$output" == *"train: not needed"*"plan: not needed"*"run jobs.auto/plan.json --resume"*"3 of 3 jobs done"* ]]
	[ "$(done_jobs)" = abc ]
	# The profile: a command that ends. Nothing is trained, nothing runs.
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\nx,0,gpt2,1,100,1513\n' \
		>broken.csv
	run -1 lab two heshare auto broken.csv "${QUICK[@]}" -- 'echo no such model; exit 3'
	[[ "$output" == *"gpt2 at batch size 1 ended with status 3: no such model"*"heshare auto: step 2 of 5 ended with exit status 1; "* ]]
	[ "$(ls broken.auto)" = profiling ]
}

@test "Ctrl-C while it profiles, and a signal while it runs: --resume does the rest, and no job twice" {
	cat >terminal.py <<-'EOF'
		import os, pty, sys
		pid, fd = pty.fork()
		if pid == 0:
		    os.execvp(sys.argv[1], sys.argv[1:])
		shown = b""
		try:
		    while piece := os.read(fd, 4096):
		        typed, shown = b"point 2 of" in shown, shown + piece
		        if b"point 2 of" in shown and not typed:
		            os.write(fd, b"\x03")
		except OSError:  # all have left the terminal
		    pass
		sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
	EOF
	run -0 python3 terminal.py "$HES_LAB" --fleet two.yaml --speed 20 -- heshare auto \
		jobs.csv "${QUICK[@]}" -- "${JOB[@]}"
	tr -s ' \n' '  ' <<<"$output" | grep -q \
		'profile: stopped early, .* left; .*auto: step 2 of 5 ended with exit status'
	[ "$(ls jobs.auto)" = profiling ]
	known=$(points)
	[ "$known" -ge 2 ]
	# Of the rest, only the run is stopped: by a signal for auto alone, when a job is done.
	: >hold
	: >go-b
	run ! lab two sh -c 'heshare auto jobs.csv --resume "$@" & auto=$!; until [ -s marks ] || ! kill -0 $auto; do sleep 1; done; kill -TERM $auto; wait $auto' - \
		"${QUICK[@]}" -- "${JOB[@]}"
	[[ "$output" == \
		*"points: "*" failed"*"heshare auto: step 5 of 5 ended with exit status 1; "* ]]
	[ "$(done_jobs)" = b ]
	[ "$(points)" -gt "$known" ]
	[ "$(sqlite3 store.db "SELECT count(*) = count(DISTINCT workload || batch_size || gpu_type || sm_pct || clock_mhz) FROM points WHERE beside = ''")" = 1 ]
	rm hold
	run -0 lab two heshare auto jobs.csv --resume "${QUICK[@]}" -- "${JOB[@]}"
	[[ "$output" == \
		*"profile: not needed, because there is jobs.auto/plan.json."*"3 of 3 jobs done"* ]]
	[ "$(done_jobs)" = abc ]
}

@test "no right to set clocks, no MPS, one workload: still a run, and it says what it does without" {
	run -0 "$HES_LAB" --fleet two.yaml --speed 20 --fault all:no-permission -- sh -c 'H=$(command -v heshare) T=$(dirname "$(command -v vgpu-task)")
		mkdir bin && ln -s "$T/vgpu-task" bin && PATH=$PWD/bin:/usr/bin:/bin "$H" auto one.csv --patience 100000 "$@"' - -- "${JOB[@]}"
	[[ "$output" == *"they cannot share GPUs without MPS, at the default clock"*"--samples 0 "*"--clocks default"*"points: 2 measured, 0 known before, 0 failed"* ]]
	[[ "$output" == *"train: not possible. The store has 2 samples"*"run 1: 1 of 1 job done"* ]]
	run ! grep '^\$ .*--predictor' <<<"$output"
	[ "$(done_jobs)" = a ]
}

@test "--gpus, --prefer and --power-cap reach every step: all is on the GPU that was named" {
	run -0 lab same heshare auto one.csv "${QUICK[@]}" --gpus 1 --prefer energy --power-cap \
		500 -- "${JOB[@]}"
	[ "$(sqlite3 store.db "SELECT group_concat(substr(uuid, -4)) FROM run_gpus")" = 0002 ]
	jq -e '.prefer == "energy" and .predicted.power_cap_mw == 500000 and (.gpus | length) == 1' one.auto/plan.json
}

@test "what cannot work is refused before anything is measured" {
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib,command\na,0,resnet34,8,1500,1813,true\n' >own.csv
	local wrong=1 # exit status
	refused() { # SENTENCE ARGUMENT...
		run -$wrong lab two heshare auto "${@:2}"
		[[ "$output" == "heshare auto: "*"$1"* ]]
	}
	refused 'job a has no command; give one for all after --' jobs.csv
	sed 's/command$/comand/' own.csv >misspelt.csv
	run -1 lab two heshare auto misspelt.csv
	[[ "$output" == *'nothing reads column "comand" (did you mean command?)'*'job a has no command'* ]]
	refused 'job a has a command of its own, and there is one for all' own.csv -- true
	refused 'COMMAND: {job} means something only while a plan runs' jobs.csv -- 'x {job}'
	refused 'no value {iteration} for a command' jobs.csv -- 'x {iteration}'
	refused 'none.csv' none.csv -- true
	refused 'so there is nothing to resume' jobs.csv --resume -- true
	wrong=2
	refused '--prefer' jobs.csv --prefer speed -- true
	refused 'no GPU "7"' jobs.csv --gpus 7 -- true
	refused '--power-cap: 10 W is below the 65 W' jobs.csv --power-cap 10 -- true
	[ ! -e store.db ] && [ ! -e jobs.auto ]
	run -2 heshare auto
}
