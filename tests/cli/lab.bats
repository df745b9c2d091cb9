#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# The virtual GPU lab, and heshare's commands inside of it.

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	PATH=$(dirname "$HESHARE"):$PATH
	unset LD_LIBRARY_PATH
	cd "$BATS_TEST_TMPDIR"
}

@test "without options the lab has the paper's testbed" {
	run -0 --separate-stderr "$HES_LAB" -- heshare gpus --json
	[ "$(jq -r '.gpus | group_by(.gpu_type)[] | "\(length) \(.[0].gpu_type)"' <<<"$output")" = $'2 A100-SXM-80\n4 T4\n2 V100-PCIe-32' ]
	jq -e '.gpus[0] | .name == "Tesla T4" and .memory_mib == 15360 and .power_w == 10 and .clock_mhz == 300' <<<"$output"
}

@test "a fleet of ones own, and the command's exit status" {
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { type: L4, count: 1 }, { type: H200, count: 2 } ]\n' >f.yaml
	run -7 --separate-stderr "$HES_LAB" --fleet f.yaml -- sh -c \
		'heshare gpus --json | jq -r ".gpus[].gpu_type"; exit 7'
	[ "$output" = $'L4\nH200\nH200' ]
	[ "$stderr" = "lab: derived from data sheets, not fitted to measurements: L4, H200; expect times within 15 % in half of the cases, within 50 % in nine of ten (docs/gpu-model.md)" ]
}

# visible VARIABLES COMMAND...: UUIDs of the GPUs that a command uses
visible() {
	"$HES_LAB" -- sh -c 'nvidia() { env -u CUDA_VISIBLE_DEVICES heshare gpus --json | jq -r ".gpus[].uuid"; }; nvidia >all; '"$1"' heshare gpus --json | jq -r ".gpus[].uuid" >some'
	grep -nxFf some all | cut -d: -f1 | xargs
}

@test "GPUs that CUDA_VISIBLE_DEVICES or Slurm name are the only ones" {
	[ "$(visible CUDA_VISIBLE_DEVICES=2,5)" = "3 6" ]
	[ "$(visible 'CUDA_VISIBLE_DEVICES=" 2, 5 "')" = "3 6" ]
	# As with CUDA: what follows -1 is not visible. What CUDA makes of a blank, nobody knows.
	[ "$(visible CUDA_VISIBLE_DEVICES=2,-1,5)" = "3" ]
	run -1 "$HES_LAB" -- env CUDA_VISIBLE_DEVICES='0 1' heshare gpus
	[ "$output" = 'heshare gpus: CUDA_VISIBLE_DEVICES names GPU "0 1"; GPUs are separated by commas' ]
	# Slurm's own variables have the numbers of the node; a step's come before the job's, and
	# CUDA's before both.
	[ "$(visible 'SLURM_JOB_ID=1 SLURM_JOB_GPUS=1,7')" = "2 8" ]
	[ "$(visible 'SLURM_JOB_ID=1 SLURM_JOB_GPUS=1,7 SLURM_STEP_GPUS=7')" = "8" ]
	[ "$(visible 'SLURM_JOB_ID=1 SLURM_JOB_GPUS=1,7 CUDA_VISIBLE_DEVICES=0')" = "1" ]
	# All that a confined job sees are its own, whatever their numbers on the node.
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { type: L4, count: 2 } ]\n' >f.yaml
	run -0 --separate-stderr "$HES_LAB" --fleet f.yaml -- env SLURM_JOB_ID=1 \
		SLURM_JOB_GPUS=6,7 heshare gpus --json
	[ "$(jq ".gpus | length" <<<"$output")" = 2 ]
	run -1 "$HES_LAB" -- env SLURM_JOB_ID=12 heshare gpus
	[[ "$output" == "heshare gpus: Slurm job 12 has no GPU on this node: ask for some, for example by --gres=gpu:1; where Slurm does not manage GPUs, name them in CUDA_VISIBLE_DEVICES" ]]
	run -1 "$HES_LAB" -- env CUDA_VISIBLE_DEVICES= heshare plan x.csv --gpus all
	[ "$output" = 'heshare plan: no GPU may be used: CUDA_VISIBLE_DEVICES is ""' ]
}

