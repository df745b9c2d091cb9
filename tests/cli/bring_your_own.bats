#!/usr/bin/env bats
# Plans, policies and workloads of one's own: simulate --plan without predictions, --per-job,
# exec:PROGRAM

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR"
	G=$HES_SOURCE_ROOT/tests/golden/data
	FLEET=(--fleet "$G/fleet.yaml")
}

# refused STATUS PIECE ARGUMENTS...: one line on stderr that has the piece
refused() {
	local want=$1 piece=$2
	shift 2
	run "$HESHARE" "$@"
	echo "status $status: $output"
	[ "$status" -eq "$want" ]
	[[ "$output" == *"$piece"* ]]
	[ "${#lines[@]}" -eq 1 ]
}

# The golden plan with nothing but decisions.
bare() {
	jq '{gpus: [.gpus[] | {gpu, batches: [.batches[] | {clock_mhz, jobs: [.jobs[] | {job, sm_pct}]}]}]}' "$G/plan.json"
}

# program NAME: a program from standard input
program() {
	{ echo '#!/bin/sh'; cat; } >"$1"
	chmod +x "$1"
}

@test "a plan of decisions alone is replayed as the same plan with predictions, which print as -" {
	bare >bare.json
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --plan "$G/plan.json" --json >full.out
	run -0 --separate-stderr "$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --plan \
		bare.json --json --csv bare.csv
	[ -z "$stderr" ]
	jq -es '.[0].policies[0] | .predicted == {avg_jct_s: null, busy_energy_j: null}' \
		<<<"$output"
	jq -es '(.[0].policies[0] | del(.name, .predicted)) == (.[1].policies[0] | del(.name, .predicted))' - full.out <<<"$output"
	[ "$(tail -1 bare.csv | cut -d, -f 12-13)" = , ]
	run -0 "$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --plan bare.json -p pwr --seeds \
		1..2 --wide
	grep -E '^bare\.json .* - +- ' <<<"$output"
	! grep -E '^pwr .* - +- ' <<<"$output" || false
}

@test "a plan without predictions may have an open queue, and a report" {
	jq '{gpus: [{gpu: "new/0", together: 2, batches: [.gpus[].batches[].jobs[] | {jobs: [{job, sm_pct: 50}]}]}]}' "$G/plan.json" >open.json
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --plan open.json --burst --per-job \
		rows.csv --json >out.json
	# A clock that is not given is the type's default; two at a time, in order.
	[ "$(cut -d, -f 11 rows.csv | sort -u | tr '\n' ' ')" = "1410 clock_mhz " ]
	[ "$(awk -F, 'NR > 1 && $13 == "0.000000"' rows.csv | wc -l)" -eq 2 ]
	jq -e '.policies[0] | .predicted.avg_jct_s == null and .mean_util > 0' out.json
	command -v gnuplot >/dev/null || return 0
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" --plan open.json -p pwr --report r.html \
		>/dev/null
	grep -q 'open.json' r.html
}

@test "what a plan of decisions names must exist and fit, and run wants predictions" {
	bare >bare.json
	jq '.gpus[0].batches[0].jobs[0].job = "late"' bare.json >twice.json
	refused 1 "job late is planned twice" simulate "$G/jobs.csv" "${FLEET[@]}" --plan twice.json
	jq 'del(.gpus[0].batches[0].jobs[0].sm_pct)' bare.json >share.json
	refused 1 "share.json: gpus[0].batches[0].jobs[0].sm_pct: missing" simulate \
		"$G/jobs.csv" "${FLEET[@]}" --plan share.json
	jq '.predicted = {}' bare.json >half.json
	refused 1 "half.json: predicted.avg_jct_us: missing" simulate "$G/jobs.csv" \
		"${FLEET[@]}" --plan half.json
	jq '.gpus |= map(.type = {"old/0": "T4", "old/1": "V100-SXM2-32", "new/0": "A100-SXM-80"}[.gpu])' bare.json >typed.json
	refused 1 "typed.json: it has no predictions" run typed.json "$G/jobs.csv" --command \
		true --dry-run
}

