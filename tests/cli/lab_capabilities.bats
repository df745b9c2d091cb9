#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# The activity that GPUs of the lab report, the settings that they refuse, and plans without them.

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	PATH=$(dirname "$HESHARE"):$PATH
	unset LD_LIBRARY_PATH
	cd "$BATS_TEST_TMPDIR" || return
	printf 'name: two\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 1 }, { type: H100-SXM, count: 1 } ]\n' >two.yaml
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\n' >jobs.csv
	for i in 1 2 3 4 5 6; do echo "j$i,0,resnet18,8,2000,1500"; done >>jobs.csv
}

# Both GPUs at work, and what a measurement of six seconds says of them: measured LAB-OPTION...
measured() {
	"$HES_LAB" --fleet two.yaml --speed 10 "$@" -- sh -c '
		vgpu-task --device 0 --workload resnet50 --batch 16 --iterations 100000 >/dev/null &
		vgpu-task --device 1 --workload vgg19 --batch 32 --iterations 100000 >/dev/null &
		until heshare gpus --json | jq -e ".gpus | all(.busy > 0.5)" >/dev/null; do sleep 0.2; done
		sleep 2 # the percentages are of the second before
		heshare measure --json -o - -- sleep 6' | jq -c '.gpus[].activity'
}

# says TYPE WORKLOAD BATCH KEY: of the model
says() {
	"$HESHARE" model "$2" --batch "$3" --gpu "$1" --json 2>/dev/null | jq ".jobs[0].$4"
}

near() { # near JSON KEY VALUE
	jq -e --arg k "$2" --argjson v "$3" '.[$k] != null and (.[$k] / $v - 1 | fabs) < 0.03' \
		<<<"$1"
}

@test "Hopper GPUs report activity by GPM, older ones utilisation" {
	run -0 --separate-stderr measured
	jq -e '.from == "utilisation" and .sm == null and .dram == null and .tensor == null' \
		<<<"${lines[0]}"
	near "${lines[0]}" busy 0.945
	near "${lines[0]}" copying "$(says T4 resnet50 16 'dram_util | 1 - pow(1 - .; 1.37)')"
	jq -e '.from == "GPM" and .pcie_out_mib_s > 300 and .fp32 == 0 and .tensor > 0.2 and .pcie_in_mib_s > 2000' <<<"${lines[1]}"
	near "${lines[1]}" sm "$(says H100-SXM vgg19 32 sm_util)"
	near "${lines[1]}" dram "$(says H100-SXM vgg19 32 dram_util)"
	near "${lines[1]}" occupancy "$(says H100-SXM vgg19 32 occupancy)"
}

@test "DCGM in the process reports GPUs without GPM" {
	run -0 --separate-stderr measured --dcgm
	jq -e '.from == "DCGM" and .pcie_out_mib_s > 0 and .tensor == 0 and .fp32 > 0.5' \
		<<<"${lines[0]}"
	near "${lines[0]}" sm "$(says T4 resnet50 16 sm_util)"
	near "${lines[0]}" dram "$(says T4 resnet50 16 dram_util)"
	near "${lines[0]}" occupancy "$(says T4 resnet50 16 occupancy)"
	[ "$(jq -r .from <<<"${lines[1]}")" = GPM ]
}

@test "counters refused to this user: a host engine has them, else there is the utilisation" {
	run -0 --separate-stderr measured --dcgm --fault all:no-counters
	[ "$(jq -r .from <<<"$output" | tr '\n' ' ')" = "utilisation utilisation " ]
	jq -e '.sm == null' <<<"${lines[1]}"
	run -0 --separate-stderr measured --host-engine --fault all:no-counters
	[ "$(jq -r .from <<<"$output" | tr '\n' ' ')" = "DCGM DCGM " ]
	near "${lines[1]}" sm "$(says H100-SXM vgg19 32 sm_util)"
}

@test "people see activity where it is known, and what the busy column is" {
	run -0 "$HES_LAB" --fleet two.yaml --speed 10 -- heshare measure -- sleep 2
	[[ "${lines[0]}" == *" joules  from "* ]]
	[[ "${lines[3]}" == "GPU  busy %  SM %  DRAM %" ]]
	[[ "${lines[4]}" =~ " 0.0     -       -"$ ]]
	[[ "${lines[5]}" =~ " 0.0   0.0     0.0"$ ]]
	[[ "${lines[7]}" == "busy % of 1 GPU is NVML's utilisation: "* ]]
}

