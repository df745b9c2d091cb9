#!/usr/bin/env bats
bats_require_minimum_version 1.5.0
# heshare plan: jobs in, a plan and its summary out, bad input refused

setup_file() {
	cd "$BATS_FILE_TMPDIR"
	"$HESHARE" trace helios-like -n 12 --burst --seed 3 -o jobs.csv
	"$HESHARE" profile --modelled --types T4,A100-SXM-80 --samples 400 -o known >/dev/null
	"$HESHARE" train known --trees 30 -o predictor >/dev/null
	cat >fleet.yaml <<-END
		name: small
		nodes:
		  - name: a
		    gpus: [ { type: T4, count: 2 }, { type: A100-SXM-80, count: 1 } ]
	END
}

setup() {
	cd "$BATS_FILE_TMPDIR"
	fleet="--fleet fleet.yaml --predictor predictor --profiles known/profiles.csv"
}

# Status, then a piece of the one line on stderr.
refused() {
	local want=$1 piece=$2
	shift 2
	run "$HESHARE" plan "$@"
	echo "status $status: $output"
	[ "$status" -eq "$want" ]
	[[ "$output" == *"$piece"* ]]
	[ "${#lines[@]}" -eq 1 ]
}

@test "every policy plans every job once, on the GPUs of the fleet" {
	for policy in $("$HESHARE" plan --policy list |
		sed -n '2,/^Most jobs/{/^[a-z]/s/ .*//p}') morak:eft muserve:least exclusive:edp-sjf; do
		"$HESHARE" plan jobs.csv $fleet --policy "$policy" -o plan.json >/dev/null
		[ "$(jq -r .policy plan.json)" = "${policy%:*}" ]
		[ "$(jq -r '.gpus[].batches[].jobs[].job' plan.json | sort)" = "$(tail -n +2 jobs.csv | cut -d, -f1 | sort)" ]
		[ "$(jq -r '.gpus[].gpu' plan.json | paste -sd' ')" = "a/0 a/1 a/2" ]
		[ "$(jq '[.gpus[] | (.shares_pct // 100) as $most | .batches[] | [.jobs[].sm_pct] | add <= $most] | all' plan.json)" = true ]
	done
}

@test "the summary names GPUs, jobs, totals and that knowledge was modelled" {
	run "$HESHARE" plan jobs.csv --fleet fleet.yaml --policy heshare
	[ "$status" -eq 0 ]
	[[ "${lines[0]}" =~ ^"GPU  "\ +"start  "\ +"end  "\ +"MHz  "\ +"energy  jobs"$ ]]
	[ "$(grep -c ' start ' <<<"$output")" -eq 1 ]
	for id in $(tail -n +2 jobs.csv | cut -d, -f1); do
		[[ "$output" == *" $id"* ]]
	done
	[[ "$output" == *"heshare, prefers balanced: 12 jobs on 3 GPUs"* ]]
	[[ "$output" == *"predicted: average completion "*" busy energy "*" fleet energy "* ]]
	[[ "$output" != *"Fleet: "* ]]
	[ "${lines[-1]}" = "Jobs: 12 known networks. The predictor learnt from modelled samples, not from measurements (heshare profile)." ]
	[[ "$output" != *"arrival times differ"* ]]
	run "$HESHARE" plan jobs.csv $fleet --policy pwr
	[ "${lines[-1]}" = "Jobs: 12 measured." ]
	[[ "$output" != *"Fleet: "* ]]
	run "$HESHARE" plan jobs.csv --policy pwr
	[ "${lines[-1]}" = "Fleet: the eight GPUs of the HeShare paper (--fleet, --gpus). Jobs: 12 known networks. The predictor learnt from modelled samples, not from measurements (heshare profile)." ]
}

@test "the same seed gives the same bytes, another seed another plan" {
	"$HESHARE" plan jobs.csv $fleet --budget 3000 --seed 5 --json >a.json
	"$HESHARE" plan jobs.csv $fleet --budget 3000 --seed 5 -o b.json >/dev/null
	"$HESHARE" plan jobs.csv $fleet --policy random --seed 5 --json >c.json
	"$HESHARE" plan jobs.csv $fleet --policy random --seed 6 --json >d.json
	cmp a.json b.json
	[ "$(jq -c .gpus c.json)" != "$(jq -c .gpus d.json)" ]
}

