#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# bench/gpu/fair: programs take turns under each policy, on a virtual GPU.

fair_bench="$HES_SOURCE_ROOT/bench/gpu/fair"

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

@test "wrong arguments are refused with what would be right" {
	run -2 python3 "$fair_bench" --networks lenet,resnet50
	[[ "$output" == *'network "lenet" is unknown; there are bert-large'* ]]
	run -2 python3 "$fair_bench" --networks resnet50
	[[ "$output" == *"--networks resnet50: give 2 or 3 different ones"* ]]
	run -2 python3 "$fair_bench" --phi 2
	[[ "$output" == *"--phi 2: give 0 to 1"* ]]
	run -1 python3 "$fair_bench" --heshare ./none
	[[ "$output" == *"no heshare program at ./none: build one with make portable"* ]]
}

@test "in the lab two programs have the shares of each policy, and their own progress agrees" {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	run -0 python3 "$fair_bench" --lab A100-SXM-80 --lab-program "$HES_LAB" --heshare \
		"$HESHARE" --networks resnet50,mobilenetv2 --minutes 0.5 --work work --out out
	jq -e '.virtual and (.sets | length == 4) and (.overhead | length == 2)' out/fair.json
	# Time shares of the arbiter against iterations of the programs, which it does not see.
	jq -e '[.sets[] | select(.policy) | (.jobs[0].time_s / (.jobs[0].time_s + .jobs[1].time_s)) as $time
		| (.jobs[0].of_alone / (.jobs[0].of_alone + .jobs[1].of_alone)) as $work | $time - $work | fabs < 0.1] | all' out/fair.json
	jq -e '.sets[] | select(.policy == "time") | .fairness.time > 0.8' out/fair.json
	jq -e '.sets[] | select(.policy == "energy") | .fairness.energy > 0.8' out/fair.json
	grep -q 'A virtual GPU of the lab' out/fair.md
	head -c 4 out/fair.svg | grep -c '<svg'
}
