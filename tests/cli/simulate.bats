#!/usr/bin/env bats
# heshare simulate: policies and plans on the modelled fleet; JSON, CSV, table, report

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR"
	G=$HES_SOURCE_ROOT/tests/golden/data
	FLEET=(--fleet "$G/fleet.yaml")
}

# Status, then a piece of the one line on stderr.
refused() {
	local want=$1 piece=$2
	shift 2
	run "$HESHARE" simulate "$@"
	echo "status $status: $output"
	[ "$status" -eq "$want" ]
	[[ "$output" == *"$piece"* ]]
	[ "${#lines[@]}" -eq 1 ]
}

@test "JSON has a row a policy and seed with every figure" {
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p heshare:energy,random --seeds 1..2 \
		--json >out.json
	[ "$(jq -c '[.jobs, .fleet.name, (.fleet.gpus | length)]' out.json)" = '[8,"three",3]' ]
	[ "$(jq -c '[.policies[] | [.name, .prefer, .seed]]' out.json)" = \
		'[["heshare","energy",1],["heshare","energy",2],["random","",1],["random","",2]]' ]
	[ "$(jq '[.policies[] | select(.avg_jct_s > 0 and .p50_jct_s > 0 and .p95_jct_s >= .p50_jct_s and
		.makespan_s >= 900.25 and .busy_energy_j > 0 and .fleet_energy_j >= .busy_energy_j and
		.predicted.avg_jct_s > 0 and .predicted.busy_energy_j > 0 and .plan_wall_s >= 0)] | length' out.json)" -eq 4 ]
}

@test "the same input gives the same bytes on one thread and on two" {
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p heshare,morak --seeds 3,1 --json \
		--no-timing -t 1 >a.json
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p heshare,morak --seeds 3,1 --json \
		--no-timing -t 2 >b.json
	cmp a.json b.json
	[ "$(jq -c '[.policies[].seed]' a.json)" = '[3,1,3,1]' ]
	! grep -q plan_wall_s a.json
}

@test "joint replans at arrivals, or plans again from scratch" {
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p joint,random --json --no-timing -t 1 \
		>a.json
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p joint,random --json --no-timing -t 2 \
		>b.json
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p joint,random --replan --json \
		--no-timing >again.json
	cmp a.json b.json
	jq -es '.[0].policies[0].avg_jct_s != .[1].policies[0].avg_jct_s and .[0].policies[1] == .[1].policies[1] and
		.[0].policies[0].busy_energy_j < 1.5 * .[1].policies[0].busy_energy_j' a.json again.json
	refused 2 "--replan: all of these policies plan again at every arrival; those that do not: joint" "$G/jobs.csv" "${FLEET[@]}" -p heshare --replan
}

@test "replanning knows preferences, and goes on where the room for new workloads ends" {
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p joint:energy,joint:jct --json >out.json
	[ "$(jq '.policies | .[0].busy_energy_j < .[1].busy_energy_j and .[0].avg_jct_s > .[1].avg_jct_s' out.json)" = true ]
	# 70 kinds of jobs, of which the first plan knows one.
	awk 'BEGIN {
		split("mobilenetv2 resnet18 resnet34 resnet50 resnet101 vgg16 vgg19", of, " ")
		print "id,arrival_s,workload,batch_size,iterations,memory_mib"
		for (i = 0; i < 70; i++)
			printf "j%d,%d,%s,%d,500,1000\n", i, 5 * i, of[i % 7 + 1], 1 + int(i / 7)
	}' >kinds.csv
	"$HESHARE" simulate kinds.csv "${FLEET[@]}" -p joint --json >kinds.json
	[ "$(jq '.policies[0] | .makespan_s > 345 and .makespan_s < 1000 and .plan_wall_s > 0' kinds.json)" = true ]
}

@test "a plan is replayed as it is, its jobs not before they arrive" {
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --plan "$G/plan.json" --json >out.json
	[ "$(jq -c '[.policies[] | [.name, .predicted.avg_jct_s > 0]]' out.json)" = '[["plan.json",true]]' ]
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --plan "$G/plan.json" --burst --json \
		>burst.json
	# The last job starts when it arrives or when the batch before it ends, never earlier.
	[ "$(jq -s '.[0].policies[0].makespan_s >= .[1].policies[0].makespan_s' out.json burst.json)" = true ]
}