@test "a row for each job and policy: times agree with the totals, joules sum to the busy energy" {
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p joint,morak,pwr --seeds 1..2 \
		--time-noise 3 --power-noise 4 \
		--per-job jobs.out --csv runs.out >/dev/null
	python3 - "$G/jobs.csv" <<-'END'
		import csv, sys
		jobs = {j["id"]: j for j in csv.DictReader(open(sys.argv[1]))}
		rows = list(csv.DictReader(open("jobs.out")))
		runs = list(csv.DictReader(open("runs.out")))
		assert len(runs) == 6 and len(rows) == 6 * len(jobs)
		for run in runs:
		    own = [r for r in rows if all(r[k] == run[k] for k in ("policy", "prefer", "seed"))]
		    assert [r["job"] for r in own] == list(jobs)
		    assert abs(sum(float(r["energy_j"]) for r in own) - float(run["busy_energy_j"])) < 1
		    assert abs(sum(float(r["jct_s"]) for r in own) / len(own) - float(run["avg_jct_s"])) < 1e-4
		    assert abs(max(float(r["end_s"]) for r in own) - float(run["makespan_s"])) < 1e-4
		    for r in own:
		        assert float(r["start_s"]) >= float(jobs[r["job"]]["arrival_s"]) == float(r["arrival_s"])
		        # Noise apart, nothing is faster than alone on the whole GPU at its default
		        # clock.
		        assert float(r["end_s"]) - float(r["start_s"]) > 0.85 * float(r["alone_s"])
		        with_it = {o["job"] for o in own if o["gpu"] == r["gpu"] and o is not r
		                   and float(o["start_s"]) < float(r["end_s"]) and float(o["end_s"]) > float(r["start_s"])}
		        assert set(filter(None, r["co_runners"].split(","))) == with_it
		assert any(r["co_runners"] for r in rows) and all(not r["co_runners"] for r in rows if r["policy"] == "pwr")
	END
	refused 1 "no/such.csv" simulate "$G/jobs.csv" "${FLEET[@]}" -p pwr --per-job no/such.csv
}

@test "a program is a policy: plan, simulate and the plan's file agree" {
	local mine=exec:$HES_SOURCE_ROOT/examples/policy.py
	"$HESHARE" plan "$G/jobs.csv" "${FLEET[@]}" --policy "$mine" -o plan.json >plan.txt
	grep -q '^exec:policy.py: 8 jobs on 3 GPUs (' plan.txt
	jq -e '.policy == "exec:policy.py" and .predicted.avg_jct_us > 0 and .predicted.busy_energy_j > 0 and .seed == 1' plan.json
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p "$mine,pwr" --plan plan.json --burst \
		--no-timing --json >out.json
	jq -e '[.policies[].name] == ["exec:policy.py", "pwr", "plan.json"] and
		(.policies | (.[0] | del(.name)) == (.[2] | del(.name))) and
		(.policies[0] | .predicted.avg_jct_s / .avg_jct_s | . > 0.9 and . < 1.1)' out.json
}

@test "a program gets jobs, fleet and profiles, and plans again whenever jobs arrive" {
	program mine <<-'END'
		n=$(ls request.* 2>/dev/null | wc -l)
		cat >request.$n
		jq '{gpus: [{gpu: "new/0", batches: [.jobs[] | {jobs: [{job: .id, sm_pct: 100}]}]}]}' request.$n
	END
	"$HESHARE" simulate "$G/jobs.csv" "${FLEET[@]}" -p exec:./mine --json >out.json
	jq -e '.policies[0].makespan_s > 900.25' out.json
	# Jobs arrive at six moments.
	[ "$(ls request.* | wc -l)" -eq "$(tail -n +2 "$G/jobs.csv" | cut -d, -f 2 | sort -u | wc -l)" ]
	jq -e '.format == "heshare-request" and .version == 2 and .seed == 1 and .now_us == 0 and [.jobs[].id] == ["small", "early"] and
		[.gpus[] | [.gpu, .gpu_type, .free_at_us, .running]] ==
			[["old/0", "T4", 0, []], ["old/1", "V100-SXM2-32", 0, []], ["new/0", "A100-SXM-80", 0, []]] and
		(.gpu_types[0] | .gpu_type == "T4" and .memory_mib == 15360 and .mps and (.clocks_mhz | index(1590)) and .idle_power_w > 0) and
		(.profiles | length) == 6 and all(.profiles[]; .iteration_us > 0 and .power_w > 0)' request.0
	jq -e '.now_us == 10000000 and (.gpus[2] | .free_at_us > 10000000 and (.running | length) == 1 and .running[0].sm_pct == 100)' request.1
}

@test "the predictions of a program's plan are those of a policy that decides the same" {
	"$HESHARE" plan "$G/jobs.csv" "${FLEET[@]}" --policy joint -o joint.json >/dev/null
	"$HESHARE" plan "$G/jobs.csv" "${FLEET[@]}" --policy heshare -o heshare.json >/dev/null
	for policy in joint heshare; do
		program again <<-END
			jq '{gpus: [.gpus[] | {gpu, together, shares_pct, batches: [.batches[] | {clock_mhz, jobs: [.jobs[] | {job, sm_pct}]}]} |
				with_entries(select(.value != null))]}' $policy.json
		END
		"$HESHARE" plan "$G/jobs.csv" "${FLEET[@]}" --policy exec:./again -o again.json \
			>/dev/null
		jq -es '(.[0].gpus == .[1].gpus) and .[0].predicted == .[1].predicted' \
			$policy.json again.json
	done
}

