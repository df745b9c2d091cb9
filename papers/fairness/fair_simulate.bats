#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# The program fair_simulate.

setup() {
	tenants=$BATS_TEST_TMPDIR/tenants.csv
	cat >"$tenants" <<-EOT
		name,power_w,request_ms,clock_mhz
		resnet50,4.261,57.005,1300.5
		mobilenet,0.81,5,726.75
	EOT
}

simulate() {
	"$FAIR_SIMULATE" "$@"
}

table() { # LINE...: a tenants file of these lines
	printf '%s\n' "$@" >"$tenants"
}

@test "the table of README.md" {
	run -0 simulate "$tenants" --phi 0.7 --duration 60
	[ "${lines[0]}" = "60 s, intervals of 200 quanta of 1 ms, policy etf, phi 0.7" ]
	[ "$(awk '$1 == "resnet50"' <<<"$output" | tr -s ' ')" = "resnet50 1300.5 4.261 1 21.000 35.0 89.48 73.9 368 6.133 1 162.6 187" ]
	[ "$(awk '$1 == "mobilenet"' <<<"$output" | tr -s ' ')" = "mobilenet 726.75 0.81 1 39.000 65.0 31.59 26.1 7800 130 1 7.692 75" ]
	[[ "$output" == *"idle: 0.000 s"* ]]
	[[ "$output" == *"fairness: time 0.538, energy 0.353, system 0.353 (1 is even)"* ]]
	[[ "$output" == *"energy can be equal up to phi 0.319"* ]]
}

@test "the paper's example: 14, 9 and 7 s of 30" {
	table name,power_w A,2 B,3 C,8
	simulate "$tenants" --interval 30s --quantum 1s --duration 30 --json \
		>"$BATS_TEST_TMPDIR/out"
	jq -e '[.tenants[].time_s] == [14, 9, 7] and [.tenants[].energy_j] == [28, 27, 56] and .idle_s == 0' "$BATS_TEST_TMPDIR/out"
	jq -e '.time_fairness == 0.5 and (.energy_fairness - 27 / 56 | fabs) < 1e-9 and .phi == 0.7 and .interval == 30' "$BATS_TEST_TMPDIR/out"
	jq -e '.tenants[0] | has("requests") or has("clock_mhz") | not' "$BATS_TEST_TMPDIR/out"
}

@test "policies: time gives equal time, energy equal energy; phi is null there" {
	simulate "$tenants" --policy time --json | jq -e \
		'.tenants[0].time_share == 0.5 and .phi == null'
	simulate "$tenants" --policy energy --json |
		jq -e '.energy_fairness > 0.99 and .time_fairness < 0.2'
}

@test "a rate, an arrival and a departure" {
	table name,power_w,request_ms,rate_per_s,arrival_s,departure_s a,5,20,10,, b,5,,,2,4
	simulate "$tenants" --json >"$BATS_TEST_TMPDIR/out"
	jq -e '.duration_s == 4 and .tenants[0].requests == 40 and .tenants[1].present_s == 2' \
		"$BATS_TEST_TMPDIR/out"
	jq -e '.tenants[0].time_s == 0.8 and (.tenants[1].time_s - 1.6 | fabs) < 0.03' \
		"$BATS_TEST_TMPDIR/out"
}

@test "random requests: a seed fixes them" {
	table name,power_w,request_ms,rate_per_s,spacing a,5,20,10,random
	[ "$(simulate "$tenants" --json)" = "$(simulate "$tenants" --json --seed 1)" ]
	[ "$(simulate "$tenants" --json)" != "$(simulate "$tenants" --json --seed 2)" ]
}

@test "a sweep over phi: a run each, and where system fairness is highest" {
	simulate "$tenants" --sweep 0:1:0.1 --csv "$BATS_TEST_TMPDIR/phi.csv" \
		>"$BATS_TEST_TMPDIR/out"
	grep -q "^system fairness is highest at phi 0.6: 0.429" "$BATS_TEST_TMPDIR/out"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/phi.csv")" = 23 ]
	head -1 "$BATS_TEST_TMPDIR/phi.csv" | grep -q '^phi,tenant,time_share,energy_share,time_s,energy_j,requests,requests_per_s,mean_latency_ms,time_fairness,energy_fairness,system_fairness$'
	simulate "$tenants" --sweep 0:1:0.1 --json |
		jq -e '[.runs[].phi] | length == 11 and .[0] == 0 and .[10] == 1'
	simulate "$tenants" --sweep 0.5:0.5:1 --json | jq -e '.runs | length == 1'
}

@test "shares over time: CSV and JSON" {
	simulate "$tenants" --duration 10 --every 1 --csv "$BATS_TEST_TMPDIR/time.csv" --json \
		>"$BATS_TEST_TMPDIR/out"
	jq -e '.series | length == 10 and .[9].until_s == 10 and (.[3].time_share | add) == 1' \
		"$BATS_TEST_TMPDIR/out"
	[ "$(head -1 "$BATS_TEST_TMPDIR/time.csv")" = until_s,tenant,time_share,energy_share ]
	[ "$(wc -l <"$BATS_TEST_TMPDIR/time.csv")" = 21 ]
}

