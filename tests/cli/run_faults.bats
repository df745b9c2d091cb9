#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# heshare run while GPUs, MPS and sensors of the lab fail: no job is charged for it, and none runs
# twice.

load run_setup

@test "without the right to set clocks it is said once, and the run goes on" {
	lab 40 sh -c 'vgpu-fault all:no-permission; heshare run batches.json --json -c "$task"'
	[ "$status" -eq 0 ]
	jq -e '.jobs_done == 8 and .clocks_refused == 2' <<<"$output"
	[ "$(grep -c 'clocks are not set' <<<"$stderr")" = 1 ]
	once
}

@test "without MPS it is said once, and jobs share by turns" {
	lab 40 sh -c 'mkdir bin; for p in "$(dirname "$(command -v vgpu-task)")"/*; do case $p in *mps*) ;; *) ln -s "$p" bin/;; esac; done
		PATH=$PWD/bin:$(dirname "$(command -v heshare)"):/usr/bin:/bin heshare run batches.json --json -c "$task"'
	[ "$status" -eq 0 ]
	[ "$(grep -c 'share without MPS' <<<"$stderr")" = 1 ]
	once
}

@test "a fault of one client fells all: none is charged, a suspect runs alone, and all are done" {
	together
	lab 10 bash -c 'heshare run three.json --jobs batches.run --retries 0 --json -c "$endless_first" & sh await 3; vgpu-fault 0:crash; wait $!; sh left'
	jq -e '.jobs_done == 3 and .jobs_failed == 0 and .co_failed == 3 and .repeated == 3' \
		<<<"$output"
	[[ "$stderr" == *"a/0: all jobs there failed together; job "*", which was the first, is tried again by itself"* ]]
	# By itself: none of the others' last attempts overlaps the suspect's.
	suspect=$(sed -n 's/.*job \([ace]\), which was the first.*/\1/p' <<<"$stderr")
	jq -e --arg s "$suspect" '(.jobs[] | select(.job == $s)) as $x | [.jobs[] | select(.job != $s) | .end_s <= $x.start_s + 0.001 or .start_s >= $x.end_s - 0.001] | all' <<<"$output"
	[ "$(sort marks | tr -d '\n')" = ace ]
}

@test "the death of the MPS server is nobody's fault" {
	together
	lab 10 bash -c 'heshare run three.json --jobs batches.run --retries 0 --json -c "$endless_first" & sh await 3; vgpu-fault 0:mps-death; wait $!; sh left'
	jq -e '.jobs_done == 3 and .jobs_failed == 0 and .co_failed == 3' <<<"$output"
	[[ "$stderr" != *"tried again by itself"* ]]
	grep -q "job a failed because its MPS server ended, status .*; it is tried again" \
		<<<"$stderr"
	[[ "$stderr" != *"a co-runner"* ]]
	[ "$(sort marks | tr -d '\n')" = ace ]
}

@test "a stopped MPS daemon is not charged to the jobs that wait for it" {
	together
	only_limited three.json a >p.json
	cat >stop_mps <<-'END'
		for p in $(pgrep -f "^nvidia-cuda-mps-control"); do
			tr "\0" "\n" </proc/$p/environ | grep -qx "HESHARE_LAB=$HESHARE_LAB" && kill -STOP $p
		done
	END
	# Every first attempt waits for the daemon that it stopped; the time limit ends that of job
	# a, whose second one needs no GPU.
	export stop_first="case \$HESHARE_ATTEMPT,{job} in 1,*) sh $PWD/stop_mps; $task;; *,a) echo a >>$PWD/marks;; *) $task;; esac"
	lab 10 bash -c 'heshare run p.json --retries 0 --timeout-factor 1 --timeout-least 50 --grace 1 --json -c "$stop_first"; sh left'
	jq -e '.jobs_done == 3 and .jobs_failed == 0 and .timeouts == 0 and .co_failed >= 1' \
		<<<"$output"
	[[ "$stderr" == *"a/0: its MPS daemon is gone or does not answer; another is started"* ]]
	[[ "$output" != *left:* ]]
	[ "$(sort marks | tr -d '\n')" = ace ]
}

