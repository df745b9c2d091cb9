#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# heshare profile on GPUs of the lab.

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	PATH=$(dirname "$HESHARE"):$PATH
	unset LD_LIBRARY_PATH
	cd "$BATS_TEST_TMPDIR"
	# Seconds of the lab are short, and a busy machine has none to spare: jobs get many to
	# begin.
	QUICK=(--store s.db --warm-up 5 --window 10 --repeats 2..4 --patience 100000)
	TASK=(vgpu-task --workload '{workload}' --batch '{batch}' --iterations 1000000000 --every 2)
}

# rows SQL: what the store says
rows() {
	sqlite3 s.db "$1"
}

@test "a job over shares and clocks: one row a point, and what is there is not measured again" {
	run -0 --separate-stderr "$HES_LAB" --speed 100 --dcgm -- heshare profile resnet50 -g 0 "${QUICK[@]}" \
		--batch 16 --shares 50,100 --clocks 600 -- "${TASK[@]}"
	[ "${lines[0]}" = "points: 4 measured, 0 known before, 0 failed" ]
	[ "${lines[1]}" = "profiles: 1 new, 0 known; samples: 4 new, one for each job of a point" ]
	# What it took is metered from the start of the first job to the end of the last.
	[[ "${lines[2]}" =~ ^"profiling: "[0-9.]+" kJ in "[0-9.]+" "(s|min).*" of GPU time"$ ]]
	[ "$(rows "SELECT count(*) FROM origins WHERE gpu_s > (SELECT sum(seconds) FROM points) AND energy_j / gpu_s BETWEEN 10 AND 70
		AND energy_j > (SELECT sum(seconds * power_mw) / 1000 FROM points)")" = 1 ]
	step_us=$("$HESHARE" model resnet50 --batch 16 --gpu T4 --json |
		jq '.jobs[0].iteration_us | floor')
	# The physics: on the whole T4 at its power limit, which holds the clock down; twice as many
	# SMs are not twice as fast.
	[ "$(rows "SELECT count(*) FROM points WHERE sm_pct = 100 AND clock_mhz = 0 AND iteration_us BETWEEN $step_us * 0.998 AND $step_us * 1.002
		AND power_mw BETWEEN 66000 AND 70500 AND held_mhz < 1100 AND capped > 0.9 AND \
			memory_mib = 3571")" = 1 ]
	[ "$(rows "SELECT count(*) FROM points WHERE clock_mhz = 600 AND held_mhz = 600 AND capped = 0")" = 2 ]
	[ "$(rows "SELECT count(*) FROM points WHERE sm_active > 0.4 AND dram_active > 0.01 AND fp32_active IS NOT NULL AND pcie_rx_mibs > 0")" = 4 ]
	[ "$(rows "SELECT max(cv) < 0.05 AND min(windows) = 2 AND max(co_runners) = '' FROM points")" = 1 ]
	[ "$(rows "SELECT count(*) FROM points WHERE time_se < 0.03 AND temperature_c BETWEEN 25 AND 95")" = 4 ]
	run -0 --separate-stderr "$HES_LAB" --speed 100 --dcgm -- heshare profile resnet50 -g 0 "${QUICK[@]}" \
		--batch 16 --shares 50,100 --clocks 600 -- "${TASK[@]}"
	[ "${lines[0]}" = "points: 0 measured, 4 known before, 0 failed" ]
	[ "${lines[1]}" = "profiles: 0 new, 0 known; samples: 0 new, one for each job of a point" ]
	[ "${#lines[@]}" = 2 ] # nothing ran
	# The second command is a plan.
	printf 'id,workload,batch_size,iterations\na,resnet50,16,500\n' >jobs.csv
	run -0 "$HES_LAB" -- heshare plan jobs.csv --gpus 0 --store s.db -o plan.json
	[ "${lines[-1]}" = "Jobs: 1 measured." ]
	jq -e --argjson us "$step_us" '.jobs[0].measured_mib == 3571 and (.predicted.makespan_us / 500 / $us | . > 0.9 and . < 1.5)' plan.json
	run -0 "$HES_LAB" --dcgm -- heshare profile resnet50 -g 0 "${QUICK[@]}" --batch 16 \
		--shares 50,80,100 --clocks 600 --dry-run -- "${TASK[@]}"
	[[ "$output" == "T4: 2 points, at most 1 start of a job, at least "*" min of one GPU; known: 4" ]]
	run -1 "$HES_LAB" --speed 100 -- heshare profile resnet50 -g 0 "${QUICK[@]}" --batch 16 \
		-- sleep 1
	[[ "$output" == *'resnet50 at batch size 16 is in the store already, as "exec vgpu-task '*'give it another name'* ]]
	run -0 heshare profiles export --store s.db out
	[ "$output" = "out: 1 profile, 4 samples, 4 rows of points" ]
	[[ "$(head -1 out/points.csv)" == workload,*,sm_active,*,progress ]]
}