@test "an index in CUDA_VISIBLE_DEVICES is CUDA's; where CUDA does not say, UUIDs are required" {
	printf 'name: x\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 1 }, { type: A100-SXM-80, count: 1 }, { type: T4, count: 1 } ]\n' >f.yaml
	export LAB_FOLDER=$(dirname "$HES_LAB")
	cat >order.sh <<-'END'
		exec 2>&1; unset CUDA_DEVICE_ORDER
		heshare gpus --json | jq -r ".gpus[].uuid" >all
		names() { jq -r .gpus[].uuid | while read -r u; do echo $(($(grep -nxF "$u" all | cut -d: -f1) - 1)); done | xargs; }
		for v in 0 1,0 2,0,1 " 1"; do
			CUDA_VISIBLE_DEVICES=$v heshare gpus --json | names
			CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=$v heshare gpus --json | names
		done
		# What is started from heshare gets the same GPU.
		CUDA_VISIBLE_DEVICES=0 heshare measure -o m -- sh -c 'echo $CUDA_VISIBLE_DEVICES' | grep -nxF -f - all
		CUDA_VISIBLE_DEVICES=0 heshare plan jobs.csv -g all --json | jq -r ".gpus[].gpu_type"
		CUDA_VISIBLE_DEVICES=0,$(sed -n 3p all) heshare gpus --json | names
		CUDA_VISIBLE_DEVICES=3 heshare gpus
		# One that NVML refuses keeps its number for CUDA.
		vgpu-fault 0:nvmlDeviceGetHandleByIndex=999
		CUDA_VISIBLE_DEVICES=1,0 heshare gpus --json | names
		CUDA_VISIBLE_DEVICES=1 heshare plan jobs.csv -g all
		vgpu-fault 0:clear
		# No libcuda: by PCI, CUDA's numbers are NVML's, and nobody asks it.
		mkdir none; cp -L "$LAB_FOLDER"/libnvidia-ml.so.1 none; export LD_LIBRARY_PATH=$PWD/none
		CUDA_VISIBLE_DEVICES=0 heshare gpus
		CUDA_VISIBLE_DEVICES=$(sed -n 2p all) heshare gpus --json | names
		CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1 heshare gpus --json | names
	END
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\na,0,resnet50,16,500,9000\n' >jobs.csv
	run -0 "$HES_LAB" --fleet f.yaml -- sh order.sh
	[ "$(head -n 11 <<<"$output" | tr '\n' /)" = "1/0/0 1/1 0/2 1 0/2 0 1/0/1/2:$(sed -n 2p all)/A100-SXM-80/1 2/" ]
	[ "${lines[11]}" = "heshare gpus: CUDA_VISIBLE_DEVICES names GPU 3, and CUDA shows 3, from 0 on" ]
	[[ "${lines[12]}" == "heshare gpus: GPU 0 cannot be used: "* ]]
	[ "${lines[13]}" = 1 ]
	[[ "${lines[15]}" == "heshare plan: GPU 0 cannot be used: "* ]]
	[[ "${lines[16]}" == 'heshare gpus: CUDA_VISIBLE_DEVICES is "0", and CUDA may count GPUs in another order than NVML; CUDA does not say: '*"name them by UUID: $(sed -n 1p all) (Tesla T4), $(sed -n 2p all) (NVIDIA A100-SXM4-80GB), "* ]]
	[ "${lines[17]} ${lines[18]}" = "1 1" ]
}

@test "what is measured in the lab has a store of its own, unless one is named" {
	local store='echo "$HESHARE_STORE"'
	unset XDG_DATA_HOME HESHARE_STORE
	export HOME=$PWD/me
	run -0 "$HES_LAB" -- sh -c "$store"
	[ "$output" = "$PWD/me/.local/share/heshare/lab.db" ]
	XDG_DATA_HOME=$PWD/data run -0 "$HES_LAB" -- sh -c "$store"
	[ "$output" = "$PWD/data/heshare/lab.db" ]
	HESHARE_STORE=mine.db run -0 "$HES_LAB" -- sh -c "$store"
	[ "$output" = mine.db ]
	mkdir me
	heshare profile --modelled --types T4 -o rows
	"$HES_LAB" -- heshare profiles import rows
	[ -f me/.local/share/heshare/lab.db ]
	[ ! -e me/.local/share/heshare/store.db ]
	"$HES_LAB" -- heshare profiles import --store named.db rows
	[ -f named.db ]
	run -1 heshare profiles list
	[[ "$output" == *"/heshare/store.db: no store there" ]]
	HESHARE_STORE=$PWD/new/other.db run -0 heshare profiles import rows
	[ -f new/other.db ]
}

@test "wrong usage of the lab, a fleet that is not there, a fault that is none" {
	run -2 "$HES_LAB" --speed fast -- true
	[[ "$output" == *'--speed'*'fast'* ]]
	run -1 "$HES_LAB" --fleet nothing.yaml -- true
	[[ "$output" == *nothing.yaml* ]]
	run -2 "$HES_LAB" --fault 0:rain -- true
	[[ "$output" == *'no fault "rain"'* ]]
	run -2 "$HES_LAB" --fault 8:hang -- true
	[[ "$output" == *'no GPU "8"; there are 0 to 7'* ]]
	run -2 "$HES_LAB" -- vgpu-fault 0:hang:x
	[[ "$output" == *'GPU:KIND[:SECONDS]'* ]]
}

@test "the lab leaves neither files nor processes" {
	run -0 "$HES_LAB" -- sh -c 'echo $HESHARE_LAB; nvidia-cuda-mps-control -d; sleep 1000 &'
	[ ! -e "$(dirname "${lines[0]}")" ]
	# Those of other labs are none of this one.
	run ! grep -qazx "HESHARE_LAB=${lines[0]}" /proc/[0-9]*/environ
}

# step_us: what the physics says of an iteration of ResNet-50 at batch 16 on a T4
step_us() {
	"$HESHARE" model resnet50 --batch 16 --gpu T4 --json | jq '.jobs[0].iteration_us'
}