@test "what is wrong with a program or its answer is said" {
	local args=(plan "$G/jobs.csv" "${FLEET[@]}" --policy exec:./bad)
	refused 2 'policy "exec:" names no program; exec:./PROGRAM is right' plan "$G/jobs.csv" \
		--policy exec:
	refused 2 'policy "exec:" names no program' simulate "$G/jobs.csv" -p pwr,exec:
	refused 2 "policy exec:bad has no preference" "${args[@]}" --prefer energy
	refused 1 "exec:bad: cannot run ./bad: No such file or directory" "${args[@]}"
	touch bad
	refused 1 "exec:bad: cannot run ./bad: Permission denied" "${args[@]}"
	program bad <<<'exit 3'
	refused 1 "exec:bad: it ended with exit status 3; a program that has a plan ends with 0" \
		"${args[@]}"
	# It and what it started are ended, also what left its session.
	program bad <<-'END'
		setsid sleep 1000 &
		echo $! >children
		sleep 1000 &
		echo $! $$ >>children
		wait
	END
	refused 1 "exec:bad: it had no plan after 2 s; it and its processes were ended (--exec-limit)" \
		"${args[@]}" --exec-limit 2
	[ "$(wc -w <children)" -eq 3 ]
	for pid in $(cat children); do
		[ ! -e /proc/$pid ] || grep -q '^State:.Z' /proc/$pid/status
	done
	refused 1 "it had no plan after 2 s" simulate "$G/jobs.csv" "${FLEET[@]}" -p exec:./bad \
		--exec-limit 2
	# The end of its output is not its own end.
	program bad <<<'exec >&-; exec sleep 1000'
	refused 1 "it had no plan after 1 s" "${args[@]}" --exec-limit 1
	program bad <<<'kill -9 $$'
	refused 1 "exec:bad: it was ended by signal 9" "${args[@]}"
	program bad <<<'echo "{"'
	refused 1 "exec:bad: its answer:2: not JSON" "${args[@]}"
	program bad <<<'true'
	refused 1 "exec:bad: its answer:1: not JSON" "${args[@]}"
	program bad <<<'echo "{\"jobs\": []}"'
	refused 1 "exec:bad: its answer: gpus: missing" "${args[@]}"
	program bad <<<'jq "$(cat edit)" good.json'
	bare >good.json
	answer() {
		echo "$1" >edit
		refused 1 "exec:bad: $2" "${args[@]}"
	}
	answer '.gpus[0].batches[0].jobs[0].job = "nobody"' \
		'its answer: gpus[0].batches[0].jobs[0].job: no job "nobody" among the jobs'
	answer '.gpus[0].batches[0].jobs[0].job = "late"' \
		'old/0: batch 1: job late is planned twice'
	answer 'del(.gpus[0].batches[1])' 'job late is not in the plan'
	answer '.gpus[0].gpu = "old/7"' 'its answer: gpus[0].gpu: no GPU "old/7" in fleet three'
	answer '.gpus[0].batches[0].jobs[0].sm_pct = 0' \
		'its answer: gpus[0].batches[0].jobs[0].sm_pct: 0 is outside 1 to 100'
	answer '.gpus[1].batches[0].jobs[0].sm_pct = 50' \
		'old/1: batch 0: shares sum to 110 %, more than 100 %'
	answer '.gpus[0].batches[0].clock_mhz = 1591' 'old/0: batch 0: T4 has no clock of 1591 MHz'
	answer '.gpus[0].batches[0].clock_mhz = 1575' \
		'old/0: batch 0: 1575 MHz is none of the clocks_mhz of this GPU'
	answer '.gpus[0].together = 5' 'old/0: together is 5; at most 4 jobs can share this GPU'
	sed 's/,1600$/,16000/' "$G/jobs.csv" >large.csv
	echo . >edit
	refused 1 "exec:bad: old/0: batch 0: its jobs need 16000 MiB, T4 has 15360 MiB" plan \
		large.csv "${FLEET[@]}" --policy exec:./bad
	refused 1 "simulate: exec:bad, seed 1: exec:bad: its answer: gpus[0].batches[1].jobs[0].job: no job \"late\" among the jobs" \
		simulate "$G/jobs.csv" "${FLEET[@]}" -p exec:./bad
}

# Rows of profiles.csv for a workload of the model under another name.
profile_rows() {
	local type batch
	for type in T4 V100-SXM2-32 A100-SXM-80; do
		for batch in 1 8 32; do
			"$HESHARE" model "$1" --gpu "$type" -b "$batch" --json |
				jq -r --arg name "$2" '.jobs[0] as $j | [$name, .gpu_type, $j.batch_size, $j.memory_mib, .clock_mhz, $j.iteration_us,
					$j.sm_util, $j.dram_util, $j.l2_util, (.power_w * 1000 | round)] | @csv' | tr -d \"
		done
	done
}