@test "a plan that starts jobs before they arrive gets a note that names the option to replay it as it is" {
	"$HESHARE" plan "$G/jobs.csv" "${FLEET[@]}" --policy pwr -o waiting.json >/dev/null
	run -0 --separate-stderr "$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --plan \
		waiting.json --json
	jq -e '.policies[0].name == "waiting.json"' <<<"$output"
	[[ "$stderr" == "heshare simulate: waiting.json starts "*" of 8 jobs before they arrive; with --burst it is played as "* ]]
	run -0 --separate-stderr "$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --plan \
		waiting.json --burst
	[ -z "$stderr" ]
}

@test "one job on one GPU is said in the singular" {
	head -2 "$G/jobs.csv" >one.csv
	printf 'name: one\nnodes:\n  - {name: n, gpus: [{type: A100-SXM-80, count: 1}]}\n' >one.yaml
	run -0 "$HESHARE" simulate one.csv --fleet one.yaml -p pwr
	[[ "${lines[0]}" == "1 job on 1 GPU (one), modelled" ]]
	run -0 "$HESHARE" plan one.csv --fleet one.yaml --policy pwr
	[[ "$output" == *$'\npwr: 1 job on 1 GPU (1 A100-SXM-80)\n'* ]]
}

@test "a plan is compared with policies, and what it names must exist" {
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --plan "$G/plan.json" -p exclusive \
		--json >out.json
	[ "$(jq -c '[.policies[].name]' out.json)" = '["exclusive","plan.json"]' ]
	head -3 "$G/jobs.csv" >few.csv
	refused 1 'no job "' few.csv "${FLEET[@]}" --plan "$G/plan.json"
	sed 's/"small"/"late"/' "$G/plan.json" >twice.json
	refused 1 'job late is planned twice' "$G/jobs.csv" "${FLEET[@]}" --plan twice.json
	sed 's/1590/1591/' "$G/plan.json" >clock.json
	refused 1 '1591 MHz' "$G/jobs.csv" "${FLEET[@]}" --plan clock.json
}

@test "all is every policy, with each of its preferences, rivals as published and at their strongest" {
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --json >out.json
	[ "$(jq -c '[.policies[] | select(.name == "heshare").prefer]' out.json)" = '["balanced","energy","jct","fleet"]' ]
	for name in random sched-only; do
		[ "$(jq --arg n "$name" '[.policies[] | select(.name == $n)] | length' out.json)" -eq 1 ]
	done
	[ "$(jq -c '[.policies[] | select(.name == "pwr").prefer]' out.json)" = '["","shared"]' ]
	for name in morak muserve batchdvfs mps-equal mps-default static static-equal cap exclusive; do
		[ "$(jq -c --arg n "$name" '[.policies[] | select(.name == $n).prefer]' out.json)" = '["","edp-sjf"]' ]
	done
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --policy all --prefer jct --json >out.json
	[ "$(jq -c '[.policies[] | select(.name == "heshare").prefer]' out.json)" = '["jct"]' ]
}

@test "policies are listed as plan lists them" {
	[ "$("$HESHARE" simulate -p list)" = "$("$HESHARE" plan --policy list)" ]
	[ "$("$HESHARE" simulate "$G/jobs.csv" --policy list)" = "$("$HESHARE" plan --policy list)" ]
	refused 2 'unknown policy "list"; known: ' "$G/jobs.csv" -p random,list
	refused 2 "missing operand; usage: heshare simulate JOBS"
}

@test "CSV has a header and a row a policy and seed, the table a line a policy" {
	run --separate-stderr "$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p \
		random,exclusive --seeds 1..3 --csv runs.csv
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ "$(wc -l <runs.csv)" -eq 7 ]
	[[ "$(head -1 runs.csv)" == policy,prefer,seed,avg_jct_s,*,predicted_avg_jct_s,predicted_busy_energy_j,plan_wall_s ]]
	[[ "$output" == *"mean over 3 seeds"* ]]
	[ "$(grep -c '^random \|^exclusive ' <<<"$output")" -eq 2 ]
	[[ "$output" != *$'\033'* ]]
}