@test "preferences order energy and completion time, and lie on the front" {
	for prefer in energy balanced jct; do
		"$HESHARE" plan jobs.csv $fleet --policy heshare --prefer $prefer -o \
			$prefer.json --front front.csv >/dev/null
	done
	[ "$(jq -s 'map(.predicted.busy_energy_j) | . == sort' energy.json balanced.json jct.json)" = true ]
	[ "$(jq -s 'map(.predicted.avg_jct_us) | . == (sort | reverse)' energy.json balanced.json jct.json)" = true ]
	[ "$(head -1 front.csv)" = busy_energy_j,avg_jct_s ]
	tail -n +2 front.csv | sort -t, -g -k1,1 -c
	tail -n +2 front.csv | sort -s -t, -gr -k2,2 -c # to the microsecond two may be alike
	awk -F, -v e="$(jq .predicted.busy_energy_j energy.json)" 'NR == 2 { exit ($1 - e) ^ 2 > 1e-2 }' front.csv
}

@test "a preference is named with the policy or by itself, not twice" {
	"$HESHARE" plan jobs.csv $fleet --policy joint:jct -o with.json >/dev/null
	"$HESHARE" plan jobs.csv $fleet --prefer jct -o alone.json >/dev/null
	cmp with.json alone.json
	refused 2 'policy heshare: preference "speed" is not one of balanced, energy, jct' \
		jobs.csv $fleet --policy heshare:speed
	refused 2 'policy random has no preference, so not "jct"' jobs.csv $fleet --policy \
		random:jct
	refused 2 'unknown policy "fifo"' jobs.csv $fleet --policy fifo:jct
	refused 2 '--prefer jct: --policy heshare:jct prefers something already; name one' \
		jobs.csv $fleet --policy heshare:jct --prefer jct
}

@test "no two points of a front are the same as written" {
	"$HESHARE" trace helios-like -n 5 --burst --seed 25 -o five.csv
	"$HESHARE" plan five.csv --policy joint --budget 20000 --front front.csv >/dev/null
	[ "$(wc -l <front.csv)" -gt 50 ]
	[ -z "$(uniq -d front.csv)" ]
}

@test "what plan writes simulate plays" {
	"$HESHARE" plan jobs.csv $fleet -o plan.json >/dev/null
	run "$HESHARE" simulate jobs.csv --fleet fleet.yaml --plan plan.json --json
	[ "$status" -eq 0 ]
	[ "$(jq '.policies | length' <<<"$output")" -eq 1 ]
}

@test "arrivals that differ are planned as waiting now, and that is said" {
	"$HESHARE" trace helios-like -n 5 -o later.csv
	run "$HESHARE" plan later.csv $fleet
	[ "$status" -eq 0 ]
	[[ "$output" == *"arrival times differ; they are planned as if all waited now"* ]]
}

@test "the plan on standard output stands alone" {
	"$HESHARE" plan jobs.csv $fleet -o - | jq -e .version >/dev/null
	[ "$("$HESHARE" plan jobs.csv $fleet --front - | head -1)" = busy_energy_j,avg_jct_s ]
	"$HESHARE" plan jobs.csv $fleet --front - | awk -F, 'NF != 2 { exit 1 }'
	refused 2 '--json and --output -: standard output takes one of them' jobs.csv $fleet \
		--json -o -
	refused 2 '--json and --front -: standard output takes one of them' jobs.csv $fleet \
		--json --front -
	refused 2 '--output - and --front -: standard output takes one of them' jobs.csv $fleet \
		-o - --front -
}

@test "bad input gets one sentence and leaves no file" {
	head -1 jobs.csv >empty.csv
	{ cat jobs.csv; echo "big,0,resnet50,8,100,90000"; } >big.csv
	{ cat jobs.csv; echo "odd,0,resnet51,8,100,1000"; } >odd.csv
	refused 1 "empty.csv: no jobs" empty.csv $fleet -o no.json
	refused 1 "job big needs 90000 MiB; the largest GPU it can run on, A100-SXM-80, has 81251 MiB" big.csv $fleet -o no.json
	refused 1 "job odd: " odd.csv $fleet -o no.json
	refused 1 "nosuch.csv" nosuch.csv $fleet -o no.json
	refused 1 "nosuch/plan.json" jobs.csv $fleet -o nosuch/plan.json
	refused 2 'unknown policy "fifo"; known: heshare' jobs.csv --policy fifo -o no.json
	refused 2 \
		'--prefer: policy joint: preference "speed" is not one of balanced, energy, jct' \
		jobs.csv --prefer speed -o no.json
	refused 2 "--prefer: policy random has no preference" jobs.csv --policy random --prefer \
		jct -o no.json
	refused 2 "--front: policy morak makes no front; those that do: heshare, heshare-tuned, joint, sched-only" jobs.csv --policy morak --front no.json
	[ ! -e no.json ]
	[ -z "$(ls no.json.* 2>/dev/null)" ]
}

