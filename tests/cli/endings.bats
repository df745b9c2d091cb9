#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# How jobs end in the lab: exit status 0 is not the work. And what goes on outside of a job's
# processes. Nothing counts on how quick the machine is: what must be there is waited for.

setup_file() {
	cd "$BATS_FILE_TMPDIR"
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 1 } ]\n' >one.yaml
	printf 'id,workload,batch_size,iterations,memory_mib\na,resnet50,16,1500,9000\nb,resnet50,16,1500,9000\n' >jobs.csv
	"$HESHARE" plan jobs.csv -f one.yaml --policy exclusive --json >plan.json
	# Without lines, an end counts by its time: jobs of the lab take longer than planned where the
	# machine is busy, so the planned time is stretched.
	jq '(.gpus[].batches[] | .start_us, .end_us, (.jobs[] | .start_us, .end_us)) *= 1000' plan.json >long.json
}

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	PATH=$(dirname "$HESHARE"):$PATH
	unset LD_LIBRARY_PATH
	cd "$BATS_TEST_TMPDIR"
	cp "$BATS_FILE_TMPDIR"/*.{yaml,csv,json} .
	export HESHARE_STORE=$PWD/store.db
	export work='vgpu-task --workload resnet50 --batch 16 --iterations'
}

lab() { # SPEED SCRIPT
	run --separate-stderr "$HES_LAB" --fleet one.yaml --speed "$1" -- bash -c "$2"
}

@test "exit 0 at a third of the iterations, also in a pipe, is an early end: not tried again, and the run ends with 1" {
	cat >job.sh <<-'END'
		case $HESHARE_JOB in
		a) { $work 500; false; } 2>&1 | tee a.txt ;;
		b) $work 1500 ;;
		esac
	END
	lab 40 'heshare run long.json --json -c "sh job.sh" >out.json; echo $?; heshare status 1; heshare status 1 --json >status.json'
	[ "${lines[0]}" = 1 ]
	[[ "$stderr" == *'job a ended early, with status 0: its last progress line says 500 of 1500 iterations; it is not tried again'* ]]
	[[ "$output" == *'1 done, 0 failed, 1 ended early'*'job a ended early, with status 0: its last progress line says 500 of 1500'* ]]
	jq -e '.state == "failed" and .jobs_done == 1 and .jobs_early == 1 and .jobs_failed == 0' out.json
	jq -e '.jobs[0] | .state == "ended early" and .attempts == 1 and .end_s > .start_s and .failure.seen == "its last progress line says 500 of 1500 iterations" and .failure.last_lines[-1] == "heshare: 500 iterations"' out.json
	jq -e '.jobs_early == 1 and .jobs[0].state == "ended early" and (.jobs[0].failure.seen | length) > 0 and .jobs[1].failure == null' status.json
	# Accepted, it stays as it is.
	lab 40 'heshare run long.json --resume --early-ok -c false; echo $?'
	[ "${lines[-1]}" = 0 ]
	[[ "$output" == *'1 of 2 jobs done, 1 ended early'* ]]
	[ "$(sqlite3 store.db 'SELECT count(*) FROM attempts')" = 2 ]
	# Else --resume runs it again.
	lab 40 'heshare run long.json --resume --json -c "exec $work 1500" >out.json; echo $?'
	[ "$output" = 0 ]
	[[ "$stderr" == *'job a ended early before (its last progress line says 500 of 1500 iterations); it runs again'* ]]
	jq -e '.state == "done" and [.jobs[].attempts] == [2, 1]' out.json
}

@test "what an earlier attempt did does not count twice: from scratch or a checkpoint, the last line says how far a job came" {
	cat >job.sh <<-'END'
		n() { for i; do echo "heshare: $i iterations"; done; }
		case $HESHARE_JOB$HESHARE_ATTEMPT in
		a1) n 500 1000; exit 1 ;;
		a2) n 350 700 ;;
		b1) n 500 1000; exit 1 ;;
		b2) n 1050 1100 ;;
		esac
	END
	lab 1 'heshare run long.json --json -c "sh job.sh" >out.json; echo $?
		heshare run long.json --resume --json -c "echo heshare: 1500 iterations" >again.json; echo $?'
	[ "$output" = $'1\n0' ]
	jq -e '[.jobs[] | .state, .attempts, .failure.seen] == ["ended early", 2, "its last progress line says 700 of 1500 iterations", "ended early", 2, "its last progress line says 1100 of 1500 iterations"]' out.json
}

@test "work that a job left running, and an end in no time, are early ends; --early-ok changes the exit status alone" {
	cat >job.sh <<-'END'
		[ $HESHARE_JOB = a ] || exit 0
		setsid nohup sh -c "$work 1500 --every 0.5 >work.txt 2>&1; echo ended >>work.txt" >/dev/null 2>&1 &
		until grep -q heshare: work.txt; do sleep 0.1; done
		echo server is up
	END
	lab 10 'heshare run long.json --json --early-ok -c "sh job.sh" >out.json; echo $?'
	[ "$output" = 0 ]
	jq -e '.state == "done" and .jobs_early == 2 and ([.jobs[].state] | unique) == ["ended early"]' out.json
	jq -e '.jobs[0].failure.seen | test("; 1 process that it left running was killed$")' out.json
	jq -e '.jobs[1].failure.seen | test("^it ran [^ ]+ s of [^ ]+ s planned, without a progress line$")' out.json
	! grep -q ended work.txt
	# Helpers that end a moment later are no work, although they print more than a pipe holds.
	cat >job.sh <<-'END'
		(sleep 0.2; head -c 400000 /dev/zero | tr '\0' x; printf '\nthe helper is done\n') &
		echo "unbuffered: $PYTHONUNBUFFERED"
		echo "heshare: $HESHARE_ITERATIONS iterations"
	END
	lab 1 'unset PYTHONUNBUFFERED; heshare run long.json -c "sh job.sh"'
	[ "$status" -eq 0 ]
	grep -qx "the helper is done" long.run/a.log
	# What the user has set stays.
	lab 1 'PYTHONUNBUFFERED= heshare run long.json -c "sh job.sh"'
	[ "$(grep unbuffered: long.run/a.log)" = $'unbuffered: 1\nunbuffered: ' ]
}

@test "a job whose work a daemon does: named at the end, and no second copy starts with it" {
	cat >daemon.sh <<-'END'
		exec 3<>fifo
		while read -r -u 3 j; do
			# The first work goes on until it is allowed to end.
			($work 1000000000 --every 1 >$j.work & w=$!
			until [ -e go ]; do sleep 0.1; done; kill $w; touch $j.done) &
		done
	END
	cat >client.sh <<-'END'
		[ $HESHARE_JOB = a ] || exec $work 1500
		rm -f a.done
		echo $HESHARE_JOB >fifo
		until [ -e a.done ]; do sleep 0.1; done
		echo "heshare: $HESHARE_ITERATIONS iterations"
	END
	mkfifo fifo
	lab 10 'setsid bash daemon.sh </dev/null >/dev/null 2>&1 &
		heshare run plan.json --grace 1 -c "sh client.sh" >/dev/null 2>err & p=$!
		until [ -s a.work ]; do sleep 0.2; done
		kill -TERM $p; wait $p; echo $?
		heshare run plan.json --resume --json -c "sh client.sh" >out.json 2>err2 & p=$!
		until grep -q "is not started again yet" err2; do sleep 0.2; done
		sqlite3 store.db "SELECT count(*) FROM attempts"
		touch go; wait $p; echo $?'
	cat err err2
	[ "$output" = $'1\n1\n0' ]
	grep -q 'job a has ended, but process [0-9]* (vgpu-task) of user .* with [0-9]* MiB on a/0 began after it and belongs to no job' err
	grep -q 'job a is not started again yet: process [0-9]* (vgpu-task) .* on a/0 began after its first attempt' err2
	jq -e '.jobs[0].state == "done" and .jobs[0].attempts == 2' out.json
}

@test "a job that ended early just before its runner was killed is judged by its files" {
	cat >kill.py <<-'END'
		import os, signal, sqlite3, sys, time
		# The runner cannot note the end.
		d = sqlite3.connect("store.db", isolation_level=None)
		d.execute("BEGIN IMMEDIATE")
		open("go", "w")
		while "0 " not in open("long.run/.a.1.status").read():
		    time.sleep(0.01)
		os.kill(int(sys.argv[1]), signal.SIGKILL)
	END
	lab 20 'heshare run long.json -c "$work 500; until [ -e go ]; do sleep 1; done" >/dev/null 2>&1 & p=$!
		until grep -qs " 500 iterations" long.run/a.log; do sleep 1; done
		env -u LD_PRELOAD python3 kill.py $p; wait $p
		heshare run long.json --resume --json -c "exec $work 1500" >out.json; echo $?'
	[ "$output" = 1 ]
	[[ "$stderr" == *'job a had ended early when the runner died: its last progress line says 500 of 1500 iterations; it is not tried again'* ]]
	jq -e '[.jobs[] | .state, .attempts] == ["ended early", 1, "done", 1]' out.json
}

@test "on several nodes: the state comes from the nodes' journals, --resume and --early-ok work alike" {
	printf 'name: two\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 2 } ]\n' >one.yaml
	mkdir bin
	# Each host has one GPU of the lab.
	cat >bin/ssh <<-'END'
		#!/bin/sh
		while [ "$1" != -- ]; do shift; done
		export CUDA_VISIBLE_DEVICES=${2#h}
		exec sh -c "$3"
	END
	chmod +x bin/ssh
	printf 'h0\nh1\n' >hosts
	export PATH=$PWD/bin:$PATH iterations_of_a=500
	cat >job.sh <<-'END'
		[ $HESHARE_JOB != a ] || HESHARE_ITERATIONS=$iterations_of_a
		$work $HESHARE_ITERATIONS
		exit 0
	END
	lab 40 'heshare plan jobs.csv --gpus ssh:hosts --policy exclusive -o plan.json >/dev/null
		heshare run plan.json --launcher ssh:hosts --json -c "sh $PWD/job.sh" >first.json; echo $?
		heshare run plan.json --launcher ssh:hosts --resume --early-ok --json -c false >second.json; echo $?
		iterations_of_a=1500 heshare run plan.json --launcher ssh:hosts --resume --json -c "sh $PWD/job.sh" >third.json; echo $?'
	echo "$stderr"
	[ "$output" = $'1\n0\n0' ]
	for file in first second; do
		jq -e '.jobs_early == 1 and .jobs_done == 1 and (.jobs[0] | .state == "ended early" and .failure.seen == "its last progress line says 500 of 1500 iterations")' $file.json
	done
	jq -e '.jobs_done == 2 and .state == "done"' third.json
	# The runners begin later than the run: the times that were planned stay as they were.
	jq -se '.[0].predicted as $p | .[1].planned | .makespan_s * 1e6 / $p.makespan_us, .fleet_energy_j / $p.fleet_energy_j | . - 1 | fabs < 1e-6' plan.json first.json
	jq -e '.jobs[1].mean_clock_mhz > 0' first.json
	jq -e '.jobs[0].mean_clock_mhz > 0' third.json
}

@test "what profiling took cannot be read at the end: not known, and the exit status is 1" {
	lab 10 'heshare run long.json -c "sqlite3 -cmd \".timeout 5000\" $PWD/store.db \"ALTER TABLE origins RENAME TO other\"; exec $work 1500"; echo $?'
	[ "${lines[-1]}" = 1 ]
	[[ "$stderr" == *"no such table: origins"* ]]
	[[ "$output" =~ "profiling, once "+"none  not known"$'\n'"  its GPU time "+"none  not known" ]]
	jq -e '.jobs_done == 2 and .baseline.jobs_done == 2 and .baseline.profiling == null' long.run/report.json
}

@test "a jobs file that changed before --resume: what differs is named, and counts where the file is named" {
	sed '1s/$/,command/; s/^a.*/&,exit 3/; s/^b.*/&,exec vgpu-task --workload resnet50 --batch 16 --iterations 1500/' \
		jobs.csv >with.csv
	mkdir plans
	(cd plans && "$HESHARE" plan ../with.csv -f ../one.yaml --policy exclusive -o plan.json >/dev/null)
	lab 40 'heshare run plans/plan.json --retries 0; echo $?'
	[ "${lines[-1]}" = 1 ]
	[[ "$stderr" != *with.csv* ]]
	# The correction, a new job, and one whose line is gone.
	sed -i 's/,1500,9000,exit 3/,1600,9000,exec vgpu-task --workload resnet50 --batch 16 --iterations 1600/; /^b/d' with.csv
	echo c,resnet50,16,100,9000,true >>with.csv
	lab 40 'heshare run plans/plan.json --retries 0 --resume; echo $?'
	[ "${lines[-1]}" = 1 ]
	[[ "$stderr" == *"plans/../with.csv has changed since plans/plan.json was made: job a differs in iterations, command; job c is new; job b is gone. The plan's jobs count: name the file (heshare run plans/plan.json plans/../with.csv)"* ]]
	lab 40 'heshare run plans/plan.json with.csv --retries 0 --resume; echo $?'
	[ "${lines[-1]}" = 1 ]
	[[ "$stderr" == "heshare run: with.csv has other jobs than plans/plan.json: job a differs in iterations, command; job c is new; job b is gone. Keep the rows of the plan's jobs; heshare add places new jobs; or plan again" ]]
	# With the jobs of the plan alone the file counts.
	sed -i '/^c/d' with.csv
	echo b,resnet50,16,1500,9000,false >>with.csv
	lab 40 'heshare run plans/plan.json with.csv --resume --json >out.json; echo $?'
	[ "${lines[-1]}" = 0 ]
	[[ "$stderr" == *"with.csv differs from plans/plan.json: job a differs in iterations, command; job b differs in command. The file counts"* ]]
	jq -e '.jobs_done == 2 and [.jobs[].attempts] == [3, 1]' out.json
	# Where memory is not known, two jobs no longer fit together.
	printf 'id,workload,batch_size,iterations,memory_mib\na,resnet50,16,1500,9000\nb,resnet50,16,1500,9000\n' >two.csv
	"$HESHARE" plan two.csv -f one.yaml --policy mps-equal -o two.json >/dev/null
	sed -i 's/^b,resnet50,16,1500,9000/b,resnet50,32,1500,/' two.csv
	lab 40 'heshare run two.json two.csv -c false; echo $?'
	[ "${lines[-1]}" = 1 ]
	[[ "$stderr" == *"two.json with the jobs of two.csv, which need their memory_mib or a new plan: "*" MiB"* ]]
	# A file of other jobs with this name says nothing.
	printf 'id,workload,batch_size,iterations\nx,resnet50,16,1500\n' >with.csv
	lab 40 'heshare run plans/plan.json --dry-run >/dev/null'
	[[ "$stderr" != *with.csv* ]]
	# A pipe in its place holds nobody up.
	rm with.csv && mkfifo with.csv
	lab 40 'heshare run plans/plan.json --dry-run >/dev/null'
	[ "$status" -eq 0 ]
}

@test "examples/train.py prints progress, saves at SIGTERM, and goes on from there" {
	for python in python3 /usr/bin/python3; do
		"$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' && found=$python && break
	done
	[ -n "${found:-}" ] || skip "python3-torch is not installed"
	train=("$found" "$HES_SOURCE_ROOT/examples/train.py" --cpu --batch 4 --save net.pt)
	"${train[@]}" --iterations 1000000000 >out 3>&- &
	until grep -q '^heshare: [0-9]* iterations$' out; do sleep 0.1; done
	kill -TERM $!
	wait $! || ended=$?
	[ "$ended" = 143 ]
	done=$("$found" -c 'import torch; print(torch.load("net.pt")["done"])')
	[ "$done" -ge "$(sed -n 's/^heshare: \([0-9]*\) iterations$/\1/p' out | tail -1)" ]
	run -0 "${train[@]}" --iterations $((done + 3))
	[ "$(grep heshare: <<<"$output")" = "heshare: $((done + 3)) iterations" ]
}