# A workload that the model knows, but starts no fit from, under another name.
own_profiles() {
	echo workload,gpu_type,batch_size,memory_mib,clock_mhz,iteration_us,sm_util,dram_util,l2_util,power_mw
	profile_rows bert-miso mine
	profile_rows resnet50 resnet50
}

own_jobs() {
	echo id,arrival_s,workload,batch_size,iterations,memory_mib
	for i in 1 2 3 4 5 6; do
		echo "m$i,$((20 * i)),$1,$((4 * i)),3000,3000"
		echo "r$i,$((20 * i)),resnet50,16,5000,2000"
	done
}

@test "simulate replays a workload that only a profile knows, and says how well it is fitted" {
	own_profiles >rows.csv
	own_jobs mine >mine.csv
	own_jobs bert-miso >known.csv
	refused 1 'job m1: it was not measured (heshare profile measures it), and the model has no workload "mine"' simulate mine.csv "${FLEET[@]}" --plan <(echo '{"gpus": []}')
	run -0 "$HESHARE" simulate mine.csv "${FLEET[@]}" -p pwr,mps-equal --profiles rows.csv
	[[ "$output" == *$'\n'"Jobs: 12 measured."* ]]
	[[ "$output" == *$'\n'"mine: fitted to 9 points: time "*" %, power "*" %; nearest network "* ]]
	[[ "$output" != *"resnet50: fitted"* ]]
	"$HESHARE" simulate mine.csv "${FLEET[@]}" -p pwr,mps-equal --profiles rows.csv --json \
		>own.json
	jq -e '.fitted | length == 1 and .[0].workload == "mine" and .[0].points == 9 and .[0].time_error < 0.12 and .[0].power_error < 0.12' own.json
	# The same plans of the same profiles, replayed with the parameters that the profile was
	# drawn with.
	sed 's/^mine,/bert-miso,/' rows.csv >known_rows.csv
	"$HESHARE" simulate known.csv "${FLEET[@]}" -p pwr,mps-equal --profiles known_rows.csv \
		--json >known.json
	jq -e 'has("fitted") | not' known.json
	jq -es 'def near(a; b): (a / b - 1) | fabs < 0.15;
		[.[0].policies, .[1].policies] | transpose | length == 2 and all(.[]; . as [$a, $b] |
			near($a.avg_jct_s; $b.avg_jct_s) and near($a.busy_energy_j; $b.busy_energy_j))' own.json known.json
}

@test "a plan of one's own workloads is replayed, too, and model shows what was fitted" {
	own_profiles >rows.csv
	own_jobs mine | head -3 >two.csv
	echo '{"gpus": [{"gpu": "new/0", "batches": [{"jobs": [{"job": "m1", "sm_pct": 50}, {"job": "r1", "sm_pct": 50}]}]}]}' >p.json
	"$HESHARE" simulate two.csv "${FLEET[@]}" --plan p.json --profiles rows.csv --json >out.json
	jq -e '.policies[0].avg_jct_s > 0 and .fitted[0].points == 9' out.json
	"$HESHARE" model mine --profiles rows.csv --gpu T4 -b 8 --json >mine.json
	"$HESHARE" model bert-miso --gpu T4 -b 8 --json >known.json
	jq -es '(.[0].jobs[0].iteration_us / .[1].jobs[0].iteration_us - 1 | fabs < 0.05) and
		(.[0].power_w / .[1].power_w - 1 | fabs < 0.05)' mine.json known.json
	"$HESHARE" model --list --profiles rows.csv | grep -q '^mine  *profile'
	run -0 "$HESHARE" model resnet50 --co-runners mine:8:50 -s 50 --profiles rows.csv
	[[ "$output" == *"mine: fitted to 9 points: "* ]]
}

@test "a workload without a profile that can be used is named" {
	own_profiles >rows.csv
	own_jobs other >other.csv
	refused 1 'job m1: it was not measured (heshare profile measures it), and the model has no workload "other"' \
		simulate other.csv "${FLEET[@]}" -p pwr --profiles rows.csv
	refused 1 "nowhere.csv" model mine --profiles nowhere.csv
	grep -v ,T4, rows.csv >no_t4.csv
	own_jobs mine >mine.csv
	run -0 "$HESHARE" simulate mine.csv "${FLEET[@]}" -p pwr --profiles no_t4.csv
	[[ "$output" == *"Jobs: 12 derived."* ]]
	sed 's/T4\|V100-SXM2-32\|A100-SXM-80/X-&/' rows.csv >no_type.csv
	refused 1 "workload mine: the model does not know it, and it has no profile on a GPU type that the model knows" \
		simulate mine.csv "${FLEET[@]}" -p pwr --profiles no_type.csv
}