@test "two jobs: samples of both, with the GPU's power before each joined; a point of two jobs is two rows" {
	# A limit that heshare was started with is not the jobs'.
	run -0 --separate-stderr env CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=100M "$HES_LAB" --speed 100 -- heshare profile bert-large -g 6 "${QUICK[@]}" --batch 8 \
		--shares 60 --clocks default \
		--co-runners 'resnet50/16=vgpu-task --workload resnet50 --batch 16 --iterations 1000000000 --every 2' -- "${TASK[@]}"
	[ "${lines[0]}" = "points: 4 measured, 0 known before, 0 failed" ]
	# bert-large was not measured on the whole GPU: it has no profile, so it gives no samples.
	[ "${lines[1]}" = "profiles: 1 new, 0 known; samples: 2 new, one for each job of a point" ]
	run -0 --separate-stderr "$HES_LAB" --speed 100 -- heshare profile bert-large -g 6 "${QUICK[@]}" --batch 8 \
		--shares 60,100 --clocks default --co-runners resnet50/16 -- \
		"${TASK[@]}"
	[ "${lines[0]}" = "points: 1 measured, 4 known before, 0 failed" ]
	[ "$(rows "SELECT count(*) FROM points WHERE co_runners = 'resnet50/16@40' AND workload = 'bert-large' OR co_runners = 'bert-large/8@60'")" = 2 ]
	[ "$(rows "SELECT count(*) FROM samples s JOIN points p ON p.workload = 'resnet50' AND p.co_runners = '' AND p.sm_pct = 40
		WHERE s.workload = 'bert-large' AND s.co_runner_count = 1 AND s.co_runner_sm_pct = \
			40 AND s.co_runner_power_mw = p.power_mw")" = 1 ]
	run -0 heshare profiles export --store s.db out
	[[ "$output" == "out: 2 profiles, "*" samples, 6 rows of points" ]]
	run -0 heshare profiles list --store s.db
	[[ "$output" == *"source "*" points  profiles  samples  from"* ]]
	[ "$(awk '/  measured  / { rows += $5 } END { print rows }' <<<"$output")" = 6 ]
	[[ "$(tr -s " \n" " " <<<"$output")" == *"heshare profile bert-large, driver "*"-lab"* ]] # no measurement of a real GPU
	run -2 "$HES_LAB" -- heshare profile bert-large -g 6 "${QUICK[@]}" --batch 8 --co-runners \
		vgg16/4 -- "${TASK[@]}"
	[[ "$output" == *"no command is known of vgg16 at batch size 4: profile it first, or give --co-runners vgg16/4=COMMAND" ]]
}

@test "what is interrupted keeps its points, leaves nothing behind and goes on" {
	TMPDIR=$(mktemp -d /tmp/hes-XXXXXX)
	export TMPDIR
	# Until it was interrupted two of ten shares come to nothing.
	: >hold
	job='case $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE in 10|20) [ ! -e hold ] || exec sleep 100000;; esac; '"exec ${TASK[*]}"
	run -1 "$HES_LAB" --speed 20 -- sh -c 'heshare profile resnet18 -g 0,1 --store s.db --warm-up 2 --window 5 --repeats 2..4 --patience 100000 --clocks 900 -- "$0" &
		until [ "$(sqlite3 s.db "SELECT count(*) FROM points" 2>/dev/null || echo 0)" -ge 3 ]; do sleep 1; done; kill -TERM $!; wait $!; rc=$?
		heshare gpus --json | jq -e ".gpus | all(.clock_mhz == 300 or .gpu > 3)" || rc=9
		for p in $(pgrep -x vgpu-task); do ! grep -qzx "HESHARE_LAB=$HESHARE_LAB" /proc/$p/environ || rc=9; done; exit $rc' "$job"
	rm hold
	[[ "$output" == *"stopped early, "*" left; the same command goes on from here"* ]]
	n=$(rows "SELECT count(*) FROM points")
	[ "$n" -ge 3 ]
	[ "$n" -lt 20 ]
	[ "$(rows "SELECT count(*) FROM origins WHERE energy_j > 0")" = 1 ]
	run -0 --separate-stderr "$HES_LAB" --speed 100 -- heshare profile resnet18 -g 0,1 \
		"${QUICK[@]}" --clocks 900 -- "$job"
	[ "${lines[0]}" = "points: $((20 - n)) measured, $n known before, 0 failed" ]
	[ "$(rows "SELECT count(DISTINCT sm_pct || ' ' || clock_mhz) FROM points")" = 20 ]
	# Each session has its own cost; a run is compared with one job per GPU, and says what both
	# took. What another store's rows took is not known.
	printf 'id,workload,batch_size,iterations\na,resnet18,1,500\n' >jobs.csv
	finite='vgpu-task --workload {workload} --batch {batch} --iterations {iterations}'
	heshare profiles export --store s.db rows
	run -0 --separate-stderr "$HES_LAB" --speed 100 -- heshare run jobs.csv --gpus 0 --store s.db -c "$finite"
	[[ "$output" =~ "profiling, once "+none" "+[0-9.]+" kJ"$'\n'" "+"its GPU time "+none" "+[0-9]+" min" ]]
	jq -e --argjson j "$(rows "SELECT sum(energy_j) FROM origins")" '.baseline.profiling |
		.sessions == 2 and .not_measured == 0 and .gpu_s > 0 and (.energy_j / $j - 1 | fabs) < 1e-6' jobs.run/report.json
	# A comparison of policies has it, too; with several sets of jobs each session counts once.
	for sets in jobs.csv 'jobs.csv jobs.csv'; do
		run -0 --separate-stderr heshare simulate $sets --policy static,exclusive --store s.db
		[[ "$output" =~ "profiling, once, in none of the rows: "[0-9.]+" kJ in "[0-9]+" min "([0-9]+" s ")?"of GPU time" ]]
		heshare simulate $sets --policy static,exclusive --store s.db --json |
			jq -e --argjson j "$(rows "SELECT sum(energy_j) FROM origins")" '(.comparison // .).profiling |
			.sessions == 2 and .not_measured == 0 and .gpu_s > 0 and (.energy_j / $j - 1 | fabs) < 1e-6'
	done
	sqlite3 s.db 'UPDATE origins SET gpu_s = NULL, energy_j = NULL WHERE id = 1'
	run -0 --separate-stderr heshare simulate jobs.csv --policy static --store s.db
	[[ "$output" == *" of GPU time; 1 of 2 sessions not measured"* ]]
	run -0 --separate-stderr "$HES_LAB" --speed 100 -- heshare run jobs.csv --gpus 0 --store s.db -c "$finite" --jobs again
	[[ "$output" == *"profiling: 1 of 2 sessions were not measured"* ]]
	run -0 --separate-stderr "$HES_LAB" --speed 100 -- heshare run jobs.csv --gpus 0 --store s.db --profiles rows -c "$finite" --jobs third
	[[ "$output" =~ "profiling, once "+"none  not measured" ]]
	jq -e '.baseline.profiling | .sessions == 1 and .energy_j == null' third/report.json
	rmdir "$TMPDIR"
}

