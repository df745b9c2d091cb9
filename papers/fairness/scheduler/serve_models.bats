#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# serve_models: three models in one process. How fast they are is not checked.

tenants() {
	grep -cE '^(mobilenetv2|resnet50|bert-large) +[0-9]+ +1 +[0-9.]+ +[0-9.]+ ' <<<"$output"
}

@test "each model has its row, under each policy, on the CPU" {
	run -0 --separate-stderr "$SERVE_MODELS" --seconds 0.3
	[ "$(tenants)" -eq 12 ]
	[ "$(grep -c '^policy ' <<<"$output")" -eq 4 ]
	[ "$(grep -c '^fairness: time F_T [01].[0-9]*, energy F_E ' <<<"$output")" -eq 4 ]
}

@test "slices are those of heshare fair slices" {
	run -0 --separate-stderr "$SERVE_MODELS" --seconds 0.3 --policy etf --phi 0.6 --clients 2
	local slices
	slices=$(awk '/^(mobilenetv2|resnet50|bert-large) / { printf "%g ", $4 }' <<<"$output")
	run -0 --separate-stderr "$HESHARE" fair slices --interval 60 --phi 0.6 --power \
		110,190,330 --json
	[ "$slices" = "$(jq -r '.slices | map("\(.) ") | add' <<<"$output")" ]
}

@test "models are kernels in the lab" {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	unset LD_LIBRARY_PATH
	run -0 --separate-stderr "$HES_LAB" --speed 1 -- "$SERVE_MODELS" --seconds 0.5 --policy \
		energy --cuda
	[[ $output == *"on a virtual GPU of the lab"* ]]
	[ "$(tenants)" -eq 3 ]
}

@test "bad options are refused" {
	run -2 "$SERVE_MODELS" --phi 2
	run -2 "$SERVE_MODELS" --clients 0
	run -2 "$SERVE_MODELS" models
	run -1 --separate-stderr "$SERVE_MODELS" --policy best
	[[ $stderr == *'unknown policy "best"; known: time, energy, etf, etf-energy' ]]
}