@test "errors for a file of another kind and for a name in other letters say what would be right" {
	refused 1 "fleet.yaml:1: there is no field \"name\"; there are: jobs" \
		fleet.yaml
	refused 1 "jobs.csv:1: not YAML with the keys of this kind of file: name, nodes" \
		jobs.csv --fleet jobs.csv
	tr , ';' <jobs.csv >semicolons.csv
	refused 1 "; columns are separated by commas" semicolons.csv
	run "$HESHARE" run jobs.csv
	[ "$status" -eq 1 ]
	[[ "$output" == "heshare run: job "*" has no command; "* ]]
	cp jobs.csv rows.json
	run -1 "$HESHARE" run rows.json
	[[ "$output" == "heshare run: rows.json:1: not JSON: "*"; a plan is a JSON file that heshare plan -o FILE writes" ]]
	{ head -1 jobs.csv; echo "a,0,ResNet50,8,100,1000"; } >letters.csv
	refused 1 'workload "ResNet50" was never profiled (did you mean resnet50?); there are: ' \
		letters.csv $fleet
	run "$HESHARE" simulate letters.csv --fleet fleet.yaml -p pwr
	[[ "$output" == *'the model has no workload "ResNet50" (did you mean resnet50?);'* ]]
}

@test "a folder for the jobs is refused by its name" {
	mkdir -p folder
	refused 1 "heshare plan: folder: Is a directory" folder $fleet
}

@test "a batch size out of range is an error if nothing was measured, and derived from what was" {
	grep -v '^resnet50,A100' known/profiles.csv >some.csv
	{ head -1 jobs.csv; echo "large,0,resnet50,128,100,1000"; } >large.csv
	refused 1 "job large: resnet50 on A100-SXM-80: batch size 128 is outside the profiled 1 to 64" large.csv \
		--fleet fleet.yaml
	# The types in the other order.
	sed 's/T4/X/; s/A100-SXM-80/T4/; s/X/A100-SXM-80/' fleet.yaml >turned.yaml
	for f in fleet.yaml turned.yaml; do
		"$HESHARE" plan large.csv --fleet $f --predictor predictor --profiles some.csv -o large.json >/dev/null
		jq -e '[.gpus[].batches[].jobs[].job] == ["large"]' large.json
	done
}

@test "a job whose id is not UTF-8 is refused, where it once was left out of the plan" {
	{ cat jobs.csv; printf 'caf\xe9,0,resnet50,8,100,1000\n'; } >latin.csv
	refused 1 'latin.csv:14: id: "caf' latin.csv $fleet -o no.json
	[[ "$output" == *"is not UTF-8"* ]]
	[ ! -e no.json ]
}

@test "the list of policies says how many jobs each takes, as the refusal does" {
	run -0 "$HESHARE" plan --policy list
	[[ "$output" == *"Most jobs: at once on 8 GPUs."*"  fleet "*" the least energy of all GPUs, idle ones included"* ]]
	[ "$(awk 'length > 80' <<<"$output")" = "" ]
	many=$(awk '$1 == "joint" { print $2 }' <<<"$output")
	{ echo id,arrival_s,workload,batch_size,iterations,memory_mib
	  for ((i = 0; i <= many; i++)); do echo "j$i,0,resnet50,8,10,1000"; done; } >many.csv
	refused 1 "plans at most $many jobs at once on 8 GPUs, not $((many + 1))" many.csv --policy joint
}

