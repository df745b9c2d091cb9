#!/usr/bin/env bats
bats_require_minimum_version 1.5.0
# heshare profile, train, predict

setup_file() {
	export LAB="$BATS_FILE_TMPDIR/lab"
	"$HESHARE" profile --modelled -o "$LAB" 2>/dev/null
	"$HESHARE" train "$LAB" -o "$LAB/predictor" >/dev/null
}

@test "a folder to write is for modelled profiles" {
	run "$HESHARE" profile -o "$BATS_TEST_TMPDIR/x"
	[ "$status" -eq 2 ]
	[[ "$output" == *"-o is of --modelled"* ]]
	[ ! -e "$BATS_TEST_TMPDIR/x" ]
}

@test "the same seed gives the same files byte for byte, another seed others" {
	"$HESHARE" profile --modelled -o "$BATS_TEST_TMPDIR/a" 2>/dev/null
	"$HESHARE" profile --modelled -o "$BATS_TEST_TMPDIR/b" --seed 2 2>/dev/null
	cmp "$LAB/samples.csv" "$BATS_TEST_TMPDIR/a/samples.csv"
	cmp "$LAB/profiles.csv" "$BATS_TEST_TMPDIR/a/profiles.csv"
	! cmp -s "$LAB/samples.csv" "$BATS_TEST_TMPDIR/b/samples.csv"
	[ "$(wc -l <"$LAB/samples.csv")" -eq 1001 ]
}

@test "training with 1, 2 and 4 threads gives the same file" {
	for t in 1 2 4; do
		"$HESHARE" train "$LAB" -o "$BATS_TEST_TMPDIR/p$t" --threads $t --trees 10 \
			>/dev/null
	done
	cmp "$BATS_TEST_TMPDIR/p1" "$BATS_TEST_TMPDIR/p2"
	cmp "$BATS_TEST_TMPDIR/p1" "$BATS_TEST_TMPDIR/p4"
}

@test "train tells rows, both errors of both outputs and the cost of a prediction" {
	run "$HESHARE" train "$LAB" --json
	[ "$status" -eq 0 ]
	jq -e '.trees > 0 and .rows == {fit: 750, test: 250}' <<<"$output"
	jq -e '[.outputs.time, .outputs.power] | all(.abs_error_pct < 3.1 and .rel_error_pct < 3.91 and .r2 > 0.98 and .mae > 0)' <<<"$output"
	jq -e '.fit_s > 0 and .predict.one_row_us > 0 and .predict.rows_per_s > 0' <<<"$output"
}

@test "without profiles, train notes that it learns named co-runners by their sums" {
	"$HESHARE" train "$LAB/samples.csv" --trees 5 --validate 0 2>&1 >/dev/null |
		grep "samples.csv names co-runners, but there is no profiles.csv"
	[ -z "$("$HESHARE" train "$LAB" --trees 5 --validate 0 2>&1 >/dev/null)" ]
	awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) at = $i == "co_runners" ? i : at } { gsub(/"[^"]*"/, ""); if (NR > 1) $at = ""; print }' \
		"$LAB/samples.csv" >"$BATS_TEST_TMPDIR/nameless.csv"
	[ -z "$("$HESHARE" train "$BATS_TEST_TMPDIR/nameless.csv" --trees 5 --validate 0 2>&1 >/dev/null)" ]
}

@test "train lists every workload when each is left out" {
	run "$HESHARE" train "$LAB" --json --left-out --trees 5
	[ "$status" -eq 0 ]
	jq -e '.left_out | length == 15 and (map(.rows) | add == 1000)' <<<"$output"
	jq -e 'has("left_out_types") | not' <<<"$output"
}

@test "train lists every GPU type when each is left out" {
	run "$HESHARE" train "$LAB" --json --left-out-types --trees 5
	[ "$status" -eq 0 ]
	jq -e '.left_out_types | map(.gpu_type) == ["A100-SXM-80", "T4", "V100-SXM2-32"] and (map(.rows) | add == 1000)' <<<"$output"
	jq -e '.left_out_types | all(.outputs.time.rel_error_pct > 0)' <<<"$output"
}

@test "no validation fits on every sample" {
	run "$HESHARE" train "$LAB" --json --validate 0 --trees 5
	[ "$status" -eq 0 ]
	jq -e '.rows == {fit: 1000, test: 0} and (has("outputs") | not)' <<<"$output"
}

