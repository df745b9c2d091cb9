#!/usr/bin/env bats
bats_require_minimum_version 1.5.0
# what is known of workloads: the store, known networks and what is derived, in one plan

setup_file() {
	cd "$BATS_FILE_TMPDIR"
	# The GPU model plays the measurements; mynet is resnet50 under a name that nobody knows.
	"$HESHARE" profile --modelled --types T4,A100-SXM-80 --samples 300 -o known >/dev/null
	sed 's/resnet50/mynet/g' known/profiles.csv >all.csv
	grep -E '^workload|^mynet,T4,(4|8|16)\b' all.csv >mine.csv
	printf 'id,workload,batch_size,iterations\na,mynet,8,2000\nb,mynet,12,2000\nc,vgg16,8,900\n' >jobs.csv
	for g in T4 A100-SXM-80; do
		printf 'name: %s\nnodes:\n  - name: a\n    gpus: [ { type: %s, count: 2 } ]\n' $g $g >$g.yaml
	done
}

setup() {
	cd "$BATS_FILE_TMPDIR"
	export HESHARE_STORE=$BATS_TEST_TMPDIR/store.db
}

@test "what was imported is planned together with known networks" {
	run -1 "$HESHARE" plan jobs.csv -f T4.yaml
	[[ "$output" == *'workload "mynet" was never profiled (heshare profile measures it; heshare run takes it as it is)'* ]]
	printf 'command\n./train.sh 7\n' >script.csv
	run -1 "$HESHARE" simulate script.csv -f T4.yaml
	[ "$output" = "heshare simulate: job 1: \"./train.sh 7\" was never measured; heshare run runs such a job alone, and measures it for the next plan" ]
	run -0 "$HESHARE" plan script.csv -f T4.yaml
	[[ "$output" == *" 10 min  unlocked       -  1 ./train.sh 7 100 %"*"Jobs: 1 unknown. heshare run measures unknown jobs; "* ]]
	"$HESHARE" profiles import mine.csv --as measured
	run -0 "$HESHARE" plan jobs.csv -f T4.yaml -o plan.json
	[ "${lines[-1]}" = "Jobs: 2 measured, 1 known network. The predictor learnt from modelled samples, not from measurements (heshare profile)." ]
	jq -e '.jobs_known == { measured: 2, known: 1, derived: 0, unknown: 0 }' plan.json
	jq -e '[.jobs[] | .measured_mib > 0] == [true, false, false]' plan.json
	# As measured, and not as the model says.
	run -0 "$HESHARE" predict mynet --batch 8 --gpu T4 --json
	measured=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i } $c["batch_size"] == 8 { print $c["iteration_us"] }' mine.csv)
	jq -e --argjson us "$measured" '.known == "measured" and (.iteration_us / $us | . > 0.95 and . < 1.05)' <<<"$output"
	# A whole run takes seconds, and fewer than one a second.
	awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i } NR > 1 { $c["iteration_us"] *= 5000 } 1' mine.csv >long.csv
	run -0 "$HESHARE" predict mynet --batch 8 --gpu T4 --profiles long.csv
	grep -E '^  an iteration +([0-9]+ min )?[0-9.]+ s ' <<<"$output"
	grep -E '^  items a second +0\.[0-9]*[1-9]' <<<"$output"
	run -0 "$HESHARE" simulate jobs.csv -f T4.yaml --burst -p joint,exclusive --json
	jq -e '.jobs_known.measured == 2 and (.fitted[0].workload == "mynet")' <<<"$output"
	run -0 "$HESHARE" simulate jobs.csv -f T4.yaml --burst --plan plan.json
	[[ "$output" == *"Jobs: 2 measured, 1 known network."* ]]
}

@test "a file of profiles takes the place of the store's, and known networks stay" {
	sed 's/^mynet/other/' mine.csv >other.csv
	"$HESHARE" profiles import other.csv --as measured
	"$HESHARE" plan jobs.csv -f T4.yaml --profiles mine.csv -o plan.json
	jq -e '.jobs_known == { measured: 2, known: 1, derived: 0, unknown: 0 }' plan.json
	sed 's/mynet/other/' jobs.csv >others.csv
	run -1 "$HESHARE" plan others.csv -f T4.yaml --profiles mine.csv
	[[ "$output" == *'workload "other" was never profiled'* ]]
	"$HESHARE" plan others.csv -f T4.yaml --store "$HESHARE_STORE" -o plan.json
	HESHARE_STORE=none.db run -1 "$HESHARE" plan others.csv -f T4.yaml
}

