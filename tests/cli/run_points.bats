#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# heshare run: a job that has its GPU to itself is measured while it works, and its point is in the
# store at once. Jobs and runners wait for rows and files, not for times.

setup_file() {
	[ -n "${HES_LAB:-}" ] || return 0
	cd "$BATS_FILE_TMPDIR"
	export HESHARE_STORE=$PWD/none.db
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { type: H100-SXM, count: 1 } ]\n' >one.yaml
	cat >jobs.csv <<-END
		id,workload,batch_size,iterations,memory_mib
		lines,resnet50,16,20000,4000
		mute,vgg16,16,10000,7000
	END
	"$HESHARE" plan jobs.csv -f one.yaml --policy exclusive -o alone.json >/dev/null
	"$HESHARE" plan jobs.csv -f one.yaml --policy mps-equal -o both.json >/dev/null
}

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	PATH=$(dirname "$HESHARE"):$PATH
	unset LD_LIBRARY_PATH
	cd "$BATS_TEST_TMPDIR"
	cp "$BATS_FILE_TMPDIR"/*.{yaml,json} .
	export HESHARE_STORE=$PWD/store.db
	export task='vgpu-task --workload {workload} --batch {batch} --iterations'
	# rows N: wait until the store has so many points.
	cat >rows <<-'END'
		until [ "$(sqlite3 store.db "SELECT count(*) FROM points" 2>/dev/null || echo 0)" -ge $1 ]; do sleep 1; done
	END
}

lab() { # SPEED COMMAND...
	local speed=$1
	shift
	run --separate-stderr "$HES_LAB" --fleet one.yaml --speed "$speed" -- "$@"
}

@test "jobs that run alone become points with their start-up, with progress lines and without" {
	lab 20 heshare run alone.json --json -c \
		"case {job} in lines) exec $task {iterations} --start 8 --every 1; esac; $task {iterations} --start 8 >/dev/null"
	[ "$status" -eq 0 ]
	sqlite3 -json store.db "SELECT workload, batch_size, sm_pct, clock_mhz, command, iteration_us, windows, seconds, memory_mib,
		power_mw, held_mhz, busy, sm_active, time_se, temperature_c, first_use_s, start_s, run_s FROM points ORDER BY id" >points.json
	jq -e --slurpfile plan alone.json --argjson run "$output" '
		def near($a; $b; $part): ($a - $b | fabs) <= $part * $b;
		[.[].workload] == ["resnet50", "vgg16"] and all(.[]; . as $p
			| ($plan[0].jobs[] | select(.workload == $p.workload)) as $job
			| ($run.jobs[] | select(.job == $job.id)) as $ran
			# The parts make the whole, and its joules.
			| near(.start_s + $job.iterations * .iteration_us * 1e-6; .run_s; 0.05)
			and near(.run_s; $ran.end_s - $ran.start_s; 0.01)
			and near(.power_mw * 1e-3 * .seconds; $ran.attributed_j; 0.15)
			and .start_s >= 8 and .first_use_s > 0 and .first_use_s <= .start_s
			and .sm_pct == 100 and .clock_mhz == 0 and .batch_size == 16
			and .memory_mib > 1000 and .memory_mib < 8000 and .temperature_c > 20
			and .held_mhz > 1900 and .sm_active > 0.2 and .sm_active <= .busy)
		and (.[0] | .windows > 1 and .time_se < 0.01
			and (.command | test("^case lines in lines\\) exec vgpu-task --workload resnet50 .* --every 1; esac")))
		and (.[1] | .windows == 1 and .time_se == null)' points.json
	[ "$(sqlite3 store.db "SELECT count(*) FROM origins WHERE source = 'measured' AND name LIKE 'run 1 of alone.json, driver %'")" = 1 ]
}

@test "a run that is stopped keeps the point that it had, and its end makes no second one" {
	cat >script <<-'END'
		heshare run alone.json -c "exec $task 1000000000 --every 1" >out &
		. ./rows 1
		sqlite3 store.db "SELECT windows, run_s IS NULL FROM points" >first
		sleep 100
		kill -TERM $!
		wait $!
		sqlite3 store.db "SELECT windows > $(cut -d'|' -f1 first), run_s IS NULL FROM points"
	END
	lab 20 bash script
	[ "$output" = "1|1" ]
	[ "$(cut -d'|' -f2 first)" = 1 ]
}

@test "a job that shares its GPU, with a job or with a process of others, makes no point" {
	cat >script <<-'END'
		heshare run both.json -c "exec $task 1000000000 --every 1" >/dev/null &
		until [ "$(grep -ls iterations both.run/*.log | wc -l)" = 2 ]; do sleep 1; done
		sleep 30
		kill -TERM $!
		wait $!
		vgpu-task --workload resnet18 --batch 1 --iterations 1000000000 --every 1 >other &
		until grep -qs iterations other; do sleep 1; done
		heshare run alone.json -c "$task {iterations} >/dev/null" >/dev/null
		kill $!
		sqlite3 store.db "SELECT count(*) FROM points"
	END
	lab 20 bash script
	[ "$output" = 0 ]
}

@test "runners that are killed lose no point that was kept, and each job is done once" {
	own=()
	[ "$(id -u)" != 0 ] || ! unshare --fork --pid --mount-proc --cgroup true 2>/dev/null || own=(unshare --fork --pid --mount-proc --cgroup)
	cat >script <<-'END'
		for moment in 1 2 3 4; do
			heshare run alone.json --resume-if-begun -c "exec $task {iterations} --start 2 --every 1" >out 2>>err &
			case $moment in
			1) until grep -qs iterations alone.run/lines.log; do sleep 1; done ;;
			2) . ./rows 1 ;;
			3) until [ -e alone.run/mute.log ]; do sleep 0.1; done ;;
			4) until grep -qs iterations alone.run/mute.log; do sleep 1; done ;;
			esac
			kill -KILL $!
			wait $!
			sqlite3 store.db "SELECT hex(key) FROM points" >>kept
		done
		heshare run alone.json --resume --json -c "exec $task {iterations} --start 2 --every 1"
	END
	run --separate-stderr "${own[@]}" "$HES_LAB" --fleet one.yaml --speed 50 -- bash script
	[ "$status" -eq 0 ]
	jq -e '[.jobs[].state] == ["done", "done"]' <<<"$output"
	[ -s kept ]
	sqlite3 store.db "SELECT hex(key) FROM points" | sort >last
	[ -z "$(sort -u kept | comm -23 - last)" ]
	# One row at most of an attempt, and one with the whole run of each job.
	[ "$(sqlite3 store.db "SELECT group_concat(workload) FROM (SELECT workload FROM points WHERE run_s > 0 ORDER BY workload)")" = resnet50,vgg16 ]
	[ "$(sqlite3 store.db "SELECT (SELECT count(*) FROM points) <= (SELECT count(*) FROM attempts)")" = 1 ]
}

@test "a job without iterations is one iteration, though it prints progress; the time left is unknown" {
	printf '#!/bin/sh\nexec vgpu-task --workload resnet50 --batch 16 --iterations 8000 --start 5 --every 1\n' >train.sh
	chmod +x train.sh
	printf 'command\n./train.sh\n' >scripts.csv
	cat >script <<-'END'
		# Stopped: of a part of a run it is not known how large it is.
		heshare run scripts.csv --explore 0 >/dev/null 2>&1 &
		until [ "$(grep -hs iterations scripts.run/*.log | wc -l)" -gt 15 ]; do sleep 1; done
		until heshare status 1 --json | jq -e ".jobs[0].iterations > 0" >/dev/null; do sleep 1; done
		heshare status 1 | grep -Eo " at [1-9][0-9]* .*"
		heshare status 1 --json | jq -c "[.left_s, (.jobs[] | .left_s, .done)]"
		kill -TERM $!
		wait $!
		sqlite3 store.db "SELECT count(*) FROM points"
		heshare run scripts.csv --explore 0 --resume --progress 'step (\d+)' >/dev/null 2>&1
		sqlite3 store.db "SELECT workload, windows > 1, abs(start_s + iteration_us / 1e6 - run_s) < 0.01, progress FROM points"
	END
	lab 20 bash script
	[[ "${output%%$'\n'*}" =~ ^' at '[1-9][0-9]*' '+'-  ./train.sh: whole run'$ ]]
	[ "${output#*$'\n'}" = $'[null,null,null]\n0\n./train.sh: whole run|1|1|' ]
}

@test "of jobs that were unknown when the run began samples are kept, too, but not in another unit" {
	printf '#!/bin/sh\nexec vgpu-task --workload resnet50 --batch 16 --iterations 20000 --every 1\n' >train.sh
	chmod +x train.sh
	printf 'workload,batch_size,iterations,command\nmynet,16,20000,./train.sh\nmynet,16,20000,./train.sh\n' >mine.csv
	printf 'command\n./train.sh\n./train.sh\n' >scripts.csv
	lab 40 sh -c 'heshare run mine.csv --json; heshare run scripts.csv --json'
	[ "$status" -eq 0 ]
	jq -es '[.[].jobs_done] == [2, 2] and .[0].samples >= 1 and .[1].samples == 0' <<<"$output"
	[ "$(sqlite3 store.db "SELECT DISTINCT workload, gpu_type FROM samples")" = "mynet|H100-SXM" ]
}