@test "the table fits 80 columns, and the sentence below it says by how much the best policy wins" {
	head -n 26 "$HES_SOURCE_ROOT/data/traces/demo.csv" >25.csv
	"$HESHARE" simulate 25.csv --burst -p heshare,random,joint,exclusive,muserve --csv runs.csv >out.txt
	[ "$(sed -n '/^policy/,/^$/p' out.txt | awk 'length($0) > 80' | wc -l)" -eq 0 ]
	[ "$(sed -n 2p out.txt)" = "Next to a value: its difference from exclusive, in %" ]
	# What the sentence says follows from the rows.
	change() { awk -F, -v of="$1" -v to="$2" -v c="$3" \
		'{ v[$1] = $c } END { printf "%.0f %% less", 100 * (1 - v[of] / v[to]) }' \
		runs.csv; }
	[ "$(tail -1 out.txt)" = "joint:balanced: $(change joint heshare 4) average completion time and $(change joint heshare 9) fleet energy \
than heshare:balanced, the strongest other policy; $(change joint exclusive 4) and $(change joint exclusive 9) than one job per GPU (exclusive)." ]
	# One policy is compared with nothing.
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p pwr >out.txt
	run ! grep -E 'less|more|difference' out.txt
	grep -q "^pwr " out.txt
}

@test "on a terminal columns that do not fit follow below, and nothing is bold with NO_COLOR or on a dumb terminal" {
	width() { script -qec "stty cols $1; $2 $HESHARE simulate $G/jobs.csv ${FLEET[*]} -p pwr,random --wide --no-timing 2>/dev/null" /dev/null; }
	width 60 '' | tr -d '\r' >out.txt
	[ "$(grep -c '^policy ' out.txt)" -ge 3 ]
	[ "$(sed 's/\x1b\[[01]m//g' out.txt | awk 'length($0) > 60' | wc -l)" -eq 0 ]
	grep -q $'\033\[1m' out.txt
	run ! grep $'\033\[' <(width 60 NO_COLOR=1)
	run ! grep $'\033\[' <(width 60 TERM=dumb)
}

@test "energy and times in the table are those of the JSON" {
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --plan "$G/plan.json" --json >out.json
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --plan "$G/plan.json" >out.txt
	read -r _ minutes unit seconds _ <<<"$(grep ^plan.json out.txt)"
	[ "$unit" = min ]
	[ "$(jq '.policies[0].avg_jct_s | round' out.json)" -eq $((60 * minutes + seconds)) ]
	[ "$(jq '.policies[0].fleet_energy_j / 1000 | round' out.json) kJ" = "$(awk '/^plan.json/ { print $(NF - 1), $NF }' out.txt)" ]
}

@test "deadlines that passed are counted, and keep their distance in a burst" {
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib,deadline_s\n' >d.csv
	printf 'a,100,resnet50,8,1000,3000,101\nb,100,resnet50,8,1000,3000,90000\n' >>d.csv
	"$HESHARE" simulate d.csv "${FLEET[@]}" -p exclusive --json >out.json
	[ "$(jq .policies[0].deadlines_missed out.json)" -eq 1 ]
	"$HESHARE" simulate d.csv "${FLEET[@]}" -p exclusive --burst --json >out.json
	[ "$(jq .policies[0].deadlines_missed out.json)" -eq 1 ]
}

@test "the table counts missed deadlines, where any job has one" {
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib,deadline_s\n' >d.csv
	printf 'a,100,resnet50,8,1000,3000,101\nb,100,resnet50,8,1000,3000,90000\n' >>d.csv
	"$HESHARE" simulate d.csv "${FLEET[@]}" -p exclusive --no-timing >out.txt
	grep -q 'fleet energy *missed$' out.txt
	[ "$(awk '$1 == "exclusive" { print $NF }' out.txt)" = 1 ]
	COLUMNS=200 "$HESHARE" simulate d.csv "${FLEET[@]}" -p exclusive --no-timing --wide >out.txt
	grep -q 'util % *missed *JCT off %' out.txt
	[ "$(awk '$1 == "exclusive" { print $(NF - 2) }' out.txt)" = 1 ]
	"$HESHARE" simulate d.csv "${FLEET[@]}" -p random --seeds 1..2 --no-timing >out.txt
	[ "$(awk '$1 == "random" { print $NF }' out.txt)" = 1.0 ]
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p exclusive >out.txt
	grep -q '^exclusive ' out.txt
	run ! grep missed out.txt
}

