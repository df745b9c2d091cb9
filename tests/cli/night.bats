#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# The first night of a new user, typed: two GPUs, one of them of a type that nobody knows; eight
# scripts; memory that was guessed; a terminal that closes; a mistake in a script and in the jobs
# file, repaired in the morning.

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	PATH=$(dirname "$HESHARE"):$PATH
	unset LD_LIBRARY_PATH
	cd "$BATS_TEST_TMPDIR"
	export HESHARE_STORE=$PWD/store.db
	printf 'types:\n  - { name: Odd, driver_names: ["NVIDIA Odd GPU 7"], compute: 8.6, sms: 46, memory_mib: 12288, bandwidth_gbs: 504,
      l2_kib: 4096, pcie_gbs: 24, power_limit_w: 220, idle_w: 18, clocks: { min: 210, max: 1800, step: 15, default: 1500 } }\n' >odd.yaml
	printf 'name: mine\nnodes:\n  - name: a\n    gpus: [ { type: L40S, count: 1 }, { type: Odd, count: 1 } ]\n' >mine.yaml
	echo id,workload,batch_size,iterations,memory_mib,command >jobs.csv
	local network at=0
	for network in resnet50 resnet34 mobilenet vgg16 resnet18 densenet121 mobilenetv2 resnet101; do
		at=$((at + 1))
		cat >"train-$at.sh" <<-END
			#!/bin/sh
			vgpu-task --workload $network --batch 16 --iterations "\${1:?how many}" --every 2 || exit
			[ -z "\$HESHARE_JOB" ] || echo "\$HESHARE_JOB" >>$PWD/marks
		END
		chmod +x "train-$at.sh"
		echo "job$at,net$at,16,12000,4000,./train-$at.sh 12000" >>jobs.csv
	done
	chmod -x train-8.sh
	: >marks
}

# overnight COMMAND...: begun in a terminal that closes at once
overnight() {
	: >night.out
	nohup "$@" >>night.out 2>&1 &
	until heshare status --json >seen 2>/dev/null && jq -e '.runs[-1].jobs_running > 0' seen >/dev/null || ! kill -0 $!; do sleep 0.1; done
	kill -HUP $!
}

@test "eight scripts on two GPUs, one unknown: a night, two mistakes, all done" {
	declare -f overnight >typed
	cat >>typed <<-'END'
		heshare gpus
		overnight heshare run jobs.csv
		wait $! && exit 9
		cat night.out
		chmod +x train-8.sh
		overnight heshare run jobs.csv --resume
		kill -TERM $! # the memory is more than was guessed
		wait $! && exit 9
		cut -d, -f5 --complement jobs.csv >repaired.csv
		cp repaired.csv jobs.csv
		overnight heshare run jobs.csv --resume
		wait $! || exit 9
		cat night.out
	END
	run "$HES_LAB" --fleet mine.yaml --catalogue odd.yaml --speed 20 -- bash typed
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *Odd-GPU-7* ]]
	[[ "$output" == *"8 jobs on 2 GPUs: 8 unknown; they run alone"*"7 of 8 jobs done, 1 failed"* ]]
	[[ "$output" == *"jobs.csv: since its run began, jobs or commands have changed: job job1 is done and does not run again (--restart runs all jobs again), though it differs in memory_mib"* ]]
	# Each job did its work once.
	[ "$(sort marks | tr '\n' ' ')" = "job1 job2 job3 job4 job5 job6 job7 job8 " ]
	jq -e '.jobs_done == 8 and .jobs_failed == 0 and .run == 1' jobs.run/report.json
	jq -e '.energy | (.jobs_j + .aborted_j + .idle_j + .learning_j + .unattributed_j) / .meter_j - 1 | fabs < 0.001' jobs.run/report.json
}
