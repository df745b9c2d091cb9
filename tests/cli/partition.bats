#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# heshare partition, on the GPU model and on points of a file. tests/cli/partition_lab.bats has
# whole runs.

setup() {
	PATH=$(dirname "$HESHARE"):$PATH
	export HESHARE_STORE=$BATS_TEST_TMPDIR/none.db
	cd "$BATS_TEST_TMPDIR"
}

# points NAME BATCH TYPE FIXED_MS WORK_MS COMMAND: a job alone at 10..100 %, time = fixed + work /
# share
points() {
	[ -s points.csv ] || echo workload,gpu_type,batch_size,sm_pct,clock_mhz,co_runners,command,iteration_us,cv,windows,seconds,memory_mib,power_mw,power_cv,held_mhz,capped,busy,memory_busy,sm_active,sm_occupancy,dram_active,fp32_active,tensor_active,pcie_tx_mibs,pcie_rx_mibs >points.csv
	awk -v name="$1" -v batch="$2" -v type="$3" -v fixed="$4" -v work="$5" -v command="$6" -v clock="${7:-1530}" 'BEGIN {
		for (share = 10; share <= 100; share += 10) {
			t = 1000 * (fixed + work * 100 / share); sm = share / 100 * 1000 * work * 100 / share / t
			printf "%s,%s,%d,%d,%d,,%s,%.3f,0.01,3,6,2000,%d,0.01,%d,0,1,.1,%.4f,,.1,%.4f,0,0,100\n", name, type, batch, share, clock, command,
				t, 60000 + 200000 * sm, clock, sm, sm
		}
	}' >>points.csv
}

@test "every split of two jobs: the best is marked in JSON and its work per joule is the greatest" {
	run -0 heshare partition resnet50/16 bert-large/8 --modelled --json
	jq -e '.gpu_type == "V100-SXM2-32" and .objective == "normalized" and (.jobs | map(.workload)) == ["resnet50", "bert-large"]' <<<"$output"
	jq -e '(.splits | length) == 45 and all(.splits[]; (.sm_pct | add) <= 100 and .per_watt_interval[0] < .per_watt and .per_watt_interval[1] > .per_watt)' <<<"$output"
	jq -e '[.splits[].per_watt] | max == .['"$(jq .best <<<"$output")"']' <<<"$output"
	jq -e '.splits[.best].per_watt / .equal.per_watt - 1 - .gain_over_equal | fabs < 1e-9' \
		<<<"$output"
	jq -e '.splits[0] | (.normalized | add) / .power_w / .per_watt - 1 | fabs < 1e-9' \
		<<<"$output"
	jq -e '.model.co_runs > 200 and .model.throughput_error < 0.05 and .model.power_error < 0.05' <<<"$output"
	first=$output
	run -0 heshare partition resnet50/16 bert-large/8 --modelled --json
	[ "$output" = "$first" ]
}

@test "the text marks the best split, compares it with equal shares and prints what applies it" {
	points a 4 V100-SXM2-32 1 20 "./a.sh --name 'x y'"
	points b 8 V100-SXM2-32 10 2 ./b.sh
	run -0 heshare partition a b --points points.csv --gpu V100-SXM2-32
	[[ "${lines[0]}" == "a/4 + b/8 on V100-SXM2-32: most work per joule, summed over the jobs" ]]
	[ "$(grep -c '^best ' <<<"$output")" = 1 ]
	[ "$(grep -c '^equal   50  50 ' <<<"$output")" = 1 ]
	[[ "$output" == \
		*"The best split does +"*" % work per joule against equal shares at 1530 MHz."* ]]
	[[ "$output" == *"0 co-runs of jobs on a V100-SXM2-32 were measured. How much jobs slow each other down is a guess."*"heshare profile a --batch 4 --co-runners b/8 --clocks default -- ./a.sh"* ]]
	[[ "$output" == *'CUDA_MPS_PIPE_DIRECTORY=$mps'*"trap 'echo quit | nvidia-cuda-mps-control; rm -r \"\$mps\"' EXIT"* ]]
	# Turns: half of each job's throughput alone, at the mean of their powers.
	[ "$(awk '$1 == "turns" { print $6 $7, $9 $10; exit }' <<<"$output")" = "50% 50%" ]
	best=$(awk '$1 == "best" { print $2 }' <<<"$output")
	[[ "$output" == \
		*"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=$best sh -c './a.sh --name '\\''x y'\\''' &"* ]]
	# Without --gpu: the only type they were profiled on.
	same=$output
	run -0 heshare partition a b --points .
	[ "$(tail -n +3 <<<"$output")" = "$(tail -n +3 <<<"$same")" ]
}