# TYPE BATCH: derived / true iteration time and power
derived() {
	"$HESHARE" predict mynet --batch "$2" --gpu "$1" --json >derived.json
	"$HESHARE" predict mynet --batch "$2" --gpu "$1" --profiles all.csv --json |
		jq -r --slurpfile d derived.json '[$d[0].iteration_us / .iteration_us, $d[0].power_w / .power_w] | @tsv'
}

@test "what was measured at other batch sizes, or on another GPU type, is derived by the model" {
	"$HESHARE" profiles import mine.csv --as measured
	printf 'id,workload,batch_size,iterations\na,mynet,64,200\nb,mynet,1,2000\n' >far.csv
	run -0 "$HESHARE" plan far.csv -f T4.yaml
	[[ "${lines[-1]}" == "Jobs: 2 derived."* ]]
	run -0 "$HESHARE" plan jobs.csv -f A100-SXM-80.yaml
	[[ "${lines[-1]}" == "Jobs: 1 known network, 2 derived."* ]]
	run -0 "$HESHARE" predict mynet --batch 64 --gpu T4
	[[ "${lines[-1]}" =~ ^"  its profile      derived, standard error of its time "[0-9]+" %"$ ]]
	for at in "T4 64" "T4 1" "A100-SXM-80 8"; do
		read -r time power < <(derived $at)
		echo "$at: time x $time, power x $power"
		jq -ne "$time > 0.7 and $time < 1.4 and $power > 0.8 and $power < 1.25"
	done
}

@test "a script measured on one GPU type takes on another what known networks alike take there" {
	printf 'name: both\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 1 }, { type: A100-SXM-80, count: 1 } ]\n' >both.yaml
	# bert-large uses 18 % of an A100 and most of a T4; as a whole run of 4000 iterations, too.
	for times in 1 4000; do
		export HESHARE_STORE=$BATS_TEST_TMPDIR/$times.db
		awk -F, -v OFS=, -v t=$times 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; print; next }
			$1 == "bert-large" && $c["batch_size"] == 8 { $1 = "./train.sh"; $c["batch_size"] = 1; $c["iteration_us"] *= t; print }' \
			known/profiles.csv >both.csv
		grep -v ',T4,' both.csv >a100.csv
		"$HESHARE" profiles import a100.csv --as measured
		"$HESHARE" predict ./train.sh --batch 1 --gpu T4 --json >derived.json
		us=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i } /,T4,/ { print $c["iteration_us"] }' both.csv)
		jq -e --argjson us "$us" '.known == "derived" and (.iteration_us / $us | . > 0.3 and . < 2)' derived.json
	done
}

@test "a job that only ran at a locked clock is known, too" {
	{
		echo workload,gpu_type,batch_size,sm_pct,clock_mhz,co_runners,command,iteration_us,cv,windows,seconds,power_mw,busy,sm_active,dram_active
		echo ./train.sh,T4,1,100,795,,./train.sh,200000,0.01,5,10,50000,1,0.9,0
	} >locked.csv
	"$HESHARE" profiles import locked.csv --as measured
	"$HESHARE" predict ./train.sh --batch 1 --gpu T4 --json |
		jq -e '.known == "measured" and .iteration_us > 95e3 and .iteration_us < 105e3 and .power_w > 60'
}

