#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# bench/gpu/figures: a measured folder as pictures.

setup() {
	cd "$BATS_TEST_TMPDIR"
	figures=$HES_SOURCE_ROOT/bench/gpu/figures
	member=workload,batch_size,precision,sm_share_pct,iteration_us
	mkdir gpu
	echo '{"test": true, "gpu": {"name": "Made <up>", "power_limit_mw": 72000}, "idle_power_mw": 16000}' >gpu/gpu.json
	cat >gpu/solo.csv <<-EOF
		kind,mechanism,steady,power_mw,power_integral_mw,$member,locked_clock_mhz
		inference,none,1,60000,,resnet50,8,fp16,100,8000,
		inference,mps,1,,40000,resnet50,8,fp16,50,10000,
		inference,none,1,70000,,vgg19,8,fp16,100,20000,
		inference,mps,1,50000,,vgg19,8,fp16,50,40000,
		inference,mps,0,1000,,vgg19,8,fp16,10,1,
		inference,none,1,30000,,vgg19,8,fp16,100,90000,900
		inference,none,1,,,gpt2,8,fp16,100,,
	EOF
	cat >gpu/pairs.csv <<-EOF
		kind,mechanism,steady,power_mw,power_integral_mw,first_${member//,/,first_},second_${member//,/,second_}
		inference,mps,1,65000,,resnet50,8,fp16,50,11000,vgg19,8,fp16,50,44000
	EOF
}

@test "shares, energy and pairs are drawn, with what was measured under each dot" {
	run -0 "$figures" gpu out
	[ "$(ls out | tr '\n' ' ')" = "energy.svg pairs.svg share.svg " ]
	for f in out/*.svg; do python3 -c \
		'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$f"; done
	grep -q 'A test, no measurement: Made &lt;up&gt;, fp16, batch 8' out/share.svg
	grep -q '<title>resnet50: 50, 80</title>' out/share.svg
	grep -q '<title>resnet50: 50, 40</title>' out/share.svg
	grep -q '<title>vgg19: 50, 0.25</title>' out/energy.svg
	[ "$(grep -c '<title>resnet50 + vgg19: 1.1</title>' out/pairs.svg)" -eq 2 ]
	# A second of the pair is 90.9 and 22.7 iterations, 0.48 J and 1.4 J each when alone: 75.5
	# W, with 65 drawn.
	grep -q '<title>resnet50 + vgg19: 1.161</title>' out/pairs.svg
}

@test "what was not steady, not read or at a locked clock is not drawn" {
	run -0 "$figures" gpu out
	! grep -q 'gpt2\|vgg19: 10,\|vgg19: 100, 30<' out/share.svg
	[ "$(grep -c '<title>vgg19: 100,' out/share.svg)" -eq 2 ]
}

@test "no picture of a test goes under docs, and what is wrong is a sentence" {
	run -1 "$figures" gpu docs/figures
	[ "$output" = "figures: gpu is a test; no picture of it goes under docs/figures" ]
	[ ! -e docs ]
	sed -i 's/,44000/,soon/' gpu/pairs.csv
	run -1 "$figures" gpu out
	[ "$output" = 'figures: gpu/pairs.csv:2: second_iteration_us: "soon" is not a number' ]
	[ ! -e out ]
	sed -i '1s/first_workload/workload/' gpu/pairs.csv
	run -1 "$figures" gpu out
	[ "$output" = "figures: gpu: no column or key 'first_workload'" ]
	run -1 "$figures" nowhere out
	[[ "$output" == "figures: nowhere: no measured GPU: "* ]]
	run -2 "$figures" gpu
}

@test "the page of the measured H100 has the tables that its readings give" {
	cd "$HES_SOURCE_ROOT"
	bench/gpu/results data/measured/h100-80gb-hbm3 "$HESHARE" >"$BATS_TEST_TMPDIR/tables"
	[ "$(grep -c '^## ' "$BATS_TEST_TMPDIR/tables")" -eq 4 ]
	# The page ends without the last empty line.
	diff <(sed -n '/^## The plan and its run/,$p' docs/results/nvidia-h100-80gb-hbm3/README.md) \
		<(sed '$d' "$BATS_TEST_TMPDIR/tables")
}