@test "nothing is missing where all is there" {
	run -0 "$HES_LAB" --dcgm -- heshare gpus
	[ "${#lines[@]}" -eq 18 ]
	run -0 --separate-stderr "$HES_LAB" --dcgm -- heshare gpus --json
	jq -e '.gpus | all(.missing == [] and .activity == "DCGM")' <<<"$output"
}

@test "each missing capability is reported once, with its GPUs and what to do" {
	run -0 "$HES_LAB" --dcgm --fault 0:no-permission --fault 1:no-permission --fault \
		6:no-permission -- heshare gpus
	[ "${lines[18]}" = \
		"GPUs 0-1, 6: clocks cannot be locked: the driver does not let this user" ]
	[ "${lines[19]}" = "    to do: run as root, in a container with CAP_SYS_ADMIN" ]
	[ "${lines[20]}" = \
		"GPUs 0-1, 6: the power limit cannot be set: the driver does not let this user" ]
	[ "${#lines[@]}" -eq 22 ]
	run -0 --separate-stderr "$HES_LAB" --dcgm --fault 1:no-permission --fault 2:sensor-gap \
		-- heshare gpus --json
	[ "$(jq -c '.gpus[] | [.missing[].capability]' <<<"$output" | head -n 3)" = $'[]\n["lock_clock","limit_power"]\n["read_power","read_energy","read_clock"]' ]
}

@test "to find out what is missing changes nothing" {
	run -0 --separate-stderr "$HES_LAB" --dcgm -- sh -c '
		python3 - <<-END
			import ctypes, subprocess
			n = ctypes.CDLL("libnvidia-ml.so.1"); n.nvmlInit_v2()
			def state():
			    out = []
			    for i in range(8):
			        d, v, w = ctypes.c_void_p(), ctypes.c_uint(), ctypes.c_uint()
			        n.nvmlDeviceGetHandleByIndex_v2(i, ctypes.byref(d))
			        for f in ("PersistenceMode", "ComputeMode", "PowerManagementLimit"):
			            getattr(n, "nvmlDeviceGet" + f)(d, ctypes.byref(v)); out.append(v.value)
			        n.nvmlDeviceGetApplicationsClock(d, 0, ctypes.byref(v)); out.append(v.value)
			    return out
			n.nvmlDeviceGetHandleByIndex_v2(1, ctypes.byref(d := ctypes.c_void_p()))
			n.nvmlDeviceSetPersistenceMode(d, 0); n.nvmlDeviceSetComputeMode(d, 3); n.nvmlDeviceSetGpuLockedClocks(d, 600, 600)
			before = state()
			said = subprocess.run(["heshare", "gpus"], capture_output=True, text=True).stdout
			print(before == state(), len(set(before)) > 4)
			print(said.splitlines()[19])
		END'
	[ "$output" = $'True True\nGPU 1: persistence mode is off: the driver forgets settings when its last user leaves' ]
}

@test "MPS that is not there, not to be run, or somebody else's" {
	run -0 --separate-stderr "$HES_LAB" --dcgm -- sh -c \
		'H=$(command -v heshare); PATH=/usr/bin:/bin "$H" gpus --json'
	[ "$(jq -r '.gpus[0].missing[0] | .capability + ": " + .why' <<<"$output")" = "mps: jobs cannot share the GPU: nvidia-cuda-mps-control is not found" ]
	mkdir refused
	: >refused/nvidia-cuda-mps-control
	run -0 "$HES_LAB" --dcgm -- sh -c \
		'H=$(command -v heshare); PATH=$PWD/refused:/usr/bin:/bin "$H" gpus'
	[ "${lines[18]}" = "GPUs 0-7: jobs cannot share the GPU: this user may not run nvidia-cuda-mps-control" ]
	[ "$(id -u)" -eq 0 ] || skip "another user's daemon takes root"
	chmod 711 "$BATS_TEST_TMPDIR"
	run -0 "$HES_LAB" --dcgm -- sh -c 'mkdir theirs && setpriv --reuid 65534 --regid 65534 --clear-groups sleep 100 &
		until [ -d theirs ] && pid=$(pgrep -u 65534 -x sleep | head -n 1); do sleep 0.05; done
		echo "$pid" >theirs/nvidia-cuda-mps-control.pid
		CUDA_MPS_PIPE_DIRECTORY=theirs heshare gpus'
	[[ "${lines[18]}" == "GPUs 0-7: an MPS daemon of user 65534 (process "*") runs with theirs: its clients may be on the GPU, too" ]]
}