@test "a GPU that is lost fails no job: its jobs wait" {
	together
	lab 10 bash -c 'heshare run three.json --jobs batches.run --retries 0 --json -c "$endless" & sh await 3; vgpu-fault 0:gpu-lost; wait $!'
	jq -e '.jobs_done == 0 and .jobs_failed == 0 and .jobs_waiting == 3 and .state == "stopped"' <<<"$output"
	[[ "$stderr" == *"a/0 is lost: GPU 0 cannot be used: "*"it waits for another GPU, or for --resume"* ]]
	[[ "$stderr" == *"failed because its GPU was lost, status "* ]]
	[[ "$stderr" != *"a co-runner"* ]]
	lab 40 heshare run three.json --resume -c "$task"
	[ "$status" -eq 0 ]
	[ "$(sort marks | tr -d '\n')" = ace ]
}

@test "jobs of a GPU that is lost move to another type, each alone; it is said why the others do not" {
	together
	# An open queue with shares that may overlap: a and c would fit together, even whole.
	jq '.version = 3 | .gpus += [{gpu: "a/1", type: "T4", batches: []}] | (.jobs[] | select(.id == "e")).memory_mib = 20000 |
		.jobs += [.jobs[0] | .id = "b" | del(.memory_mib)] | .gpus[0] |= (.together = 8 | .shares_pct = 200 |
			.batches = [.batches[0] + ("a", "c", "e" | {jobs: [{job: ., sm_pct: 30, start_us: 0, end_us: 6000000000}]})] +
			[{clock_mhz: 1410, start_us: 6000000000, end_us: 7000000000, energy_mj: 9000000, jobs: [{job: "b", sm_pct: 100, start_us: 6000000000, end_us: 7000000000}]}])' three.json >p.json
	lab 10 bash -c 'heshare run p.json --jobs batches.run --retries 0 --json -c "$endless_first" & sh await 3; vgpu-fault 0:gpu-lost; wait $!'
	jq -e '.jobs_done == 2 and .jobs_failed == 0 and .jobs_waiting == 2 and .state == "stopped"' <<<"$output"
	[[ "$stderr" == *"2 waiting jobs of a/0, which is lost, moved to a/1: a, c"* ]]
	[[ "$stderr" == *"1 job of a/0 cannot move: how much memory it needs is not known"*" 81251 MiB; write memory_mib into the jobs file, then: heshare run PLAN JOBS --resume"* ]]
	[[ "$stderr" == *"1 job of a/0 cannot move: no other GPU of the run has the memory"* ]]
	[ "$(sqlite3 store.db "SELECT group_concat(job || gpu || sm_pct) FROM (SELECT * FROM attempts WHERE number = 2 ORDER BY job)")" = aa/1100,ca/1100 ]
	jq -e '[.jobs[] | select(.job == ("a", "c"))] | sort_by(.start_s) | .[1].start_s >= .[0].end_s - 0.001' <<<"$output"
	[ "$(sqlite3 store.db "SELECT group_concat(job || gpu) FROM (SELECT * FROM run_jobs ORDER BY job)")" = aa/1,ba/0,ca/1,ea/0 ]
	lab 40 heshare run p.json --resume -c "$task"
	[ "$status" -eq 0 ]
	[ "$(sort marks | tr -d '\n')" = abce ]
}

# uuid_of FLEET INDEX: of a GPU of the lab in this folder
uuid_of() {
	"$HES_LAB" --fleet "$1" -- heshare gpus --json 2>/dev/null | jq -r ".gpus[$2].uuid"
}