@test "Ctrl-C ends the line of progress: the report begins in a line of its own" {
	# A terminal, on which Ctrl-C is typed at the first point.
	cat >terminal.py <<-'END'
		import os, pty, sys
		pid, fd = pty.fork()
		if pid == 0:
		    os.execvp(sys.argv[1], sys.argv[1:])
		shown = b""
		try:
		    while piece := os.read(fd, 4096):
		        typed, shown = b"point 1 of" in shown, shown + piece
		        if b"point 1 of" in shown and not typed:
		            os.write(fd, b"\x03")
		except OSError:  # all have left the terminal
		    pass
		sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
	END
	run -0 python3 terminal.py "$HES_LAB" --speed 20 -- heshare profile resnet18 -g 0 \
		--store s.db --warm-up 2 --window 5 --repeats 2..4 \
		--patience 100000 --clocks 900 -- "${TASK[@]}"
	grep -q '^points: [0-9]* measured' <<<"$output"
	grep -q '^heshare profile: stopped early, ' <<<"$output"
}

@test "a job that prints nothing is timed by its runs" {
	run -0 "$HES_LAB" --speed 20 -- heshare profile silent -g 0 --store s.db --warm-up 1 \
		--window 2 --repeats 2..3 --patience 100000 --shares 100 --clocks default -n 200 \
		-- \
		'vgpu-task --workload resnet50 --batch 16 --iterations 200 >/dev/null'
	# An iteration, and of its start, which takes the machine's time, a 200th.
	[ "$(rows "SELECT count(*) FROM points WHERE iteration_us BETWEEN 30000 AND 1000000")" = 1 ]
	run -1 "$HES_LAB" --speed 20 -- heshare profile mute -g 0 --store s.db --warm-up 1 \
		--shares 100 --clocks default -- true
	[[ "$output" == *'mute at batch size 1 ended without a progress line: it printed nothing, where lines "heshare: N iterations" are expected; programs hold back'*'flush=True'* ]]
}