@test "GPUs without clock rights are planned at their default clock, and that is said once" {
	run -0 --separate-stderr "$HES_LAB" --dcgm --fault all:no-permission -- heshare plan \
		jobs.csv --gpus 0,4 --prefer energy --json
	[ "$stderr" = "heshare plan: GPUs 0, 4: clocks cannot be locked: the driver does not let this user; planned at the default clock" ]
	jq -e '[.gpus[].batches[].clock_mhz] | all(. == 1380 or . == 1590)' <<<"$output"
	[ "$(jq -r '.gpus[0].gpu' <<<"$output")" = "$(hostname | cut -c 1-32)/0" ]
	run -0 --separate-stderr "$HES_LAB" --dcgm -- heshare plan jobs.csv --gpus 0,4 --prefer \
		energy --json
	[ -z "$stderr" ]
	jq -e '[.gpus[].batches[].clock_mhz] | min < 1380' <<<"$output"
}

@test "GPUs without MPS get one job at a time, from batches, equal shares and open queues" {
	for policy in heshare mps-equal joint; do
		with=(-p "$policy")
		[ "$policy" != joint ] || with+=(--budget 2000)
		run -0 --separate-stderr "$HES_LAB" --dcgm -- sh -c 'H=$(command -v heshare); PATH=/usr/bin:/bin "$H" plan jobs.csv --gpus 0,6 --json "$@"' - "${with[@]}"
		[ "$stderr" = "heshare plan: GPUs 0, 6: jobs cannot share the GPU: nvidia-cuda-mps-control is not found; planned one job at a time" ]
		jq -e '[.gpus[].batches[] | (.jobs | length) == 1 and .jobs[0].sm_pct == 100] | length >= 6 and all' <<<"$output"
		jq -e 'all(.gpus[]; . as $g | [range(1; $g.batches | length) | $g.batches[.].start_us >= $g.batches[. - 1].end_us] | all)' <<<"$output"
	done
}

@test "a GPU on which nothing can run is refused where it is named, and left out of all" {
	run -1 --separate-stderr "$HES_LAB" --dcgm -- sh -c 'python3 -c "
import ctypes
n = ctypes.CDLL(\"libnvidia-ml.so.1\"); n.nvmlInit_v2(); d = ctypes.c_void_p()
n.nvmlDeviceGetHandleByIndex_v2(1, ctypes.byref(d)); n.nvmlDeviceSetComputeMode(d, 2)"
		heshare plan jobs.csv --gpus all --json >plan.json && heshare plan jobs.csv --gpus 0,1'
	[[ "$stderr" == "heshare plan: left out: GPU 1: compute mode is Prohibited: no job can run; "*$'\n'"heshare plan: GPU 1: compute mode is Prohibited: no job can run; "*"leave it out with --gpus" ]]
	[ "$(jq -c '[.gpus[].gpu | split("/")[1] | tonumber]' plan.json)" = "[0,2,3,4,5,6,7]" ]
	run -2 "$HESHARE" plan jobs.csv --gpus all --fleet two.yaml
	[[ "$output" == "heshare plan: --gpus: there is --fleet, too"* ]]
}

# In the lab: set_mode GPU Compute|Mig NUMBER
export set_mode='import ctypes, sys
n = ctypes.CDLL("libnvidia-ml.so.1"); n.nvmlInit_v2(); d = ctypes.c_void_p()
n.nvmlDeviceGetHandleByIndex_v2(int(sys.argv[1]), ctypes.byref(d)); s = ctypes.c_int()
sys.exit(getattr(n, "nvmlDeviceSet" + sys.argv[2] + "Mode")(d, int(sys.argv[3]), ctypes.byref(s)))'

@test "a GPU in exclusive mode shares by MPS, else one job at a time; fair refuses it" {
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 1 } ]\n' >one.yaml
	run -0 --separate-stderr "$HES_LAB" --fleet one.yaml --dcgm --speed 50 -- sh -c '
		python3 -c "$set_mode" 0 Compute 3
		heshare gpus | tail -n 2
		heshare plan jobs.csv -p mps-equal --gpus all -o plan.json >plan.txt
		job="vgpu-task --workload {workload} --batch {batch} --iterations {iterations} --every 2"
		for with in "" --no-mps; do
			heshare run plan.json --store s.db --restart $with --json -c "$job" |
				jq -r "\"\(.jobs_done) done, \(.repeated) repeated\""
		done
		heshare fair serve --socket "$PWD/s" && echo served
		true'
	[[ "${lines[0]}" == "GPU 0: compute mode is Exclusive_Process: jobs share the GPU by MPS alone, and cannot take turns" ]]
	[[ "${lines[1]}" == "    to do: nothing for plans and runs with MPS; for heshare fair: sudo nvidia-smi -c DEFAULT" ]]
	[ "${lines[2]}" = "6 done, 0 repeated" ]
	[ "${lines[3]}" = "6 done, 0 repeated" ]
	jq -e '[.gpus[].batches[].jobs | length] | max == 2' plan.json
	[[ "$stderr" == *"heshare fair serve: GPU 0: compute mode is Exclusive_Process: "*"; sudo nvidia-smi -c DEFAULT" ]]
}