@test "advise: what a workload needs, by what was measured, predicted or derived; the store stays as it was" {
	run -1 "$HESHARE" advise
	[ "$output" = "heshare advise: nothing was measured yet: heshare profile NAME -- COMMAND measures a job, and heshare run learns from the jobs that it runs" ]
	{
		echo workload,gpu_type,batch_size,sm_pct,clock_mhz,co_runners,command,iteration_us,cv,windows,seconds,power_mw,power_cv,busy,sm_active,dram_active
		echo light,T4,4,10,0,,./light,40000,0.01,4,8,38000,0.01,0.9,0.25,0.1
		echo light,T4,4,30,0,,./light,10300,0.01,4,8,50000,0.01,0.9,0.25,0.1
		echo light,T4,4,30,795,,./light,14000,0.01,4,8,40000,0.01,0.9,0.25,0.1
		echo light,T4,4,100,0,,./light,10000,0.01,4,8,60000,0.01,0.9,0.25,0.1
	} >light.csv
	grep -v ,100, light.csv >part.csv
	"$HESHARE" profiles import part.csv --as measured
	run -1 "$HESHARE" advise
	[ "$output" = "heshare advise: what is in the store was never measured alone on a whole GPU, with which its speed is compared: heshare profile NAME -- COMMAND does so" ]
	"$HESHARE" profiles import light.csv --as measured
	before=$(sha256sum "$HESHARE_STORE")
	run -0 "$HESHARE" advise
	[[ "${lines[0]}" == "What keeps 96 % of the speed alone, "* ]]
	[ "$(xargs <<<"${lines[2]}")" = "light/4 T4 30 1590 97.1 ± 0.8 50 ± 0 -14 measured" ]
	# It holds what it is to keep; half of the speed needs less.
	for keep in 0.3 0.7 0.971 1; do
		"$HESHARE" advise light --keep $keep --json >$keep.json
		jq -e --argjson keep $keep '.format == "heshare-advice" and .keep == $keep and (.workloads | length == 1 and all(.speed >= $keep and
			.speed_low <= .speed and .speed <= .speed_high and .power_low_w <= .power_w and .power_w <= .power_high_w))' $keep.json
	done
	jq -e '.workloads[0] | .sm_pct == 100 and .speed == 1 and .energy_ratio == 1' 1.json
	jq -e '.workloads[0] | .sm_pct < 30 and .source == "predicted" and .speed_high <= 1' 0.3.json
	"$HESHARE" advise -g A100-SXM-80 --json | jq -e '.workloads == [.workloads[] | select(.gpu_type == "A100-SXM-80" and .source == "derived")]'
	[ "$(sha256sum "$HESHARE_STORE")" = "$before" ]
	run -1 "$HESHARE" advise heavy
	[ "$output" = "heshare advise: heavy was never measured alone on a whole GPU, with which its speed is compared: heshare profile heavy -- COMMAND does so" ]
	run -2 "$HESHARE" advise -g T5
	[[ "$output" == 'heshare advise: --gpu: unknown GPU type "T5"'* ]]
	run -2 "$HESHARE" advise --keep 1.5
	# A GPU of another machine is named, once.
	sed 's/T4/Odd-9/' light.csv >odd.csv
	echo 'types: [ { name: Odd-9, sms: 40, memory_mib: 15360, bandwidth_gbs: 320, l2_kib: 4096, power_limit_w: 70, idle_w: 10,
		clocks: { min: 300, max: 1590, step: 15, default: 1590 } } ]' >odd.yaml
	"$HESHARE" profiles import odd.csv --as measured --catalogue odd.yaml
	! "$HESHARE" advise 2>err | grep Odd-9
	[ "$(grep -v derived err)" = 'heshare advise: left out: GPUs that are in no catalogue: "Odd-9"; --catalogue FILE adds types, and heshare gpus --yaml prints those of a machine' ]
}

