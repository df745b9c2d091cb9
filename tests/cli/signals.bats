#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# Signals: those that ask a command to end reach it whatever threads the driver has, those that were
# ignored at its start do not, and its jobs get the signals that it was started with.

setup_file() {
	[ -n "${HES_LAB:-}" ] || return 0
	cd "$BATS_FILE_TMPDIR"
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 1 } ]\n' >one.yaml
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\na,0,resnet34,8,1500,1813\nb,0,resnet18,4,1500,1194\n' >jobs.csv
	"$HESHARE" plan jobs.csv -f one.yaml --policy joint --budget 500 -o plan.json
}

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	PATH=$(dirname "$HESHARE"):$PATH
	unset LD_LIBRARY_PATH
	cd "$BATS_TEST_TMPDIR"
	cp "$BATS_FILE_TMPDIR"/* .
	export HESHARE_STORE=$PWD/store.db HESHARE_FAIR_SOCKET=$PWD/fair.sock
	# Ends at SIGTERM, or when there is a file "go".
	export job='trap "echo saved; exit 143" TERM; grep -E "^Sig(Blk|Ign)" /proc/self/status; echo began; until [ -e '$PWD'/go ]; do sleep 0.02; done; echo done'
	cat >begin.sh <<-'END'
		await() { until grep -qs "$@"; do sleep 0.02; done; }
		ends() { # SIGNAL: of the last command in the background
			kill -"$1" $!
			wait $!
			echo "$1: $?"
		}
	END
}

# A script in the lab, after begin.sh.
lab() {
	{ cat begin.sh; cat; } >script.sh
	run --separate-stderr timeout -k 5 300 "$HES_LAB" --fleet one.yaml -- bash script.sh
}

@test "a driver with a thread of its own takes no signal from run, measure and fair serve" {
	lab <<-'END'
		vgpu-fault all:driver-thread
		heshare run plan.json -c "$job" >run.out 2>run.err &
		await began plan.run/a.log
		await began plan.run/b.log
		ends TERM
		grep -c saved plan.run/a.log plan.run/b.log
		heshare measure -g 0 -- sh -c "$job" >measure.out 2>measure.err &
		await began measure.out
		ends TERM
		for signal in TERM HUP; do
			heshare fair serve 2>serve-$signal.log &
			await shared serve-$signal.log
			ends $signal
			[ -e fair.sock ] || echo gone
		done
	END
	[ "$output" = $'TERM: 1\nplan.run/a.log:1\nplan.run/b.log:1\nTERM: 143\nTERM: 0\ngone\nHUP: 0\ngone' ]
}

# ignored: the signals below 32 of a line SigIgn; the C library uses two more as it likes
ignored() {
	local hex
	read -r _ hex
	echo $((16#$hex & 16#7fffffff))
}

@test "a signal that was ignored at the start stays ignored, and jobs get what heshare was started with" {
	lab <<-'END'
		trap "" HUP
		grep SigIgn /proc/self/status >ignored &
		wait $!
		heshare run plan.json --early-ok -c "$job" >run.out 2>run.err &
		await began plan.run/a.log
		await began plan.run/b.log
		kill -HUP $!
		: >go
		wait $!
		echo "$?"
		grep -c done plan.run/a.log plan.run/b.log
		cat plan.run/a.log
		grep stopping run.err
		rm go
		heshare measure -g 0 -- sh -c "$job" >measure.out 2>measure.err &
		await began measure.out
		kill -HUP $!
		: >go
		wait $!
		echo "$?"
		heshare fair serve 2>serve.log &
		await shared serve.log
		kill -HUP $!
		heshare fair top --json | jq ".gpus | length"
		ends TERM
		heshare profile resnet18 -g 0 --warm-up 0.2 --window 0.5 --repeats 2..2 --clocks default --shares 100 \
			--patience 1000 -- sh -c ": >profiles; exec vgpu-task --workload resnet18 --batch 4 --iterations 1000000 --every 0.1" >profile.out 2>&1 &
		until [ -e profiles ]; do sleep 0.02; done
		kill -HUP $!
		wait $!
		grep -o "points: 1 measured" profile.out
	END
	echo "$output"
	[ "${lines[0]}" = 0 ]
	[ "${lines[1]} ${lines[2]}" = "plan.run/a.log:1 plan.run/b.log:1" ]
	# SIGHUP, and SIGINT and SIGQUIT, which the shell's "&" ignores; nothing is blocked.
	[ "${lines[3]##*[:	]}" = 0000000000000000 ]
	[ "$(ignored <<<"${lines[4]}")" = "$(ignored <ignored)" ]
	[[ "${lines[4]}" == *7 ]]
	[ "${lines[7]} ${lines[8]} ${lines[9]} ${lines[10]}" = "0 1 TERM: 0 points: 1 measured" ]
}

@test "a runner that was stopped when a job ended notes how long the job ran, and learns nothing from it" {
	lab <<-'END'
		begun=$(date +%s)
		heshare run plan.json --json --early-ok -c "$job; exec touch ended-{job}" >run.out 2>run.err &
		await began plan.run/a.log
		await began plan.run/b.log
		kill -STOP $!
		: >go
		until [ -e ended-a ] && [ -e ended-b ]; do sleep 0.02; done
		sleep 12
		kill -CONT $!
		wait $!
		echo $(($(date +%s) - begun))
	END
	jq -e --argjson all "$output" '[.jobs[] | .end_s - .start_s < $all - 11] | all' run.out
	jq -e '.energy | .idle_j > 300 and (([.jobs_j, .aborted_j, .idle_j, .learning_j, .unattributed_j] | add) / .meter_j - 1 | fabs < 0.01)' run.out
	[ "$(grep -c 'ended [0-9]* s before this was seen, because heshare was stopped: its joules are estimated, and nothing is learnt from it' run.err)" = 2 ]
}

@test "measure tells that it was stopped" {
	lab <<-'END'
		heshare measure -g 0 --json -o m.json -- sh -c 'echo began >began; until [ -e go ]; do sleep 0.02; done; : >ended' &
		await began began
		kill -STOP $!
		: >go
		until [ -e ended ]; do sleep 0.02; done
		sleep 2
		kill -CONT $!
		wait $!
		echo "$?"
	END
	[ "$output" = 0 ]
	jq -e '.version == 2 and .resumed and .seconds > 1.5' m.json
	lab <<<'heshare measure -g 0 --json -o n.json -- true'
	jq -e '.resumed == false' n.json
}

@test "profile leaves out a window in which it was stopped" {
	# A window has 20 runs at most, of a second each.
	cat >begin.sh <<-'END'
		profile() {
			heshare profile silent -g 0 --store $1.db --warm-up 0.2 --window 20 --repeats 2..2 --patience 10 \
				--shares 100 --clocks default -n 300 -- sh -c "echo >>$1.runs; exec vgpu-task --workload resnet50 --batch 16 --iterations 300 >/dev/null"
		}
		profile once >/dev/null 2>&1
		profile again >out 2>&1 &
		until [ "$(cat again.runs 2>/dev/null | wc -l)" -ge 3 ] || ! kill -0 $!; do sleep 0.1; done
		kill -STOP $(pgrep -P $!)
		sleep 40
		kill -CONT $(pgrep -P $!)
		wait $!
		sqlite3 once.db "ATTACH 'again.db' AS again; SELECT a.iteration_us / o.iteration_us FROM points o, again.points a"
	END
	run --separate-stderr timeout -k 5 300 "$HES_LAB" --fleet one.yaml --speed 20 -- bash begin.sh
	grep "heshare was stopped, or had no time, for [0-9.]* s: that window is measured again" out
	# With the pause it would be 2.
	awk "BEGIN { exit !($output < 1.5) }"
}
