#!/usr/bin/env bats
# heshare model

@test "a heavier neighbour shows as a slower job and more power" {
	run "$HESHARE" model resnet50 -b 8 -s 50 --gpu V100-PCIe --json
	[ "$status" -eq 0 ]
	alone=$output
	run "$HESHARE" model resnet50 -b 8 -s 50 --gpu V100-PCIe --beside bert-large:8:50 --json
	[ "$status" -eq 0 ]
	[ "$(jq '.jobs | length' <<<"$output")" -eq 2 ]
	jq -e --argjson a "$alone" '.jobs[0].iteration_us > $a.jobs[0].iteration_us and .power_mw > $a.power_mw' <<<"$output"
}

@test "the list names the fifteen workloads of the testbed and ten GPU types" {
	run "$HESHARE" model --list --json
	[ "$status" -eq 0 ]
	[ "$(jq '[.workloads[] | select(.testbed)] | length' <<<"$output")" -eq 15 ]
	[ "$(jq '.gpus | length' <<<"$output")" -eq 10 ]
}

@test "data sets that are not there are skipped with a line" {
	mkdir "$BATS_TEST_TMPDIR/etf_jetson_tx2"
	printf 'model,gpu_mhz,exec_time_us,gpu_power_mw\nresnet18,114.75,180739,498\n' \
		>"$BATS_TEST_TMPDIR/etf_jetson_tx2/freq_time_power.csv"
	run "$HESHARE" model --check "$BATS_TEST_TMPDIR"
	[ "$status" -le 1 ]
	[[ "$output" == *"igniter_v100"*"not there, skipped"* ]]
	! grep 'skipped.*MET' <<<"$output"
	[ "$(grep -c '^etf_jetson_tx2 .*fitted, ' <<<"$output")" -eq 2 ]
}

@test "a check of nothing is a failure, not a pass" {
	run "$HESHARE" model --check "$BATS_TEST_TMPDIR"
	[ "$status" -eq 1 ]
	[[ "$output" == *": no data set below it; one is a folder such as igniter_v100" ]]
	touch "$BATS_TEST_TMPDIR/file"
	run "$HESHARE" model --check "$BATS_TEST_TMPDIR/file"
	[ "$status" -eq 1 ]
	[[ "$output" == *"file: not a folder"* ]]
}

@test "a broken data set is named by file, line, column and value" {
	mkdir "$BATS_TEST_TMPDIR/etf_jetson_tx2"
	printf 'model,gpu_mhz,exec_time_us,gpu_power_mw\nresnet50,114.75,abc,541\n' \
		>"$BATS_TEST_TMPDIR/etf_jetson_tx2/freq_time_power.csv"
	run "$HESHARE" model --check "$BATS_TEST_TMPDIR"
	[ "$status" -eq 1 ]
	[[ "$output" == *'freq_time_power.csv:2: exec_time_us: "abc" is not a number'* ]]
}

@test "what cannot be is answered with what would be right" {
	run "$HESHARE" model resnet50 --gpu T4 --clock 2000
	[ "$status" -eq 1 ]
	[[ "$output" == *"T4 runs from 300 to 1590"* ]]
	run "$HESHARE" model resnet50 --beside vgg19
	[ "$status" -eq 1 ]
	[[ "$output" == *"WORKLOAD:BATCH:SHARE"* ]]
	run "$HESHARE" model
	[ "$status" -eq 2 ]
}