@test "hundreds of jobs on many GPUs are searched in cells, again with the same plan" {
	{ echo 'name: many'; echo 'nodes:'
	  for n in 0 1; do echo "  - name: n$n"; echo \
	  	'    gpus: [ { type: T4, count: 5 }, { type: A100-SXM-80, count: 4 } ]'; done
	  } >many.yaml
	"$HESHARE" trace helios-like -n 520 --burst -o many.csv
	"$HESHARE" plan many.csv --fleet many.yaml --policy joint --budget 20000 -o many.json \
		--front many_front.csv >out
	[ "$(grep -o '"job": "[^"]*"' many.json | sort -u | wc -l)" -eq 520 ]
	grep -x 'searched: [0-9]* evaluations; planned in [0-9].*' out
	[ "$(wc -l <many_front.csv)" -gt 20 ]
	"$HESHARE" plan many.csv --fleet many.yaml --policy joint --budget 20000 -o again.json >out
	cmp many.json again.json
}

@test "more jobs than a search ends for are refused, and planned by a policy that does not search" {
	awk 'BEGIN { print "id,arrival_s,workload,batch_size,iterations,memory_mib"
		for (i = 0; i < 30000; i++) print "j" i ",0,resnet50,8,100,1000" }' >many.csv
	refused 1 "policy heshare plans at most 18629 jobs at once on 3 GPUs, not 30000; split the jobs" many.csv $fleet --policy heshare -o no.json
	refused 1 "policy joint plans at most 4854 jobs at once on 3 GPUs, not 30000; split the jobs, or take one that plans as many: sched-only, morak," many.csv $fleet -o no.json
	[ ! -e no.json ]
	"$HESHARE" plan many.csv $fleet --policy pwr -o many.json >/dev/null
	[ "$(grep -c '"job"' many.json)" -eq 30000 ]
}

@test "work for more than three hundred years is refused by the job that brings it" {
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\nx,0,resnet50,32,1000000000000,10\n' >long.csv
	refused 1 "busy for more than 300 years; job x has the most iterations, 1000000000000" long.csv $fleet --policy random
}

@test "a device given for an output is written to, not replaced" {
	"$HESHARE" plan jobs.csv $fleet -o /dev/null >/dev/null
	[ -c /dev/null ]
	refused 1 "/dev/full: cannot write: No space left on device" jobs.csv $fleet -o /dev/full
	[ -c /dev/full ]
	mkdir -p folder
	refused 1 "folder: cannot create: Is a directory" jobs.csv $fleet -o folder
	[ -z "$(ls folder folder.* 2>/dev/null | grep -v '^folder:')" ]
}

@test "a truncated gzip file for a predictor is refused, where it once ended in an abort" {
	gzip -c predictor | head -c 2000 >cut
	refused 1 "cut: truncated gzip file" jobs.csv --predictor cut
}

@test "a plan meets its published schema" {
	python3 -c 'import jsonschema' 2>/dev/null || skip "no python3-jsonschema"
	"$HESHARE" plan jobs.csv $fleet -o plan.json >/dev/null
	python3 -c 'import json, sys, jsonschema
plan, schema = (json.load(open(f)) for f in sys.argv[1:])
jsonschema.Draft202012Validator(schema).validate(plan)' plan.json "$HES_SOURCE_ROOT/docs/formats/plan.schema.json"
	jq '.gpus[0].batches[0].jobs[0].sm_pct = 0' plan.json >bad.json
	! python3 -c 'import json, sys, jsonschema
plan, schema = (json.load(open(f)) for f in sys.argv[1:])
jsonschema.Draft202012Validator(schema).validate(plan)' bad.json "$HES_SOURCE_ROOT/docs/formats/plan.schema.json" 2>/dev/null
}

@test "memory that is not given is that of the profile; less than it is named" {
	printf 'id,workload,batch_size,iterations,memory_mib\na,vgg16,8,900,\nb,vgg16,8,900,2000\nc,resnet18,8,900,9000\n' >some.csv
	cut -d, -f1-4 some.csv >none.csv
	measured=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i } $c["workload"] == "vgg16" && $c["batch_size"] == 8 && $c["memory_mib"] > m { m = $c["memory_mib"] } END { print m }' known/profiles.csv)
	run -0 --separate-stderr "$HESHARE" plan some.csv $fleet -o some.json
	[ "$stderr" = "heshare plan: job b: memory_mib is 2000, and vgg16 at batch size 8 used $measured MiB when it was profiled; write $((measured + measured / 10)), or leave memory_mib empty to plan with what was measured" ]
	jq -e --argjson m "$measured" '.jobs | (.[0] | .memory_mib == null and .measured_mib == $m) and .[1].memory_mib == 2000 and .[2].memory_mib == 9000' some.json
	# Modelled memory is not measured: nothing is known, and every job has a GPU for itself.
	run -0 --separate-stderr "$HESHARE" plan none.csv --fleet fleet.yaml --policy mps-equal -o none.json
	[ "$stderr" = "" ]
	jq -e '[.gpus[].batches[] | (.jobs | length) == 1] | length == 3 and all' none.json
	"$HESHARE" simulate none.csv --fleet fleet.yaml --plan none.json >/dev/null
	# As the store has it, without --profiles.
	"$HESHARE" profiles import known/profiles.csv --store s.db >/dev/null
	HESHARE_STORE=s.db "$HESHARE" plan none.csv --fleet fleet.yaml -o stored.json >/dev/null
	jq -e --argjson m "$measured" '.jobs[0].measured_mib == $m' stored.json
}