@test "noise moves the outcome, not the plan; the same seed moves it the same way" {
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --plan "$G/plan.json" --json --no-timing \
		>a.json
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --plan "$G/plan.json" --time-noise 5 \
		--json --no-timing >b.json
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --plan "$G/plan.json" --time-noise 5 \
		--json --no-timing >c.json
	cmp b.json c.json
	! cmp -s a.json b.json
	[ "$(jq -c .policies[0].predicted a.json)" = "$(jq -c .policies[0].predicted b.json)" ]
}

@test "draws of the model give ranges, the same with any number of threads, and the plain table stays" {
	ARGS=("$G/jobs.csv" "${FLEET[@]}" -p heshare,morak:edp-sjf,exclusive --burst --no-timing)
	"$HESHARE" simulate "${ARGS[@]}" >plain
	"$HESHARE" simulate "${ARGS[@]}" --model-draws 3 >drawn
	head -n "$(wc -l <plain)" drawn | cmp - plain
	grep -q '^3 draws of the GPU model' drawn
	[ "$(grep -c -E '^(heshare:balanced|morak:edp-sjf|exclusive) .* to .* [0-3]$' drawn)" -eq 3 ]
	# Each draw has one best policy.
	[ "$(awk '/ to .* to /{n += $NF} END {print n}' drawn)" -eq 3 ]
	tail -1 drawn | grep -qE \
		'over the model.s uncertainty; it is the best policy in [0-3] of 3 draws\.$'
	# The reference differs from itself by 0, without a sign; so does a policy whose plans are
	# the same.
	grep -qE '^exclusive +0 +0 to +0 +0 +0 to +0 +[0-3]$' drawn
	"$HESHARE" simulate "${ARGS[@]:0:3}" -p mps-equal,exclusive --plan "$G/plan.json" \
		--model-draws 1 >one
	grep -q '^1 draw of the GPU model' one
	! grep -E -- ' [-+]0|0 % (less|more)|1 draws' one
	"$HESHARE" simulate "${ARGS[@]}" --model-draws 3 --json -t 1 >a.json
	"$HESHARE" simulate "${ARGS[@]}" --model-draws 3 --json -t 2 >b.json
	cmp a.json b.json
	[ "$(jq -c '[.model_draws | length, (.[0] | length), ([.[][0].avg_jct_s] | unique | length)]' a.json)" = '[3,3,3]' ]
	# A drawn model differs from the first by tens of percent at most.
	[ "$(jq '.policies[2].avg_jct_s as $t | [.model_draws[][2].avg_jct_s / $t | select(. > 0.5 and . < 2)] | length' a.json)" -eq 3 ]
}

@test "the second physics plays the same jobs otherwise, and only modelled profiles can come from it" {
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p exclusive --json --no-timing >first.json
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p exclusive --json --no-timing \
		--physics second >second.json
	[ "$(jq -s -c '[.[].physics]' first.json second.json)" = '[null,"second"]' ]
	[ "$(jq -s '.[0].policies[0].busy_energy_j / .[1].policies[0].busy_energy_j | . > 0.3 and . < 3 and . != 1' first.json second.json)" = true ]
	"$HESHARE" profile --modelled --physics second --samples 30 -o rows
	"$HESHARE" profile --modelled --samples 30 -o plain
	! cmp -s rows/profiles.csv plain/profiles.csv
	run -2 "$HESHARE" profile --physics second --jobs "$G/jobs.csv" -- true
	[[ "$output" == *"--physics goes with --modelled"* ]]
}