@test "progress is read from Python that does not flush, and from a bar of carriage returns" {
	cat >loop.py <<-'END'
		import subprocess, sys
		p = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, text=True)
		for line in p.stdout:
		    n = line.split()[1]
		    sys.stdout.write({"lines": line, "bar": "\r" + line.strip(), "tqdm": f"\r{n}/1000000 [0:01, {n}it/s]"}[sys.argv[1]])
		    if sys.argv[1] != "lines":
		        sys.stdout.flush()
	END
	for how in lines bar tqdm; do
		progress=()
		[ $how != tqdm ] || progress=(--progress '(\d+)/\d+')
		run -0 --separate-stderr "$HES_LAB" --speed 20 -- env -u PYTHONUNBUFFERED heshare profile $how -g 0 \
			"${QUICK[@]}" "${progress[@]}" --shares 100 --clocks default -- python3 loop.py $how \
			vgpu-task --workload resnet50 --batch 16 --iterations 1000000 --every 1
		[ "${lines[0]}" = "points: 1 measured, 0 known before, 0 failed" ]
	done
	# What counts is part of a point.
	[ "$(rows "SELECT progress FROM points WHERE workload = 'tqdm'")" = '(\d+)/\d+' ]
	run -1 "$HES_LAB" --speed 20 -- heshare profile tqdm -g 0 "${QUICK[@]}" --shares 100 --clocks default -- python3 loop.py tqdm \
		vgpu-task --workload resnet50 --batch 16 --iterations 1000000 --every 1
	[[ "$output" == *'tqdm at batch size 1 is in the store already, with iterations counted by --progress (\d+)/\d+; count them so'* ]]
	run -1 "$HES_LAB" --speed 20 -- heshare profile mute -g 0 "${QUICK[@]}" --progress 'step (\d+)' --shares 100 --clocks default -- 'echo stop 3'
	[[ "$output" == *"ended without a progress line: it printed 7 bytes but no line that --progress 'step (\d+)' matches; its last line: stop 3; programs"* ]]
}

@test "jobs with commands of their own take --iterations; what they print does not count then" {
	printf 'id,workload,batch_size,iterations,memory_mib,command\na,silent,1,200,4000,%s\n' \
		'"vgpu-task --workload resnet50 --batch 16 --iterations 200 >/dev/null"' >jobs.csv
	run -0 "$HES_LAB" --speed 20 -- heshare profile --jobs jobs.csv --samples 0 -g 0 \
		--store s.db --warm-up 1 --window 2 --repeats 2..3 --patience 100000 --shares 100 \
		--clocks default --iterations 200
	[ "$(rows "SELECT count(*) FROM points WHERE workload = 'silent' AND iteration_us BETWEEN 30000 AND 1000000")" = 1 ]
	run -1 "$HES_LAB" --speed 20 -- heshare profile still -g 0 --store s.db --warm-up 1 \
		--patience 20 --shares 100 --clocks default -n 5 -- \
		vgpu-task --workload resnet50 --batch 16 --iterations 1000000000 --every 1
	[[ "$output" == *'still at batch size 1 has made no progress for '*' s: with --iterations (-n) only the ends of its runs count, and progress lines are ignored, though it prints some: leave --iterations out'* ]]
}

@test "failed jobs are reported with their last line, the others are measured" {
	run -1 --separate-stderr "$HES_LAB" --speed 100 -- heshare profile broken -g 0,1 \
		"${QUICK[@]}" --shares 50,100 --clocks default --batch 1,2 -- \
		'[ {batch} = 1 ] || { echo no such model; exit 3; }; vgpu-task --workload resnet50 --batch 16 --iterations 1000000000 --every 2'
	[ "${lines[0]}" = "points: 2 measured, 0 known before, 2 failed" ]
	[[ "$stderr" == \
		*"broken at batch size 2 ended with status 3: no such model; left out: "[12]" point"* ]]
	[ "$(rows "SELECT count(*) FROM points")" = 2 ]
}

@test "a command that cannot be run, or prints no progress, fails at once at all shares" {
	{
		echo workload,gpu_type,batch_size,sm_pct,clock_mhz,co_runners,command,iteration_us,cv,windows,seconds,power_mw,power_cv,busy,sm_active,dram_active
		echo other,T4,4,100,0,,./other,10000,0.01,4,8,60000,0.01,0.9,0.25,0.1
	} >other.csv
	"$HESHARE" profiles import other.csv --as measured --store s.db >/dev/null
	rows "DELETE FROM profiles"
	for command in nosuchprogram true; do
		run -1 --separate-stderr "$HES_LAB" --speed 100 -- heshare profile broken -g 0 \
			"${QUICK[@]}" --clocks 600 --batch 1,2 --json -- "$command {batch}"
		jq -e '[.measured, .failed, .left, .starts] == [0, 40, 0, 2]' <<<"$output"
		[ "$(grep -c 'left out: 20 points' <<<"$stderr")" = 2 ]
	done
	# One that always ends with an error is given up after three starts, alone; one that works at
	# first is not, nor is one that is killed.
	for command in false 'kill -9 $$' 'mkdir w$CUDA_MPS_ACTIVE_THREAD_PERCENTAGE && mkdir first && exec vgpu-task --workload resnet50 --batch 16 --iterations 1000000000 --every 2'; do
		run -1 --separate-stderr "$HES_LAB" --speed 100 -- heshare profile broken -g 0 \
			"${QUICK[@]}" --shares 50,60,70,80,90,100 --clocks default --batch 1 --json -- "$command"
		case $command in
		false)
			jq -e '[.measured, .failed, .left, .starts] == [0, 6, 0, 3]' <<<"$output"
			[[ "$stderr" == *"ended with status 1, as each time before: it is not started again; left out: 4 points"* ]]
			;;
		kill*) jq -e '[.measured, .failed, .starts] == [0, 6, 6]' <<<"$output" ;;
		*) jq -e '.measured == 1 and .failed == 5 and .starts >= 6' <<<"$output" ;;
		esac
	done
	rows "DELETE FROM points WHERE workload = 'broken'; DELETE FROM profiles"
	# Nothing is stored, nor what earlier points of other jobs would give.
	[ "$(rows "SELECT (SELECT count(*) FROM points), (SELECT count(*) FROM profiles)")" = "1|0" ]
}