# A predictor that learnt from samples without a workload, or without co-runners.
known_partly() {
	mkdir -p partly
	awk -F, -v w="$1" -v most="$2" 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i }
		NR == 1 || ($c["co_runner_count"] <= most && $c["workload"] != w)' known/samples.csv >partly/samples.csv
	"$HESHARE" train partly --trees 30 --validate 0 -o partly/predictor >/dev/null
}

@test "a job of a workload that was never sampled is planned, and named with its GPU and the reason" {
	name="$(sed -n 2p jobs.csv | cut -d, -f1)"
	workload="$("$HESHARE" plan jobs.csv $fleet | grep -o "$name [a-z0-9-]*" | head -1 | cut -d' ' -f2)"
	known_partly "$workload" 3
	run "$HESHARE" plan jobs.csv $fleet --predictor partly/predictor
	[ "$status" -eq 0 ]
	[[ "$output" == *"extrapolated, outside of what the predictor was trained on:"* ]]
	"$HESHARE" plan jobs.csv $fleet --predictor partly/predictor -o made.json >/dev/null
	gpu=$(jq -r --arg j "$name" '.gpus[] | select(any(.batches[].jobs[]; .job == $j)) | .gpu + ", " + .gpu_type' made.json)
	[[ "$output" == *"  $name $workload on $gpu: workload"* ]]
	jq -e --arg j "$name" '[.gpus[].batches[].jobs[]] | map(select(.job == $j)) | .[0].extrapolated == ["workload"]' made.json
	jq -e '[.gpus[].batches[].jobs[] | select(has("extrapolated"))] | length < 12' made.json
	"$HESHARE" simulate jobs.csv --fleet fleet.yaml --plan made.json >/dev/null
}

@test "jobs on a GPU type or with a co-runner that was never sampled are named with the reason" {
	known_partly vgg16 3
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i }
		NR == 1 || $c["workload"] != "bert-large" || $c["gpu_type"] == "A100-SXM-80"' partly/samples.csv >pairs.csv
	"$HESHARE" train pairs.csv --trees 10 --validate 0 -o pairs >/dev/null
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\na,0,bert-large,8,100,5000\nb,0,resnet18,8,900,3000\nc,0,resnet18,8,900,3000\nd,0,vgg16,8,900,4000\n' >mixed.csv
	printf 'name: x\nnodes:\n  - name: n\n    gpus: [ { type: T4, count: 1 } ]\n' >one.yaml
	"$HESHARE" plan mixed.csv --fleet one.yaml --profiles known/profiles.csv --predictor pairs --policy mps-equal >plan.txt
	[ "$(sed -n '/^extrapolated/,$p' plan.txt | grep '^  ')" = "  a bert-large on n/0, T4: workload on GPU type
  c resnet18 on n/0, T4: unsampled co-runner
  d vgg16 on n/0, T4: workload" ]
}

@test "jobs share where sharing was sampled, and only there" {
	known_partly none 0
	"$HESHARE" plan jobs.csv $fleet --policy heshare -o all.json >/dev/null
	"$HESHARE" plan jobs.csv $fleet --policy heshare --predictor partly/predictor -o alone.json >/dev/null
	jq -e '[.gpus[].batches[].jobs | length] | max > 1' all.json
	jq -e '[.gpus[].batches[].jobs | length] | max == 1' alone.json
	jq -e '[.gpus[].batches[].jobs[] | .extrapolated // [] | .[] | select(. == "co-runners")] == []' alone.json
	"$HESHARE" plan jobs.csv $fleet --predictor partly/predictor --policy mps-equal | grep -q '^  j[0-9]* .*: .*co-runners'
	"$HESHARE" plan jobs.csv $fleet --predictor partly/predictor --policy joint --budget 3000 -o open.json >/dev/null
	jq -e '[.gpus[].batches[].jobs[] | .extrapolated // [] | .[] | select(. == "co-runners")] == []' open.json
}