@test "heshare measure tells the joules of a task, and passes its exit status on" {
	run -0 --separate-stderr "$HES_LAB" --speed 10 -- heshare measure -g 0,6 --json -o \
		m.json -- \
		vgpu-task --workload resnet50 --batch 16 --iterations 500
	[ "${lines[-1]}" = "heshare: 500 iterations" ]
	# The physics: the T4 is at its power limit; the A100 stays idle.
	run -0 jq -e --argjson step_us "$(step_us)" '.exit_status == 0 and (.gpus | length) == 2 and .gpus[0].energy_from == "counter" and (.gpus[0].seconds > 500e-6 * 0.998 * $step_us)
		and .gpus[0].power_w > 20 and .gpus[0].power_w < 71 and .gpus[0].peak_w > 60 and .gpus[0].capped_part > 0 and .gpus[1].power_w > 53
		and .gpus[1].power_w < 57 and .gpus[1].capped_part == 0 and .gpus[0].gap_s < 0.001' m.json
	run -3 --separate-stderr "$HES_LAB" --speed 10 -- heshare measure --gpus all -- sh -c \
		'exit 3'
	[[ "$stderr" == *"J on 8 of 8 GPUs"* ]]
}

@test "examples/heshare.py tells the joules of a part of a Python program" {
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 1 }, { type: T4, count: 1 } ]\n' >f.yaml
	cat >program.py <<-'END'
		import json, subprocess, sys, time
		sys.dont_write_bytecode = True
		import heshare
		with heshare.window(gpus="0") as idle:
		    time.sleep(5)
		with heshare.window(gpus="0") as busy:
		    subprocess.run("vgpu-task --workload resnet50 --batch 16 --iterations 3000".split(),
		        check=True, stdout=subprocess.DEVNULL)
		try:
		    with heshare.window() as both:
		        raise KeyError
		except KeyError:
		    print(json.dumps([vars(w)["gpus"] and [w.joules, w.seconds, w.power_w, len(w.gpus)]
		        for w in (idle, busy, both)]))
		subprocess.run(["vgpu-fault", "0:sensor-gap"], check=True)
		with heshare.window() as blind:
		    time.sleep(5)
		print(json.dumps([blind.joules, blind.power_w]), blind.seconds > 4)
		try:
		    with heshare.window(gpus="7"):
		        print("not reached")
		except RuntimeError as e:
		    print(e)
	END
	run -0 --separate-stderr "$HES_LAB" --fleet f.yaml --speed 10 -- env \
		PYTHONPATH="$HES_SOURCE_ROOT/examples" heshare measure --json -o whole.json -- python3 program.py
	jq -e '.[0][3] == 1 and .[1][3] == 1 and .[2][3] == 2 and .[1][0] > 0 and .[1][2] > 1.5 * .[0][2]
		and all(.[:2][]; (.[0] - .[1] * .[2] | fabs) < 0.1 * .[0])' <<<"${lines[0]}"
	[ "$(jq --argjson w "$(jq '.[0][0] + .[1][0]' <<<"${lines[0]}")" '.gpus[0].energy_j > $w' whole.json)" = true ]
	[ "${lines[1]}" = "[null, null] True" ]
	[[ "${lines[2]}" == "heshare measure ended with 2: heshare measure: --gpus: no GPU \"7\""* ]]
	[ "${#lines[@]}" = 3 ]
}

@test "heshare measure finds the refresh time of a GPU's sensors: 100 ms" {
	run -0 --separate-stderr "$HES_LAB" --speed 0.2 -- heshare measure -g 0 --json -o - -- true
	jq -e '.period_s > 0.05 and .period_s < 0.2' <<<"$output"
}

@test "heshare measure tells a gap and counts on" {
	run -0 --separate-stderr "$HES_LAB" --speed 20 -- heshare measure -g 0 -- sh -c \
		'vgpu-fault 0:sensor-gap; sleep 10; vgpu-fault 0:clear; sleep 10'
	[[ "$stderr" == *"no power reading for "*" s in a row"* ]]
	run -0 --separate-stderr "$HES_LAB" --fault 0:sensor-gap -- heshare measure -g 0 -- true
	[[ "$stderr" == *"joules unknown"* ]]
	[[ "$stderr" =~ "Tesla T4"\ +-\ +unknown\ +-\ +-\  ]]
}

@test "heshare measure repeats a command: mean, deviation, least and greatest" {
	task=(vgpu-task --workload resnet50 --batch 16 --iterations 100)
	run -0 --separate-stderr "$HES_LAB" --speed 20 -- heshare measure -g 0,6 --runs 3 \
		--warmup 1 --json -o m.json -- "${task[@]}"
	[ "$(grep -cx 'heshare: 100 iterations' <<<"$output")" = 4 ]
	# What is reported is what the runs give.
	jq -e 'def holds($s; $v): ($v | add / length) as $mean | def near($a; $b): ($a - $b | fabs) <= 1e-6 * $mean;
			near($s.mean; $mean) and near($s.min; $v | min) and near($s.max; $v | max)
			and near($s.deviation; $v | map((. - $mean) * (. - $mean)) | add / (length - 1) | sqrt);
		(.runs | length == 3) and .warmup == 1 and .exit_status == 0 and holds(.seconds; [.runs[].seconds])
		and holds(.gpus[0].energy_j; [.runs[].gpus[0].energy_j]) and holds(.gpus[1].power_w; [.runs[].gpus[1].power_w])
		and holds(.energy_j; [.runs[] | [.gpus[].energy_j] | add]) and .seconds.mean > 3.6' m.json
	run -0 --separate-stderr "$HES_LAB" --speed 20 -- heshare measure -g 0,6 --runs 2 -- sleep 1
	[[ "$stderr" == *"2 runs "*"mean +- dev."*"the command"*"GPU 6  NVIDIA A100"*"2 of 2 GPUs together"* ]]
	# As of simulate: a file next to the report.
	run -0 --separate-stderr "$HES_LAB" --speed 20 -- heshare measure -g 0,6 --runs 2 --csv \
		m.csv --json -o m.json -- sleep 1
	[ "$(cut -d, -f1,2 m.csv | tr '\n' ' ')" = "run,gpu 1,0 1,6 2,0 2,6 " ]
	jq -e '.runs | length == 2' m.json
	[ -z "$stderr" ]
}