@test "--resume moves the waiting jobs of a GPU that is lost, whatever NVML says of it" {
	printf 'name: same\nnodes:\n  - name: a\n    gpus: [ { type: V100-SXM2-32, count: 2 } ]\n' >same.yaml
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\n' >four.csv
	for j in a b c d; do echo "$j,0,resnet50,16,1000,9000" >>four.csv; done
	"$HES_LAB" --fleet same.yaml -- heshare plan four.csv --gpus all -o plan.json >/dev/null
	[ "$(jq '[.gpus[] | select(.batches != [])] | length' plan.json)" = 2 ]
	for fault in nvmlDeviceGetHandleByIndex=999 nvmlDeviceGetUUID=15 gpu-lost; do
		: >marks
		jq --arg f "$fault" '.note = $f' plan.json >"p-$fault.json"
		export plan=p-$fault.json fault
		run -0 --separate-stderr "$HES_LAB" --fleet same.yaml --speed 20 -- bash -c '
			heshare run $plan --jobs batches.run -c "$endless" >/dev/null 2>&1 & sh await 2; kill $!; wait
			vgpu-fault 1:$fault
			heshare run $plan --resume --json -c "$task"; rm -r batches.run'
		jq -e '.jobs_done == 4 and .state == "done" and all(.jobs[]; .gpu | endswith("/0"))' <<<"$output"
		[[ "$stderr" == *"/1 is lost: GPU-"*" is not there, or cannot be used"*"2 waiting jobs of "*"/1, which is lost, moved to "*"/0: "* ]]
		[ "$(sort marks | tr -d '\n')" = abcd ]
	done
	# What has not begun is planned again by who wants it.
	run -1 "$HES_LAB" --fleet same.yaml --fault 1:nvmlDeviceGetName=999 -- heshare run plan.json -c true
	[[ "$output" == "heshare run: GPU 1 cannot be used: reading its name: NVML says "*"GPU-"*" of the plan) is not on this machine"* ]]
}

@test "a plan for GPUs of this machine runs on these, whatever their numbers are, on others with --other-gpus only" {
	printf 'name: swapped\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 1 }, { type: A100-SXM-80, count: 1 } ]\n' >swapped.yaml
	head -n 2 jobs.csv >one.csv
	a100=$(uuid_of two.yaml 0)
	[ "$(uuid_of swapped.yaml 1)" = "$a100" ]
	# Planned for the only GPU that was visible, carried out where all are, with other numbers.
	"$HES_LAB" --fleet two.yaml -- env CUDA_VISIBLE_DEVICES="$a100" heshare plan one.csv --gpus all -o p.json >/dev/null
	[ "$(jq -r '.gpus[].uuid' p.json)" = "$a100" ]
	run -0 --separate-stderr "$HES_LAB" --fleet swapped.yaml -- heshare run p.json --early-ok -c "echo \$CUDA_VISIBLE_DEVICES >$PWD/used"
	[ "$(cat used)" = "$a100" ]
	run -1 "$HES_LAB" --machine other --fleet two.yaml -- heshare run p.json --restart -c true
	[[ "$output" == *"$a100 ("*"/0 of the plan) is not on this machine, which has GPU-"*"--other-gpus" ]]
	run -1 "$HES_LAB" --fleet two.yaml -- env CUDA_VISIBLE_DEVICES="$(uuid_of two.yaml 1)" heshare run p.json --restart -c true
	[[ "$output" == *'heshare run: CUDA_VISIBLE_DEVICES is "GPU-'*"$a100"* ]]
	run -0 "$HES_LAB" --machine other --fleet two.yaml -- heshare run p.json --restart --other-gpus --early-ok -c true
	# A run goes on where it began, also if its plan names no UUID.
	jq 'del(.gpus[].uuid)' p.json >old.json
	run "$HES_LAB" --fleet two.yaml --speed 20 -- bash -c 'heshare run old.json --jobs batches.run -c "$endless" & sh await 1; kill $!; wait $!'
	[ "$(sqlite3 store.db "SELECT uuid FROM run_gpus ORDER BY id DESC LIMIT 1")" = "$a100" ]
	run -1 "$HES_LAB" --machine other --fleet two.yaml -- heshare run old.json --resume -c true
	[[ "$output" == *"$a100 ("*" of the plan) is not on this machine"* ]]
	run -0 "$HES_LAB" --machine other --fleet two.yaml -- heshare run old.json --resume --other-gpus --early-ok -c true
	[ "$(sqlite3 store.db "SELECT uuid FROM run_gpus ORDER BY id DESC LIMIT 1")" = "$("$HES_LAB" --machine other --fleet two.yaml -- heshare gpus --json | jq -r '.gpus[0].uuid')" ]
}

