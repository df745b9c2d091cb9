#!/usr/bin/env bats
# The programs front, every algorithm on small tables, and plan_bound.

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR"
	printf '10,4,6\n5,3,9\n2,8,1.5\n7,7,2\n' >time.csv
	printf '100,40,60\n20,90,50\n30,10,80\n70,60,90\n' >energy.csv
	printf 'energy_ref,avgC_ref\n400,40\n' >ref.csv
}

# Options that keep an algorithm short, of those that it has.
short() { # ALGORITHM GENERATIONS
	case $1 in exact | auction | joint) ;; *) echo "--generations $2" ;; esac
}

algorithms() {
	"$FRONT" time.csv energy.csv --algorithm none 2>&1 | sed 's/.* is not one of //; s/,//g'
}

@test "every algorithm finds the front of a problem small enough to enumerate" {
	# Jobs 1 to 4 on GPUs a, b, c: least energy is b a b b: 40 + 20 + 10 + 60.
	for a in $(algorithms); do
		run "$FRONT" time.csv energy.csv --ref ref.csv --algorithm "$a" $(short "$a" 50)
		[ "$status" -eq 0 ]
		jq -e --arg a "$a" '.algorithm == $a and .seed == 1 and .threads >= 1 and .wall_s >= 0 and .cpu_s >= 0 and .evaluations > 0' <<<"$output"
		jq -e '.front[0][0] == 130 and .hypervolume > 0.6 and .hypervolume < 0.7' \
			<<<"$output"
		jq -e '[.front[][0]] | . == (sort | unique)' <<<"$output"
		jq -e '[.front[][1]] | . == (sort | unique | reverse)' <<<"$output"
	done
}

large() { # ALGORITHM: more than one thread may take on
	case $1 in exact | auction | joint) ;; *) echo "--generations 3 --population 400" ;; esac
}

@test "a seed gives one front with any number of threads, another seed another" {
	awk 'BEGIN { srand(1); for (i = 0; i < 40; i++) { for (k = 0; k < 5; k++) printf "%s%.3f", k ? "," : "", 1 + 9 * rand(); print "" } }' >t.csv
	awk 'BEGIN { srand(2); for (i = 0; i < 40; i++) { for (k = 0; k < 5; k++) printf "%s%.3f", k ? "," : "", 1 + 9 * rand(); print "" } }' >e.csv
	for a in $(algorithms); do
		one=$("$FRONT" t.csv e.csv -a "$a" $(large "$a") -s 7 -t 1 | jq -c .front)
		for threads in 2 5; do
			many=$("$FRONT" t.csv e.csv -a "$a" $(large "$a") -s 7 -t $threads |
				jq -c .front)
			[ "$one" = "$many" ]
		done
		case $a in exact | auction | joint) continue ;; esac # they draw no lots
		[ "$one" != "$("$FRONT" t.csv e.csv -a "$a" $(large "$a") -s 8 | jq -c .front)" ]
	done
}

@test "gzipped tables are read; without a reference there is no hypervolume" {
	gzip -k time.csv energy.csv
	run "$FRONT" time.csv.gz energy.csv.gz --generations 5
	[ "$status" -eq 0 ]
	jq -e '.hypervolume == null and (.front | length) >= 1' <<<"$output"
}

@test "counts stand for equal columns" {
	printf '10,10,4\n5,5,3\n2,2,8\n7,7,7\n' >t.csv
	printf '9,9,4\n2,2,9\n3,3,1\n7,7,6\n' >e.csv
	cut -d, -f2- t.csv >t2.csv
	cut -d, -f2- e.csv >e2.csv
	[ "$("$FRONT" t.csv e.csv --generations 20 | jq -c .front)" = \
	  "$("$FRONT" t2.csv e2.csv --counts 2,1 --generations 20 | jq -c .front)" ]
	"$FRONT" t.csv e.csv --generations 2 | jq -e '.jobs == 4 and .gpus == 3 and .types == 2'
}

