#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# heshare run: what jobs teach while they work, in the lab: their clocks and their co-runners, what
# experiments cost, and what the report says where nothing can be tried.

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	PATH=$(dirname "$HESHARE"):$PATH
	unset LD_LIBRARY_PATH
	cd "$BATS_TEST_TMPDIR"
	export HESHARE_STORE=$PWD/store.db
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { type: H100-SXM, count: 1 } ]\n' >one.yaml
}

lab() { # COMMAND...
	"$HES_LAB" --fleet one.yaml --speed "${SPEED:-40}" ${FAULT:+--fault "$FAULT"} -- "$@"
}

# script NAME ITERATIONS TASK...: an unknown job, printing progress, in NAME.csv.
script() {
	local name=$1 iterations=$2
	shift 2
	printf '#!/bin/sh\nexec vgpu-task --iterations %d %s\n' "$iterations" "$*" >"$name.sh"
	chmod +x "$name.sh"
	printf 'workload,batch_size,iterations,command\n%s,16,%d,./%s.sh\n' "$name" "$iterations" "$name" >"$name.csv"
}

# The sums of the report in file $1: every joule of the meters is somewhere.
joules_sum() {
	jq -e '.energy | (.jobs_j + .aborted_j + .idle_j + .learning_j + .unattributed_j) / .meter_j - 1 | fabs < 0.001' "$1"
}

@test "a job alone is tried at a few clocks within the budget, and stays at the best one" {
	script mine 60000 --workload resnet50 --batch 64 --every 1
	run -0 --separate-stderr lab heshare run mine.csv --explore 5 --json
	[ "$(sqlite3 store.db 'SELECT count(DISTINCT clock_mhz) > 2 FROM points')" = 1 ]
	# A point a clock. The job ends at the one that balances time and energy best.
	last=$(sqlite3 store.db 'SELECT clock_mhz FROM attempts')
	[ "$(sqlite3 store.db 'SELECT clock_mhz FROM points ORDER BY power_mw * iteration_us * iteration_us LIMIT 1')" = "$last" ]
	[ "$(sqlite3 store.db "SELECT count(*) FROM acts WHERE what LIKE 'stays at $last MHz, the best of % clocks tried: %'")" = 1 ]
	[ "$(sqlite3 store.db 'SELECT count(*) FROM (SELECT clock_mhz FROM points GROUP BY clock_mhz HAVING count(*) > 1)')" = 0 ]
	[ "$(sqlite3 store.db 'SELECT count(*) > 0 FROM samples WHERE clock_mhz > 0')" = 1 ]
	jq -e '.learning | .experiments > 1 and .took_s < 0.05 * 600 and .iterations > 0 and .gpus_without_clocks == 0 and .jobs_without_progress == 0' <<<"$output"
	joules_sum mine.run/report.json
	# The row of the text, from the journal's sums. The GPU is left unlocked.
	[ "$(sqlite3 store.db 'SELECT experiments > 1 AND learning_iterations > 0 FROM runs')" = 1 ]
	# Known now, with its clocks: nothing is tried again.
	sed -i 's/60000/20000/' mine.csv mine.sh
	run -0 --separate-stderr lab sh -c 'heshare run mine.csv; vgpu-look'
	[[ "$output" == *"1 of 1 job done"* && "$output" != *"learning:"* && "$output" != *"locked"* ]]
	[ "$(sqlite3 store.db 'SELECT experiments FROM runs WHERE id = 2')" = 0 ]
}

@test "a job without iterations is tried at clocks, and the next run knows it" {
	printf 'command\n"vgpu-task --workload resnet50 --batch 16 --iterations 40000 --every 10"\n' >whole.csv
	run -0 --separate-stderr lab heshare run whole.csv --json
	[[ "$stderr" != *"is not kept"* ]]
	[ "$(sqlite3 store.db 'SELECT count(DISTINCT clock_mhz) > 1 FROM points')" = 1 ]
	run -0 lab heshare run whole.csv
	[[ "$output" == *"1 measured"* ]]
}

