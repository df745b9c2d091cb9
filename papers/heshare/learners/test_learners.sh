#!/bin/sh
# test_learners.sh LEARNERS - every learner fits a table with missing values and predicts other
# rows.
set -eu
learners=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

rows() { # SEED: y is a smooth function of a and b; every seventh a is missing
	awk -v seed="$1" 'BEGIN {
		srand(seed)
		print "a,y,b,z"
		for (i = 0; i < 600; i++) {
			a = rand(); b = rand()
			printf "%s,%.6f,%.6f,%d\n", i % 7 ? sprintf("%.6f", a) : "", 10 + 5 * a + 3 * b * b, b, (b > 0.5 ? 7 : 3)
		}
	}'
}

rows 1 >"$dir/fit.csv"
rows 2 >"$dir/test.csv"
for model in rf et gbdt tree linear; do
	"$learners" "$dir/fit.csv" --target y,z --test "$dir/test.csv" --model "$model" -o \
		"$dir/out.csv" >"$dir/$model.json"
	[ "$(wc -l <"$dir/out.csv")" -eq 601 ]
	[ "$(head -1 "$dir/out.csv")" = y,z ]
	jq -e ".model == \"$model\" and .rows == {fit: 600, test: 600} and .targets.y.r2 > 0.5 and .targets.z.r2 > 0.5" \
		"$dir/$model.json" >/dev/null || { echo "$model: wrong figures" >&2
		cat "$dir/$model.json" >&2; exit 1; }
done
! "$learners" "$dir/fit.csv" --target nobody >/dev/null 2>&1
! "$learners" "$dir/fit.csv" >/dev/null 2>&1