@test "advise: a name can be given back as it is printed; jobs that use no GPU are left out" {
	{
		echo workload,gpu_type,batch_size,sm_pct,clock_mhz,co_runners,command,iteration_us,cv,windows,seconds,power_mw,power_cv,busy,sm_active,dram_active
		for name in "python train.py --co #0123456789ab: whole run" "python train.py --co #0123456789ac: whole run" light; do
			echo "$name,T4,1,100,0,,c,10000,0.01,4,8,60000,0.01,0.9,0.25,0.1"
		done
		echo light,T4,16,100,0,,c,12000,0.01,4,8,60000,0.01,0.9,0.25,0.1
		echo "sleep 30: whole run,T4,1,100,0,,sleep 30,30000000,0.01,1,30,10000,0.01,0,0,0"
	} >named.csv
	"$HESHARE" profiles import named.csv --as measured >/dev/null
	for table in "advise" "profiles list"; do
		"$HESHARE" $table | sed -n '/^workload/,$p' | sed '1d;/^$/,$d;s/  .*//' | grep -v sleep >names
		[ "$(sort -u names | wc -l)" = "$(wc -l <names)" ]
		grep -q '^python.*…' names
		while IFS= read -r name; do
			"$HESHARE" profiles show "$name" >/dev/null
			"$HESHARE" advise "$name" --json | jq -e '.workloads | map(.workload) | unique | length == 1'
		done <names
	done
	"$HESHARE" advise light/16 --json | jq -e '.workloads | length == 1 and .[0].batch_size == 16'
	"$HESHARE" advise 'python...9ac' --json | jq -e '.workloads | length == 1 and (.[0].workload | test("9ac: whole run$"))'
	run -0 "$HESHARE" advise
	[ "${lines[-1]}" = "Left out: 1 workload that used no GPU." ]
	[[ "$output" == *"compares the joules of an iteration with those alone"* && "$output" != *sleep* ]]
	run -1 "$HESHARE" advise "sleep 30"
	[ "$output" = "heshare advise: sleep 30 ran and used no GPU: it needs none" ]
}

@test "a predictor is trained on the store's samples once, and again when there are others" {
	"$HESHARE" profiles import known/profiles.csv --as measured
	head -200 known/samples.csv >some.csv
	"$HESHARE" profiles import some.csv --as measured
	trained() { sqlite3 "$HESHARE_STORE" 'SELECT count(*) FROM trained'; }
	run -0 "$HESHARE" plan jobs.csv -f T4.yaml --policy heshare --profiles all.csv
	[ "${lines[-1]}" = "Jobs: 3 measured." ]
	[ "$(trained)" = 1 ]
	"$HESHARE" plan jobs.csv -f T4.yaml --policy heshare --profiles all.csv -o first.json
	[ "$(trained)" = 1 ]
	# One that cannot be read is trained again, to the same plan.
	sqlite3 "$HESHARE_STORE" "UPDATE trained SET model = x'00'"
	"$HESHARE" plan jobs.csv -f T4.yaml --policy heshare --profiles all.csv -o second.json
	cmp first.json second.json
	[ "$(sqlite3 "$HESHARE_STORE" 'SELECT length(model) > 1000 FROM trained')" = 1 ]
	"$HESHARE" profiles import known/samples.csv --as measured
	"$HESHARE" plan jobs.csv -f T4.yaml --policy heshare --profiles all.csv -o third.json
	[ "$(trained)" = 2 ]
	! cmp -s first.json third.json
	# --predictor takes its place.
	"$HESHARE" train --from-store --trees 20 -o predictor >/dev/null
	run -0 "$HESHARE" plan jobs.csv -f T4.yaml --predictor predictor --profiles all.csv
	[ "$(trained)" = 2 ]
}

@test "a store that cannot be read, or that other users can write, is refused by a sentence" {
	for command in "plan jobs.csv -f T4.yaml" "simulate jobs.csv -f T4.yaml -p pwr" "predict vgg16"; do
		echo "this is no store" >"$HESHARE_STORE"
		run -1 "$HESHARE" $command
		[[ "$output" == "heshare ${command%% *}: $HESHARE_STORE: "* ]]
		rm "$HESHARE_STORE"
		"$HESHARE" profiles import mine.csv --as measured
		chmod 666 "$HESHARE_STORE"
		run -1 "$HESHARE" $command
		[[ "$output" == "heshare ${command%% *}: $HESHARE_STORE"*": others may write it (mode 0666); a store belongs to one user (docs/store.md)" ]]
		rm "$HESHARE_STORE"
	done
	HESHARE_STORE='' XDG_DATA_HOME= HOME= run -0 "$HESHARE" predict vgg16
	run -1 "$HESHARE" predict vgg16 --store none.db
	[[ "$output" == *"none.db"* ]]
}