@test "--explore 0, clocks that cannot be set, a job without progress: nothing is tried, the report says so" {
	script mine 20000 --workload resnet50 --batch 64 --every 1
	run -0 --separate-stderr lab heshare run mine.csv --explore 0 --json
	jq -e '.learning | .experiments == 0 and .gpus_without_clocks == 0' <<<"$output"
	rm store.db
	FAULT=0:no-permission run -0 --separate-stderr lab heshare run mine.csv --explore 50
	[[ "$output" == *"Clocks cannot be set on 1 GPU, so none was tried: jobs ran at the default clock."* ]]
	jq -e '.learning.gpus_without_clocks == 1' mine.run/report.json
	# The driver accepts a lock and refuses it later.
	rm store.db
	FAULT=0:nvmlDeviceSetGpuLockedClocks=4 run -0 --separate-stderr lab heshare run mine.csv --explore 50
	[[ "$output" == *"Clocks cannot be set on 1 GPU, so none was tried"* ]]
	rm store.db
	printf 'command\nsleep 100\n' >mute.csv
	run -0 --separate-stderr lab heshare run mute.csv --explore 50
	[[ "$output" == *"1 job showed no progress: nothing was tried with it."* ]]
	[ "$(sqlite3 store.db 'SELECT max(clock_mhz) FROM attempts')" = 0 ]
}

@test "a clock whose job ends while it is tried is paid for" {
	script mine 900000 --workload resnet50 --batch 64 --every 1
	cat >script <<-'END'
		heshare run mine.csv --explore 100 --json >out & run=$!
		until [ "$(sqlite3 -cmd '.timeout 5000' store.db "SELECT count(*) > 0 FROM acts WHERE what LIKE 'lock the clock at %'")" = 1 ]; do
			kill -0 $run || exit
			sleep 0.2
		done
		kill $run
		wait
	END
	run -0 --separate-stderr lab bash script
	jq -e '.learning | .experiments > 0 and .took_s > 0' out
}

@test "a job that prints nothing is measured as a whole first; then its launches show the clock that suits it" {
	script quiet 60000 --workload resnet50 --batch 64 --every .1 '>/dev/null'
	SPEED=80 run -0 lab heshare run quiet.csv --explore 10
	[ "$(sqlite3 store.db "SELECT group_concat(clock_mhz), min(run_s) > 100 FROM points")" = "0|1" ]
	run -0 --separate-stderr lab heshare run quiet.csv --explore 10 --json
	jq -e '.jobs_done == 1 and .learning.experiments > 1 and .learning.jobs_without_progress == 0' <<<"$output"
	[ "$(sqlite3 store.db "SELECT count(*) FROM acts WHERE what LIKE 'stays at % MHz, the best of % clocks tried: %'")" = 1 ]
	# Launches are no iterations: no point has them.
	[ "$(sqlite3 store.db "SELECT count(*) FROM points")" = 1 ]
	joules_sum quiet.run/report.json
}

# pair WORKLOAD BATCH N WORKLOAD BATCH N: two unknown jobs in pair.csv, the first one longer.
pair() {
	local name
	{
		echo workload,batch_size,iterations,memory_mib,command
		for name in neta netb; do
			printf '#!/bin/sh\nexec vgpu-task --workload %s --batch %d --iterations "$1" --every .2\n' "$1" "$2" >"$name.sh"
			printf '%s,%d,%d,14000,./%s.sh %d\n' "$name" "$2" "$3" "$name" "$3"
			shift 3
		done
	} >pair.csv
	chmod +x net?.sh
}

# Time of an act of the last run that is like $1, in seconds.
act_s() {
	sqlite3 store.db "SELECT at_us * 1e-6 FROM acts WHERE what LIKE '$1' ORDER BY id DESC LIMIT 1"
}

