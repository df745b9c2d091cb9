#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# heshare fair

slices() {
	"$HESHARE" fair slices "$@"
}

@test "the paper's example: slices 14, 9, 7 and energies 28, 27, 56" {
	run -0 slices --interval 30 --phi 0.7 --power 2,3,8 --json
	jq -e '.slices == [14, 9, 7] and .energy == [28, 27, 56]' <<<"$output"
	jq -e 'keys_unsorted == ["format", "version", "slices", "energy", "time_fairness", "energy_fairness", "system_fairness", "phi_fair"]' <<<"$output"
	jq -e '.time_fairness == 0.5 and (.energy_fairness - 27 / 56 | fabs) < 1e-9 and .system_fairness == .energy_fairness' <<<"$output"
	jq -e '(.phi_fair - 3 / 8 / (1 / 2 + 1 / 3 + 1 / 8) | fabs) < 1e-9' <<<"$output"
	[[ "$(tr -d ' \n' <<<"$output")" == '{"format":"heshare-slices","version":1,"slices":[14,9,7],"energy":[28,27,56],'* ]]
}

@test "phi is 0.7 and the policy etf where nothing else is given" {
	[ "$(slices --interval 30 --power 2,3,8 --json)" = "$(slices --interval 30 --power 2,3,8 --json --phi .7 --policy etf)" ]
}

@test "policies time and energy do without phi; phi 0 is policy energy" {
	[ "$(slices --interval 30 --power 2,3,8 --policy time --phi 0.7 --json | jq -c .slices)" = '[10,10,10]' ]
	[ "$(slices --interval 30 --power 2,3,8 --policy energy --json)" = "$(slices --interval 30 --power 2,3,8 --phi 0 --json)" ]
	[ "$(slices --interval 30 --power 2,3,8 --phi 1 --json | jq -c .slices)" = '[10,10,10]' ]
}

@test "weights and demands: an empty value is the default" {
	[ "$(slices --interval 40 --power 5,5,5 --weight 2,1,1 --json | jq -c .slices)" = '[20,10,10]' ]
	[ "$(slices --interval 40 --power 5,5,5 --weight 2,, --json | jq -c .slices)" = '[20,10,10]' ]
	[ "$(slices --interval 30 --power 5,5,5 --demand 10,,5 --json | jq -c .slices)" = '[10,15,5]' ]
	[ "$(slices --interval 30 --power 5,5 --demand 1,2 --json | jq -c .slices)" = '[1,2]' ]
	slices --interval 40 --power 5,5,5 --weight 2,1,1 --json |
		jq -e '.time_fairness == 1 and .energy_fairness == 1 and .energy == [100, 50, 50]'
}

@test "a huge interval is divided to the last quantum" {
	[ "$(slices --interval 1000000000000 --power 3,7,11,250.5 --json | jq '.slices | add')" = 1000000000000 ]
}

@test "people get a table" {
	run -0 slices --interval 30 --power 2,3,8 --demand ,9,
	[ "${lines[0]}" = "30 quanta, policy etf, phi 0.7: a guaranteed part phi of equal time, then equal energy" ]
	[ "$(awk '$1 == 3' <<<"$output" | tr -s ' ')" = " 3 8 1 - 7 23.3 56 50.5" ]
	[ "$(awk '$1 == 2' <<<"$output" | tr -s ' ')" = " 2 3 1 9 9 30.0 27 24.3" ]
	[[ "$output" == *"fairness: time 0.500, energy 0.482, system 0.482 (1 is even)"* ]]
	[[ "$output" == *"energy can be equal up to phi 0.391"* ]]
	run -0 "$HESHARE" fair slices --interval 30 --phi 0.7 --power 2,3,8 --policy etf-energy
	[[ "$output" != *"energy can be equal"* ]] # that is of phi's part of equal time
}

refused() { # SENTENCE ARGUMENT...: one line on standard error, exit status 2
	local sentence=$1
	shift
	run -2 --separate-stderr "$HESHARE" fair "$@"
	[ -z "$output" ]
	[[ "$stderr" == "heshare fair"*": $sentence" ]] || { echo "got: $stderr"; false; }
}

@test "wrong usage exits 2 with what would be right" {
	refused 'nothing called "slice" (did you mean slices?); there are slices, run, serve, top, set, history' slice
	refused "missing operand; usage: heshare fair ACTION [OPERAND]..."
	refused 'unexpected "3"; usage: heshare fair slices' slices 3
	refused "--interval is missing: the number of quanta to divide" slices --power 1
	refused "--power is missing: the power of each tenant in W, such as --power 2,3,8" \
		slices --interval 5
	refused "--interval: 0 is outside 1 to 1000000000000" slices --interval 0 --power 1
	refused "--phi: 2 is outside 0 to 1" slices --interval 5 --power 1 --phi 2
	refused '--policy: "no" is not one of time, energy, etf, etf-energy' slices --interval 5 --power 1 \
		--policy no
	refused '--power, tenant 2: "" is not a number' slices --interval 5 --power 1,,3
	refused '--power, tenant 2: "x" is not a number' slices --interval 5 --power 1,x
	refused "--power, tenant 1: 0 is outside 1e-06 to 1e+06" slices --interval 5 --power 0
	refused "--weight: 1 value where --power has 2" slices --interval 5 --power 1,2 --weight 1
	refused "--weight, tenant 2: -1 is outside 1e-06 to 1e+06" slices --interval 5 --power \
		1,2 --weight 1,-1
	refused '--demand, tenant 1: "1.5" is not a whole number from 0 to 1000000000000' slices \
		--interval 5 --power 1,2 --demand 1.5,
}