# Two jobs whose memory is known, on an A100. Their processes have 60, 40 or 100 % of it.
ahead_jobs() {
	printf 'id,workload,batch_size,memory_mib,command\na,resnet50,16,4000,%s\nb,bert-large,8,4000,%s\n' \
		"${1:-}vgpu-task --workload resnet50 --batch 16 --iterations 1000000000 --every 1 --start 8" \
		"${2:-}vgpu-task --workload bert-large --batch 8 --iterations 1000000000 --every 1 --start 12" >jobs.csv
	AHEAD=(heshare profile --jobs jobs.csv -g 6 --samples 12 --most 2 --shares 40,60,100
		--clocks default --warm-up 3 --window 5 --repeats 2..4 --patience 100000 --json)
}

# The processes of jobs in this lab, T for one that is stopped, by its cgroup or a signal: states
states() {
	local p folder
	for p in $(pgrep -x vgpu-task); do
		grep -qzx "HESHARE_LAB=$HESHARE_LAB" "/proc/$p/environ" || continue
		folder=$(findmnt -nfro TARGET -t cgroup2)$(sed -n 's/^0:://p' "/proc/$p/cgroup")
		if grep -qsx 'frozen 1' "$folder/cgroup.events"; then
			echo T
		else
			sed 's/.*) \(.\).*/\1/' "/proc/$p/stat"
		fi
	done
}

@test "processes start ahead, are stopped until their turn and are kept: the same points with fewer starts" {
	ahead_jobs
	run -0 --separate-stderr "$HES_LAB" --speed 50 -- "${AHEAD[@]}" --store s.db
	n=$(jq .measured <<<"$output")
	starts=$(jq .starts <<<"$output")
	jq -e '.failed == 0 and .uncertain == 0 and .ahead == .starts' <<<"$output"
	run -0 --separate-stderr "$HES_LAB" --speed 50 -- "${AHEAD[@]}" --store one.db --ahead 0
	jq -e ".measured == $n and .ahead == 0 and .starts > $starts" <<<"$output"
	[ "$(rows "ATTACH 'one.db' AS o; SELECT count(DISTINCT p.id) FROM points p JOIN o.points q USING (workload,co_runners,sm_pct)
		WHERE abs(p.iteration_us / q.iteration_us - 1) < 0.03 AND abs(1.0 * p.power_mw / q.power_mw - 1) < 0.03")" = \
		"$(rows "SELECT count(*) FROM points")" ]
	# A process uses the GPU at the end of its start, and shows progress then.
	for store in s.db one.db; do
		[ "$(sqlite3 $store "SELECT count(*) FROM points WHERE NOT (first_use_s <= start_s AND start_s >= CASE workload WHEN 'resnet50' THEN 8 ELSE 12 END)")" = 0 ]
		[ "$(sqlite3 $store "SELECT count(*) FROM profiles WHERE start_s >= 8")" = 2 ]
	done
}

@test "a profile that is killed leaves no stopped process behind" {
	ahead_jobs
	export -f states
	for sig in KILL TERM; do
		run -0 "$HES_LAB" --speed 50 -- bash -c '"$@" --store k.db & pid=$!
			until [[ $(states) == *T* ]]; do sleep 5; done
			kill -'$sig' $pid; wait $pid
			while [ -n "$(states)" ]; do sleep 5; done' bash "${AHEAD[@]}"
	done
}

@test "a job that crashes the GPU in its start fails alone; stopped processes that hold up others are given up" {
	ahead_jobs "" "sleep 12; ! mkdir crashed || vgpu-fault 6:crash; sleep 3; exit 5; "
	run -1 --separate-stderr "$HES_LAB" --speed 50 -- "${AHEAD[@]}" --store s.db
	jq -e '[.measured, .failed, .left] == [4, 4, 0]' <<<"$output"
	[ "$(rows "SELECT count(*) FROM points WHERE workload = 'bert-large'")" = 0 ]
	ahead_jobs
	export -f states
	# While a process is stopped, the GPU hangs.
	run -0 --separate-stderr "$HES_LAB" --speed 50 -- bash -c 'while sleep 10; do
			if [[ $(states) == *T* ]]; then vgpu-fault 6:hang; else vgpu-fault 6:clear; fi; done &
		"$@" --store t.db; rc=$?; kill $!; exit $rc' bash "${AHEAD[@]}" --patience 100
	[ "$(grep -c 'from here on no process starts ahead or is stopped' <<<"$stderr")" = 1 ]
	jq -e '.left == 0 and .failed == 0' <<<"$output"
}

