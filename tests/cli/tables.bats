#!/usr/bin/env bats
# heshare train --csv, predict --csv

# 600 rows: y is a smooth function of a and b, z a step of c; d is nothing; every 7th a is missing.
rows() { # SEED
	awk -v seed="$1" 'BEGIN {
		srand(seed)
		print "a,y,b,\"c,2\",d,z"
		for (i = 0; i < 600; i++) {
			a = rand(); b = rand(); c = int(rand() * 4); d = rand()
			y = 10 + 5 * a + 3 * b * b
			gone = i % 21
			told = sprintf("%.6f", a)
			if (gone % 7 == 0) told = gone == 0 ? "" : gone == 7 ? "NA" : "nan"
			printf "%s,%.6f,%.6f,%d,%.6f,%.6f\n", told, y, b, c, d, (c > 1 ? 7 + 0.01 * d : 3)
		}
	}'
}

setup_file() {
	export DIR="$BATS_FILE_TMPDIR"
	rows 1 >"$DIR/fit.csv"
	rows 2 >"$DIR/test.csv"
	gzip -k "$DIR/test.csv"
}

train() { "$HESHARE" train --csv "$DIR/fit.csv" --target y,z "$@"; }

# FILE EXPRESSION: the document in FILE is one of `heshare train --csv`, and EXPRESSION holds
schema='.model and (.threads >= 1) and (.rows | .fit > 0 and .test > 0) and (.fit_s > 0) and (.fit_cpu_s > 0) and
	(.targets | keys == ["y", "z"] and all(.[]; .mae > 0 and .r2 <= 1 and .abs_error_pct > 0 and .rel_error_pct > 0)) and
	(.predict | .one_row_us > 0 and .rows_per_s > 0)'

@test "every model learns a table, missing values and all, and tells it in JSON" {
	for model in rf et gbdt tree linear; do
		run train --model $model --test "$DIR/test.csv" --json --threads 1
		[ "$status" -eq 0 ]
		jq -e "$schema" <<<"$output"
		jq -e ".model == \"$model\" and .threads == 1 and .rows == {fit: 600, test: 600} and .features == 4" <<<"$output"
	done
}

@test "forests and boosting find what there is to find" {
	for model in rf et gbdt; do
		run train --model $model --test "$DIR/test.csv" --json
		jq -e '.targets.y.r2 > 0.7 and .targets.z.r2 > 0.99 and .targets.z.mae < 0.1' <<<"$output"
	done
}

@test "the errors in JSON are those of the predictions that are written" {
	train --model gbdt --test "$DIR/test.csv" --json -o "$DIR/model" >"$DIR/told.json"
	"$HESHARE" predict --model "$DIR/model" --csv "$DIR/test.csv" -o "$DIR/predicted.csv"
	[ "$(head -1 "$DIR/predicted.csv")" = "y,z" ]
	cut -d, -f1 "$DIR/predicted.csv" | paste -d, - <(cut -d, -f2 "$DIR/test.csv") |
		awk -F, 'NR > 1 { off = $1 - $2; off = off < 0 ? -off : off; sum += off; rel += off / $2; all += $2; n++ }
			END { printf "%.9f %.9f %.9f\n", sum / n, 100 * sum / all, 100 * rel / n }' >"$DIR/errors"
	read -r mae abs rel <"$DIR/errors"
	jq -e --argjson mae "$mae" --argjson abs "$abs" --argjson rel "$rel" \
		'def near(a; b): (a - b | fabs) < 1e-6 * b; .targets.y |
		near(.mae; $mae) and near(.abs_error_pct; $abs) and near(.rel_error_pct; $rel)' "$DIR/told.json"
}