@test "exact finds one front whether equal columns are written out or counted" {
	awk 'BEGIN { srand(3); for (i = 0; i < 60; i++) { for (k = 0; k < 3; k++) printf "%s%.3f", k ? "," : "", 1 + 9 * rand(); print "" } }' >t.csv
	awk 'BEGIN { srand(4); for (i = 0; i < 60; i++) { for (k = 0; k < 3; k++) printf "%s%.3f", k ? "," : "", 1 + 9 * rand(); print "" } }' >e.csv
	awk -F, '{ print $1 "," $2 "," $1 "," $3 "," $2 "," $1 }' t.csv >t6.csv
	awk -F, '{ print $1 "," $2 "," $1 "," $3 "," $2 "," $1 }' e.csv >e6.csv
	"$FRONT" t6.csv e6.csv -a exact | jq -e '.jobs == 60 and .gpus == 6 and .types == 3'
	[ "$("$FRONT" t6.csv e6.csv -a exact | jq -c .front)" = \
	  "$("$FRONT" t.csv e.csv --counts 3,2,1 -a exact | jq -c .front)" ]
}

@test "exact stops at its tolerance, and says what no front exceeds" {
	awk 'BEGIN { srand(5); for (i = 0; i < 50; i++) { for (k = 0; k < 5; k++) printf "%s%.3f", k ? "," : "", 1 + 9 * rand(); print "" } }' >t.csv
	awk 'BEGIN { srand(6); for (i = 0; i < 50; i++) { for (k = 0; k < 5; k++) printf "%s%.3f", k ? "," : "", 1 + 9 * rand(); print "" } }' >e.csv
	printf '400,40\n' >ref.csv
	for tolerance in 0.05 0.001 -1 0; do
		"$FRONT" t.csv e.csv --ref ref.csv -a exact --tolerance $tolerance \
			>"./$tolerance.json"
		jq -e '.hypervolume > 0 and .hypervolume <= .bound' "./$tolerance.json"
	done
	jq -es '.[0].hypervolume < .[1].hypervolume and .[1].hypervolume < .[2].hypervolume and
		.[2].hypervolume <= .[3].hypervolume and .[0].bound > .[1].bound and .[1].bound > .[3].bound and
		.[0].evaluations < .[1].evaluations and .[1].evaluations < .[2].evaluations' 0.05.json 0.001.json ./-1.json 0.json
	refused 2 "--tolerance: 2 is outside -1 to 1" t.csv e.csv -a exact --tolerance 2
	refused 2 "--tolerance" t.csv e.csv -a exact --tolerance nan
}

@test "joint has all that exact has and more, and stays within the bound" {
	awk 'BEGIN { srand(7); for (i = 0; i < 50; i++) { for (k = 0; k < 5; k++) printf "%s%.3f", k ? "," : "", 1 + 9 * rand(); print "" } }' >t.csv
	awk 'BEGIN { srand(8); for (i = 0; i < 50; i++) { for (k = 0; k < 5; k++) printf "%s%.3f", k ? "," : "", 1 + 9 * rand(); print "" } }' >e.csv
	printf '400,40\n' >ref.csv
	for a in exact joint; do
		"$FRONT" t.csv e.csv --ref ref.csv -a $a >$a.json
	done
	jq -es '.[0].hypervolume < .[1].hypervolume and .[1].hypervolume <= .[1].bound and .[1].bound == .[0].bound and
		(.[0].front - .[1].front | length) == 0 and (.[1].front | length) > 3 * (.[0].front | length)' exact.json joint.json
	"$FRONT" t.csv e.csv --ref ref.csv -a joint --evaluations 5000 >less.json
	jq -es '.[0].evaluations < .[1].evaluations and .[0].hypervolume <= .[1].hypervolume' \
		less.json joint.json
}

