#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# bench/gpu/partition: splits of a GPU predicted and measured, on a virtual GPU.

partition_bench="$HES_SOURCE_ROOT/bench/gpu/partition"

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

@test "wrong arguments are refused with what would be right" {
	run -2 python3 "$partition_bench" --networks lenet,resnet50
	[[ "$output" == *'network "lenet" is unknown; there are bert-large'* ]]
	run -2 python3 "$partition_bench" --networks resnet50
	[[ "$output" == *"--networks resnet50: give 2 to 4 different ones"* ]]
	run -2 python3 "$partition_bench" --minutes 1
	[[ "$output" == *"--minutes 1: give 2 to 1440"* ]]
	run -1 python3 "$partition_bench" --heshare ./none
	[[ "$output" == *"no heshare program at ./none: build one with make portable"* ]]
}

@test "in the lab every split of a pair is predicted and measured; a second time nothing is measured again" {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	args=(--lab A100-SXM-80 --lab-program "$HES_LAB" --heshare "$HESHARE" --networks \
		resnet50,mobilenetv2 --work work --out out)
	run -0 python3 "$partition_bench" "${args[@]}"
	jq -e '.virtual and .gpu.gpu_type == "A100-SXM-80" and (.sets | length == 1)
		and (.sets[0] | (.splits | length == 9 and all(.measured.power_w > 0 and .predicted.power_w > 0 and (.measured.throughput | min) > 0))
			and (.objectives | length == 3 and all(.all_measured and .chosen.of_best_pct > 80 and .best.per_watt > 0))
			and .errors.power_pct < 15 and .errors.throughput_pct < 15)' out/partition.json
	grep -q 'A virtual GPU of the lab' out/partition.md
	head -c 4 out/partition-sum.svg out/partition-energy.svg | grep -c '<svg'
	points=$(sqlite3 work/store.db "SELECT count(*) FROM points")
	[ "$points" -ge 38 ] # twice ten alone, nine pairs of two rows
	before=$(cat out/partition.json)
	run -0 python3 "$partition_bench" "${args[@]}"
	[ "$(cat out/partition.json)" = "$before" ]
	[ "$(sqlite3 work/store.db "SELECT count(*) FROM points")" = "$points" ]
}

@test "stopped by a signal it leaves no job behind and goes on" {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	args=(--lab T4 --lab-program "$HES_LAB" --heshare "$HESHARE" --networks \
		resnet50,mobilenetv2 --work work --out out)
	TMPDIR=$(mktemp -d /tmp/hes-XXXXXX)
	export TMPDIR
	python3 "$partition_bench" "${args[@]}" 2>err 3>&- &
	bench=$!
	until [ "$(sqlite3 work/store.db "SELECT count(*) FROM points" 2>/dev/null || echo 0)" -ge 2 ]; do sleep 0.1; done
	kill -TERM $bench
	rc=0
	wait $bench || rc=$?
	[ "$rc" = 1 ]
	grep -q 'stopped; the same command goes on from here' err
	for p in $(pgrep -x vgpu-task); do [ "$(readlink "/proc/$p/cwd")" != "$PWD/work" ]; done
	rmdir "$TMPDIR" # no directory of an MPS daemon
}