@test "a model file tells what it was fitted on, units and errors" {
	train --model gbdt --test "$DIR/test.csv" --units ms,W --json -o "$DIR/model" >"$DIR/told.json"
	jq -e '.targets.y.unit == "ms" and .targets.z.unit == "W"' "$DIR/told.json"
	run "$HESHARE" predict --model "$DIR/model" --json
	[ "$status" -eq 0 ]
	jq -e --slurpfile told "$DIR/told.json" '.rows == 600 and (.rows_crc | test("^[0-9a-f]{8}$")) and .model == "gbdt"
		and .features == ["a", "b", "c,2", "d"] and [.outputs[].unit] == ["ms", "W"] and (.outputs[0].errors |
		.rows == 600 and .mae == $told[0].targets.y.mae and .rel_error_pct == $told[0].targets.y.rel_error_pct)' <<<"$output"
	run "$HESHARE" predict --model "$DIR/model"
	[[ "$output" == *"z, W: on 600 rows held back off by "* ]]
	train --validate 0 --trees 2 --seed 18446744073709551615 -o "$DIR/model" >/dev/null
	"$HESHARE" predict --model "$DIR/model" --json | jq -e '.seed == "18446744073709551615" and .outputs[0] == {name: "y", unit: "", errors: null}'
	for wrong in ms ms,W,J "ms,a unit that is a sentence"; do
		run train --units "$wrong" --trees 2 -o "$DIR/none"
		[ "$status" -eq 1 ]
		[[ "$output" == *"--units: "* ]]
	done
	[ ! -e "$DIR/none" ]
}

@test "units that do not fit the targets are refused before anything is read, which was once after the fit" {
	run "$HESHARE" train --csv nosuch.csv --target y,z --units ms
	[ "$status" -eq 1 ]
	[[ "$output" == *"--units: 1 for 2 targets" ]]
	run "$HESHARE" train --csv nosuch.csv --target y,z --units ms,W,J
	[[ "$output" == *"--units: 3 for 2 targets" ]]
	run "$HESHARE" train --csv nosuch.csv --target y,z --units "ms,a unit that is a sentence"
	[[ "$output" == *"--units: unit "* ]]
}

@test "a gzip file is the same table" {
	train --model rf --trees 10 --test "$DIR/test.csv" --json | jq -eS .targets >"$DIR/plain"
	train --model rf --trees 10 --test "$DIR/test.csv.gz" --json | jq -eS .targets >"$DIR/gzip"
	[ -s "$DIR/plain" ]
	cmp "$DIR/plain" "$DIR/gzip"
}

@test "columns of the other file are found by name, in any order, with others among them" {
	awk -F, -v OFS=, '{ print "x" NR, $6, $5, $4, $3, $2, $1 }' "$DIR/test.csv" |
		sed '1s/.*/id,z,d,"c,2",b,y,a/' >"$DIR/turned.csv"
	train --test "$DIR/test.csv" --trees 10 --json | jq -eS .targets >"$DIR/plain"
	train --test "$DIR/turned.csv" --trees 10 --json | jq -eS .targets >"$DIR/turned"
	[ -s "$DIR/plain" ]
	cmp "$DIR/plain" "$DIR/turned"
}

@test "without a second file a part of the rows is kept back" {
	run train --json --trees 5
	jq -e '.rows == {fit: 450, test: 150}' <<<"$output"
	run train --json --trees 5 --validate 10
	jq -e '.rows == {fit: 540, test: 60}' <<<"$output"
	run train --json --trees 5 --validate 0
	jq -e '.rows == {fit: 600, test: 0} and (has("targets") | not) and (has("predict") | not)' <<<"$output"
}

@test "threads do not change what is learnt, seeds do" {
	for model in rf et gbdt; do
		train --model $model --trees 20 --threads 1 -o "$DIR/one" >/dev/null
		train --model $model --trees 20 --threads 3 -o "$DIR/three" >/dev/null
		train --model $model --trees 20 --seed 2 -o "$DIR/other" >/dev/null
		cmp "$DIR/one" "$DIR/three"
		! cmp -s "$DIR/one" "$DIR/other"
	done
}

