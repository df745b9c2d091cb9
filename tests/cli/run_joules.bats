#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# The joules of heshare run: its parts sum to the counters of the lab's GPUs, whatever interrupts
# it.

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	PATH=$(dirname "$HESHARE"):$PATH
	unset LD_LIBRARY_PATH
	cd "$BATS_TEST_TMPDIR"
	export HESHARE_STORE=$PWD/store.db
	export task='vgpu-task --workload {workload} --batch {batch} --iterations {iterations} --every 1'
	printf 'name: two\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 1 }, { type: T4, count: 1 } ]\n' >two.yaml
	cat >jobs.csv <<-END
		id,arrival_s,workload,batch_size,iterations,memory_mib
		a,0,resnet34,8,10000,1813
		b,0,resnet18,4,10000,1194
		c,0,mobilenet,4,10000,1266
		d,0,resnet18,4,15000,1194
		e,0,resnet34,4,10000,1373
		f,0,gpt2,1,10000,1513
		g,0,resnet18,8,10000,1494
		h,0,mobilenet,8,10000,1666
	END
	heshare plan jobs.csv -f two.yaml --policy joint --budget 3000 --json >open.json
}

lab() { # SPEED COMMAND...
	local speed=$1
	shift
	run --separate-stderr "$HES_LAB" --fleet two.yaml --speed "$speed" -- "$@"
}

# The store has no profiles: the activities by which both are split are in the plan.
@test "planned and measured joules of a job follow one rule: without noise they differ little" {
	for policy in joint heshare; do
		export HESHARE_STORE=$PWD/$policy.db
		heshare plan jobs.csv -f two.yaml --policy $policy --json >$policy.json
		lab 50 heshare run $policy.json --json -c "$task"
		[ "$status" -eq 0 ]
		# As power: jobs also take the time that their processes need to start.
		jq '[.jobs[] | .attributed_j / .planned_j / (.end_s - .start_s) * (.planned_end_s - .planned_start_s) - 1]' <<<"$output" >off
		cat off
		jq -e 'map(fabs) | add / length < 0.08 and all(. < 0.15)' off
		jq -e '([.jobs[].planned_j] | add) / .planned.busy_energy_j - 1 | fabs < 0.001' \
			<<<"$output"
	done
}

# Each job starts for 100 s. Where two share a GPU, their start-ups overlap.
@test "planned times and joules hold the start-ups of jobs, and so do replays" {
	heshare profile --modelled -f two.yaml -o rows
	awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "start_s") c = i } NR > 1 { $c = 100 } 1' \
		rows/profiles.csv >100.csv
	heshare simulate jobs.csv -f two.yaml --policy exclusive,heshare --profiles 100.csv --json --no-timing >100.sim
	jq -e '.policies | map(.avg_jct_s / .predicted.avg_jct_s, .busy_energy_j / .predicted.busy_energy_j) | debug |
		all(. - 1 | fabs < 0.03)' 100.sim
	jq -e '.policies | all(.p50_jct_s > 150) and .[1].avg_jct_s < 0.6 * .[0].avg_jct_s' 100.sim
	heshare plan jobs.csv -f two.yaml --policy joint --profiles 100.csv --budget 3000 --json >100.json
	lab 50 heshare run 100.json --profiles 100.csv --json -c "$task --start 100"
	[ "$status" -eq 0 ]
	jq -e '([.jobs[].end_s] | add) as $m | ([.jobs[].planned_end_s] | add) as $p | [$m, $p] | debug |
		($m / $p - 1 | fabs < 0.1)' <<<"$output"
	jq -e '.energy.jobs_j / .planned.busy_energy_j - 1 | debug | fabs < 0.1' <<<"$output"
	jq -e '[.jobs[] | .attributed_j / .planned_j] | debug | all(. > 0.8 and . < 1.25)' <<<"$output"
	# What such a run teaches is of the work: of a job alone its profile's values.
	grep '^id\|gpt2' jobs.csv >one.csv
	heshare plan one.csv -f two.yaml --policy exclusive --profiles 100.csv --json >one.json
	lab 50 heshare run one.json --profiles 100.csv --json -c "$task --start 100"
	[ "$status" -eq 0 ]
	heshare profiles export learnt
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { n++ }
		{ t = $at["iteration_us"] / $at["solo_iteration_us"]; w = $at["power_mw"] / $at["solo_power_mw"]; print t, w }
		t < 0.97 || t > 1.03 || w < 0.97 || w > 1.03 { off = 1 } END { exit off || !n }' learnt/samples.csv
}