@test "objectives: the sum of iterations starves the job with long ones, normalized and energy do not, a floor is kept" {
	run -0 heshare partition resnet50/16 bert-large/8 --modelled --json --objective sum
	jq -e '.splits[.best].normalized[1] < 0.25' <<<"$output"
	jq -e '.splits[0] | (.throughput | add) / .power_w / .per_watt - 1 | fabs < 1e-9' \
		<<<"$output"
	run -0 heshare partition resnet50/16 bert-large/8 --modelled --json
	jq -e '.splits[.best].normalized | min > 0.3' <<<"$output"
	run -0 heshare partition resnet50/16 bert-large/8 --modelled --json --objective energy
	jq -e '.splits[.best].normalized | min > 0.3' <<<"$output"
	run -0 heshare partition resnet50/16 bert-large/8 --modelled --json --floor bert-large=0.5
	jq -e '.splits[.best] | .normalized[1] >= 0.5 and .floors_kept' <<<"$output"
	jq -e 'any(.splits[]; .floors_kept | not)' <<<"$output"
	run -1 heshare partition resnet50/16 bert-large/8 --modelled --floor 0.8
	[[ "$output" == *"no split in steps of 10 % keeps every floor: in the nearest one "*" is to have 80.0 %"* ]]
	run -2 heshare partition resnet50/16 bert-large/8 --modelled --floor vgg16=0.8
	[[ "$output" == *'--floor: "vgg16" is none of the jobs' ]]
	run -2 heshare partition resnet50/16 bert-large/8 --modelled --floor 0.5,0.3
	[[ "$output" == \
		*"--floor: 0.5 is for all jobs and stands alone; write JOB=0.5 for one job" ]]
}

@test "jobs take turns unless the best split gains by its whole interval; a given split has its commands" {
	# More SMs help both in proportion: no split does more than turns. Names sort in both orders.
	points b 8 V100-SXM2-32 0 30 ./b.sh
	points a 4 V100-SXM2-32 0 20 ./a.sh
	run -0 heshare partition a b --points points.csv
	[[ "$output" == *"Take turns: run one job at a time on the whole GPU, without MPS."* ]]
	[[ "$output" != *"To run the jobs"* ]]
	run -0 heshare partition a b --points points.csv --split 30,70
	[[ "$output" == *"Take turns: "*"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=70 sh -c './b.sh' &"* ]]
	run -0 heshare partition a b --points points.csv --json
	jq -e '.recommendation == "turns" and .splits[.best].per_watt_interval[0] < .turns.per_watt' <<<"$output"
	# Turns give each job half: a floor above that needs a split.
	run -1 heshare partition a b --points points.csv --floor 0.6
	run -0 heshare partition a b --points points.csv --floor a=0.6 --json
	jq -e '.recommendation == "share" and (.turns.floors_kept | not)' <<<"$output"
	# Both leave most SMs idle.
	rm points.csv
	points a 4 V100-SXM2-32 10 2 ./a.sh
	points b 8 V100-SXM2-32 10 2 ./b.sh
	run -0 heshare partition a b --points points.csv --json
	jq -e '.recommendation == "share" and .splits[.best].per_watt_interval[0] > .turns.per_watt' <<<"$output"
	# The best split does more of the job that needs less power: turns of the same work are better.
	rm points.csv
	points a 4 V100-SXM2-32 0 20 ./a.sh
	points b 8 V100-SXM2-32 0 20 ./b.sh
	awk -F, -v OFS=, '$1 == "b" { $13 = 60000 + 2000 * $4; $15 = 1530 } $1 == "a" { $13 = 60000 + 300 * $4 } { print }' points.csv >x && mv x points.csv
	run -0 heshare partition a b --points points.csv
	[[ "$output" == *"Take turns: "*"Turns that do the work of the best split need less energy."* ]]
}