@test "without the right to set clocks one message says so, and the default clock is measured" {
	run -0 --separate-stderr "$HES_LAB" --speed 100 --fault all:no-permission -- heshare \
		profile resnet50 -g 0,1 "${QUICK[@]}" --batch 16 --shares 50,100 -- "${TASK[@]}"
	[ "$(grep -c 'measuring only the default clock' <<<"$stderr")" = 1 ]
	[ "$(rows "SELECT count(*), min(clock_mhz) FROM points")" = "2|0" ]
}

@test "a GPU that falls off the bus is given up, the others of its type do its work" {
	# A job prints its fifth line during its first point.
	run ! "$HES_LAB" --speed 50 -- sh -c 'lost=$(heshare gpus --json | jq -r ".gpus[1].uuid"); export lost
		heshare profile resnet18 -g 0,1 --store s.db --warm-up 2 --window 5 --repeats 2..4 --patience 100000 --shares 10..60 --clocks 900 -- "$0" 2>err' \
		"n=0; ${TASK[*]} | while read -r line; do echo \"\$line\"; n=\$((n + 1)); [ \$n != 5 ] || [ \$CUDA_VISIBLE_DEVICES != \$lost ] || vgpu-fault 1:gpu-lost; done"
	grep -q 'GPU 1 is given up' err
	grep -qE 'GPUs were given up or have no MPS, [1-4] points? left' err
	[ "$(rows "SELECT count(*) FROM points")" -ge 8 ]
}

@test "a GPU whose counter stands still is profiled by its power, and that is said once" {
	run -0 "$HES_LAB" --speed 100 --fault 0:energy=frozen -- heshare profile resnet50 -g 0 \
		"${QUICK[@]}" --batch 16 --shares 100 --clocks default -- "${TASK[@]}"
	[ "$(grep -c "GPU 0: left out: the energy counter while it stood still" <<<"$output")" = 1 ]
	[ "$(rows "SELECT count(*) FROM points WHERE power_mw BETWEEN 60000 AND 75000")" = 1 ]
}

@test "a GPU that does not report its power measures nothing" {
	run -1 "$HES_LAB" --speed 100 --fault 0:sensor-gap -- heshare profile resnet50 -g 0 \
		"${QUICK[@]}" --batch 16 --shares 100 --clocks default -- "${TASK[@]}"
	[[ "$output" == *"GPU 0 does not report its power"* ]]
	[ "$(rows "SELECT count(*) FROM points")" = 0 ]
}

@test "wrong usage and impossible requests fail before anything runs" {
	run -2 heshare profile resnet50
	[[ "$output" == *"NAME -- COMMAND is needed, or --jobs FILE, or --modelled"* ]]
	run -2 heshare profile --modelled -o x -- true
	run -2 heshare profile --modelled -o x --samples 0
	run -2 heshare profile net -o x -- true
	run -2 "$HES_LAB" -- heshare profile net --store s.db --shares 0..50 -- true
	[[ "$output" == *"--shares"* ]]
	run -2 "$HES_LAB" -- heshare profile net -g 0 --store s.db --clocks 601 -- true
	[[ "$output" == *"T4 does not run at 601 MHz"* ]]
	run -2 "$HES_LAB" -- heshare profile net --store s.db --repeats 5..3 -- true
	run -1 "$HES_LAB" -- heshare profile a+b --store s.db -- true
	run -2 "$HES_LAB" -- heshare profile net --store s.db --progress 'step' -- true
	[[ "$output" == *"--progress: \"step\": byte 1: it has no group; the digits of the count need one; such as 'step (\d+)'"* ]]
	run -2 "$HES_LAB" -- heshare profile net --store s.db --progress '(\d)' -n 5 -- true
	printf 'id,workload,batch_size,iterations,memory_mib\na,resnet50,16,9,100\nb,vgg16,8,9,100\n' >two.csv
	run -1 "$HES_LAB" -- heshare profile --jobs two.csv --store s.db -- ./job.sh resnet50 8
	[[ "$output" == *"resnet50/16 and vgg16/8 would run the same command; put {workload} and {batch} into it" ]]
	run -0 "$HES_LAB" -- heshare profile net --store s.db --dry-run -- true
	[[ "${lines[0]}" == "T4: 120 points, at most 10 starts of a job, at least "*" min of one GPU" ]]
}

@test "a clock that cannot be unlocked any more is not taken for the default" {
	cat >late.sh <<-'EOF'
		(until vgpu-look | grep -q '^0 .* 600-600 '; do sleep 1; done; vgpu-fault 0:no-permission:600) &
		exec "$@"
	EOF
	run "$HES_LAB" --speed 100 -- sh late.sh heshare profile resnet50 -g 0 "${QUICK[@]}" \
		--batch 16 --shares 50,100 --clocks 600 -- "${TASK[@]}"
	[ "$(rows "SELECT count(*) FROM points WHERE clock_mhz = 0 AND held_mhz < 601")" = 0 ]
	[ "$(rows "SELECT count(*) FROM points WHERE clock_mhz = 600 AND held_mhz = 600")" -ge 1 ]
}

