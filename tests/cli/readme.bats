#!/usr/bin/env bats
# The README's commands with GPUs, typed as they stand there, on a data-centre GPU, a gaming GPU and
# one that nobody knows.
bats_require_minimum_version 1.5.0

# commands FIRST: those of the README's block that starts with this command
commands() {
	awk -v first="    $1" 'index($0, first) == 1 { on = 1 } on && !/^    / { exit } on { print substr($0, 5) }' "$HES_SOURCE_ROOT/README.md"
}

@test "gpus, profile, train, plan, run, status and add of the README" {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	cd "$BATS_TEST_TMPDIR"
	export HESHARE_STORE=$PWD/store.db PATH=${HESHARE%/*}:$PATH
	unset LD_LIBRARY_PATH
	printf 'types:\n  - { name: Odd, driver_names: ["NVIDIA Odd GPU 7"], compute: 8.6, sms: 46, memory_mib: 12288, bandwidth_gbs: 504,
      l2_kib: 4096, pcie_gbs: 24, power_limit_w: 220, idle_w: 18, clocks: { min: 210, max: 1800, step: 15, default: 1800 } }\n' >odd.yaml
	printf 'name: mine\nnodes:\n  - name: a\n    gpus: [ { type: L40S, count: 1 }, { type: GeForce-RTX-3090, count: 1 }, { type: Odd, count: 1 } ]\n' >mine.yaml
	printf '#!/bin/sh\nexec vgpu-task --workload "$1" --batch "$2" --iterations "${3:-1000000000}" --every 2\n' >job.sh
	chmod +x job.sh
	{
		echo id,arrival_s,workload,batch_size,iterations,memory_mib
		for i in 1 2 3 4; do echo "r$i,0,resnet50,16,40000,6000"
		echo "v$i,0,vgg16,8,20000,6000"; done
	} >jobs.csv
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\nlate,0,resnet50,16,20000,6000\n' >more.csv
	[ "$(commands 'heshare gpus' | cut -d ' ' -f 2 | xargs)" = "gpus profile train profiles plan run" ]
	[ "$(commands 'heshare status' | grep -o '^heshare [a-z]*' | xargs)" = "heshare status heshare add" ]
	commands 'heshare gpus' | sed '$s/$/ >run.out 2>\&1 \&/' >typed
	cat >>typed <<-'END'
		until heshare status --json 2>/dev/null | jq -e '.[0].jobs_running > 0' >/dev/null; do sleep 0.1; done
	END
	commands 'heshare status' >>typed
	echo wait >>typed
	run -0 --separate-stderr "$HES_LAB" --fleet mine.yaml --catalogue odd.yaml --speed 200 \
		-- bash -ex typed
	echo "$output"; cat run.out
	[[ "$output" == *"Odd-GPU-7"*"GeForce-RTX-3090"* ||
		"$output" == *"GeForce-RTX-3090"*"Odd-GPU-7"* ]]
	grep "9 of 9 jobs done" run.out
}
