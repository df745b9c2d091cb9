#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# heshare-calibrate on a measured board. The board is made up by tests/tools/measured_board.c: the
# physics with parameters of its type moved by 10 to 60 %, 1 % of noise on every reading.

setup() {
	cd "$BATS_TEST_TMPDIR"
	physics=$HES_SOURCE_ROOT/data/physics.yaml
}

# The largest of the median and 90th-percentile errors of rows that a filter of jq picks.
worst() {
	"$HESHARE" model --check boards --tests --physics "$1" --json |
		jq -r "[.[] | select($2)] | \"\(map(.median_error) | max) \(map(.p90_error) | max)\""
}

below() {
	awk -v have="$1" -v least="$2" 'BEGIN { exit !(have < least) }'
}

@test "a board's parameters are found again from the part to fit, to 2 % in the median on the part held back" {
	mkdir boards
	"$HES_MEASURED_BOARD" "$physics" H100-SXM boards/made-up
	run -0 --separate-stderr "$HES_CALIBRATE" --tests "$physics" boards
	printf '%s\n' "$output" >fitted.yaml
	[[ "$stderr" == *"made-up, of type H100-SXM"* ]]
	read -r median _ <<<"$(worst "$physics" '.what == "time alone" and .part == "held back"')"
	below 0.2 "$median"
	for what in "time alone" "board power alone" "slowdown of pairs" "board power of pairs" "time of three and more" \
		"board power of three and more"; do
		read -r median p90 <<<"$(worst fitted.yaml ".what == \"$what\" and .part == \"held back\"")"
		below "$median" 0.02
		below "$p90" 0.05
	done
}

@test "what is fitted says on which board, the rest of the parameters stays" {
	mkdir boards
	"$HES_MEASURED_BOARD" "$physics" H100-SXM boards/made-up 0
	"$HES_CALIBRATE" --tests "$physics" boards >fitted.yaml 2>log
	[ "$(grep -A1 'type: H100-SXM$' fitted.yaml | tail -1)" = "    origin: made-up" ]
	[ "$(grep -A2 'name: resnet18$' fitted.yaml | tail -1)" = "    origin: made-up" ]
	[ "$(grep -A2 'name: resnet50-fp16$' fitted.yaml | tail -1)" = "    origin: made-up" ]
	[ "$(grep -A20 'name: resnet50$' fitted.yaml)" = "$(grep -A20 'name: resnet50$' "$physics")" ]
	! grep -q 'name: resnet101-fp16' fitted.yaml
	"$HESHARE" model --check boards --tests --physics fitted.yaml >table
	grep -q '^made-up  *time alone  *378 .* fitted$' table
	grep -q '^made-up  *time alone, held back  *162 .* held back$' table
	"$HES_CALIBRATE" --tests fitted.yaml boards >again.yaml 2>log
	[ "$(grep -c 'origin: made-up' again.yaml)" -eq "$(grep -c 'origin: made-up' fitted.yaml)" ]
}

@test "what is held back changes no parameter" {
	mkdir boards
	"$HES_MEASURED_BOARD" "$physics" H100-SXM boards/made-up
	"$HES_CALIBRATE" --tests "$physics" boards >fitted.yaml 2>log
	awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		NR > 1 && $at["sm_share_pct"] == 60 { $at["iteration_us"] *= 3; $at["power_mw"] *= 2 }
		{ print }' boards/made-up/solo.csv >changed
	! cmp -s changed boards/made-up/solo.csv
	mv changed boards/made-up/solo.csv
	rm boards/made-up/groups.csv
	"$HES_CALIBRATE" --tests "$physics" boards >again.yaml 2>log
	cmp fitted.yaml again.yaml
}

@test "a test is no measurement: without --tests it is refused" {
	mkdir boards
	"$HES_MEASURED_BOARD" "$physics" H100-SXM boards/made-up
	run -1 --separate-stderr "$HES_CALIBRATE" "$physics" boards
	[[ "$stderr" == *"boards/made-up/board.json: test: true, so this is a recording and no measured board"* ]]
	[ -z "$output" ]
	run -2 "$HES_CALIBRATE" "$physics"
}