@test "three and four jobs in steps of 5, and the clock chosen with the split" {
	run -0 heshare partition resnet50 vgg16 bert-large mobilenet --modelled --step 5 \
		--objective energy --json
	jq -e '.splits | length < 2000 and length > 10' <<<"$output"
	jq -e '.splits[.best].per_watt >= .equal.per_watt' <<<"$output"
	run -0 heshare partition resnet50 vgg16 bert-large --modelled --objective normalized \
		--clocks 1530,1012 --json
	jq -e '([.splits[].clock_mhz] | unique) == [1012, 1530] and .splits[.best].clock_mhz == 1012 and .equal.clock_mhz == 1530' <<<"$output"
	run -0 heshare partition resnet50 vgg16 --modelled --clocks all --gpu A100-SXM-80 \
		--objective normalized
	[[ "$output" == *"nvidia-smi -i 0 -lgc "*"nvidia-smi -i 0 -rgc"* ]]
}

@test "known networks, and what was measured on another type, are split with what was measured" {
	heshare partition resnet50/16 vgg16/8 --gpu T4 --json >known.json
	heshare partition resnet50/16 vgg16/8 --gpu T4 --modelled --json | jq -S .splits >modelled.json
	jq -S .splits known.json | cmp - modelled.json
	points a 4 V100-SXM2-32 1 20 ./a.sh
	heshare profiles import points.csv --as measured
	run -0 heshare partition a/4 resnet50/16 --gpu V100-SXM2-32
	[[ "$output" == *"(the store and the GPU model)"* ]]
	run -0 heshare partition a/4 resnet50/16 --gpu V100-SXM2-32 --json
	jq -e '.splits | length == 45' <<<"$output"
	run -0 heshare partition a/4 resnet50/16 --gpu T4
	run -1 heshare partition b/4 resnet50/16 --gpu T4
	[[ "$output" == *"has no measured points of b at this batch size; run: heshare profile b --batch 4 -- COMMAND"* ]]
}

@test "an error names the command that measures what is missing" {
	run -1 heshare partition a b
	[[ "$output" == *"no job was measured yet: there is no store; heshare profile NAME -- COMMAND measures one"* ]]
	points a 4 V100-SXM2-32 1 20 ./a.sh
	points b 8 V100-SXM2-32 10 2 ./b.sh
	run -1 heshare partition a c --points points.csv
	[[ "$output" == \
		*"points.csv has no measured points of c; run: heshare profile c -- COMMAND" ]]
	run -1 heshare partition a b/16 --points points.csv
	[[ "$output" == *"no measured points of b at this batch size; run: heshare profile b --batch 16 -- COMMAND" ]]
	run -1 heshare partition a b --points points.csv --gpu T4
	[[ "$output" == *"a was measured on a V100-SXM2-32 and not on a T4; on a machine with one, run: heshare profile a --batch 4 -- ./a.sh" ]]
	run -1 heshare partition a b --points points.csv --clocks 900
	[[ "$output" == *"a/4 was not measured alone at two shares or more on a V100-SXM2-32 at 900 MHz; run: heshare profile a --batch 4 --shares 10..100 --clocks 900 -- ./a.sh" ]]
	points a 8 V100-SXM2-32 1 40 ./a.sh
	run -1 heshare partition a b --points points.csv
	[[ "$output" == *"a was profiled at batch sizes 4, 8; write a/8" ]]
	points a 4 T4 2 40 ./a.sh 1590
	points b 8 T4 20 4 ./b.sh 1590
	run -1 heshare partition a/4 b --points points.csv
	[[ "$output" == *"profiled on several GPU types; choose one by --gpu: V100-SXM2-32, T4" ]]
	run -1 heshare partition gpt2/4096 bert-large/64 --modelled --gpu T4
	[[ "$output" == *"gpt2/4096 needs more memory than the 15360 MiB of a T4"* ]]
	run -1 heshare partition vgg19/32 bert-large/32 resnet152/32 densenet161/32 --modelled \
		--gpu T4
	[[ "$output" == *"these jobs need "*" MiB of memory and a T4 has 15360 MiB; share with fewer jobs, or take smaller batches" ]]
}

