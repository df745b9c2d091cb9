#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# From profiles to joules in the lab: bench/gpu/run on one GPU, with the job that runs networks, and
# lab/demo in small.

run_bench="$HES_SOURCE_ROOT/bench/gpu/run"

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

@test "wrong arguments get an error that names what would be right" {
	run -2 python3 "$run_bench" --jobs 3
	[[ "$output" == *"--jobs 3: give 8 to 20"* ]]
	run -2 python3 "$run_bench" --runs exclusive,alone
	[[ "$output" == *'run "alone" is unknown; there are heshare, exclusive'* ]]
	run -2 python3 "$run_bench" --runs heshare
	[[ "$output" == *"--runs heshare: give exclusive too"* ]]
	run -2 python3 "$run_bench" --networks lenet
	[[ "$output" == *'network "lenet" is unknown; there are resnet18'* ]]
	run -2 python3 "$run_bench" --minutes 1
	[[ "$output" == *"--minutes 1: give 2 to 1440"* ]]
	run -1 python3 "$run_bench" --heshare ./none
	[[ "$output" == *"no heshare program at ./none: build one with make portable"* ]]
}

@test "a job tells its progress in lines that heshare reads" {
	for python in python3 /usr/bin/python3; do
		"$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' && found=$python && break
	done
	[ -n "${found:-}" ] || skip "python3-torch is not installed"
	run -0 "$found" "$HES_SOURCE_ROOT/bench/gpu/job.py" --network mobilenetv2 --batch 2 \
		--iterations 6 --cpu
	[[ "${lines[-1]}" =~ ^'heshare: 6 iterations in '[0-9.]+' s'$ ]]
}

@test "in the lab it ends with four runs, each of all jobs, marked as virtual; a second time nothing is measured again" {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	args=(--lab T4 --lab-program "$HES_LAB" --heshare "$HESHARE" --speed 100 --minutes 0.3 \
		--jobs 12 --networks resnet18,vgg16,mobilenetv2 --work work --out out)
	run -0 python3 "$run_bench" "${args[@]}"
	jq -e '.virtual and .gpu.gpu_type == "T4" and (.runs | length == 4 and all(.done == 12 and .measured.busy_energy_j > 0 and .measured.avg_jct_s > 0))
		and (.runs[0].planned.busy_energy_j > 0) and (.jobs | length == 12)' out/result.json
	grep -q 'A virtual GPU of the lab' out/README.md
	jq -e '.profiling | .gpu_s > 10 and .energy_j / .gpu_s > 10 and .energy_j / .gpu_s < 71' out/result.json
	grep -qE '^\| profiling, once: time and energy of the GPU \| - \| - \| [0-9.]+ \| [0-9.]+ \|' out/README.md
	head -c 4 out/jct.svg out/energy.svg | grep -c '<svg'
	before=$(cat out/result.json)
	run -0 python3 "$run_bench" "${args[@]}"
	[ "$(cat out/result.json)" = "$before" ]
}

@test "from profiles to joules: six jobs on two GPUs, each done once" {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	printf 'name: two\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 1 }, { type: A100-SXM-80, count: 1 } ]\n' >f.yaml
	{
		echo id,arrival_s,workload,batch_size,iterations,memory_mib
		echo one,0,resnet50,16,8000,3571
		echo two,0,resnet50,16,12000,3571
		echo three,0,bert-large,8,1600,2300
		echo four,0,bert-large,8,1200,2300
		echo five,0,mobilenet,32,6000,4066
		echo six,0,mobilenet,32,10000,4066
	} >j.csv
	# How near planned and measured are is for `make lab-demo`, on a machine that does nothing
	# else.
	run -0 "$BATS_TEST_DIRNAME/../../lab/demo" --jobs j.csv --fleet f.yaml --samples 20 \
		--speed 100 --planned-within 10000 --simulated-within 10000 --keep demo
	[[ "$output" == *"jobs done exactly once: 6 of 6"* ]]
}