@test "joint's plan has open queues, the same bytes from any number of threads, and plays" {
	OMP_NUM_THREADS=1 "$HESHARE" plan jobs.csv $fleet --policy joint --budget 3000 -o one.json >/dev/null
	OMP_NUM_THREADS=2 "$HESHARE" plan jobs.csv $fleet --policy joint --budget 3000 -o two.json >/dev/null
	cmp one.json two.json
	[ "$(jq .version one.json)" -ge 2 ] # 3 where shares overlap
	[ "$(jq '[.gpus[] | select(.batches != [])] | all(.together == 4 and all(.batches[]; .jobs | length == 1))' one.json)" = true ]
	"$HESHARE" simulate jobs.csv $fleet --burst --plan one.json | grep -q "^one.json "
	# Older plans hold bounds, which nothing reads.
	jq '.predicted += {least_energy_mj: 1, least_avg_jct_us: 1.5}' one.json >older.json
	"$HESHARE" simulate jobs.csv $fleet --burst --plan older.json | grep -q "^older.json "
}

@test "joint searches for as long as it is given" {
	"$HESHARE" plan jobs.csv $fleet --policy joint --budget 50ms -o plan.json >out
	grep -Eq "^searched: [0-9]+ evaluations; planned in [0-9.]+ m?s$" out
	run "$HESHARE" plan jobs.csv $fleet --policy heshare
	[ "$status" -eq 0 ]
	[[ "$output" != *searched:* ]]
	for budget in 5m 5min 200mss 1e9 -5s 0 -1 2000000s 1234567890123456789012345678901234567890; do
		refused 2 "--budget: \"$budget\" is neither a time in ms or s, from 1ms on, such as 200ms or 5s, nor a number of evaluations, from 1 on" \
			jobs.csv $fleet --policy joint --budget=$budget
	done
	refused 2 "--budget: policy heshare does not search for a given time; those that do: joint" jobs.csv $fleet --policy heshare --budget 1s
}