# Eight GPUs with the same work; the sensors of all but the first fall sick on the way.
@test "heshare measure leaves out what is not possible, and a healthy source gives the joules" {
	printf 'name: eight\nnodes:\n  - name: a\n    gpus: [ { type: H100-SXM, count: 8 } ]\n' >eight.yaml
	run -0 --separate-stderr "$HES_LAB" --fleet eight.yaml --speed 5 -- sh -c '
		for i in 0 1 2 3 4 5 6 7; do vgpu-task --device $i --workload resnet50 --batch 64 --iterations 100000000 >/dev/null & done
		until heshare gpus --json | jq -e ".gpus | all(.busy > 0.5)" >/dev/null; do sleep 0.5; done
		sleep 2
		heshare measure --json -o sick.json -- sh -c "sleep 2
			vgpu-fault 1:energy=frozen 2:energy=reset 3:energy=+4294967.296 4:power=x10 5:clock=0 6:power=-1 6:energy=frozen 7:counters=250
			vgpu-fault 7:memory=999999 7:temperature=200 7:utilisation=255; sleep 6"
		heshare gpus --json >gpus.json'
	jq -c '.gpus[0].energy_j as $true | .gpus[] | [.gpu, .energy_from, (.energy_j / $true | if . > 0.95 and . < 1.05 then "all" else . < 0.7 end), .left_out]' sick.json >said
	cat said sick.json
	cmp said - <<-'END'
		[0,"counter","all",[]]
		[1,"integral","all",["the energy counter while it stood still"]]
		[2,"integral","all",["the energy counter where it went back"]]
		[3,"integral","all",["the energy counter where it rose faster than the GPU can draw power"]]
		[4,"counter","all",["power readings that are not possible"]]
		[5,"counter","all",["clock readings that are not possible"]]
		[6,"integral",true,["the energy counter while it stood still","power readings that are not possible"]]
		[7,"counter","all",[]]
	END
	jq -e '.gpus | (.[6].power_w / .[0].power_w - 1 | fabs < 0.05) and .[5].mean_clock_mhz == .[0].mean_clock_mhz and
		.[4].peak_w < 700 and .[7].activity.sm < 1 and .[7].activity.busy <= 1' sick.json
	jq -e '.gpus[7] | .memory_used_mib == null and .temperature_c == null and .busy == null and .power_w > 0' gpus.json
}

@test "heshare measure: a run that fails or is interrupted ends the runs and does not count" {
	run -3 --separate-stderr "$HES_LAB" -- heshare measure -g 0 --runs 4 --json -o m.json -- \
		sh -c 'echo >>runs; [ $(wc -l <runs) -lt 3 ] || exit 3'
	[ "$stderr" = "heshare measure: run 3 of 4 ended with exit status 3 and does not count; the runs end here" ]
	jq -e '.requested == 4 and (.runs | length == 2) and .exit_status == 3' m.json
	run -3 --separate-stderr "$HES_LAB" -- heshare measure -g 0 --runs 2 --warmup 2 --json \
		-o none.json -- sh -c 'exit 3'
	[ "$stderr" = "heshare measure: warm-up 1 of 2 ended with exit status 3 and does not count; the runs end here" ]
	[ ! -e none.json ]
	run -0 --separate-stderr "$HES_LAB" -- sh -c 'heshare measure -g 0 --runs 9 -- sh -c ": >begun; exec sleep 100" &
		until [ -e begun ]; do sleep 0.1; done; kill -TERM $!; wait $!; [ $? = 143 ]'
	[ "$stderr" = "heshare measure: run 1 of 9 was interrupted and does not count" ]
	run -2 heshare measure --json --csv -- true
	[ "$output" = "heshare measure: --csv needs a value: FILE" ]
	printf '#!/bin/sh\n' >job.sh
	chmod +x job.sh
	run -2 heshare measure --csv ./job.sh true
	[[ "$output" == "heshare measure: --csv: ./job.sh is a program or folder; --csv takes the FILE"* ]]
	run -2 heshare measure --runs 0 -- true
	[[ "$output" == *"--runs"* ]]
}