@test "auction is near the supported front and within its own bound" {
	awk 'BEGIN { srand(9); for (i = 0; i < 80; i++) { for (k = 0; k < 8; k++) printf "%s%.3f", k ? "," : "", 1 + 9 * rand(); print "" } }' >t.csv
	awk 'BEGIN { srand(10); for (i = 0; i < 80; i++) { for (k = 0; k < 8; k++) printf "%s%.3f", k ? "," : "", 1 + 9 * rand(); print "" } }' >e.csv
	printf '600,60\n' >ref.csv
	"$FRONT" t.csv e.csv --ref ref.csv -a exact >exact.json
	"$FRONT" t.csv e.csv --ref ref.csv -a auction >auction.json
	jq -es '.[1].hypervolume <= .[0].hypervolume and .[1].hypervolume > .98 * .[0].hypervolume and
		.[1].bound >= .[0].bound and .[1].hypervolume > .98 * .[1].bound' exact.json auction.json
	"$FRONT" t.csv e.csv --ref ref.csv -a auction --weights 3 | jq -e '.evaluations <= 3'
}

@test "a job stays away from a GPU on which its fields are empty" {
	printf '10,,6\n5,3,\n' >t.csv
	printf '90,,60\n20,10,\n' >e.csv
	run "$FRONT" t.csv e.csv --generations 20
	[ "$status" -eq 0 ]
	jq -e '.front == [[70, 4.5]]' <<<"$output"
}

refused() { # STATUS TEXT ARGUMENT...
	local status_wanted=$1 text=$2
	shift 2
	run "$FRONT" "$@"
	[ "$status" -eq "$status_wanted" ]
	[[ "$output" == *"$text"* ]] || { echo "got: $output"; false; }
}

@test "bad tables are reported with file, line and column" {
	printf '1,2\n3\n' >bad.csv
	refused 1 "bad.csv:2: 1 numbers where the rows before have 2" bad.csv energy.csv
	printf '1,2,3\n3,-4,5\n' >bad.csv
	refused 1 "bad.csv:2: column 2: -4 is outside" bad.csv energy.csv
	printf '1,nan,3\n' >bad.csv
	refused 1 'bad.csv:1: column 2: "nan" is not a finite number' bad.csv energy.csv
	printf '1,2,x\n' >bad.csv
	refused 1 'bad.csv:1: column 3: "x" is not a number' bad.csv energy.csv
	: >bad.csv
	refused 1 "bad.csv: empty file" bad.csv energy.csv
	printf '1,2,3\n' >bad.csv
	refused 1 "bad.csv has 1 rows of 3 numbers, energy.csv 4 of 3" bad.csv energy.csv
	refused 1 "none.csv: No such file" none.csv energy.csv
	gzip -c time.csv | head -c 20 >cut.csv.gz
	refused 1 "cut.csv.gz: truncated gzip file" cut.csv.gz energy.csv
	printf '1,\0,3\n' >bad.csv
	refused 1 "bad.csv:1: a NUL byte" bad.csv energy.csv
}

@test "a job that can run nowhere, or has a time without an energy, is named" {
	printf '1,2\n,\n' >t.csv
	refused 1 "row 2: every field is empty" t.csv t.csv
	printf '1,2\n3,\n' >t.csv
	printf '1,2\n3,4\n' >e.csv
	refused 1 "row 2, column 2: a run time without an energy" t.csv e.csv
}

@test "a reference that is none is refused" {
	printf 'energy\n400\n' >bad.csv
	refused 1 "bad.csv: the last line is not" time.csv energy.csv --ref bad.csv
	printf '400,-1\n' >bad.csv
	refused 1 "bad.csv: average completion: -1 is outside" time.csv energy.csv --ref bad.csv
	refused 1 "none.csv" time.csv energy.csv --ref none.csv
}

@test "wrong usage exits 2 with what would be right" {
	refused 2 "--algorithm: \"none\" is not one of heshare, " time.csv energy.csv \
		--algorithm none
	refused 2 "an odd number" time.csv energy.csv --population 7
	refused 2 "\"x\" is not init, crossover, mutation or recovery" time.csv energy.csv \
		--without x
	refused 1 "--counts: give 3 numbers" time.csv energy.csv --counts 1,2
	refused 1 "--counts: give 3 numbers" time.csv energy.csv --counts 1,2,3,4
	refused 1 "--counts" time.csv energy.csv --counts 1,0,1
}