@test "pictures: over time and over phi; a name cannot be a command" {
	command -v gnuplot || skip "no gnuplot"
	cd "$BATS_TEST_TMPDIR"
	table name,power_w "\"'; system(\"\"touch owned\"\") #<b>\",5" b,2
	simulate "$tenants" --figure "$BATS_TEST_TMPDIR/time.svg" >/dev/null
	simulate "$tenants" --sweep 0:1:0.2 --figure "$BATS_TEST_TMPDIR/phi.svg" >/dev/null
	grep -q '<svg' "$BATS_TEST_TMPDIR/time.svg"
	grep -q 'system fairness F_S' "$BATS_TEST_TMPDIR/phi.svg"
	grep -q '&lt;b&gt;' "$BATS_TEST_TMPDIR/phi.svg"
	[ ! -e "$BATS_TEST_TMPDIR/owned" ]
}

refused() { # STATUS SENTENCE ARGUMENT...: one line on standard error
	local status_is=$1 sentence=$2
	shift 2
	run "-$status_is" --separate-stderr "$FAIR_SIMULATE" "$@"
	[ -z "$output" ]
	[ "$stderr" = "fair_simulate: $sentence" ] || { echo "got: $stderr"; false; }
}

@test "wrong usage exits 2 with what would be right" {
	refused 2 "--sweep varies phi, which only policies etf and etf-energy read" "$tenants" --sweep 0:1:0.1 \
		--policy time
	refused 2 "--every is of one replay; it does not go with --sweep" "$tenants" --sweep \
		0:1:0.1 --every 1
	refused 2 "--figure writes an SVG file: its name must end with .svg" "$tenants" --figure \
		x.png
	refused 2 '--sweep: "0:1" is not LOW:HIGH:STEP, such as 0:1:0.1' "$tenants" --sweep 0:1
	refused 2 '--sweep: "0:1:0.5:2" is not LOW:HIGH:STEP, such as 0:1:0.1' "$tenants" \
		--sweep 0:1:0.5:2
	refused 2 "--sweep, HIGH: 2 is outside 0 to 1" "$tenants" --sweep 0:2:0.1
	refused 2 "--sweep, STEP: 0 is outside 0.001 to 1" "$tenants" --sweep 0:1:0
	refused 2 "--sweep: HIGH 0.1 is below LOW 0.5" "$tenants" --sweep 0.5:0.1:0.1
	refused 2 '--interval: "30" is no time such as 200ms, 2s or 500us' "$tenants" --interval 30
	refused 2 '--quantum: "x" is not a number' "$tenants" --quantum xms
	refused 2 "--quantum: it is at least 0.001us, and no longer than --interval" "$tenants" \
		--quantum 1s
	refused 2 "--every: 1e-06 s are more than 1000000 windows times tenants in 60 s" \
		"$tenants" --every 0.000001
}

wrong() { # SENTENCE LINE...: of a file of these lines
	local sentence=$1
	shift
	table "$@"
	refused 1 "$sentence" "$tenants"
}

@test "a wrong file is refused with its line" {
	refused 1 "$BATS_TEST_TMPDIR/none.csv: No such file or directory" \
		"$BATS_TEST_TMPDIR/none.csv"
	wrong "$tenants:1: no column is called \"wieght\"; there are name, power_w, request_ms, weight, rate_per_s, spacing, arrival_s, departure_s, piece_ms, clock_mhz" name,power_w,wieght a,5,2
	wrong "$tenants:1: column \"weight\" is there twice" name,power_w,weight,weight a,5,2,3
	wrong "$tenants: no tenant" name,power_w
	wrong "$tenants:3: power_w: 0 is outside 1e-06 to 1e+06" name,power_w a,5 b,0
	wrong "$tenants:2: power_w: \"x\" is not a number" name,power_w a,x
	wrong "$tenants:3: name: \"a\" is there already; each tenant has one row" name,power_w \
		a,5 a,6
	wrong "$tenants:2: departure_s: 2 is not after arrival_s 3" \
		name,power_w,arrival_s,departure_s a,5,3,2
	wrong "$tenants:2: rate_per_s needs request_ms: the GPU time that a request takes" \
		name,power_w,rate_per_s a,5,3
	wrong "$tenants:2: spacing: \"poisson\" is not one of even, random" name,power_w,spacing \
		a,5,poisson
	wrong "$tenants:2: spacing needs rate_per_s; a tenant without a rate always has work" \
		name,power_w,spacing a,5,random
	wrong "$tenants:2: piece_ms: 9 is longer than request_ms 5" \
		name,power_w,request_ms,piece_ms a,5,5,9
}
