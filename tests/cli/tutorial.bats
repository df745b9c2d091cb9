#!/usr/bin/env bats
# docs/tutorial.md as it is typed: the commands of each part (lines indented by four spaces) end
# well, and what the part shows (boxes) is printed, in this order. A line of a box is the beginning
# of a printed line.

setup() {
	mkdir "$BATS_TEST_TMPDIR/part" "$BATS_TEST_TMPDIR/home"
	cd "$BATS_TEST_TMPDIR/part"
	ln -s "$HES_SOURCE_ROOT/examples"
	PATH=$(dirname "$HESHARE"):$PATH
	export HOME=$BATS_TEST_TMPDIR/home
}

# Lines of a part that an awk pattern finds; fences are not among them.
lines_of() {
	awk -v part="## $1" '/^## / { on = $0 == part } /^```/ { box = !box; next } on && '"$2" \
		"$HES_SOURCE_ROOT/docs/tutorial.md"
}

part() {
	lines_of "$1" '!box && sub(/^    /, "")' >../commands
	lines_of "$1" 'box' >../shown
	[ -s ../commands ]
	[ -s ../shown ]
	bash -euo pipefail ../commands >../printed 2>&1 || { cat ../printed; return 1; }
	awk 'NR == FNR { want[n++] = $0; next } at < n && index($0, want[at]) == 1 { at++ }
		END { if (at < n) { print "not printed: " want[at]; exit 1 } }' ../shown ../printed || { cat ../printed; return 1; }
}

@test "a trace of your own" {
	part "A trace of your own"
	[ "$(wc -l <jobs.csv)" -eq 45 ]
	grep -q '^joint' ../printed
	grep -q '^exclusive' ../printed
}

@test "a network and a GPU that heshare does not know" {
	part "A network and a GPU that heshare does not know"
	# Each kind of knowledge narrows what to expect.
	mapfile -t ratios < <(sed -n 's/^leafnet: expect \([0-9.]*\) to \([0-9.]*\) times the modelled time.*/\1 \2/p' ../printed |
		awk '{ print $2 / $1 }')
	[ "${#ratios[@]}" -eq 4 ]
	awk -v facts="${ratios[0]}" -v both="${ratios[1]}" \
		'BEGIN { exit !(facts > both && both > 1) }'
	# Factors are printed with two digits.
	awk -v one="${ratios[1]}" -v two="${ratios[2]}" 'BEGIN { exit !(two > .98 * one && two < 1.02 * one) }'
	grep -q leafnet jobs.csv
}

@test "a policy of your own" {
	part "A policy of your own"
	# Not predicted by hand, and no worse than first come first served.
	grep -E '^plan\.json .* - +-$' ../printed
	grep -E '^exec:shortest\.py .* -[0-9]+ ' ../printed
	jq -e '.policy == "exec:shortest.py" and .predicted.avg_jct_us > 0' predicted.json
}
