#!/usr/bin/env bats
# The commands of the README and of docs/running.md, typed as they stand there, on a data-centre GPU,
# a gaming GPU and one that nobody knows.
bats_require_minimum_version 1.5.0

# commands FIRST: those of the README's block that starts with this command
commands() {
	awk -v first="    $1" 'index($0, first) == 1 { on = 1 } on && !/^    / { exit } on { print substr($0, 5) }' "$HES_SOURCE_ROOT/README.md"
}

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	cd "$BATS_TEST_TMPDIR"
	export HESHARE_STORE=$PWD/store.db PATH=${HESHARE%/*}:$PATH
	unset LD_LIBRARY_PATH
	printf 'types:\n  - { name: Odd, driver_names: ["NVIDIA Odd GPU 7"], compute: 8.6, sms: 46, memory_mib: 12288, bandwidth_gbs: 504,
      l2_kib: 4096, pcie_gbs: 24, power_limit_w: 220, idle_w: 18, clocks: { min: 210, max: 1800, step: 15, default: 1800 } }\n' >odd.yaml
	printf 'name: mine\nnodes:\n  - name: a\n    gpus: [ { type: L40S, count: 1 }, { type: GeForce-RTX-3090, count: 1 }, { type: Odd, count: 1 } ]\n' >mine.yaml
	printf '#!/bin/sh\nexec vgpu-task --workload "$1" --batch "$2" --iterations "${3:-1000000000}" --every 2\n' >job.sh
	chmod +x job.sh
	printf 'command\n./job.sh resnet18 4 20000\n./job.sh vgg16 4 9000\n' >scripts.csv
	commands id,workload | sed '/^$/d' >jobs.csv
	[ "$(wc -l <jobs.csv)" = 6 ]
	printf 'id,workload,batch_size,iterations,memory_mib\nlate,resnet50,16,20000,6000\n' >more.csv
	cat >await <<-'END'
		until heshare status "$1" --json >seen 2>/dev/null && jq -e '.jobs_running > 0' seen >/dev/null; do sleep 0.1; done
	END
}

type_all() { # the commands in the file typed
	run -0 --separate-stderr "$HES_LAB" --fleet mine.yaml --catalogue odd.yaml --speed 200 -- bash -ex typed
	echo "$output"
}

@test "the README: two commands from scripts and jobs to a measured run" {
	commands 'heshare run jobs.csv' >typed
	[ "$(grep -c '^heshare run' typed)" = 2 ]
	type_all
	[[ "$output" == *"5 of 5 jobs done"*"2 of 2 jobs done"* ]]
}

@test "the README: gpus, profile, plan, run, status and add" {
	[ "$(commands 'heshare gpus' | cut -d ' ' -f 2 | xargs)" = "gpus profile plan run" ]
	[ "$(commands 'heshare status' | grep -o '^heshare [a-z]*' | xargs)" = "heshare status heshare add" ]
	# What the first run measured is known under the same command to the profiler.
	commands 'heshare run jobs.csv' | head -1 >typed
	commands 'heshare gpus' | sed '$s/$/ >run.out 2>\&1 \&/' >>typed
	echo 'sh ./await 2' >>typed
	commands 'heshare status' | sed 's/add 1/add 2/' >>typed
	echo wait >>typed
	type_all
	[[ "$output" == *"Odd-GPU-7"*"GeForce-RTX-3090"* ||
		"$output" == *"GeForce-RTX-3090"*"Odd-GPU-7"* ]]
	[[ "$output" == *"predicted: average completion"* ]]
	grep "6 of 6 jobs done" run.out
}

@test "docs/running.md: every command of heshare" {
	awk -F, -v OFS=, 'NR == 1 { print $0, "command"; next } { print $0, "./job.sh " $2 " " $3 " " $4 }' jobs.csv >own.csv
	sed 's/^late/later/' more.csv >third.csv
	cat >typed <<-'END'
		heshare run scripts.csv
		heshare run jobs.csv -- ./job.sh {workload} {batch} {iterations}
		heshare run jobs.csv --resume
		cp own.csv jobs.csv
		heshare plan jobs.csv --gpus all -o plan.json
		heshare run plan.json --dry-run
		heshare run plan.json &
		sh ./await 3
		heshare add 3 more.csv -- ./job.sh {workload} {batch} {iterations}
		wait
		heshare run plan.json --resume
		nohup heshare run jobs.csv >night.log 2>&1 &
		sh ./await 4
		heshare add 4 third.csv -- ./job.sh {workload} {batch} {iterations}
		wait
		heshare run jobs.csv --progress '(\d+)/\d+'
	END
	grep -E '^    (nohup )?heshare ' "$HES_SOURCE_ROOT/docs/running.md" | sed 's/ *#.*//; s/^    //' >all
	[ "$(wc -l <all)" -ge 10 ]
	while read -r line; do
		grep -qF "$line" typed || { echo "not typed: $line"; false; }
	done <all
	type_all
	grep "6 of 6 jobs done" night.log
}
