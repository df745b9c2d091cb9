#!/usr/bin/env bats
# heshare model

@test "a heavier co-runner makes the job slower and the power higher" {
	run "$HESHARE" model resnet50 -b 8 -s 50 --gpu V100-PCIe --json
	[ "$status" -eq 0 ]
	alone=$output
	run "$HESHARE" model resnet50 -b 8 -s 50 --gpu V100-PCIe --co-runners bert-large:8:50 --json
	[ "$status" -eq 0 ]
	[ "$(jq '.jobs | length' <<<"$output")" -eq 2 ]
	jq -e --argjson a "$alone" \
		'.jobs[0].iteration_us > $a.jobs[0].iteration_us and .power_w > $a.power_w' \
		<<<"$output"
}

@test "the list names the fifteen workloads of the testbed and all GPU types" {
	run "$HESHARE" model --list --json
	[ "$status" -eq 0 ]
	[ "$(jq '[.workloads[] | select(.testbed)] | length' <<<"$output")" -eq 15 ]
	[ "$(jq ".gpus | length" <<<"$output")" -eq 30 ]
}

@test "what cannot be is answered with what would be right" {
	run "$HESHARE" model resnet50 --gpu T4 --clock 2000
	[ "$status" -eq 2 ]
	[[ "$output" == *"T4 runs from 300 to 1590"* ]]
	run "$HESHARE" model resnet50 --co-runners vgg19
	[ "$status" -eq 2 ]
	[[ "$output" == *"WORKLOAD:BATCH:SHARE"* ]]
	run "$HESHARE" model
	[ "$status" -eq 2 ]
	run "$HESHARE" model resnet50 vgg19
	[ "$status" -eq 2 ]
	[[ "$output" == *"vgg19"* ]]
}

# added FACTS...: add the workload "mine" by them to own.yaml
added() {
	run "$HESHARE" model --add-workload mine -o own.yaml "$@"
	echo "$output"
	[ "$status" -eq 0 ]
}

# refused STATUS SENTENCE ARGUMENTS...
refused() {
	local want=$1 sentence=$2
	shift 2
	run "$HESHARE" model "$@"
	echo "status $status: $output"
	[ "$status" -eq "$want" ]
	[[ "$output" == *"$sentence"* ]]
}

@test "a workload that was added from public facts is known to model, trace, plan, profile and simulate" {
	cd "$BATS_TEST_TMPDIR"
	added --gflop 62 --weights 118 --kernels 140
	[[ "$output" == "mine: added from public facts; nearest network "*"time alone"*"time with a co-runner"*"GPU power"* ]]
	[[ "${lines[-1]}" == "mine: expect 0."*" times the modelled time, 0."*" times the power (9 in 10 measurements, by networks left out)" ]]
	run "$HESHARE" model mine --catalogue own.yaml --gpu T4 -b 8 -s 50 --co-runners resnet50:8:50
	[ "$status" -eq 0 ]
	[[ "${lines[-1]}" == "mine: expect "* ]]
	"$HESHARE" model mine --catalogue own.yaml --json |
		jq -e '.fitted[0].expected.time_factors | .[0] < 1 and .[1] > 1'
	"$HESHARE" model --list --catalogue own.yaml | grep -qE '^mine +facts'
	"$HESHARE" trace helios-like --workloads mine -n 3 --catalogue own.yaml -o jobs.csv
	[ "$(grep -c ,mine, jobs.csv)" -eq 3 ]
	"$HESHARE" simulate jobs.csv --catalogue own.yaml -p exclusive >simulated
	grep -q '^mine: expect ' simulated
	"$HESHARE" plan jobs.csv --catalogue own.yaml -p exclusive -o plan.json >/dev/null
	jq -e '[.. | .workload? // empty] | index("mine")' plan.json
	"$HESHARE" profile --modelled -o drawn --types T4 --samples 20 --catalogue own.yaml
	grep -q ^mine,T4,64, drawn/profiles.csv
	# The user's own folder does the same.
	mkdir -p config/heshare
	mv own.yaml config/heshare/workloads.yaml
	XDG_CONFIG_HOME=$PWD/config "$HESHARE" model mine >/dev/null
}