@test "train works from one sample on: few are all learnt from, with modelled ones, and left out in turn" {
	few() { head -$(($1 + 1)) "$LAB/samples.csv" >few.csv; }
	cd "$BATS_TEST_TMPDIR"
	few 1
	run -0 --separate-stderr "$HESHARE" train few.csv --trees 5 -o one
	[[ "$output" == *"fitted on 1 sample and, since they are few, on 1000 modelled ones that count less, in "* ]]
	[[ "$output" == *"All samples are of one co-run set: without it nothing tells the errors." ]]
	"$HESHARE" predict vgg16 -b 16 -g T4 --predictor one >/dev/null
	few 6
	run -0 --separate-stderr "$HESHARE" train few.csv --trees 5 --json
	jq -e '.rows == {fit: 6, test: 6, modelled: 1000} and .outputs.time.rel_error_pct < 10' <<<"$output"
	"$HESHARE" train few.csv --trees 5 --json --left-out --validate 0 2>/dev/null |
		jq -e '.left_out | map(.rows) | add == 6 and all(. > 0)'
	few 100
	"$HESHARE" train few.csv --trees 5 --json | jq -e '.rows == {fit: 75, test: 25}'
}

@test "a what-if with co-runners, as text and JSON" {
	run "$HESHARE" predict vgg16 -b 16 -g T4 --share 50 --co-runners resnet50:8:30,gpt2:1:20 \
		--predictor "$LAB/predictor" --profiles "$LAB/profiles.csv" --json
	[ "$status" -eq 0 ]
	jq -e '.co_runner_count == 2 and .slowdown > 1.5 and .power_w > 30 and .power_w < 80' \
		<<<"$output"
	run "$HESHARE" predict vgg16 -b 16 -g T4 --share 50 --predictor "$LAB/predictor" \
		--profiles "$LAB/profiles.csv"
	[ "$status" -eq 0 ]
	[[ "$output" == *"GPU power"* ]]
}

@test "a predictor's file tells what it was trained on and its errors on samples held back" {
	cd "$BATS_TEST_TMPDIR"
	"$HESHARE" train "$LAB" --json -o trained >trained.json
	run "$HESHARE" predict --predictor trained --json
	[ "$status" -eq 0 ]
	jq -e --slurpfile trained trained.json '.rows == 750 and .gpu_types == ["A100-SXM-80", "T4", "V100-SXM2-32"]
		and (.workloads | length) == 15 and [.outputs[] | [.name, .unit]] == [["time", "us"], ["power", "mW"]]
		and .outputs[0].errors.rows == 250 and .outputs[1].errors.rel_error_pct == $trained[0].outputs.power.rel_error_pct' <<<"$output"
	run "$HESHARE" predict --predictor trained
	[[ "$output" == *"power, mW: on 250 rows held back off by "* ]]
}

@test "a what-if needs no files" {
	run -0 --separate-stderr "$HESHARE" predict resnet50 --gpu H100-SXM --json
	jq -e '.slowdown > 0.8 and .slowdown < 1.25' <<<"$output"
}

@test "a prediction keeps to the power limit, and says that it may hold the clock" {
	at_limit=(predict resnet50 -b 32 -g T4 --share 50 --co-runners vgg16:8:50)
	run -0 --separate-stderr "$HESHARE" "${at_limit[@]}"
	[ "${lines[1]}" = "  clock            1590 MHz, or less where its power limit of 70 W holds it" ]
	"$HESHARE" "${at_limit[@]}" --json | jq -e '.power_w > 66 and .power_w <= 70'
	run -0 --separate-stderr "$HESHARE" "${at_limit[@]}" --clock 900
	[ "${lines[1]}" = "  clock            900 MHz" ]
}

@test "unknown workloads, clocks, co-runners and foreign predictors get a sentence" {
	run "$HESHARE" predict nonesuch
	[ "$status" -eq 1 ]
	[[ "$output" == *'workload "nonesuch" was never profiled'* ]]
	run "$HESHARE" predict vgg16 --clock 1531
	[ "$status" -eq 2 ]
	[[ "$output" == *"V100-SXM2-32 has no clock of 1531 MHz"* ]]
	run "$HESHARE" predict vgg16 --co-runners resnet50:8
	[ "$status" -eq 2 ]
	[[ "$output" == *"is not WORKLOAD:BATCH:SHARE"* ]]
	run "$HESHARE" predict vgg16 --predictor "$LAB/samples.csv"
	[ "$status" -eq 1 ]
	[[ "$output" == *"not a predictor file"* ]]
}