@test "heshare measure refuses GPUs that are not there, and commands that are not" {
	run -2 "$HES_LAB" -- heshare measure -g 9 -- true
	[ "$output" = \
		'heshare measure: --gpus: no GPU "9"; there are 8, from 0 on: see heshare gpus' ]
	run -2 "$HES_LAB" -- heshare measure -g GPU-1ab -- true
	[ "$output" = \
		'heshare measure: --gpus: several UUIDs begin with "GPU-1ab"; see heshare gpus' ]
	run -2 "$HES_LAB" -- heshare measure -g 0,0 -- true
	[ "$output" = 'heshare measure: --gpus: GPU 0 is named twice' ]
	run -127 "$HES_LAB" -- heshare measure -- no-such-command
	[ "$output" = 'heshare measure: no-such-command: No such file or directory' ]
	run -1 "$HES_LAB" --fault 0:gpu-lost -- heshare measure -g 0 -- true
	[[ "$output" == 'heshare measure: GPU 0 cannot be used: '*'the GPU is lost'*'to do: '* ]]
}

@test "a signal reaches the measured command, and the report still comes" {
	run -0 --separate-stderr "$HES_LAB" -- sh -c 'heshare measure -g 0 --json -o m.json -- sh -c ": >begun; exec sleep 100" &
		until [ -e begun ]; do sleep 0.1; done; kill $!; wait $!; echo $?'
	[ "$output" = 143 ]
	[ "$(jq .exit_status m.json)" = 143 ]
}

# The parent may ignore signals, as nohup does, and a shell cannot trap signals that were ignored
# when it started.
@test "signals that others send reach the measured command once, whichever they are" {
	for sig in INT QUIT USR1 USR2 HUP; do
		run -0 --separate-stderr env --default-signal "$HES_LAB" -- bash -c '
			set -m # without it what runs in the background ignores interrupts
			# Ready comes after the fork: a trap that is pending at a fork may run on
			# both sides of it.
			rm -f out
			heshare measure -g 0 --json -o m.json -- bash -c "trap \"echo got\" $0; for i in {1..50}; do sleep 0.1; done & echo ready; wait; exit 9" >out &
			until grep -q ready out 2>/dev/null; do sleep 0.05; done
			kill -s "$0" $!; wait $!; echo $?' "$sig"
		[ "$output" = 9 ]
		[ "$(grep -c got out)" -eq 1 ]
		[ "$(jq .exit_status m.json)" = 9 ]
	done
}

@test "a command that may not be run has the status that shells give it" {
	: >plain
	run -126 "$HES_LAB" -- heshare measure -- ./plain
	[ "$output" = 'heshare measure: ./plain: Permission denied' ]
}

@test "a lost GPU is reported, the others are listed" {
	run -1 --separate-stderr "$HES_LAB" --dcgm --fault 2:gpu-lost -- heshare gpus
	[ "${#lines[@]}" -eq 16 ]
	[[ "$stderr" == "heshare gpus: GPU 2 cannot be used: "*"the GPU is lost"* ]]
}

# What NVML refuses of a GPU, with whatever code: the others work in every command.
@test "a GPU that NVML refuses is named with the remedy, and every command uses the others" {
	printf 'name: x\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 1 }, { type: V100-SXM2-32, count: 2 } ]\n' >f.yaml
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\na,0,resnet50,16,500,9000\nb,0,vgg16,8,500,9000\n' >jobs.csv
	cat >all.sh <<-'END'
		exec 2>err; set -e
		sick=$1 well=$((1 - $1)) why=$2
		refused() { if "$@" 2>one; then return 9; fi; grep -q "GPU $sick cannot be used: .*$why.*to do: " one; }
		left_out() { grep -q "^heshare [a-z]*: left out: GPU $sick cannot be used: .*$why" err; : >err; }
		others=$(jq -nc "[0, 1, 2] - [$sick]")
		if heshare gpus --json >g; then exit 9; fi
		grep -q "^heshare gpus: GPU $sick cannot be used: .*$why.*; to do: " err
		[ "$(jq -c '.gpus | map(.gpu)' g)" = "$others" ]
		: >err; heshare measure -- true >/dev/null; left_out
		CUDA_VISIBLE_DEVICES=$well heshare measure -g 0 -- true >/dev/null
		refused heshare measure -g $well,$sick -- true
		heshare profile resnet50 --dry-run --store s.db -- true >/dev/null; left_out
		refused heshare profile resnet50 -g $sick --dry-run -- true
		refused heshare fair serve -g $sick
		refused heshare fair set --gpus $sick --phi 1
		heshare gpus --offer | jq -sc 'map(.gpu)' >offers
		[ "$(cat offers)" = "$others" ]
		refused heshare plan jobs.csv -g $sick
		if [ "$3" = short ]; then exit 0; fi
		if heshare gpus --yaml >rows; then exit 9; fi; grep -q name: rows
		: >err; heshare plan jobs.csv -g all -o all.json >/dev/null; left_out
		[ "$(jq -c '[.gpus[].gpu | split("/")[1] | tonumber]' all.json)" = "$others" ]
		heshare run all.json -c true --early-ok --store s.db >/dev/null
		refused heshare partition resnet50/16 vgg16/8 --modelled --gpu $sick
		heshare partition resnet50/16 vgg16/8 --modelled --gpu $well >/dev/null
		: >err; heshare run jobs.csv --dry-run --store s.db -- true >acts; left_out; grep -q "start attempt" acts
	END
	export HESHARE_FAIR_SOCKET=$PWD/sock
	for fault in 1:nvmlDeviceGetHandleByIndex=15/lost/full 0:nvmlDeviceGetName=999/Unknown/full \
		0:nvmlDeviceGetHandleByIndex=999/Unknown/short 1:nvmlDeviceGetUUID=16/reset/short \
		1:nvmlDeviceGetMemoryInfo=2/Invalid/short 1:nvmlDeviceGetHandleByIndex=4/not.open/short 0:gpu-lost/lost/short; do
		IFS=/ read -r fault why how <<<"$fault"
		run "$HES_LAB" --fleet f.yaml --fault "$fault" -- sh -x all.sh "${fault%%:*}" "$why" "$how"
		[ "$status" -eq 0 ] || { echo "$fault"; tail -n 20 err; false; }
	done
	run -1 "$HES_LAB" --fault all:nvmlDeviceGetHandleByIndex=17 -- heshare plan jobs.csv -g all
	[[ "$output" == *"heshare plan: GPU 0 cannot be used: opening it: the operating system blocks it (NVML's code 17); to do: "* ]]
}