@test "a catalogue may have more workloads than the testbed" {
	cd "$BATS_TEST_TMPDIR"
	echo workloads: >own.yaml
	for i in {1..60}; do
		echo "  - { name: w$i, framework: f, origin: o, math: tf32, efficiency: .3, parallel_sms: 10, gflop_per_item: $i }"
	done >>own.yaml
	"$HESHARE" profile --modelled -o drawn --types T4 --samples 200 --catalogue own.yaml
	[ "$(grep -c ^w60,T4, drawn/profiles.csv)" -eq 7 ]
	grep -q ^w60, drawn/samples.csv
}

@test "a file keeps its other workloads, and a workload can be added again" {
	cd "$BATS_TEST_TMPDIR"
	added --gflop 62
	"$HESHARE" model --add-workload "it's another" --gflop 4 --like mobilenetv2 --arithmetic \
		fp16 -o own.yaml
	before=$("$HESHARE" model mine --catalogue own.yaml --json | jq '.jobs[0].iteration_us')
	added --gflop 6.2 --traffic 20
	[ "$(grep -c '  - name:' own.yaml)" -eq 2 ]
	! grep -q 'style:\|start_s:' own.yaml
	"$HESHARE" model --add-workload graphs --gflop 4 --style graphs -o own.yaml
	grep -A9 "name: 'graphs'" own.yaml | grep -q '^    host_us: 0$'
	"$HESHARE" model --add-workload "it's another" --gflop 4 --style eager -o own.yaml
	grep -A4 '^    style: eager$' own.yaml | grep -q '^    start_s: 7'
	"$HESHARE" model mine --catalogue own.yaml --json |
		jq -e --argjson before "$before" '.jobs[0].iteration_us < $before'
	"$HESHARE" model "it's another" --catalogue own.yaml >/dev/null
	# One error to expect may be unknown.
	sed '/power_factors/d' own.yaml >time.yaml
	"$HESHARE" model mine --catalogue time.yaml |
		grep -qE '^mine: expect [^ ]+ to [^ ]+ times the modelled time \('
	"$HESHARE" model mine --catalogue time.yaml --json |
		jq -e '.fitted[0].expected | keys == ["time_factors"]'
	# A row takes the place of the testbed's.
	sed "s/'mine'/resnet50/" own.yaml >same.yaml
	run "$HESHARE" model resnet50 --catalogue same.yaml
	[[ "${lines[-1]}" == "resnet50: expect "* ]]
}

@test "several that add to one file at a time lose nothing" {
	cd "$BATS_TEST_TMPDIR"
	for i in 1 2 3 4 5 6 7 8; do
		"$HESHARE" model --add-workload net$i --gflop 6$i -o own.yaml >/dev/null &
	done
	wait
	[ "$(grep -c '  - name:' own.yaml)" -eq 8 ]
	# Who finds the folder locked waits.
	mkdir locked
	(exec 9<locked; flock 9; cp own.yaml locked; : >begun; exec sleep 1000) &
	holder=$!
	until [ -e begun ]; do sleep 0.1; done
	"$HESHARE" model --add-workload late --gflop 5 -o locked/own.yaml >/dev/null &
	late=$!
	kill $holder
	wait $late
	[ "$(grep -c '  - name:' locked/own.yaml)" -eq 9 ]
}