@test "folders that killed profiles left are removed by the next, but for those with something to undo" {
	export TMPDIR=$PWD/tmp
	mkdir -p tmp/heshare-profile-aaaaaa/0 tmp/heshare-profile-bbbbbb \
		tmp/heshare-profile-young1 tmp/heshare-profile-longer-name tmp/other
	: >tmp/heshare-profile-aaaaaa/guard.log
	: >tmp/heshare-profile-bbbbbb/guard.list
	touch -d '1 hour ago' tmp/heshare-profile-aaaaaa tmp/heshare-profile-bbbbbb \
		tmp/heshare-profile-longer-name tmp/other
	run -1 "$HES_LAB" --speed 100 -- heshare profile resnet50 -g 0 "${QUICK[@]}" --batch 16 \
		-- false
	[ "$(ls tmp | tr '\n' ' ')" = "heshare-profile-bbbbbb heshare-profile-longer-name heshare-profile-young1 other " ]
}

@test "GPUs as people have them: one of a data sheet, one for games, one that nobody knows; from gpus to run" {
	printf 'types:\n  - { name: Odd, driver_names: ["NVIDIA Odd GPU 7"], compute: 8.6, sms: 46, memory_mib: 12288, bandwidth_gbs: 504,
      l2_kib: 4096, pcie_gbs: 24, power_limit_w: 220, idle_w: 18, clocks: { min: 210, max: 1800, step: 15, default: 1800 } }\n' >odd.yaml
	printf 'name: odd\nnodes:\n  - name: a\n    gpus: [ { type: L40S, count: 1 }, { type: GeForce-RTX-3090, count: 1 }, { type: Odd, count: 1 } ]\n' >fleet.yaml
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\na,0,resnet50,16,2000,6000\nb,0,vgg16,8,1500,6000\nc,0,bert-large,4,500,6000\n' >jobs.csv
	export HESHARE_STORE=$PWD/s.db
	# The lab has the row of the third; heshare has not.
	lab=("$HES_LAB" --fleet fleet.yaml --catalogue odd.yaml --speed 100 --)
	run -0 --separate-stderr "${lab[@]}" heshare gpus --json
	[ "$(jq -r '.gpus[].gpu_type' <<<"$output" | xargs)" = "L40S GeForce-RTX-3090 Odd-GPU-7" ]
	run -0 --separate-stderr "${lab[@]}" heshare gpus --yaml
	echo "$output" >rows.yaml
	[ "$(heshare gpus --types --json --catalogue rows.yaml | jq -r '.gpu_types[-1] | [.gpu_type, .sm_count, .memory_mib, .memory_bandwidth_gbs,
		.power_limit_w, .clock_default_mhz] | @text')" = '["Odd-GPU-7",46,12288,504,220,1800]' ]
	run -0 --separate-stderr "${lab[@]}" heshare profile --jobs jobs.csv --samples 12 \
		--warm-up 5 --window 10 --repeats 2..4 --patience 100000 \
		--clocks default -- "${TASK[@]}"
	[[ "${lines[0]}" == "points: "*" measured, 0 known before, 0 failed" ]]
	[ "$(rows "SELECT count(DISTINCT gpu_type) FROM profiles")" = 3 ]
	run -0 "${lab[@]}" heshare train --from-store -o predictor
	# Away from these GPUs their rows say what the types are.
	run -1 heshare train --from-store -o elsewhere
	[[ "$output" == *'unknown GPU type "Odd-GPU-7"; '* ]]
	run -0 heshare train --from-store -o elsewhere --catalogue rows.yaml
	heshare profiles export rows
	run -0 "${lab[@]}" heshare plan jobs.csv --gpus all --predictor predictor --profiles \
		rows -o plan.json
	[ "$(jq -r '.gpus[].gpu_type' plan.json | xargs)" = "L40S GeForce-RTX-3090 Odd-GPU-7" ]
	run -0 "${lab[@]}" heshare run plan.json -c 'vgpu-task --workload {workload} --batch {batch} --iterations {iterations} --every 2'
	[[ "$output" == *"3 of 3 jobs done"* ]]
}