@test "evaluations are counted, those of migrating jobs too, and can be limited" {
	of() { "$FRONT" time.csv energy.csv "$@" | jq .evaluations; }
	for a in nsga2 spea2 moead; do
		[ "$(of -a $a --generations 30)" -eq 1550 ]
		[ "$(of -a $a --evaluations 1549)" -eq 1500 ]
	done
	[ "$(of --without mutation --generations 30)" -eq 1550 ]
	[ "$(of --generations 30 --mutation 1)" -eq $((1550 + 30 * 25 * 4)) ] # four jobs, in one of two offspring
	[ "$(of --evaluations 900)" -le 900 ]
}

@test "recovery goes by the usage that is given, else by the run time" {
	awk 'BEGIN { srand(1); for (i = 0; i < 40; i++) { for (k = 0; k < 2; k++) printf "%s%.3f", k ? "," : "", 1 + 9 * rand(); print "" } }' >t.csv
	awk 'BEGIN { srand(2); for (i = 0; i < 40; i++) { for (k = 0; k < 2; k++) printf "%s%.3f", k ? "," : "", 1 + 9 * rand(); print "" } }' >e.csv
	# The run time as a part of 10 s orders jobs as the run time does.
	awk -F, '{ for (k = 1; k <= 2; k++) printf "%s%.4f,0,0", (k > 1 ? "," : ""), $k / 10; print "" }' t.csv >time_as_usage.csv
	awk 'BEGIN { srand(3); for (i = 0; i < 40; i++) { for (k = 0; k < 6; k++) printf "%s%.3f", k ? "," : "", rand(); print "" } }' >usage.csv
	of() { "$FRONT" t.csv e.csv --counts 2,3 --generations 20 "$@" | jq -c .front; }
	[ "$(of --usage time_as_usage.csv)" = "$(of)" ]
	[ "$(of --usage usage.csv)" != "$(of)" ]
	[ "$(of --usage usage.csv --without recovery)" = "$(of --without recovery)" ]
	cut -d, -f1 usage.csv >fewer.csv
	refused 1 "fewer.csv: 40 rows of 1 numbers; give a row for each of the 40 jobs, with three numbers for each of the 2 columns" \
		t.csv e.csv --usage fewer.csv --counts 2,3
	sed '3s/^[^,]*//' usage.csv >missing.csv
	refused 1 "missing.csv: row 3: no usage of column 1" t.csv e.csv --usage missing.csv
	sed '3s/^[^,]*/2/' usage.csv >more.csv
	refused 1 "more.csv:3: column 1: 2 is outside" t.csv e.csv --usage more.csv
}

@test "each improvement can be left out" {
	for w in init crossover mutation recovery init,crossover,mutation; do
		run "$FRONT" time.csv energy.csv --without $w --generations 20
		[ "$status" -eq 0 ]
		jq -e '.front[0][0] == 130' <<<"$output"
	done
}

@test "plan_bound finds bounds below the plan of a jobs file" {
	printf 'name: one\nnodes: [ { name: a, gpus: [ { type: T4, count: 1 } ] } ]\n' >fleet.yaml
	awk 'BEGIN { print "id,arrival_s,workload,batch_size,iterations,memory_mib"
		for (i = 0; i < 301; i++) print "j" i "," i ",resnet50,8,200,1000" }' >many.csv
	head -n 5 many.csv >jobs.csv
	for prefer in balanced energy jct; do
		"$PLAN_BOUND" jobs.csv fleet.yaml --evaluations 2000 --prefer $prefer |
			jq -e --arg p $prefer '.prefer == $p and .jobs == 4 and .gpus == 1 and
				.least_energy_j > 0 and .least_energy_j <= .busy_energy_j and .energy_above_pct >= 0 and
				.least_avg_jct_s > 0 and .least_avg_jct_s <= .avg_jct_s and .avg_jct_above_pct >= 0'
	done
	run -1 "$PLAN_BOUND" many.csv fleet.yaml
	[ "$output" = "plan_bound: many.csv: bounds are found for at most 300 jobs, not 301" ]
}