@test "a profile, and facts besides, narrow the error to expect" {
	cd "$BATS_TEST_TMPDIR"
	echo workload,gpu_type,batch_size,memory_mib,clock_mhz,iteration_us,sm_util,dram_util,l2_util,power_mw >rows.csv
	for batch in 1 8 32; do
		"$HESHARE" model bert-miso --gpu T4 -b $batch --json | jq -r '.jobs[0] as $j | ["mine", .gpu_type, $j.batch_size, $j.memory_mib, .clock_mhz,
			$j.iteration_us, $j.sm_util, $j.dram_util, $j.l2_util, (.power_w * 1000 | round)] | @csv' | tr -d \" >>rows.csv
	done
	factors() { "$HESHARE" model -a mine "$@" --json |
		jq '.fitted[0].expected.time_factors | .[1] / .[0]'; }
	facts=$(factors --gflop 80 --weights 420)
	profile=$(factors --profiles rows.csv)
	[ "$(jq -n "$facts > $profile and $profile > 1")" = true ]
	added --profiles rows.csv --gflop 80
	[[ "$output" == "mine: added from its profile and public facts; "*"mine: fitted to 3 points: time "* ]]
	"$HESHARE" model -a mine --profiles rows.csv --json |
		jq -e '.fitted[0] | .points == 3 and .expected.networks > 8 and .expected.time_shared > 0'
}

@test "what cannot be added is refused with what would be right" {
	cd "$BATS_TEST_TMPDIR"
	refused 2 "--add-workload needs --gflop N, the operations of an item, or --profiles FILE, or both" -a mine --kernels 10
	refused 2 '--add-workload takes no operand, but "resnet50" was given' -a mine --gflop 1 \
		resnet50
	refused 2 "--batch has no effect with --add-workload" -a mine --gflop 1 --batch 1
	refused 2 "--gpu has no effect with --add-workload" -a mine --gflop 1 --gpu T4
	refused 2 "--add-workload goes with no --physics second" -a mine --gflop 1 --physics second
	refused 2 "--like goes with --add-workload" resnet50 --like vgg19
	refused 2 "--gflop: 0 is outside 0.0001 to 1e+06" -a mine --gflop 0
	refused 2 "--kernels: \"many\" is not a number" -a mine --gflop 1 --kernels many
	refused 2 '--arithmetic: "int8" is not one of fp32, tf32, fp16' -a mine --gflop 1 \
		--arithmetic int8
	refused 1 "workload resnet50: the model knows it" -a resnet50 --gflop 1
	refused 2 '--like: "vgg17" is not one of resnet152, ' -a mine --gflop 1 \
		--like vgg17
	refused 2 '"resnet101" is not one of resnet152' -a mine --gflop 1 --like resnet101 # halfway between two that are
	refused 2 "--add-workload: " -a "$(printf 'a%.0s' {1..48})" --gflop 1
	refused 1 "nowhere.csv" -a mine --profiles nowhere.csv
	refused 1 "/nowhere/own.yaml: cannot create" -a mine --gflop 1 -o /nowhere/own.yaml
	cp "$HES_SOURCE_ROOT/data/gpu_types.yaml" types.yaml
	refused 1 "-o types.yaml: it has GPU types, too, which would be lost; name another file" \
		-a mine --gflop 1 -o types.yaml
	cmp types.yaml "$HES_SOURCE_ROOT/data/gpu_types.yaml"
	echo 'workloads: [ { name: a, framework: f, origin: o, math: fp32, efficiency: 0, parallel_sms: 1 } ]' >bad.yaml
	refused 1 "bad.yaml: workload a: efficiency is 0; it must be from 1e-06 to 10" a \
		--catalogue bad.yaml
	refused 1 "bad.yaml: workload a: efficiency is 0" -a mine --gflop 1 -o bad.yaml
}

@test "a name that nobody added is refused with how to add it" {
	refused 2 'the model has no workload "oaknet"; the testbed'"'"'s are resnet152, ' oaknet
	[[ "$output" == *"; heshare model --add-workload adds one" ]]
	run "$HESHARE" trace helios-like --workloads oaknet
	[[ "$output" == *'unknown workload "oaknet"; there are: '*"; heshare model --add-workload adds one" ]]
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\na,0,oaknet,1,10,100\n' \
		>"$BATS_TEST_TMPDIR/jobs.csv"
	run "$HESHARE" simulate "$BATS_TEST_TMPDIR/jobs.csv" -p exclusive
	[ "$status" -eq 1 ]
	[[ "$output" == *'no workload "oaknet"'*"; heshare model --add-workload adds one" ]]
}