@test "the report is one file that names every policy" {
	command -v gnuplot >/dev/null || skip "no gnuplot"
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p heshare,morak --show morak --report \
		r.html >/dev/null
	grep -q '<svg' r.html
	grep -q '<p class="best">heshare:balanced: [0-9]* % less average completion time and [0-9]* % less fleet energy than morak.</p>' r.html
	grep -q '<p class="lead">morak, and how it compares</p>' r.html
	[ "$(ls)" = r.html ]
}

@test "the report has the command again, with the model that it was played on" {
	command -v gnuplot >/dev/null || skip "no gnuplot"
	echo 'workloads: []' >own.yaml
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p exclusive --physics second \
		--catalogue own.yaml --model-draws 1 --report r.html >/dev/null
	grep -q -- '--policy exclusive --physics second --catalogue own.yaml --model-draws 1' r.html
}

@test "figures are SVG files of their own, in a folder that may be there already" {
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p exclusive --figures figs >/dev/null
	[ "$(ls figs)" = "$(printf '%s\n' energy.svg front.svg gantt.svg jct.svg power.svg)" ]
	grep -q '<svg' figs/gantt.svg
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p exclusive --figures figs >/dev/null
	touch file
	refused 1 'file: cannot make this folder: a file of that name is there' "$G/jobs.csv" \
		"${FLEET[@]}" -p random --figures file
}

@test "wrong arguments get an error that names what would be right" {
	refused 2 'unknown policy "rondom"; known: ' "$G/jobs.csv" -p rondom
	refused 2 'unknown policy "rondom"; known: ' "$G/jobs.csv" -p all,rondom
	refused 2 'preference "cheap" is not one of balanced, energy, jct' "$G/jobs.csv" -p \
		heshare:cheap
	refused 2 'random has no preference' "$G/jobs.csv" -p random:jct
	refused 2 'none of these policies has a preference; those that have: heshare, heshare-tuned, joint' "$G/jobs.csv" -p random,pwr --prefer jct
	refused 2 '5..2 is not a rising range' "$G/jobs.csv" --seeds 5..2
	refused 2 '--seeds' "$G/jobs.csv" --seeds 1,x
	refused 2 '--seeds' "$G/jobs.csv" --seeds 1..100000
	refused 2 '--show: morak is not one of' "$G/jobs.csv" -p random --show morak
	refused 2 'missing operand'
	refused 2 '--time-noise' "$G/jobs.csv" --time-noise nan
	refused 1 'nowhere.csv' nowhere.csv
}

@test "GPU types and workloads that the predictor never saw are reported" {
	"$HESHARE" profile --modelled --types T4 -o known 2>/dev/null
	grep -v '^resnet50,' known/samples.csv >some.csv
	"$HESHARE" train some.csv -o predictor --trees 5 >/dev/null
	run -0 "$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p random --predictor predictor
	[ "${lines[-1]}" = \
		"extrapolated, for the predictor was never trained on them: GPU type V100-SXM2-32, A100-SXM-80; workload resnet50" ]
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p random --predictor predictor --json |
		jq -e '.never_sampled == {gpu_types: ["V100-SXM2-32", "A100-SXM-80"], workloads: ["resnet50"]}'
	run -0 "$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p random
	[[ "$output" != *extrapolated* ]]
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --plan "$G/plan.json" --json |
		jq -e '.never_sampled == null'
}

@test "a job that nothing knows or that fits nowhere is named, and no file is left" {
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\nx,0,resnet51,8,10,100\n' \
		>w.csv
	refused 1 'resnet51' w.csv "${FLEET[@]}" -p random --csv out.csv
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\nx,0,resnet50,8,10,99999\n' >m.csv
	refused 1 '99999 MiB' m.csv "${FLEET[@]}" -p random --csv out.csv
	[ ! -e out.csv ]
}

@test "neither the name of a plan's file nor its policy can speak to the terminal" {
	"$HESHARE" plan "$G/jobs.csv" "${FLEET[@]}" -p random -o plan.json >/dev/null
	jq '.policy = "a\u001b[31mb" | .prefer = "\u009b"' plan.json >$'a\e[31mb'
	run -0 "$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --plan $'a\e[31mb'
	grep -q '^a\\x1b\[31mb' <<<"$output"
	! grep -q $'\x1b\|\xc2\x9b' <<<"$output"
}