@test "joint trees answer for all targets, say so in their file, and go out as LightGBM's text" {
	for model in rf et tree; do
		train --model $model --joint --trees 20 --test "$DIR/test.csv" --json -o "$DIR/joint" >"$DIR/told.json"
		jq -e ".joint and .trees_total == .trees and .targets.y.r2 > 0.4 and .targets.z.r2 > 0.9" "$DIR/told.json"
		[ "$(head -1 "$DIR/joint")" = "heshare regressor 2" ]
		"$HESHARE" predict --model "$DIR/joint" --json | jq -e .joint
	done
	run "$HESHARE" predict --model "$DIR/joint"
	[[ "$output" == "tree: 1 joint tree with "* ]]
	train --joint --trees 3 --validate 0 -o "$DIR/joint" --export-lightgbm "$DIR/lgb" >/dev/null
	"$HESHARE" predict --model "$DIR/joint" --csv "$DIR/test.csv" -o "$DIR/ours"
	"$HESHARE" predict --model "$DIR/lgb.y.txt,$DIR/lgb.z.txt" --csv "$DIR/test.csv" -o "$DIR/theirs"
	paste -d, "$DIR/ours" "$DIR/theirs" | awk -F, 'NR > 1 && ($1 - $3) ^ 2 + ($2 - $4) ^ 2 > 1e-8 { bad = 1 } END { exit bad }'
	jq -e '.joint == false' <(train --trees 3 --json)
}

@test "joint trees are of forests and single trees, by squared error, of tables" {
	run train --joint --model gbdt
	[ "$status" -eq 1 ]
	[[ "$output" == *"boosting has no joint trees; random forests, extra trees and single trees can" ]]
	run train --joint --criterion mae
	[ "$status" -eq 1 ]
	[[ "$output" == *"joint trees make squared error small, not absolute error" ]]
	run "$HESHARE" train samples.csv --joint
	[ "$status" -eq 2 ]
	[[ "$output" == "heshare train: --joint is of --csv; "* ]]
}

@test "options of learning reach it" {
	run train --model rf --trees 7 --json
	jq -e '.trees == 7 and .trees_total == 14' <<<"$output"
	run train --model gbdt --trees 50 --leaves 4 --learning-rate 0.3 --row-part 50 --column-part 75 --json
	jq -e '.trees == 50 and .nodes <= 2 * 50 * 7' <<<"$output"
	run train --model gbdt --trees 2000 --learning-rate 0.3 --stop 20 --patience 5 --json
	jq -e '.trees_total < 2000' <<<"$output"
	run train --model tree --max-depth 1 --json
	jq -e '.nodes == 6' <<<"$output"
	run train --model rf --criterion mae --trees 5 --json
	jq -e '.criterion == "mae" and .targets.y.r2 > 0.5' <<<"$output"
}

@test "text for people tells the same" {
	run train --test "$DIR/test.csv"
	[ "$status" -eq 0 ]
	[[ "$output" == *"fitted on 600 rows of 4 features"* ]]
	[[ "$output" == *"mean error"* ]]
	[[ "$output" == *"rows/s"* ]]
}

@test "an error relative to 0 is null in JSON and a dash in text" {
	printf 'x,y\n1,0\n2,0\n3,1\n4,-1\n' >"$DIR/zero.csv"
	run "$HESHARE" train --csv "$DIR/zero.csv" --test "$DIR/zero.csv" --target y --trees 5 --json
	[ "$status" -eq 0 ]
	jq -e '.targets.y | .rel_error_pct == null and .abs_error_pct == null and .mae >= 0' <<<"$output"
	run "$HESHARE" train --csv "$DIR/zero.csv" --test "$DIR/zero.csv" --target y --trees 5
	[[ "$output" == *" - "*"-"* ]]
}

