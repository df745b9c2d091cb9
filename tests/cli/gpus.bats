#!/usr/bin/env bats
# heshare gpus

@test "a clock step that nobody could walk through is refused" {
	printf 'types:\n - {name: Z, sms: 1, memory_mib: 16, bandwidth_gbs: 1, l2_kib: 16, power_limit_w: 1,
   idle_w: 0, clocks: {min: 1, max: 10000, step: 1e-300, default: 10000}}\n' >"$BATS_TEST_TMPDIR/c.yaml"
	run "$HESHARE" gpus --catalogue "$BATS_TEST_TMPDIR/c.yaml"
	[ "$status" -eq 1 ]
	[[ "$output" == *"type Z: clocks.step is 1e-300; it must be at least 0.1 MHz" ]]
}

@test "the catalogue has the ten types" {
	run "$HESHARE" gpus --types --json
	[ "$status" -eq 0 ]
	[ "$(jq length <<<"$output")" -eq 10 ]
}

@test "an unknown type in a fleet is named with what is known" {
	printf 'name: x\nnodes:\n  - name: a\n    gpus: [ { type: K80, count: 1 } ]\n' >"$BATS_TEST_TMPDIR/f.yaml"
	run "$HESHARE" gpus --fleet "$BATS_TEST_TMPDIR/f.yaml"
	[ "$status" -eq 1 ]
	[[ "$output" == *'nodes[0].gpus[0].type: unknown GPU type "K80"; known: T4'* ]]
}

@test "a misspelt option is answered with the right one" {
	run "$HESHARE" gpus --fleeet x
	[ "$status" -eq 2 ]
	[[ "$output" == *"did you mean --fleet?"* ]]
}
