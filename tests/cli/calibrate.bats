#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# heshare-calibrate on measured GPUs. The GPUs are made up by tests/tools/measured_gpu.c: the
# physics with parameters of type and workloads moved by 10 to 60 %, and 1 % of noise on every
# reading.

setup_file() {
	cd "$BATS_FILE_TMPDIR"
	mkdir gpus
	"$HES_MEASURED_GPU" "$HES_SOURCE_ROOT/data/physics.yaml" H100-SXM gpus/first 5
	"$HES_MEASURED_GPU" "$HES_SOURCE_ROOT/data/physics.yaml" L4 gpus/second 5
	"$HES_CALIBRATE" --tests "$HES_SOURCE_ROOT/data/physics.yaml" gpus >fitted.yaml 2>log
	"$HESHARE" model --check gpus --tests --json >before.json
	"$HESHARE" model --check gpus --tests --physics fitted.yaml --json >after.json
}

setup() {
	cd "$BATS_FILE_TMPDIR"
	physics=$HES_SOURCE_ROOT/data/physics.yaml
}

error() { # FILE GPU WHAT KEY: of the part held back
	jq -e "[.[] | select(.set == \"$2\" and .what == \"$3\" and .part == \"held back\")][0].$4" "$1"
}

below() {
	awk -v have="$1" -v most="$2" 'BEGIN { exit !(have < most) }'
}

all=("time alone" "GPU power alone" "DRAM use alone" "slowdown of pairs" "GPU power of pairs" \
	"time of three and more"
	"GPU power of three and more")

@test "a GPU is found again from the part to fit: the part held back is met to 2 % in the median" {
	below 0.2 "$(error before.json first "time alone" median_error)"
	below 0.1 "$(error before.json first "GPU power alone" median_error)"
	for what in "${all[@]}"; do
		below "$(error after.json first "$what" median_error)" 0.02
		below "$(error after.json first "$what" p90_error)" 0.05
	done
}

@test "a second GPU follows from its type's parameters alone: held back is met to 4 % in the median" {
	below 0.2 "$(error before.json second "time alone" median_error)"
	for what in "${all[@]}"; do
		below "$(error after.json second "$what" median_error)" 0.04
	done
	! grep -q 'origin: second' <(sed -n '/^workloads:/,$p' fitted.yaml)
}

@test "what is fitted says on which GPU, what it is no part of stays" {
	[ "$(grep -A1 'type: H100-SXM$' fitted.yaml | tail -1)" = "    origin: first" ]
	[ "$(grep -A1 'type: L4$' fitted.yaml | tail -1)" = "    origin: second" ]
	[ "$(grep -A2 'name: vgg19-fp16$' fitted.yaml | tail -1)" = "    origin: first" ]
	for name in resnet50 vgg19-trt8 resnet101; do
		[ "$(grep -A20 "name: $name\$" fitted.yaml)" = "$(grep -A20 "name: $name\$" "$physics")" ]
	done
	! grep -q 'name: resnet101-fp16' fitted.yaml
	[ "$(jq -r '[.[] | select(.set == "first" and .what == "time alone") | .kind] | join(",")' after.json)" = "fitted,held back" ]
	[ "$(jq -r '[.[] | select(.part) | .kind] | unique | join(",")' before.json)" = "predicted" ]
}

@test "what is held back changes no parameter" {
	cp -r gpus changed
	awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		NR > 1 && $at["sm_share_pct"] == 60 { $at["iteration_us"] *= 3; $at["power_mw"] *= 2 }
		{ print }' gpus/first/solo.csv >changed/first/solo.csv
	awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		NR > 1 && $at["first_workload"] == "bert-large" && $at["second_workload"] == "gpt2" { $at["power_mw"] *= 2 }
		{ print }' gpus/first/pairs.csv >changed/first/pairs.csv
	! cmp -s gpus/first/solo.csv changed/first/solo.csv
	! cmp -s gpus/first/pairs.csv changed/first/pairs.csv
	rm changed/first/groups.csv
	"$HES_CALIBRATE" --tests "$physics" changed >again.yaml 2>log
	cmp fitted.yaml again.yaml
}

@test "a type is left out of a fit" {
	"$HES_CALIBRATE" --tests --without 'H100*' "$physics" gpus >without.yaml 2>log
	grep -A2 'first, of type H100-SXM' log | grep -q 'no data; parameters stay'
	! cmp -s fitted.yaml without.yaml
}

@test "a test is no measurement: without --tests it is refused" {
	run -1 --separate-stderr "$HES_CALIBRATE" "$physics" gpus
	[[ "$stderr" == \
		*"gpus/first/gpu.json: test: true, so this is a recording and no measured GPU"* ]]
	[ -z "$output" ]
	run -2 "$HES_CALIBRATE" "$physics"
}

@test "parameters that cannot be written are a failure" {
	run -1 bash -c '"$HES_CALIBRATE" --tests --stage none "$0" gpus >/dev/full' "$physics"
	[ "$output" = "heshare-calibrate: cannot write standard output: No space left on device" ]
}
