#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# bench/gpu/first: the first minutes on a GPU, on a virtual one.

first="$HES_SOURCE_ROOT/bench/gpu/first"

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	args=(--lab A100-SXM-80 --lab-program "${HES_LAB:-}" --heshare "$HESHARE" --out out)
}

@test "wrong arguments are refused with what would be right" {
	run -2 python3 "$first" --only jobs,sleep
	[[ "$output" == *'step "sleep" is unknown; there are commands, jobs, stopped, launches, threads'* ]]
	run -2 python3 "$first" --minutes 2
	[[ "$output" == *"--minutes 2: give 4 to 60"* ]]
	run -1 python3 "$first" --heshare ./none
	[[ "$output" == *"no heshare program at ./none: build one with make portable"* ]]
}

@test "in the lab each step ends with figures, and the GPU's settings are as before" {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	run -0 python3 "$first" "${args[@]}" --minutes 0.3 --tar out.tgz
	jq -e '.virtual and (.steps | length == 5 and all(.status == 0))
		and all(.steps[].result; .settings_changed == null or .settings_changed == {})' out/first.json
	jq -e '.steps.commands.result | (.rows | length > 25 and all(.ok)) and .not_tried == []' out/first.json
	jq -e '.steps.jobs.result.runs | map(.name) == ["exclusive", "unpartitioned", "heshare"]
		and all(.done == 8 and .measured.busy_energy_j > 0)' out/first.json
	jq -e '.steps.stopped.result | .["one block"].goes_on and .["all SMs"].goes_on' out/first.json
	jq -e '.steps.launches.result | [.none, .library, .tenant] | all(.[0] | .launches_per_s > 0 and .graphs_per_s > 0)' out/first.json
	jq -e '.steps.threads.result | .nvml_result == 0 and .start[0].name == "python3" and (.cuda | length >= 1)' out/first.json
	grep -q 'A virtual GPU of the lab' out/first.md
	tar -xOf out.tgz out/first.json | cmp - out/first.json
}

@test "what fails is in the summary, and the other steps go on" {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	printf '#!/bin/sh\n[ "$1" = fair ] && { echo no such luck >&2; exit 3; }\nexec "%s" "$@"\n' "$HESHARE" >program
	chmod +x program
	run -1 python3 "$first" "${args[@]}" --heshare ./program --minutes 1 --only launches,threads
	jq -e '.steps | .launches.status == 1 and .threads.status == 0' out/first.json
	grep -q 'launches: failed' out/first.md
	grep -q 'heshare fair serve did not start' out/first.md
}

@test "stopped by a signal it leaves no daemon, program or folder behind" {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	TMPDIR=$(mktemp -d /tmp/hes-XXXXXX)
	export TMPDIR
	python3 "$first" "${args[@]}" --minutes 5 --only stopped 2>err 3>&- &
	bench=$!
	until jq -e '.["one block"]' out/stopped/result.json >/dev/null 2>&1; do
		kill -0 $bench
		sleep 0.1
	done
	kill -TERM $bench
	rc=0
	wait $bench || rc=$?
	[ "$rc" = 1 ]
	for p in $(pgrep -f kernels.py); do
		[ "$(tr '\0' '\n' <"/proc/$p/environ" | grep -c "^TMPDIR=$TMPDIR\$")" = 0 ]
	done
	rmdir "$TMPDIR"
}