@test "a power cap holds while the plan is carried out; what it cannot hold is counted" {
	heshare plan jobs.csv -f two.yaml --policy joint --budget 3000 --power-cap 900 --json \
		>plan.json
	lab 100 heshare run plan.json -c "$task"
	[ "$status" -eq 0 ]
	[[ "$output" == *"Power cap 900 W: kept, at most "*" W."* ]]
	jq -e '.power_cap | .jobs_held == 0 and .over_s == 0 and .peak_w > 180' plan.run/report.json
	# The same plan, which breaks this cap.
	jq '.predicted.power_cap_w = 180' plan.json >less.json
	lab 100 heshare run less.json -c "$task"
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"waits for the power cap of 180 W: with it the GPUs might draw "* ]]
	jq -e '.jobs_done == 8 and (.power_cap | .jobs_held > 0 and .over_s == 0 and .peak_w <= 180)' less.run/report.json
	# Less than some jobs draw alone.
	jq '.predicted.power_cap_w = 100' plan.json >least.json
	lab 100 heshare run least.json -c "$task"
	[ "$status" -eq 0 ]
	[[ "$output" =~ "Power cap 100 W: above it for "[1-9][0-9.]*" s, at most 1"[0-9][0-9]" W; "[0-9]" jobs waited for it." ]]
	jq -e '.jobs_done == 8 and .power_cap.over_s > 1' least.run/report.json
}

@test "a counter that stands still or is reset spoils no joules, and the report says what was left out" {
	lab 50 sh -c 'heshare run open.json --json -c "$task" >report.json &
		until [ "$(cat open.run/*.log 2>/dev/null | wc -l)" -gt 3 ]; do sleep 1; done
		vgpu-fault 0:energy=frozen 1:energy=reset; wait $!'
	[ "$status" -eq 0 ]
	jq -c '.left_out, (.gpus[] | [.busy_energy_j, .planned_busy_energy_j, .busy_s, .planned_busy_s])' report.json
	jq -e '.left_out[:2] == ["the energy counter while it stood still", "the energy counter where it went back"]' report.json
	# As power: jobs also take the time that their processes need to start.
	jq -e '.gpus | all(.busy_energy_j / .planned_busy_energy_j / .busy_s * .planned_busy_s - 1 | fabs < 0.15)' report.json
}

# Outside of its meter's time a run has GPUs at idle power: while it starts, and before its guard
# has ended. In a run that is killed the joules since the last write of the journal, some seconds at
# most, are lost to both sums of the report.
@test "ten interrupted and resumed runs: the joules of the report are those of the GPUs' counters" {
	lab 100 python3 "$HES_SOURCE_ROOT/tests/lab/joules.py" open.json
	[ "$status" -eq 0 ]
	jq -c . <<<"$output"
	[ "$(jq -s length <<<"$output")" = 10 ]
	# By the report: its rows, and the rows of the jobs.
	jq -se 'map(.done == 8 and .energy.sessions == 2 and .energy.aborted_j > 0 and .energy.unattributed_j < 1) | all' <<<"$output"
	jq -se 'map((.energy.jobs_j + .energy.aborted_j + .energy.idle_j) / .energy.meter_j - 1 | fabs < 0.001) | all' <<<"$output"
	jq -se 'map((.jobs_j - .energy.jobs_j | fabs < 1) and (.aborted_j - .energy.aborted_j | fabs < 1)) | all' <<<"$output"
	jq -se 'map(.energy.lost_s == (if .killed then 2 else 0 end)) | all' <<<"$output"
	# By the counters.
	jq -se 'map(select(.killed | not) | (.counters_j - .outside_j) / .energy.meter_j - 1 | fabs < 0.005) | all' <<<"$output"
	jq -se 'map(select(.killed) | (.counters_j - .outside_j) / .energy.meter_j > 0.995) | all' <<<"$output"
	jq -se '((map(.counters_j - .outside_j) | add) / (map(.energy.meter_j) | add) - 1) | fabs < 0.005' <<<"$output"
}

@test "a clock that another program has locked is named where the plan locks none, and teaches nothing" {
	head -n 5 jobs.csv >few.csv
	heshare plan few.csv -f two.yaml --policy exclusive --json >plan.json
	jq -e '[.gpus[].batches[].unlocked] | all' plan.json
	lab 40 sh -c 'python3 -c "
import ctypes
n = ctypes.CDLL(\"libnvidia-ml.so.1\"); n.nvmlInit_v2(); d = ctypes.c_void_p()
n.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(d)); n.nvmlDeviceSetGpuLockedClocks(d, 600, 600)"
		heshare run plan.json --json -c "$task" >report.json'
	[ "$status" -eq 0 ]
	uuid=$(jq -r '.gpus[0].uuid' report.json)
	[[ "$stderr" == *"a/0 runs at 600 MHz where the plan counts with "*" MHz, and this run has locked no clock: if another program has, sudo nvidia-smi -i $uuid -rgc unlocks it"* ]]
	[ "$(grep -c "has locked no clock" <<<"$stderr")" = 1 ]
	jq -e '.clocks_missed == 1' report.json
}