@test "columns that nothing reads are named; a job on several GPUs is refused" {
	awk -F, -v OFS=, 'NR == 1 { print $0, "deadline", "priority", "weight" } NR > 1 { print $0, 5, "high", 2 }' jobs.csv >more.csv
	"$HESHARE" plan more.csv $fleet --policy heshare -o more.json >/dev/null 2>err
	[ "$(grep -v progress err)" = 'heshare plan: more.csv: nothing reads column "deadline" (did you mean deadline_s?), "priority"
heshare plan: more.csv: no policy uses weight' ]
	sed '1s/deadline/deadline_s/; 1s/,priority,weight/,gpus/; s/,high,2$/,1/' more.csv >due.csv
	"$HESHARE" plan due.csv $fleet --policy heshare -o due.json 2>&1 >/dev/null | grep -x 'heshare plan: due.csv: this policy does not plan by deadline_s; joint does'
	! "$HESHARE" plan due.csv $fleet --policy joint --budget 100 -o due.json 2>&1 >/dev/null | grep due.csv
	"$HESHARE" simulate more.csv --policy exclusive 2>&1 >/dev/null | grep '^heshare simulate: more.csv: nothing reads column "deadline"'
	sed '3s/,1$/,4/' due.csv >two.csv
	refused 1 'two.csv:3: gpus: 4, but a job of heshare runs on one GPU or a part of it; take the job out of the file' two.csv $fleet
}

@test "a plan reports the deadlines that it misses" {
	awk -F, -v OFS=, 'NR == 1 { print $0, "deadline_s" } NR > 1 { print $0, NR == 2 ? 1 : 1e7 }' jobs.csv >due.csv
	"$HESHARE" plan due.csv $fleet --policy joint --budget 3000 -o due.json 2>err >/dev/null
	jq -e '.predicted | .deadlines_missed == 1 and (has("power_cap_w") | not)' due.json
	grep -E "^heshare plan: 1 of 12 deadlines would be missed; the latest job, $(awk -F, 'NR == 2 { print $1 }' jobs.csv), ends [0-9.]+ s after its deadline$" err
}

@test "a deadline that no GPU can meet is named, and costs the other jobs nothing" {
	first=$(awk -F, 'NR == 2 { print $1 }' jobs.csv)
	awk -F, -v OFS=, 'NR == 1 { print $0, "deadline_s" } NR > 1 { print $0, NR == 2 ? 0.5 : "" }' jobs.csv >due.csv
	"$HESHARE" plan jobs.csv $fleet --policy joint --budget 3000 -o free.json >/dev/null
	"$HESHARE" plan due.csv $fleet --policy joint --budget 3000 -o due.json 2>err >/dev/null
	grep -E "^heshare plan: deadline of job $first cannot be met on any of these GPUs: it needs at least [0-9.]+ s and has 0.5 s; it is planned without$" err
	grep -E "^heshare plan: 1 of 1 deadline would be missed; the latest job, $first, ends [0-9.]+ s after its deadline$" err
	[ "$(jq -c .gpus free.json)" = "$(jq -c .gpus due.json)" ]
	"$HESHARE" plan due.csv $fleet --policy pwr 2>err >/dev/null
	grep -q 'would be missed' err
	run ! grep 'planned without' err
	awk -F, -v OFS=, '{ print $0, NR == 1 ? "deadline_s" : 0.001 }' jobs.csv >all.csv
	"$HESHARE" plan all.csv $fleet --policy joint --budget 3000 2>err >/dev/null
	[ "$(grep -c 'is planned without$' err)" -eq 10 ]
	grep -qx 'heshare plan: 2 more deadlines cannot be met, either' err
}

@test "a deadline counts from the job's arrival, and the help says so" {
	awk -F, -v OFS=, 'NR == 1 { print $0, "deadline_s" } NR > 1 { $2 = 1000; print $0, 1000 + (NR == 2 ? 0.5 : 1e7) }' jobs.csv >late.csv
	"$HESHARE" plan late.csv $fleet --policy joint --budget 3000 2>err >/dev/null
	grep -q "and has 0.5 s; it is planned without" err
	grep -q "^heshare plan: 1 of 12 deadlines would be missed" err
	"$HESHARE" plan --help | tr -s ' \n' ' ' | grep -q "their deadlines count from their arrival"
	"$HESHARE" simulate --help | tr -s ' \n' ' ' | grep -q "each job keeps the time from its arrival to its deadline"
}

@test "a power cap is for policies that search under constraints" {
	"$HESHARE" plan jobs.csv $fleet --policy joint --budget 3000 --power-cap 450 -o capped.json >out 2>err
	[ ! -s err ]
	grep -E "^highest power [1-4][0-9]{2}\.[0-9] W of 450 W, predicted$" out
	jq -e '.predicted | .avg_jct_us > 0 and .power_cap_w == 450 and .peak_w <= 450 and (has("deadlines_missed") | not)' capped.json
	"$HESHARE" plan jobs.csv $fleet --policy joint --budget 3000 --power-cap 80 --json 2>err |
		jq -e '.predicted | .power_cap_w == 80 and .peak_w > 80'
	grep -E "^heshare plan: --power-cap: no plan was found within 80 W; with this one the GPUs may draw [0-9.]+ W$" err
	"$HESHARE" plan jobs.csv $fleet --policy joint --budget 3000 --power-cap 0 >out
	[ -z "$(grep 'highest power' out)" ]
	refused 2 "--power-cap: policy pwr does not search under constraints; those that do: joint" jobs.csv $fleet --policy pwr --power-cap 450
}

@test "a power cap below what the fleet draws idle is refused, where it once was searched for" {
	refused 2 "--power-cap: 70 W is below the 75 W that the 3 GPUs draw idle; give more, or 0 for no cap" jobs.csv $fleet --policy joint --power-cap 70 -o no.json
	printf 'name: x\nnodes:\n  - name: n\n    gpus: [ { type: T4, count: 1 } ]\n' >one.yaml
	refused 2 "--power-cap: 9 W is below the 10 W that the 1 GPU draws idle;" jobs.csv --fleet one.yaml --policy joint --power-cap 9
	[ ! -e no.json ]
}