@test "a GPU on which MIG is on, or whose compute mode is Prohibited, is named and used by nothing" {
	printf 'name: two\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 2 } ]\n' >two.yaml
	"$HES_LAB" --fleet two.yaml --dcgm -- heshare plan jobs.csv --gpus 0 -o plan.json
	for mode in "Mig 1" "Compute 2"; do
		run -0 --separate-stderr "$HES_LAB" --fleet two.yaml --dcgm -- sh -c "
			python3 -c \"\$set_mode\" 0 $mode; "'
			heshare gpus --json | jq -c "[.gpus[].missing[] | {capability, why, do}]"
			heshare plan jobs.csv --gpus 0
			heshare run plan.json --store s.db -c true
			heshare run plan.json --store s.db --dry-run -c true >/dev/null
			heshare profile net --store s.db --gpus 0 -- true
			heshare fair serve --gpus 0 --socket "$PWD/s"
			heshare plan jobs.csv --gpus all -o all.json >/dev/null
			heshare profile net --store s.db --clocks default --shares 100 --dry-run -- true 2>profile.err
			heshare fair serve --socket "$PWD/s" --no-clocks 2>serve.err & serve=$!
			until [ -S s ] || ! kill -0 $serve; do sleep 0.1; done
			kill $serve; wait $serve; true'
		why=$(jq -r '.[0].why' <<<"${lines[0]}")
		[ "$(jq -r 'map(.capability) | unique | .[]' <<<"${lines[0]}")" = compute_mode ]
		for command in plan run profile "fair serve"; do
			[[ "$stderr" == *"heshare $command: GPU 0: $why; $(jq -r '.[0].do' <<<"${lines[0]}")"* ]]
		done
		jq -e '[.gpus[].gpu | split("/")[1]] == ["1"]' all.json
		grep -q "^heshare profile: left out: GPU 0: $why" profile.err
		grep -q "^heshare fair.*: left out: GPU 0: $why" serve.err
		grep -q "GPU 1, .* is shared" serve.err
		case $mode in
		Mig*) [[ "${lines[0]}" == *"MIG is on: "*"sudo nvidia-smi -mig 0"* ]] ;;
		*) [[ "${lines[0]}" == *"compute mode is Prohibited: "*"sudo nvidia-smi -c DEFAULT"* ]] ;;
		esac
	done
}

@test "what to do about a missing sensor is true of that GPU, and a missing value is missing" {
	printf 'name: x\nnodes:\n  - name: a\n    gpus: [ { type: P100-PCIe-16, count: 1 }, { type: GeForce-RTX-3090, count: 1 }, { type: L40S, count: 1 } ]\n' >x.yaml
	run -0 --separate-stderr "$HES_LAB" --fleet x.yaml --fault 0:nvmlDeviceGetMemoryInfo=3 \
		--fault 1:nvmlDeviceGetPowerUsage=3 --fault 1:nvmlDeviceGetFieldValues=3 \
		--fault 2:sensor-gap \
		--fault 2:nvmlDeviceGetUtilizationRates=3 -- sh -c 'heshare gpus; heshare gpus --json >gpus.json'
	[[ "${lines[1]}" =~ P100-PCIe-16\ +-\ +-\  ]]
	jq -e '.gpus | .[0].memory_mib == null and .[1].memory_mib == 24576 and .[1].power_w == null' gpus.json
	to_do() { # GPU CAPABILITY
		jq -r --arg k "$2" ".gpus[$1].missing[] | select(.capability == \$k).do" gpus.json
	}
	[ "$(to_do 0 lock_clock)" = "nothing: plans use the default clock" ]
	[ "$(to_do 0 activity)" = "nothing: profiles contain only busy time" ]
	[ "$(to_do 1 activity)" = "nothing: profiles contain only busy time" ]
	[ "$(to_do 1 read_power)" = "nothing: joules come from the energy counter" ]
	[ "$(to_do 2 read_power)" = "nothing: the GPU reports neither power nor energy, so joules are not known" ]
	[ "$(to_do 2 read_energy)" = "$(to_do 2 read_power)" ]
	[ "$(to_do 2 activity)" = "install DCGM (datacenter-gpu-manager); without it jobs cannot be profiled" ]
}