@test "a GPU of its own type that holds less than its highest clock, and one that boosts above its row: unlocked" {
	local sheet='compute: 8.6, sms: 46, memory_mib: 12288, bandwidth_gbs: 504, l2_kib: 4096, pcie_gbs: 24, power_limit_w: 300, idle_w: 18'
	# Nobody has a row of the first. Its highest clock is 2100 MHz; without a lock it holds 1500.
	printf 'types:\n  - { name: Odd, driver_names: ["NVIDIA Odd GPU 7"], %s, clocks: { min: 210, max: 2100, step: 15, default: 1500 } }
  - { name: GeForce-RTX-3090, driver_names: ["NVIDIA GeForce RTX 3090"], %s, clocks: { min: 210, max: 2100, step: 15, default: 1905 } }\n' \
		"$sheet" "${sheet/12288/24576}" >odd.yaml
	printf 'name: odd\nnodes:\n  - name: a\n    gpus: [ { type: Odd, count: 1 }, { type: GeForce-RTX-3090, count: 1 } ]\n' >fleet.yaml
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\na,0,resnet50,16,20000,6000\nb,0,vgg16,1,50000,6000\n' >jobs.csv
	export HESHARE_STORE=$PWD/s.db
	lab=("$HES_LAB" --fleet fleet.yaml --catalogue odd.yaml --speed 100 --)
	profile=("${lab[@]}" heshare profile --jobs jobs.csv --samples 12 --warm-up 5 --window 10 \
		--repeats 2..4 --patience 100000 --shares 50 -- "${TASK[@]}")
	run -0 "${profile[@]}"
	[ "$(rows "SELECT DISTINCT gpu_type || ' ' || held_mhz FROM points WHERE clock_mhz = 0 AND capped = 0 ORDER BY 1")" = "GeForce-RTX-3090 1905.0
Odd-GPU-7 1500.0" ]
	[ "$(rows "SELECT count(*) FROM points WHERE clock_mhz > 0 AND abs(held_mhz - clock_mhz) > 15 AND capped < 0.5")" = 0 ]
	run -0 --separate-stderr "${profile[@]}"
	[[ "${lines[0]}" == "points: 0 measured, "* ]]
	[[ "${lines[1]}" == *"samples: 0 new, one for each job of a point" ]]
	run -0 "${lab[@]}" heshare train --from-store --validate 10 -o predictor
	run -0 "${lab[@]}" heshare profiles export rows
	run -0 "${lab[@]}" heshare plan jobs.csv --gpus all --predictor predictor --profiles rows \
		--policy exclusive -o plan.json
	jq -e '[.gpus[].batches[] | [.clock_mhz, .unlocked]] == [[1500, true], [1905, true]]' plan.json
	run -0 --separate-stderr "${lab[@]}" heshare run plan.json --json -c 'vgpu-task --workload {workload} --batch {batch} --iterations {iterations} --every 2'
	jq -e '(.measured.busy_energy_j / .planned.busy_energy_j - 1) | fabs < 0.1' <<<"$output"
	[ "$(rows "SELECT count(*) FROM acts WHERE what LIKE '%the clock%'")" = 0 ]
	# No lock is above what the GPU holds by itself.
	run -0 "${lab[@]}" heshare plan jobs.csv --gpus all --predictor predictor --profiles rows \
		--prefer jct -o plan.json
	jq -e '[.gpus[].batches[] | .unlocked // (.clock_mhz < 1500)] | all' plan.json
}

@test "unknown GPUs of one name and two memories are two types; clocks without an even step are listed" {
	local row='driver_names: ["NVIDIA Odd GPU 7"], sms: 46, bandwidth_gbs: 504, l2_kib: 4096, power_limit_w: 220, idle_w: 18, clocks: { min: 300, max: 1800, default: 1800, list: [300, 900, 1000, 1800] } }'
	printf 'types:\n  - { name: A, memory_mib: 12288, %s\n  - { name: B, memory_mib: 24576, %s\n' "$row" "$row" >odd.yaml
	printf 'name: odd\nnodes:\n  - name: a\n    gpus: [ { type: A, count: 2 }, { type: B, count: 2 } ]\n' >fleet.yaml
	run -0 --separate-stderr "$HES_LAB" --fleet fleet.yaml --catalogue odd.yaml -- heshare \
		gpus --json
	[ "$(jq -r '.gpus[].gpu_type' <<<"$output" | xargs)" = "Odd-GPU-7 Odd-GPU-7 Odd-GPU-7-24GB Odd-GPU-7-24GB" ]
	run -0 --separate-stderr "$HES_LAB" --fleet fleet.yaml --catalogue odd.yaml -- heshare \
		measure --json -o measured.json -- true
	[ "$(jq -r '.gpus[].gpu_type' measured.json | xargs)" = "Odd-GPU-7 Odd-GPU-7 Odd-GPU-7-24GB Odd-GPU-7-24GB" ]
	run -0 --separate-stderr "$HES_LAB" --fleet fleet.yaml --catalogue odd.yaml -- heshare \
		gpus --yaml
	[ "$(grep -c 'list: \[300, 900, 1000, 1800\]' <<<"$output")" = 2 ]
	echo "$output" >rows.yaml
	[ "$(heshare gpus --types --json --catalogue rows.yaml | jq -c '.gpu_types[-1].clocks_mhz')" = "[300,900,1000,1800]" ]
}