@test "a planned pair with four times the expected interference is separated within 30 s of work, for good; a stall ends a hold" {
	pair resnet50 64 10000 vgg16 32 10000
	SPEED=50 run -0 lab heshare run pair.csv --explore 0
	# With two and a half times, they do more than in turns with the shares that they keep.
	cp store.db known.db
	SPEED=50 FAULT=0:interference=x2.5 run -0 --separate-stderr lab heshare run pair.csv --json
	jq -e '.learning | .experiments == 0 and (.notes | any(test("together do 1[.][0-9]+ times the work of turns with their shares, .*: they stay together")))' <<<"$output"
	[ -z "$(act_s 'hold the job: %')" ]
	# Their surprises are those of their whole times: one works alone in the end.
	jq -e '.jobs as $jobs | [.learning.notes[] | capture("^job (?<job>.) takes (?<times>[0-9.]+) times its planned time")]
		| length == 2 and all(. as $note | $jobs[] | select(.job == $note.job)
		| ($note.times | tonumber) - (.end_s - .start_s) / (.planned_end_s - .planned_start_s) | fabs < 0.05)' <<<"$output"
	# It is worse than turns with the whole GPU: jobs that start later get it.
	[ "$(sqlite3 store.db "SELECT count(*) FROM co_run_sets WHERE time * energy > 1 + 4 * se")" = 1 ]
	mv known.db store.db
	cat >script <<-'END'
		heshare run pair.csv --json >out &
		until [ "$(heshare status 2 --json | jq -r '.jobs[].state' | sort | xargs)" = 'held running' ]; do
			kill -0 $! || exit
			sleep 1
		done
		heshare status 2 >shown
		job=$(heshare status 2 --json | jq -r '.jobs[] | select(.state == "held").job')
		pid=$(sqlite3 -readonly store.db "SELECT pid FROM attempts WHERE run_id = 2 AND job = '$job'")
		cat "$cgroups$(sed -n 's/^0:://p' /proc/$pid/cgroup)/cgroup.events" >events
		wait
	END
	# With cgroups of version 2 where they can be mounted, else with what the system has.
	export cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	mkdir -p "${cgroups:=$PWD/cgroups}"
	enter=(unshare --mount sh -c 'umount "$cgroups" 2>/dev/null; mount -t cgroup2 none "$cgroups" && exec "$@"' sh)
	"${enter[@]}" mkdir "$cgroups/heshare-test-$$" && "${enter[@]}" rmdir "$cgroups/heshare-test-$$" || enter=()
	run -0 "${enter[@]}" "$HES_LAB" --fleet one.yaml --speed 20 --fault 0:interference=x4 -- bash script
	# The runner holds a job by the freezer of its cgroup.
	if [ ${#enter[@]} -gt 0 ]; then
		grep -x 'frozen 1' events
	else
		echo "# no cgroups of version 2: the freezer was not tried" >&3
	fi
	jq -e '.jobs_done == 2 and all(.jobs[]; .sm_pct < 100)' out
	# Both had run since the first second.
	hold=$(act_s 'hold the job: it does worse with its co-runners than in turns')
	[ -n "$hold" ] && [ "${hold%.*}" -lt 30 ]
	[ "$(sqlite3 store.db "SELECT count(*) FROM acts WHERE what LIKE 'let the job go on: %'")" = 1 ]
	jq -e '.learning | .experiments == 1 and .energy_j > 0 and .iterations > 0
		and (.notes | any(test("together do [01][.][0-9]+ times the work of turns with their shares, .*: separated"))
		and all(test(" its planned time") | not))' out
	joules_sum pair.run/report.json
	grep -q 'GPU .*state' shown
	[ "$(grep -c ' held ' shown)" = 1 ]
	grep -qE ' held +[0-9]+ % +- +net[ab]$' shown # when it goes on is not known
	[ "$(sqlite3 store.db 'SELECT count(*) FROM attempts WHERE run_id = 2 AND held_us > 1e6')" = 1 ]
	jq -e '[.jobs[] | select(.held_s > 1)] | length == 1' out
	# Its time is without the hold: the other one's is about the same.
	jq -e '[.jobs[] | .end_s - .start_s - .held_s] | sort | .[1] / .[0] < 2' out
	# The set is in the store, as it was measured.
	[ "$(sqlite3 store.db "SELECT count(*) FROM samples WHERE co_runners <> '' AND time_se > 0")" = 2 ]
	[ "$(sqlite3 store.db "SELECT count(*) FROM co_run_sets WHERE gpu_type = 'H100-SXM' AND jobs LIKE 'neta/64@%,netb/32@%' AND time > 1 + 2 * se AND energy > 1 AND se > 0")" = 1 ]

	# It alone tells the next run, in which one job waits, and has the whole GPU. Without it the
	# next one finds it again. The other job stalls then.
	sqlite3 store.db "DELETE FROM samples WHERE co_runners <> ''"
	export last=$(sqlite3 store.db 'SELECT max(id) FROM origins')
	cat >script <<-'END'
		heshare run pair.csv --restart >out 2>&1 & run=$!
		until [ "$(sqlite3 -cmd '.timeout 5000' store.db "SELECT count(*) FROM acts WHERE run_id = 3 AND what LIKE 'start attempt 1 %'")" = 1 ]; do
			kill -0 $run || exit
			sleep 0.2
		done
		kill $run
		wait
		# As before it, so that the next plan is a pair.
		sqlite3 -cmd '.timeout 5000' store.db "PRAGMA foreign_keys = ON; DELETE FROM origins WHERE id > $last; DELETE FROM co_run_sets"
		vgpu-fault 0:stall
		heshare run pair.csv --restart --json >out & run=$!
		until [ "$(sqlite3 -cmd '.timeout 5000' store.db 'SELECT count(*) FROM never_held')" = 1 ]; do
			kill -0 $run || exit
			sleep 0.2
		done
		# Which job came last is by chance.
		sqlite3 -cmd '.timeout 5000' store.db "INSERT OR IGNORE INTO never_held VALUES ('neta', 3), ('netb', 3)"
		kill $run
		wait $run
		cat out
		# A planner that knew the pair would not plan it.
		sqlite3 -cmd '.timeout 5000' store.db "DELETE FROM co_run_sets; DELETE FROM samples WHERE co_runners <> ''"
		heshare run pair.csv --resume >again 2>&1 & run=$!
		until grep 'its jobs stay together: job .*: co-runners stalled when a job of workload net[ab] was held' again; do
			kill -0 $run || exit
			sleep 0.2
		done
		kill $run
		wait
	END
	# More of it, so that the verdict is sure at any clock.
	SPEED=10 FAULT=0:interference=x8 run -0 --separate-stderr lab bash script
	[[ "$output" == *"stalled while job "*" was held, which goes on: jobs of workload net"[ab]" are not held again"* ]]
	[ "$(sqlite3 store.db "SELECT count(*) FROM acts WHERE run_id = 4 AND what = 'let the job go on: its co-runners stall'")" = 1 ]
	[ "$(sqlite3 store.db "SELECT count(*) FROM acts WHERE run_id = 4 AND what LIKE 'hold the job: %'")" = 1 ]
	[ "$(sqlite3 store.db "SELECT count(*) FROM acts WHERE run_id = 3 AND what LIKE 'runs alone: with job _ it would do worse than in turns, as was measured'")" = 1 ]
}

@test "unknown jobs: a pair that is better than turns is found; a worse one is separated and not tried again" {
	pair resnet50 64 14000 vgg16 32 6000
	FAULT=0:interference=x0 run -0 --separate-stderr lab sh -c \
		'vgpu-fault 0:no-counters; exec heshare run pair.csv --json'
	jq -e '.jobs_done == 2 and all(.jobs[]; .attempts == 1) and ([.jobs[].start_s] | max) < ([.jobs[].end_s] | min)
		and (.learning.notes | any(test("together do [12][.][0-9]+ times the work of turns, .*: they stay together")))
		and (.jobs | map(.held_s) | max) as $held | $held > 10 and .learning.took_s > 1 and .learning.took_s < $held and .learning.energy_j > 0' <<<"$output"
	joules_sum pair.run/report.json
	# The newcomer was measured alone while the other was held: an experiment, too.
	[ "$(sqlite3 store.db "SELECT count(*) FROM acts WHERE what = 'hold the job: job 2 is measured alone' AND job = '1'")" = 1 ]
	[ "$(sqlite3 store.db "SELECT count(DISTINCT workload) FROM points WHERE clock_mhz = 0 AND sm_active IS NULL")" = 2 ]
	# Both, together, are samples where utilisation rates stand for counters.
	[ "$(sqlite3 store.db "SELECT count(DISTINCT workload) FROM samples WHERE co_runners <> ''")" = 2 ]
	rm store.db
	tail -n 1 pair.csv >>pair.csv
	FAULT=0:interference=x4 run -0 --separate-stderr lab heshare run pair.csv --explore 40 --json
	# It had to wait for its budget.
	jq -e '.jobs_done == 3 and .learning.energy_j > 0 and .learning.took_s <= 0.4 * .gpus[0].busy_s and (.learning.notes | map(select(test("jobs (1, .|., 1) together .*: separated"))) | length == 1)' <<<"$output"
	[ "$(sqlite3 store.db "SELECT count(*) FROM attempts")" = 3 ]
}

@test "a job with a floor keeps nine tenths of its speed next to four batch jobs, in 95 % of its windows" {
	printf '#!/bin/sh\nexec vgpu-task --workload "$1" --batch "$2" --iterations "$3" --every 1\n' >task.sh
	chmod +x task.sh
	{
		echo id,workload,batch_size,iterations,memory_mib,keep,command
		echo alone,svc,4,5000,9000,,./task.sh resnet50 4 5000
		echo batch,bat,16,5000,9000,,./task.sh vgg16 16 5000
		echo stalls,sta,16,5000,9000,,./task.sh vgg16 16 5000
	} >alone.csv
	SPEED=50 run -0 lab heshare run alone.csv --explore 0
	{
		head -n 1 alone.csv
		echo service,svc,4,140000,9000,.9,./task.sh resnet50 4 140000
		# The first one outlasts the service.
		printf 'b%d,%s,16,%d,9000,,./task.sh vgg16 16 %d\n' 1 bat 90000 90000 2 bat 20000 20000 3 bat 20000 20000 4 sta 2000 2000
	} >five.csv
	run -0 lab heshare plan five.csv --gpus all --policy mps-default -o turns.json
	# All five in one batch.
	together='.gpus[0].batches |= [([.[].jobs[]]) as $jobs | .[0] | .end_us as $last
		| .jobs = [$jobs[] | .sm_pct = (if .job == "service" then 40 else 25 end) | .start_us = 0 | .end_us = $last]]'
	jq "$together" turns.json >five.json
	# The newest may not be held: the next one is, and that is said once.
	sqlite3 store.db "INSERT INTO never_held SELECT 'sta', max(id) FROM runs"
	SPEED=30 run -0 --separate-stderr lab heshare run five.json --share-sum 200 --json
	[ "$(grep -c 'job b4: co-runners stalled when a job of workload sta was held' <<<"$stderr")" = 1 ]
	jq -e '.jobs_done == 5 and all(.jobs[]; .attempts == 1)
		and (.learning.notes | any(test("^job service had 0[.][0-9]+ of its speed alone, below its floor of 0.90: job b3 is held")) and all(test("job b4 is held") | not))' <<<"$output"
	# A held job is tried again after a wait, and none stays held.
	[ "$(sqlite3 store.db "SELECT count(*) FROM acts WHERE what = 'let the job go on: it is tried again'")" -gt 0 ]
	[ "$(sqlite3 store.db "SELECT sum(what LIKE 'hold the job: %') - sum(what LIKE 'let the job go on: %') FROM acts")" = 0 ]
	# The report says the same of it alone, next to others.
	jq -e '[.jobs[] | select(.floor_windows > 0)] | length == 1 and (.[0] | .job == "service" and .floor_windows >= 20 and .floor_kept > 0.9)' <<<"$output"
	own_us=$(sqlite3 store.db "SELECT iteration_us FROM points WHERE workload = 'svc' AND clock_mhz = 0 ORDER BY id LIMIT 1")
	awk -v own="$own_us" '/^heshare: /{ n = $2; s = $5; if (!from) { from = s; base = n } if (s - from >= 10) {
		all++; kept += (n - base) * own * 1e-6 / (s - from) >= 0.9; from = s; base = n } }
		END { print kept, all; exit !(all >= 40 && kept >= 0.95 * all) }' five.run/service.log

	# One that prints nothing is not protected.
	printf '#!/bin/sh\n./task.sh resnet50 4 9000 >/dev/null\n' >quiet.sh && chmod +x quiet.sh
	{
		head -n 1 alone.csv
		echo service,svc,4,9000,9000,.9,./quiet.sh
		echo b1,bat,16,9000,9000,,./task.sh vgg16 16 9000
	} >quiet.csv
	run -0 lab heshare plan quiet.csv --gpus all --policy mps-default -o turns.json
	jq "$together" turns.json >quiet.json
	SPEED=50 run -0 lab heshare run quiet.json --share-sum 200
	[[ "$output" == *"Learnt: job service prints no lines of progress: its floor of 0.90 is not kept."* ]]
}

@test "a job that takes longer than its interval is a surprise: reported once, with what followed" {
	printf '#!/bin/sh\nexec vgpu-task --workload "$1" --batch 16 --iterations "$2" --every 1\n' >task.sh
	chmod +x task.sh
	# resnet50, the plan thinks; one script runs another network. Each needs most of the memory.
	{
		echo id,workload,batch_size,iterations,memory_mib,command
		printf '%s,resnet50,16,8000,50000,./task.sh %s 8000\n' slow bert-large right resnet50
	} >jobs.csv
	run -0 lab heshare run jobs.csv --explore 0
	[ "$(grep -cE '^Learnt: job slow takes [1-9][0-9.]* times its planned time, which was thought to be off by 0[.][0-9]+ at most: what waits is planned again[.]$' <<<"$output")" = 1 ]
	[ "$(sqlite3 store.db "SELECT count(*) FROM acts WHERE what LIKE 'takes % times its planned time%' AND job = 'slow'")" = 1 ]
	# It was measured, so it is none any more.
	run -0 --separate-stderr lab heshare run jobs.csv --explore 0 --json
	jq -e '.jobs_done == 2 and (.learning.notes | all(startswith("job slow ") | not))' <<<"$output"
}