@test "where NVML does not start, the remedy is named" {
	for fault in "nvmlInit=18/another version than its library*to do: reboot" "nvmlInit=9/driver is not loaded*to do: sudo modprobe nvidia" \
		"nvmlInit=4/may not use the driver*/dev/nvidiactl" 'nvmlDeviceGetCount=999/"Unknown Error" (code 999); to do: sudo dmesg'; do
		run -1 "$HES_LAB" --fault "all:${fault%%/*}" -- heshare measure -- true
		# shellcheck disable=SC2053
		[[ "$output" == "heshare measure: no NVIDIA GPUs: "*${fault#*/}* ]]
	done
}

@test "without a driver heshare gpus and measure say what is missing" {
	if ldconfig -p | grep -q libnvidia-ml.so.1; then skip "there is a driver here"; fi
	none="no NVIDIA GPUs: neither libnvidia-ml.so.1 nor libnvidia-ml.so, which come with NVIDIA's driver, can be loaded; to do: install the driver; in a container, start it with GPUs (docker run --gpus all)"
	for json in "" --json; do
		# shellcheck disable=SC2086
		run -1 --separate-stderr "$HESHARE" gpus $json
		[ -z "$output" ]
		[ "${#stderr_lines[@]}" -eq 1 ]
		[[ "$stderr" == "heshare gpus: $none; --types lists "*"build/lab/lab -- build/src/cli/heshare gpus"* ]]
	done
	run -1 "$HESHARE" measure -- true
	[ "$output" = "heshare measure: $none" ]
}

@test "a task takes no less than the time of the physics on the lab's clock" {
	run -0 --separate-stderr "$HES_LAB" --speed 40 -- bash -c 'a=$EPOCHREALTIME
		vgpu-task --workload resnet50 --batch 16 --iterations 1000 >/dev/null; echo "$a $EPOCHREALTIME"'
	# 1000 iterations, and what starting and ending takes.
	awk -v step_us="$(step_us)" '{ s = $2 - $1; if (s < 1000e-6 * 0.998 * step_us) { print s; exit 1 } }' <<<"$output"
	# In its start it takes the lab's time and leaves the GPU idle.
	run -0 --separate-stderr "$HES_LAB" --speed 100 -- heshare measure -g 0 --json -o m.json -- \
		vgpu-task --start 200.5 --workload resnet50 --batch 16 --iterations 1
	jq -e '.gpus[0] | .seconds >= 200.5 and .energy_j > 10 * 200.5 and .power_w < 12' m.json
}

@test "jobs crash, hang and lose their GPU on demand" {
	run -0 --separate-stderr "$HES_LAB" --speed 50 -- sh -c '
		task() { vgpu-task --workload resnet50 --batch 16 --iterations "$1" >/dev/null 2>>errors; echo $?; }
		vgpu-fault 0:crash; task 10; task 10
		vgpu-fault 0:hang:20; task 10
		vgpu-fault 0:gpu-lost; task 10'
	[ "$output" = $'1\n0\n0\n1' ]
	grep -q "CUDA_ERROR_LAUNCH_FAILED (719)" errors
	grep -q "CUDA_ERROR_DEVICE_UNAVAILABLE (46)" errors
}

@test "CUDA counts the fastest GPU first, unless CUDA_DEVICE_ORDER says otherwise; UUIDs are NVML's" {
	cat >devices.py <<-END
		import ctypes, uuid
		c = ctypes.CDLL("libcuda.so.1"); c.cuInit(0); n = ctypes.c_int(); c.cuDeviceGetCount(ctypes.byref(n))
		for i in range(n.value):
		    b = ctypes.create_string_buffer(16); c.cuDeviceGetUuid_v2(b, i); print("GPU-" + str(uuid.UUID(bytes=b.raw)))
	END
	run -0 --separate-stderr "$HES_LAB" -- sh -c 'heshare gpus --json | jq -r ".gpus[].uuid" >nvml
		order() { env "$@" python3 devices.py | while read -r uuid; do echo $(($(grep -n -x "$uuid" nvml | cut -d: -f1) - 1)); done | tr "\n" " "; }
		order -u CUDA_DEVICE_ORDER; order -u CUDA_DEVICE_ORDER CUDA_VISIBLE_DEVICES=6,0; order CUDA_DEVICE_ORDER=PCI_BUS_ID'
	[ "$output" = "6 7 4 5 0 1 2 3 2 6 0 1 2 3 4 5 6 7 " ]
}

# Of GPU 6, an A100, and of GPU 0, a T4.
@test "compute modes, MIG mode and power limits of GPUs have the effect of real ones" {
	cat >set.py <<-END
		import ctypes, sys
		n = ctypes.CDLL("libnvidia-ml.so.1"); n.nvmlInit_v2(); d, s, u = ctypes.c_void_p(), ctypes.c_int(-1), ctypes.c_uint()
		n.nvmlDeviceGetHandleByIndex_v2(int(sys.argv[1]), ctypes.byref(d)); what, value = sys.argv[2], int(sys.argv[3])
		if what == "mig": print(what, n.nvmlDeviceSetMigMode(d, value, ctypes.byref(s)), s.value, n.nvmlDeviceGetMigMode(d, ctypes.byref(s), ctypes.byref(u)), s.value, u.value)
		else: print(what, value, getattr(n, "nvmlDeviceSet" + what)(d, value))
	END
	run -0 --separate-stderr "$HES_LAB" --speed 50 -- sh -c '
		task() { vgpu-task --device 6 --workload resnet50 --batch 16 --iterations 10 >/dev/null 2>>errors; echo "task $?"; }
		contexts() { until [ "$(vgpu-look | awk "\$1 == 6 { print \$NF }")" = "$1" ]; do sleep 0.05; done; }
		a100() { python3 set.py 6 "$@"; }
		a100 ComputeMode 3; task
		vgpu-task --device 6 --workload resnet50 --batch 16 --iterations 1000000000 >/dev/null & contexts 1
		task; a100 mig 1
		kill $!; contexts 0
		a100 ComputeMode 2; task; a100 ComputeMode 1; a100 ComputeMode 0
		a100 mig 1; python3 set.py 0 mig 1; vgpu-task --device 7 --workload resnet50 --batch 16 --iterations 1 2>/dev/null; echo "task $?"
		a100 mig 0; task
		a100 PowerManagementLimit 99999; a100 PowerManagementLimit 100000; python3 set.py 0 PowerManagementLimit 59999'
	[ "$output" = "ComputeMode 3 0
task 0
task 1
mig 0 19 0 0 1
ComputeMode 2 0
task 1
ComputeMode 1 3
ComputeMode 0 0
mig 0 0 0 1 1
mig 3 -1 3 -1 0
task 1
mig 0 0 0 0 0
task 0
PowerManagementLimit 99999 2
PowerManagementLimit 100000 0
PowerManagementLimit 59999 2" ]
	[ "$(grep -c "CUDA_ERROR_DEVICE_UNAVAILABLE (46)" errors)" = 2 ]
}

@test "any function of NVML fails on demand: on one GPU, for a time, at its n-th call" {
	run -0 --separate-stderr "$HES_LAB" --speed 50 --fault 1:nvmlDeviceGetHandleByIndex_v2=15 -- \
		python3 - <<-END
		import ctypes, subprocess, time
		n = ctypes.CDLL("libnvidia-ml.so.1"); n.nvmlErrorString.restype = ctypes.c_char_p
		d, u = ctypes.c_void_p(), ctypes.c_uint()
		def fault(*specs): return subprocess.run(["vgpu-fault", *specs], capture_output=True, text=True).stderr
		fault("all:nvmlInit=18"); print(n.nvmlInit(), n.nvmlInit_v2(), n.nvmlErrorString(18).decode())
		fault("all:clear", "0:nvmlInit_v2=9"); print(n.nvmlInit(), n.nvmlInit_v2(), n.nvmlErrorString(9).decode())
		fault("1:nvmlDeviceGetHandleByIndex_v2=999", "0:clear"); n.nvmlInit_v2()
		print(*[n.nvmlDeviceGetHandleByIndex_v2(i, ctypes.byref(d)) for i in (1, 0)], n.nvmlDeviceGetHandleByIndex(1, ctypes.byref(d)))
		power = lambda: n.nvmlDeviceGetPowerUsage(d, ctypes.byref(u))
		fault("0:nvmlDeviceGetPowerUsage=3"); print(power())
		fault("1:nvmlDeviceGetPowerUsage=3#2", "1:nvmlDeviceGetPowerUsage=4#5+"); print(*[power() for _ in range(6)])
		fault("1:clear", "1:nvmlDeviceGetPowerUsage=3:20"); print(power())
		while power() == 3: time.sleep(0.01)
		print(fault("1:nvmlDeviceGetPowers=3").strip())
	END
	[ "$output" = '18 18 Driver/library version mismatch
0 9 Driver Not Loaded
999 0 0
0
0 3 0 0 4 4
3
vgpu-fault: fault "nvmlDeviceGetPowers=3": the lab'"'"'s NVML has no function "nvmlDeviceGetPowers"' ]
}

@test "any reading is wrong on demand: a value, a factor, more, frozen, counted from 0 again" {
	run -0 --separate-stderr "$HES_LAB" --fault 0:power=x10 --fault 0:temperature=200:1 -- \
		python3 - <<-END
		import ctypes, subprocess, time
		n = ctypes.CDLL("libnvidia-ml.so.1"); n.nvmlInit_v2()
		d, u, j = ctypes.c_void_p(), ctypes.c_uint(), ctypes.c_ulonglong(); n.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(d))
		def fault(*specs): return subprocess.run(["vgpu-fault", *("0:" + s for s in specs)], capture_output=True, text=True).stderr.strip()
		def get(what, *more, to=u): getattr(n, "nvmlDeviceGet" + what)(d, *more, ctypes.byref(to)); return to.value
		energy = lambda: get("TotalEnergyConsumption", to=j)
		print(get("PowerUsage"), get("Temperature", 0))
		while get("Temperature", 0) != 33: time.sleep(0.01)
		fault("power=-1", "clock=99999", "utilisation=+7", "energy=+1000"); print(get("PowerUsage"), get("ClockInfo", 1), get("UtilizationRates"), energy() > 1000000)
		fault("power=+-4", "energy=frozen", "memory=1e6"); m = (ctypes.c_ulonglong * 3)(); n.nvmlDeviceGetMemoryInfo(d, m); print(get("PowerUsage"), m[2] >> 20, m[1])
		e = energy(); time.sleep(0.3); print(energy() - e)
		fault("clear"); print(get("PowerUsage"), energy() > e)
		fault("energy=reset"); print(energy())
		while energy() == 0: time.sleep(0.01)
		print(fault("power=ten"), fault("voltage=1"), sep=chr(10))
	END
	[ "$output" = '100000 200
4294966296 99999 7 True
6000 1000000 0
0
10000 True
0
vgpu-fault: fault "power=ten": the value is a number, as in 0, x10 or +-5, or frozen or reset
vgpu-fault: fault "voltage=1": no reading "voltage"; vgpu-fault --help lists them' ]
	run -0 --separate-stderr "$HES_LAB" --dcgm --fault all:counters=250 -- \
		heshare measure --json -- sleep 3
	jq -e '.gpus[6].activity | .sm == null or .sm == 2.5' <<<"$output"
}

@test "a lab in a folder with a blank and a colon in its name works at any speed" {
	mkdir "a b:c"
	(cd "$(dirname "$HES_LAB")" && find . -maxdepth 1 ! -type d -exec cp -P -t "$OLDPWD/a b:c" {} +)
	run -0 --separate-stderr "a b:c/$(basename "$HES_LAB")" --speed 50 -- sh -c '
		nvidia-cuda-mps-control -d && vgpu-task --workload resnet50 --batch 16 --iterations 10 >/dev/null &&
		echo get_server_list | nvidia-cuda-mps-control | grep -c . && echo quit | nvidia-cuda-mps-control; exec sleep 40'
	[ "$output" = 1 ]
	[[ "$stderr" != *preload* ]]
}

@test "a killed process leaves no context, and no memory taken" {
	run -0 --separate-stderr "$HES_LAB" -- sh -c 'vgpu-task --workload resnet50 --batch 16 --iterations 100000 >/dev/null &
		while [ "$(heshare gpus --json | jq ".gpus[0].memory_used_mib > 1000")" = false ]; do sleep 0.05; done
		kill -9 $!; until heshare gpus --json | jq -e ".gpus[0].memory_used_mib < 257"; do sleep 0.1; done'
	[ "${lines[-1]}" = true ]
}

# Streams, threads, graphs, host functions and copies; what comes out does not depend on how the
# driver was found.
@test "a CUDA program computes the same by every route to the driver" {
	for route in link dlsym proc1 proc2; do
		for more in "" --ptsz; do
			run -0 --separate-stderr "$HES_LAB" --speed 20 -- "$HES_CUDA_CLIENT" \
				--route "$route" $more --rounds 40 --threads 3
			[ "$output" = "checksum cff8ebc7181febfa" ]
		done
	done
}

@test "the lab counts the GPU time of each process and keeps it when that has left" {
	run -0 --separate-stderr "$HES_LAB" --speed 5 -- bash -c '
		"$HES_CUDA_CLIENT" --spin 500 --for 5 >/dev/null & echo $! >long
		"$HES_CUDA_CLIENT" --spin 2000 --for 5 --device 1 >/dev/null & echo $! >other
		"$HES_CUDA_CLIENT" --workload resnet50 --batch 16 --queue 2 --for 5 >/dev/null & echo $! >work
		wait; vgpu-look --clients'
	[ "${#lines[@]}" -eq 12 ]
	gpu_s() { awk -v g="$1" -v p="$2" '$1 == g && $2 == p { print $3 }' <<<"$output"; }
	# Both on GPU 0 were at work at the same time, but for their starts and ends.
	jq -en --argjson a "$(gpu_s 0 "$(<long)")" --argjson b "$(gpu_s 0 "$(<work)")" --argjson all "$(gpu_s 0 all)" \
		'$a + $b - $all | fabs < 1e-5'
	jq -en --argjson a "$(gpu_s 0 "$(<long)")" --argjson b "$(gpu_s 0 "$(<work)")" '$a / $b > 0.3 and $a / $b < 3'
	[ "$(gpu_s 1 "$(<other)")" = "$(gpu_s 1 all)" ]
	run -2 "$HES_LAB" -- vgpu-look --nothing
	[[ "$output" == *usage:*--clients* ]]
}