@test "a power limit that is set is the one that plans, replays and rows count with; a run says when it changed" {
	local gpus='type: A100-SXM-80, count: 1'
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { %s } ]\n' "$gpus" >full.yaml
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { %s, power_limit_w: 200 } ]\n' "$gpus" \
		>limited.yaml
	{
		head -n 1 jobs.csv
		echo a,0,resnet50,64,3000,16000
		echo b,0,bert-large,16,800,9000
		echo c,0,vgg16,32,3000,9000
	} >heavy.csv
	plan=(heshare plan heavy.csv --default-clock --budget 5000)
	run -0 --separate-stderr "$HES_LAB" --fleet limited.yaml --dcgm -- heshare gpus --yaml
	[[ "$output" == *"power_limit_w: 200, default_limit_w: 400, idle_w: 55,"* ]]
	echo "$output" >rows.yaml
	heshare gpus --types --json --catalogue rows.yaml |
		jq -e '.gpu_types[] | select(.gpu_type == "A100-SXM-80") | .power_limit_w == 200'
	"${plan[@]}" --fleet full.yaml -o full.json
	run -0 --separate-stderr "$HES_LAB" --fleet limited.yaml --dcgm --speed 50 -- sh -c '
		"$@" --gpus all -o plan.json >plan.txt
		heshare run full.json --store s.db --dry-run -c true >full.out
		heshare run plan.json --store s.db --json -c "vgpu-task --workload {workload} --batch {batch} --iterations {iterations} --every 2"' - "${plan[@]}"
	jq -e '.gpus[0].power_limit_w == 200' plan.json
	# At the default limit it would be 50 kJ, not 31; how long it takes is seen in the replay below,
	# where no machine is slow.
	jq -e '.measured.busy_energy_j / .planned.busy_energy_j - 1 | fabs < 0.2' <<<"$output"
	[[ "$stderr" == *"heshare run: a/0 has a power limit of 200 W, and the plan counts with 400 W: times and joules will differ; plan again"* ]]
	[ "$(grep -c 'has a power limit of' <<<"$stderr")" -eq 1 ]
	# The fleet file states it as well; the replay counts with it.
	"${plan[@]}" --fleet limited.yaml -o stated.json
	jq -n -e --slurpfile a plan.json --slurpfile b stated.json '$a[0].predicted == $b[0].predicted'
	run -0 --separate-stderr heshare simulate --plan stated.json heavy.csv --fleet limited.yaml --json
	jq -e --slurpfile p stated.json '.policies[0] | (.busy_energy_j / .predicted.busy_energy_j - 1 | fabs < 0.03) and (.makespan_s * 1e6 / $p[0].predicted.makespan_us - 1 | fabs < 0.03)' <<<"$output"
	# A predictor of the GPU at its own limit: at 200 W it holds a lower clock.
	heshare profile --modelled --types A100-SXM-80 -o rows
	heshare train rows -o predictor
	run -0 --separate-stderr heshare predict resnet50 --batch 64 --gpu A100-SXM-80 \
		--predictor predictor --profiles rows --catalogue rows.yaml --json
	at_limit_us=$(heshare model resnet50 --batch 64 --gpu A100-SXM-80 --catalogue rows.yaml --json | jq '.jobs[0].iteration_us')
	jq -e --argjson us "$at_limit_us" '(.iteration_us / $us - 1 | fabs < 0.04) and .power_w <= 200' <<<"$output"
}

@test "the clock of a GPU that no longer tells its UUID is unlocked all the same" {
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 1 } ]\n' >one.yaml
	heshare plan jobs.csv -f one.yaml -p exclusive --json |
		jq '.gpus[].batches[] |= (.clock_mhz = 900 | del(.unlocked))' >locked.json
	run -0 --separate-stderr "$HES_LAB" --fleet one.yaml --speed 50 -- sh -c '
		heshare run locked.json --store s.db -c "touch began; until [ -e go ]; do sleep 1; done; vgpu-task --workload {workload} --batch {batch} --iterations {iterations}" >run.out 2>run.err & run=$!
		until [ -e began ] || ! kill -0 $run; do sleep 1; done
		heshare gpus --json | jq ".gpus[0].clock_mhz"
		vgpu-fault 0:nvmlDeviceGetUUID=999; touch go; wait $run
		vgpu-fault 0:clear; heshare gpus --json | jq ".gpus[0].clock_mhz"'
	cat run.err
	[ "${lines[0]}" = 900 ]
	[[ "${lines[1]}" =~ ^[0-9]+$ && "${lines[1]}" != 900 ]]
	! grep "could not be undone\|stays locked" run.err
}
