#!/usr/bin/env bats
# learn: joint that knows no workload at the start

bats_require_minimum_version 1.5.0

# The demo's jobs: two thirds of what joint with complete profiles gains over one job per GPU.
@test "joint that learns while jobs work gains most of what complete profiles do" {
	cd "$BATS_TEST_TMPDIR"
	demo=$HES_SOURCE_ROOT/data/traces/demo.csv
	"$LEARN" "$demo" --burst --per-job rows.csv >learn.json
	"$HESHARE" simulate "$demo" --burst -p joint,exclusive --json >out.json
	jq -es '.[0] as $l | (.[1].policies | map({key: .name, value: .}) | from_entries) as $p | ["avg_jct_s", "fleet_energy_j"] |
		all(. as $f | $p.exclusive[$f] - $l[$f] > 2 / 3 * ($p.exclusive[$f] - $p.joint[$f]))' learn.json out.json
	jq -e '.learning | .experiments > 9 and .took_s > 0 and .iterations > 0' learn.json
	[ "$(wc -l <rows.csv)" = "$(wc -l <"$demo")" ]
	head -n 13 "$demo" >few.csv
	"$LEARN" few.csv --prefer jct >a.json
	"$LEARN" few.csv --prefer jct >b.json
	cmp a.json b.json
	run -1 "$LEARN" few.csv --prefer quick
	[[ "$output" == *'policy joint: preference "quick" is not one of'* ]]
}