# packed PIECE TIMES [FIRST]: gzip of FIRST, then PIECE so many times
packed() {
	python3 -c 'import gzip, sys
piece, times, first = sys.argv[1].encode().decode("unicode_escape").encode(), int(sys.argv[2]), sys.argv[3].encode().decode("unicode_escape").encode()
sys.stdout.buffer.write(gzip.compress(first, 1) + gzip.compress(piece * 100000, 1) * (times // 100000))' "$1" "$2" "${3:-}"
}

@test "small files that unpack to gigabytes are refused before they take the memory" {
	packed '{},' 20000000 '{"gpus":[' >p.json.gz
	[ "$(stat -c %s p.json.gz)" -lt 1000000 ]
	refused 1 "p.json.gz: its JSON would take more than 4 GiB of memory" "$G/jobs.csv" \
		"${FLEET[@]}" --plan p.json.gz
	packed ' ' 1100000000 >p.json.gz
	refused 1 "p.json.gz: larger than 1024 MiB, unpacked" "$G/jobs.csv" "${FLEET[@]}" --plan \
		p.json.gz
	packed '\n' 200000000 'id,arrival_s,workload,batch_size,iterations,memory_mib\n' >j.csv.gz
	refused 1 "more than 100000 blank lines" j.csv.gz "${FLEET[@]}"
}

@test "a file above 2 GiB is refused as too large" {
	truncate -s 3G p.json
	refused 1 "p.json: larger than 1024 MiB, unpacked" "$G/jobs.csv" "${FLEET[@]}" --plan p.json
}

@test "static runs each GPU type at its one clock, of the catalogue or as given" {
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p static,static:edp-sjf,static-equal:edp-sjf,exclusive \
		--static-clocks T4=900,V100-SXM2-32=1005 --per-job rows.csv --json >out.json
	[ "$(jq -c .static_clocks_mhz out.json)" = '{"T4":900,"V100-SXM2-32":1005,"A100-SXM-80":1125}' ]
	[ "$(jq .power_limits_w out.json)" = null ]
	! awk -F, '$1 ~ /^static/ { print $7 "=" $11 }' rows.csv | sort -u | grep -vE '^(T4=900|V100-SXM2-32=1005|A100-SXM-80=1125)$'
	[ "$(awk -F, '$1 ~ /^static/ { print $7 }' rows.csv | sort -u | wc -l)" = 3 ]
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p static | grep -F 'static clocks: T4 1170 MHz, V100-SXM2-32 1222 MHz, A100-SXM-80 1125 MHz'
	"$HESHARE" plan "$G/jobs.csv" "${FLEET[@]}" --policy static --default-clock -o plan.json
	[ "$(jq -c '[.gpus[].batches[]?.clock_mhz] | unique' plan.json)" = '[1410,1530,1590]' ]
	refused 2 '--static-clocks: they are those of static and static-equal' "$G/jobs.csv" -p random --static-clocks T4=900
	refused 2 '--power-limits: they are those of cap' "$G/jobs.csv" -p random --power-limits T4=60
	refused 2 '--power-limits: 71 W is no power limit of a T4: above 10 W, idle, and at most 70 W' \
		"$G/jobs.csv" --power-limits T4=71
	refused 2 '--static-clocks: "T4" is not TYPE=MHZ, such as T4=900' "$G/jobs.csv" --static-clocks T4
	refused 2 '--static-clocks: unknown GPU type "T5"' "$G/jobs.csv" --static-clocks T5=900
	refused 2 '--static-clocks: 901 MHz is none of the clocks of a T4: 300 to 1590 MHz in steps of 15' \
		"$G/jobs.csv" --static-clocks T4=901
}

@test "mps-default lets each of two jobs have all SMs" {
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --burst -p mps-default,mps-default:edp-sjf,static-equal --per-job rows.csv >/dev/null
	[ "$(awk -F, '$1 == "mps-default" { print $10 }' rows.csv | sort -u)" = 100 ]
	[ "$(awk -F, '$1 == "static-equal" { print $10 }' rows.csv | sort -nu | xargs)" = 50 ]
	awk -F, '$1 == "mps-default" && $NF != "" { n++ } END { exit n < 4 }' rows.csv
}

# The model throttles a GPU to its limit, as on a fleet whose file states the limits.
@test "cap is exclusive under one power limit for each GPU type, of the catalogue or as given" {
	sed 's/type: T4,/type: T4, power_limit_w: 35,/; s/type: V100-SXM2-32,/type: V100-SXM2-32, power_limit_w: 150,/
		s/type: A100-SXM-80,/type: A100-SXM-80, power_limit_w: 200,/' "$G/fleet.yaml" >half.yaml
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p cap,cap:edp-sjf,exclusive --power-limits T4=35,V100-SXM2-32=150,A100-SXM-80=200 --json --no-timing >cap.json
	"$HESHARE" simulate "$G/jobs.csv" --fleet half.yaml -p exclusive,exclusive:edp-sjf --json --no-timing >half.json
	[ "$(jq -c .power_limits_w cap.json | sed 's/\.0//g')" = '{"T4":35,"V100-SXM2-32":150,"A100-SXM-80":200}' ]
	jq -es '[.[0].policies[:2][] | del(.name)] == [.[1].policies[] | del(.name)]' cap.json half.json
	jq -e '.policies[0].busy_energy_j < .policies[2].busy_energy_j' cap.json
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p cap --power-limits T4=35 |
		grep -F 'power limits of cap: T4 35 W, V100-SXM2-32 150 W, A100-SXM-80 180 W'
}

@test "draws of a trace and jobs files are compared set by set" {
	for k in 2 3 4; do
		"$HESHARE" trace helios-like --seed $k -o $k.csv 2>/dev/null
	done
	P=exclusive,static:edp-sjf,mps-equal:edp-sjf
	"$HESHARE" simulate helios-like --draws 2..4 --burst -p $P --json --no-timing >draws.json
	"$HESHARE" simulate 2.csv 3.csv 4.csv --burst -p $P --json --no-timing >files.json
	"$HESHARE" simulate 3.csv --burst -p $P --seeds 3 --json --no-timing >3.json
	[ "$(jq -c '[.sets[].set]' draws.json files.json | xargs)" = "[draw 2,draw 3,draw 4] [2.csv,3.csv,4.csv]" ]
	jq -es '(.[0].sets[1] | del(.set)) == (.[1] | del(.format, .version))' draws.json 3.json
	jq -es '.[0].comparison == .[1].comparison' draws.json files.json
	# Student's t for two degrees of freedom is 4.303.
	jq -e '[.sets[].policies | 100 * (.[1].fleet_energy_j / .[0].fleet_energy_j - 1)] as $d | ($d | add / 3) as $m
		| (4.303 * (($d | map(. - $m | . * .) | add) / 2 / 3 | sqrt)) as $half
		| [.sets[].policies | select(.[2].fleet_energy_j <= .[1].fleet_energy_j and .[2].avg_jct_s <= .[1].avg_jct_s)] as $by
		| [.sets[].policies | select(.[1].fleet_energy_j <= .[0].fleet_energy_j and .[1].avg_jct_s <= .[0].avg_jct_s)] as $less
		| .comparison | .reference == "exclusive" and .sets == 3 and (.policies[1]
			| (.change_pct.fleet_energy_j | (.mean - $m | fabs) < 1e-3 and (.high - .low - 2 * $half | fabs) < 1e-3)
			and .no_more_of_both == ($less | length) and (.dominated_by["mps-equal:edp-sjf"] // 0) == ($by | length))' draws.json
	"$HESHARE" simulate helios-like --draws 3 --burst -p $P --reference static:edp-sjf >text
	grep -F "3 draws of helios-like, all at time 0, on 8 GPUs (heshare), modelled" text
	grep -E "is dominated by another method on (none|[0-9].*) of the 3 sets of jobs" text
	grep -F "static clocks: T4 1170 MHz" text
	refused 2 "--draws: 5..2 is not a rising range" helios-like --draws 5..2
	refused 2 "--draws: it draws from one trace, not from 2 files" 2.csv 3.csv --draws 2
	refused 2 "--csv: it goes with one jobs file" 2.csv 3.csv --csv rows.csv
	refused 2 "--reference: random is not one of the policies" 2.csv 3.csv -p exclusive --reference random
	refused 2 "--reference: it goes with several jobs files" 2.csv -p exclusive --reference exclusive
	refused 1 "nothing.csv" 2.csv nothing.csv -p exclusive
}

@test "bench/static finds the clocks and the power limit of least energy x completion time" {
	sed "s|, {[^}]*V100[^}]*}||" "$G/fleet.yaml" >two.yaml
	head -3 "$G/jobs.csv" >few.csv
	"$HESHARE" profile --modelled --types T4,A100-SXM-80 --samples 200 -o modelled
	"$HESHARE" train modelled --trees 10 -o predictor >/dev/null
	"$HES_SOURCE_ROOT/bench/static" few.csv -f two.yaml --predictor predictor --burst -p static >text
	[ "$(grep -c '^T4 \|^A100-SXM-80 ' text)" = 24 ]
	# The option gives what was found; another clock of a type does not give less.
	eval "set -- $(sed -n 's/^To use it: //p' text)"
	[ "$1" = --static-clocks ]
	"$HESHARE" simulate few.csv -f two.yaml --predictor predictor --burst -p static "$@" --json |
		jq -r '.policies[0] | .fleet_energy_j * .avg_jct_s' >found
	awk -v found="$(cat found)" 'NF >= 4 && $3 ~ /^[0-9]/ { n++; if ($3 * $4 < found * 0.9999 || ($5 == "*" && $3 * $4 > found * 1.0001)) exit 1 }
		END { exit n != 24 }' text
	"$HES_SOURCE_ROOT/bench/static" few.csv -f two.yaml --predictor predictor --burst -p cap:edp-sjf >text
	[ "$(grep '\*$' text | awk '{ print $1 "=" $2 }' | paste -sd,)" = "$(sed -n 's/^To use it: --power-limits //p' text)" ]
}

@test "the README's sentence on the saving follows from the table of docs/policies.md" {
	python3 - "$HES_SOURCE_ROOT" <<-'END'
		import re, sys
		text, results = (open(f"{sys.argv[1]}/{name}").read() for name in ("README.md", "docs/policies.md"))
		rows = {}
		for who, jct, energy in re.findall(r"^([\w:-]+) +([\d.]+) +([\d.]+) ", results, re.M):
		    rows.setdefault(who, [float(energy), float(jct)])
		block = text.split("<!-- table saving")[1].split("-->")[1].split("<!-- end")[0]
		sentence = " ".join(block.split())
		said = re.findall(r"(\d+) % less", sentence)
		spans = [list(map(int, s)) for s in re.findall(r"(\d+) to (\d+) %", sentence)]
		pairs = [(who, k) for who in ("exclusive", "static-equal:edp-sjf") for k in (0, 1)]
		for (who, k), value, (low, high) in zip(pairs, said, spans, strict=True):
		    found = 100 - 100 * rows["joint:balanced"][k] / rows[who][k]
		    assert abs(found - int(value)) < 0.6, (who, found, value)
		    assert low <= int(value) <= high, (who, low, value, high)
		    assert f"(`{who}`)" in sentence, who
		rival = re.search(r"`joint:balanced` needs (\d+) % less energy and (\d+) % less time than `(morak:edp-sjf)`", " ".join(results.split()))
		for k in (0, 1):
		    assert abs(100 - 100 * rows["joint:balanced"][k] / rows[rival[3]][k] - int(rival[k + 1])) < 0.6, rival[0]
		# The tables of --variants are as new as the one of all policies.
		for i, when in enumerate(("at time 0", "arrivals")):
		    who, change = re.search(rf"^\| {when}, present fit \| `([^`]+)` \| ([^|]+) \|", results, re.M).groups()
		    found = re.search(rf"^joint:balanced against {re.escape(who)} .*", results, re.M)[0]
		    assert re.findall(r"-?[\d.]+, -?[\d.]+", found)[i] == change, (found, change)
		    assert f"| {when}, against the strongest rival | {change} (`{who}`) |" in text, change
	END
}