@test "ignored columns may hold anything and are no features" {
	sed 's/^/job-7,/; 1s/job-7/id/' "$DIR/fit.csv" >"$DIR/named.csv"
	run "$HESHARE" train --csv "$DIR/named.csv" --target y --ignore id,z --trees 5 --json
	[ "$status" -eq 0 ]
	jq -e '.features == 4 and (.targets | keys == ["y"])' <<<"$output"
	run "$HESHARE" train --csv "$DIR/named.csv" --target y,z --trees 5
	[ "$status" -eq 1 ]
	[[ "$output" == *'named.csv:2: id: "job-7" is not a number'* ]]
}

@test "a missing target is refused with file, line and column" {
	sed '5s/^\([^,]*\),[^,]*/\1,NA/' "$DIR/fit.csv" >"$DIR/gap.csv"
	run "$HESHARE" train --csv "$DIR/gap.csv" --target y,z -o "$DIR/never"
	[ "$status" -eq 1 ]
	[[ "$output" == *'gap.csv:5: y: "NA" is a missing value'* ]]
	run train --test "$DIR/gap.csv" -o "$DIR/never"
	[ "$status" -eq 1 ]
	[[ "$output" == *'gap.csv:5: y:'* ]]
	[ ! -e "$DIR/never" ]
}

@test "columns that are not there, no rows and no features get a sentence" {
	run "$HESHARE" train --csv "$DIR/fit.csv" --target y,q
	[ "$status" -eq 1 ]
	[[ "$output" == *'fit.csv:1: no column "q"; there are: a, y, b'* ]]
	run "$HESHARE" train --csv "$DIR/fit.csv" --target y,y
	[ "$status" -eq 1 ]
	[[ "$output" == *'--target: "y" is named twice'* ]]
	run "$HESHARE" train --csv "$DIR/fit.csv" --target y --ignore y
	[ "$status" -eq 1 ]
	[[ "$output" == *'--ignore: "y" is a target'* ]]
	printf 'x,y\n' >"$DIR/empty.csv"
	run "$HESHARE" train --csv "$DIR/empty.csv" --target y
	[ "$status" -eq 1 ]
	[[ "$output" == *"empty.csv: 0 rows"* ]]
	printf 'y\n1\n2\n' >"$DIR/bare.csv"
	run "$HESHARE" train --csv "$DIR/bare.csv" --target y
	[ "$status" -eq 1 ]
	[[ "$output" == *"0 columns are left as features"* ]]
	cut -d, -f2- "$DIR/test.csv" >"$DIR/short.csv"
	run train --test "$DIR/short.csv"
	[ "$status" -eq 1 ]
	[[ "$output" == *'short.csv:1: no column "a"'* ]]
	run train --test "$DIR/nonesuch.csv"
	[ "$status" -eq 1 ]
	[[ "$output" == *"nonesuch.csv: No such file"* ]]
}

@test "options that do not go together are wrong usage" {
	for wrong in "--target y" "--csv $DIR/fit.csv" "--csv $DIR/fit.csv --target y $DIR" \
		"--csv $DIR/fit.csv --target y --left-out" "$DIR --model gbdt --target y" \
		"$DIR --stop 10" "$DIR --patience 5" "--csv $DIR/fit.csv --target y --recipe plain" "--csv $DIR/fit.csv --model svr"; do
		run "$HESHARE" train $wrong
		[ "$status" -eq 2 ]
		[[ "$output" == "heshare train: "* ]]
	done
	for wrong in "" "--csv $DIR/fit.csv" "resnet50 --csv $DIR/fit.csv --model m" "resnet50 --model m" \
		"--csv $DIR/fit.csv --model m --json -o x"; do
		run "$HESHARE" predict $wrong
		[ "$status" -eq 2 ]
		[[ "$output" == "heshare predict: "* ]]
	done
}