@test "odd points: noisy ones, other types, types that nobody knows, names with a slash, few shares" {
	points a 4 V100-SXM2-32 1 20 ./a.sh
	points b 8 V100-SXM2-32 10 2 ./b.sh
	points c 8 RTX-9090 10 2 ./c.sh
	points org/model 8 V100-SXM2-32 5 5 ./m.sh
	run -0 heshare partition a org/model --points points.csv --gpu V100-SXM2-32
	run -0 heshare partition a org/model/8 --points points.csv --json
	jq -e '.jobs[1].workload == "org/model"' <<<"$output"
	# From 10 to 50 % only: no guess beyond, and no normalized objective.
	awk -F, -v OFS=, '$1 != "a" || $4 <= 50' points.csv >half.csv
	run -0 heshare partition a b --points half.csv --json --objective sum
	jq -e 'all(.splits[]; .sm_pct[0] <= 50)' <<<"$output"
	jq -e '.recommendation == "share" and .turns == null' <<<"$output"
	run -1 heshare partition a b --points half.csv
	[[ "$output" == *"the objective needs the throughput of a/4 alone on a whole V100-SXM2-32 at 1530 MHz, which was not measured; "*", and --objective sum does without" ]]
	awk -F, -v OFS=, '$1 == "a" { $9 = 0.08 } { print }' points.csv >noisy.csv
	heshare partition a b --points noisy.csv --json | jq -e '.jobs[0].workload == "a"'
	awk -F, '$4 == 100 || NR == 1' points.csv >whole.csv
	run -1 heshare partition a b --points whole.csv
	[[ "$output" == *"a/4 was not measured alone at two shares or more on a V100-SXM2-32 at 1530 MHz; run: heshare profile a --batch 4 --shares 10..100"* ]]
	# Only other clocks than the default were profiled.
	rm points.csv
	points a 4 V100-SXM2-32 1 20 ./a.sh 900
	points b 8 V100-SXM2-32 10 2 ./b.sh 900
	run -0 heshare partition a b --points points.csv --clocks all --objective sum
	[[ "$output" == *"against equal shares at 900 MHz."* ]]
}

@test "a split of one's own, and equal shares at the default clock whatever the clocks" {
	run -0 heshare partition resnet50 vgg16 --modelled --split 25,70 --json
	jq -e '.given.sm_pct == [25, 70] and .given.power_w > 100' <<<"$output"
	run -2 heshare partition resnet50 vgg16 --modelled --split 25
	[[ "$output" == *"--split: 25 does not give one share for each of 2 jobs"* ]]
	run -2 heshare partition resnet50 vgg16 --modelled --split 90,5
	[[ "$output" == *"5 % of the SMs for vgg16/8, which was profiled from 10 to 100 %" ]]
	run -2 heshare partition resnet50 vgg16 --modelled --split 60,60
	[[ "$output" == *"shares that sum to 120 %"* ]]
	# At 1012 MHz no split keeps the floor; equal shares are those of 1530 MHz and say so.
	run -0 heshare partition resnet50 vgg16 --modelled --clocks 1012,1530 --objective energy \
		--floor 0.45 --json
	jq -e '.equal.clock_mhz == 1530 and .splits[.best].clock_mhz == 1530' <<<"$output"
	equal=$(jq .equal.power_w <<<"$output")
	run -0 heshare partition resnet50 vgg16 --modelled --json
	[ "$(jq .equal.power_w <<<"$output")" = "$equal" ]
	run -2 heshare partition resnet50 vgg16 --modelled --clocks ,
	[[ "$output" == *"--clocks"* ]]
}