@test "a job that cannot be killed sets its GPU aside; the others go on, and no second copy starts there" {
	stuck=$(jq -r '[.gpus[] | select(.gpu == "a/0") | .batches[].jobs[].job][0]' batches.json)
	only_limited batches.json "$stuck" >p.json
	export stuck one_stuck="[ {job} != $stuck ] || $stubborn; until [ -e $PWD/held ]; do sleep 1; done; $numbered"
	export attempts="SELECT count(*) FROM attempts WHERE job = '$stuck'"
	lab 20 bash -c 'heshare run p.json --retries 100 --timeout-factor 1 --timeout-least 40 --grace 5 --json -c "$one_stuck" 2>err &
		sh hold $stuck; wait $!; sqlite3 store.db "$attempts" >before
		heshare run p.json --resume -c "$one_stuck" >again 2>&1'
	jq -e '.jobs_waiting >= 1 and .jobs_failed == 0 and .state == "stopped" and .jobs_done >= 1' <<<"$output"
	grep -q "job $stuck: its processes are killed and do not end: they wait in the driver; nothing starts on a/0 until they have" err
	grep -q "not everything could be set back" err
	grep -q "job $stuck: its processes of the run before are killed and do not end: they wait in the driver; nothing starts on a/0" again
	[ "$(sqlite3 store.db "$attempts")" = "$(cat before)" ]
}

@test "a job that is killed and ends late is tried again on its GPU" {
	stuck=$(jq -r '[.gpus[] | select(.gpu == "a/0") | .batches[].jobs[].job][0]' batches.json)
	local other
	other=$(jq -r '[.gpus[] | select(.gpu == "a/1") | .batches[].jobs[].job][0]' batches.json)
	only_limited batches.json "$stuck" >p.json
	export stuck late="[ {job} != $stuck ] || [ -e $PWD/cleared ] || $stubborn; until [ -e $PWD/held ]; do sleep 1; done
		[ {job} != $other ] || until grep -q 'ended after all' $PWD/err; do sleep 1; done; $task"
	lab 20 bash -c 'heshare run p.json --retries 100 --timeout-factor 1 --timeout-least 40 --grace 5 --json -c "$late" 2>err &
		sh hold $stuck; : >cleared; vgpu-fault 0:clear; wait $!'
	jq -e '.jobs_done == 8' <<<"$output"
	grep -q "job $stuck has ended after all" err
	grep -q "; jobs start again on a/0" err
	# The time limit may end an attempt that has left its line.
	[ "$(sort -u marks | tr -d '\n')" = abcdefgh ]
	[ "$(sqlite3 store.db "SELECT count(*) FROM attempts WHERE verdict = 'done'")" = 8 ]
}

@test "over a gap of the sensors the GPU's joules are known, those of jobs within the gap are missing" {
	together
	lab 20 bash -c 'heshare run three.json --jobs batches.run --json -c "$gated" & sh await 3; vgpu-fault 0:sensor-gap; : >go-a; : >go-c
		while [ "$(wc -l <marks)" -lt 2 ]; do sleep 0.2; done; sleep 2; vgpu-fault 0:clear; sleep 2; : >go-e; wait $!'
	jq -e '.jobs_done == 3 and .longest_gap_s > 1 and .gpus[0].busy_energy_j > 1000 and .measured.busy_energy_j > 1000' <<<"$output"
	jq -e '[.jobs[] | .attributed_j == null] | all' <<<"$output"
}