@test "predict answers every row, as CSV and JSON, whatever the threads" {
	train --model et --trees 20 -o "$DIR/model" >/dev/null
	"$HESHARE" predict --model "$DIR/model" --csv "$DIR/test.csv.gz" --threads 1 >"$DIR/p1"
	"$HESHARE" predict --model "$DIR/model" --csv "$DIR/test.csv" --threads 3 >"$DIR/p3"
	cmp "$DIR/p1" "$DIR/p3"
	[ "$(wc -l <"$DIR/p1")" -eq 601 ]
	"$HESHARE" predict --model "$DIR/model" --csv "$DIR/test.csv" --json >"$DIR/p.json"
	jq -e '.rows == 600 and (.predicted | keys == ["y", "z"] and all(.[]; length == 600))' "$DIR/p.json"
	[ "$(jq '.predicted.z[6] * 1000 | round' "$DIR/p.json")" = \
		"$(awk -F, 'NR == 8 { printf "%.0f", $2 * 1000 }' "$DIR/p1")" ]
}

@test "predict refuses rows without a feature, and files that are no models" {
	train --model rf --trees 5 -o "$DIR/model" >/dev/null
	cut -d, -f1-3 "$DIR/test.csv" >"$DIR/few.csv"
	run "$HESHARE" predict --model "$DIR/model" --csv "$DIR/few.csv"
	[ "$status" -eq 1 ]
	[[ "$output" == *'few.csv:1: no column "c,2"; there are: a, y, b'* ]]
	run "$HESHARE" predict --model "$DIR/test.csv" --csv "$DIR/test.csv"
	[ "$status" -eq 1 ]
	[[ "$output" == *"test.csv: "* ]]
	head -c 200 "$DIR/model" >"$DIR/cut"
	run "$HESHARE" predict --model "$DIR/cut" --csv "$DIR/test.csv" -o "$DIR/never"
	[ "$status" -eq 1 ]
	[[ "$output" == *"cut: "* ]]
	[ ! -e "$DIR/never" ]
}

@test "LightGBM's text models go out and come in" {
	train --model gbdt --trees 20 -o "$DIR/model" --export-lightgbm "$DIR/lgb" >/dev/null
	head -1 "$DIR/lgb.y.txt" | grep -qx tree
	"$HESHARE" predict --model "$DIR/model" --csv "$DIR/test.csv" | tail -n +2 >"$DIR/ours"
	"$HESHARE" predict --model "$DIR/lgb.y.txt,$DIR/lgb.z.txt" --csv "$DIR/test.csv" | tail -n +2 >"$DIR/theirs"
	[ "$(wc -l <"$DIR/theirs")" -eq 600 ]
	paste -d, "$DIR/ours" "$DIR/theirs" |
		awk -F, '{ a = $1 - $3; b = $2 - $4; if (a * a > 1e-10 || b * b > 1e-10) exit 1 }'
	run "$HESHARE" predict --model "$DIR/lgb.y.txt,$DIR/model" --csv "$DIR/test.csv"
	[ "$status" -eq 1 ]
}

@test "features of samples go out as a table that can be learnt" {
	"$HESHARE" profile --modelled --samples 200 -o "$DIR/lab" 2>/dev/null
	"$HESHARE" train "$DIR/lab" --trees 5 --features-csv "$DIR/features.csv" >/dev/null
	[ "$(wc -l <"$DIR/features.csv")" -eq 201 ]
	head -1 "$DIR/features.csv" | grep -q '^task_sm_util,.*,time_us,power_w,baseline_time_us,baseline_power_w$'
	"$HESHARE" train "$DIR/lab" --trees 5 --recipe table-ii --features-csv "$DIR/table-ii.csv" >/dev/null
	[ "$(head -1 "$DIR/table-ii.csv" | tr , '\n' | wc -l)" -eq 18 ]
	run "$HESHARE" train --csv "$DIR/features.csv" --target time_us,power_w --model gbdt --json
	[ "$status" -eq 0 ]
	jq -e '.rows.fit == 150 and .targets.power_w.r2 > 0.9' <<<"$output"
}