@test "wrong usage gets a sentence" {
	run -2 heshare partition a
	[[ "$output" == *"two jobs or more are needed, or --jobs FILE"* ]]
	run -2 heshare partition a b --run
	[[ "$output" == *"name the GPU of this machine by --gpu INDEX"* ]]
	run -2 heshare partition a b --gpu V100-SXM2-32 --run
	run -2 heshare partition --jobs x --gpu 0 --run
	run -2 heshare partition a b --gpu 0 --for 9
	[[ "$output" == *"--for goes with --run" ]]
	run -2 heshare partition a b --gpu 0 -- x y
	[[ "$output" == *"commands after -- go with --run" ]]
	run -2 heshare partition a b --gpu 0 --logs d
	run -2 heshare partition a b --gpu 0 --run -- x
	[[ "$output" == *"as many commands as jobs"* ]]
	run -2 heshare partition a b --gpu 0 --run -- x y z
	run -2 heshare partition --gpu 0 --run -- x y
	run -2 heshare partition --jobs x a
	[[ "$output" == *'--jobs takes no operand, but "a" was given' ]]
	run -2 heshare partition a b --fleet f.yaml
	run -2 heshare partition a b --most 3
	run -2 heshare partition --jobs x --clocks 900
	run -2 heshare partition a b --modelled --points x
	run -2 heshare partition a b --objective joules
	[[ "$output" == *sum*normalized*energy* ]]
	run -2 heshare partition a/0 b --modelled
	[[ "$output" == *'a/0: batch size: '* ]]
	run -1 heshare partition vgg16 resnet50/x --modelled
	[[ "$output" == *'the model has no workload "resnet50/x"'*"; a batch size is a number: resnet50/8" ]]
	run -1 heshare partition nosuch resnet50 --modelled
	[[ "$output" == *'the model has no workload "nosuch"'* ]]
}

@test "many jobs on a fleet: each in one group, and jobs beyond its GPUs wait for a wave" {
	heshare trace helios-like --jobs 30 -o jobs.csv
	run -0 --separate-stderr heshare partition --jobs jobs.csv --modelled --most 3 --json \
		--effort 600
	jq -e '.waves == 2 and .objective == "energy" and (.groups | length) == 16' <<<"$output"
	[ "$(jq -r '.groups[].jobs[].job' <<<"$output" | sort | uniq -c | awk '$1 != 1 || NF != 2' | wc -l)" = 0 ]
	[ "$(jq -r '.groups[].jobs[].job' <<<"$output" | wc -l)" = 30 ]
	jq -e 'all(.groups[]; (.jobs | length) <= 3 and ([.jobs[].sm_pct] | add // 0) <= 100)' \
		<<<"$output"
	jq -e '.work / .power_w / .per_watt - 1 | fabs < 1e-9' <<<"$output"
	run -0 --separate-stderr heshare partition --jobs jobs.csv --modelled --most 4 --effort 600
	[[ "$output" == *"The fleet does "*"worth of work at "* ]]
	# A floor that two jobs on one GPU can rarely both keep: more waves.
	run -0 --separate-stderr heshare partition --jobs jobs.csv --modelled --most 4 --floor \
		0.3 --json --effort 600
	jq -e '.waves > 1' <<<"$output"
	sed -i 's/,[0-9]*$/,900000/' jobs.csv
	sed -i '1s/.*/id,arrival_s,workload,batch_size,iterations,memory_mib/' jobs.csv
	run -1 heshare partition --jobs jobs.csv --modelled
	[[ "$output" == *"job 1 needs 900000 MiB of memory"* ]]
}

@test "the table of docs/partition.md is what the command prints" {
	local page=$HES_SOURCE_ROOT/docs/partition.md
	"$HESHARE" partition resnet50/16 bert-large/8 --modelled >printed
	awk '/^```/ { on = 0 } on && $1 != "..." && NF; /^\$ heshare partition resnet50\/16/ { on = 1 }' "$page" >shown
	[ "$(wc -l <shown)" -ge 10 ]
	run grep -vxFf printed shown
	[ -z "$output" ]
}