@test "a what-if comes with an interval, and within the samples with nothing else" {
	what=(resnet50 --batch 16 --share 40 --gpu A100-SXM-80 --clock 1005 --co-runners \
		bert-large:8:50 --predictor "$LAB/predictor")
	run "$HESHARE" predict "${what[@]}"
	[ "$status" -eq 0 ]
	[[ "$output" == *"90 % interval    "*" ms, "*" W"* ]]
	[[ "$output" != *extrapolated* ]]
	run "$HESHARE" predict "${what[@]}" --json
	jq -e '.interval.coverage_pct == 90 and .widening == 1 and .extrapolated == []' \
		<<<"$output"
	jq -e '.interval.iteration_low_us < .iteration_us and .iteration_us < .interval.iteration_high_us and
		.interval.power_low_w < .power_w and .power_w < .interval.power_high_w' <<<"$output"
}

@test "a GPU type or share that was never sampled is predicted, reported, and less certain" {
	run "$HESHARE" predict vgg16 --gpu L4 --predictor "$LAB/predictor"
	[ "$status" -eq 0 ]
	[[ "$output" == *"extrapolated     outside of the samples: GPU type; the interval is "*" times as wide for it"* ]]
	run "$HESHARE" predict vgg16 --gpu T4 --share 1 --predictor "$LAB/predictor" --json
	jq -e '.extrapolated == ["share"] and .widening > 1.2' <<<"$output"
}

@test "a co-runner that was never sampled is reported, and so is a workload never sampled on the type" {
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i }
		NR == 1 || ($c["workload"] != "mobilenetv2" && ($c["workload"] != "vgg16" || $c["gpu_type"] != "T4"))' \
		"$LAB/samples.csv" >"$BATS_TEST_TMPDIR/some.csv"
	"$HESHARE" train "$BATS_TEST_TMPDIR/some.csv" --trees 10 --validate 0 -o \
		"$BATS_TEST_TMPDIR/some" >/dev/null
	run "$HESHARE" predict resnet50 --share 40 --gpu T4 --co-runners mobilenetv2:8:50 \
		--predictor "$BATS_TEST_TMPDIR/some" --json
	jq -e '.extrapolated == ["unsampled co-runner"] and .widening > 1' <<<"$output"
	run "$HESHARE" predict vgg16 --share 40 --gpu T4 --co-runners resnet50:8:50 --predictor \
		"$BATS_TEST_TMPDIR/some"
	[[ "$output" == *"outside of the samples: workload on GPU type; the interval is"* ]]
	run "$HESHARE" predict vgg16 --share 40 --gpu A100-SXM-80 --co-runners resnet50:8:50 \
		--predictor "$BATS_TEST_TMPDIR/some"
	[[ "$output" != *"outside of the samples"* ]]
}

@test "train reports how many unseen samples intervals hold, at the requested coverage" {
	run "$HESHARE" train "$LAB" --json --coverage 80
	[ "$status" -eq 0 ]
	jq -e '.coverage | .stated_pct == 80 and .time_pct > 70 and .time_pct < 90 and .power_pct > 70 and .power_pct < 90 and
		.extrapolated < 10' <<<"$output"
	run "$HESHARE" train "$LAB" --coverage 20
	[ "$status" -eq 2 ]
}

@test "a failed training leaves the file that was there" {
	cp "$LAB/predictor" "$BATS_TEST_TMPDIR/p"
	head -c 3000 "$LAB/samples.csv" >"$BATS_TEST_TMPDIR/cut.csv"
	run "$HESHARE" train "$BATS_TEST_TMPDIR/cut.csv" -o "$BATS_TEST_TMPDIR/p"
	[ "$status" -eq 1 ]
	[[ "$output" == *"cut.csv:"* ]]
	cmp "$LAB/predictor" "$BATS_TEST_TMPDIR/p"
}

# Those of earlier versions were refused before they were read: their fuzzers tested nothing more.
@test "the fuzzers' seeds of a predictor and a store are of this version" {
	cd "$BATS_TEST_TMPDIR"
	python3 - "$LAB/predictor" "$HES_SOURCE_ROOT/tests/fuzz/corpus/predictor/small.body" <<-'END' >seed
		import struct, sys, zlib
		line, body = open(sys.argv[1], "rb").readline(), open(sys.argv[2], "rb").read()
		sys.stdout.buffer.write(line + struct.pack("<QI", len(body), zlib.crc32(body)) + body)
	END
	"$HESHARE" predict --predictor seed
	cp "$HES_SOURCE_ROOT/tests/fuzz/corpus/store/empty.db" store.db
	"$HESHARE" profiles list --store store.db
}
