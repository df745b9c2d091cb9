#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# heshare pilot, with programs in the place of Slurm's. tests/slurm has the real ones.

setup() {
	cd "$BATS_TEST_TMPDIR"
	mkdir bin
	export PATH=$PWD/bin:$PATH
	# sbatch notes its arguments and gives numbers from 7 on; squeue prints the file state.
	cat >bin/sbatch <<-'END'
		#!/bin/sh
		echo "$*" >>sbatch.log
		echo "sbatch: Using default account x" >&2
		echo $((6 + $(wc -l <sbatch.log)))
	END
	cat >bin/squeue <<-'END'
		#!/bin/sh
		case "$*" in *%i) cat active; exit ;; esac
		cat state
	END
	chmod +x bin/*
	echo FAILED >state
	: >active
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\na,0,resnet18,4,100,1194\n' >jobs.csv
}

@test "the script asks for nodes, time and GPUs, plans once, runs, and goes on after a head that was killed" {
	run -0 "$HESHARE" pilot jobs.csv --nodes 3 --time 2:00:00 --partition gpu \
		--gpus-per-node a100:4 --sbatch --account=x --prefer energy \
		--early-ok --print -- ./job.sh {workload} "it's"
	bash -n <<<"$output"
	for line in --nodes=3 --time=2:00:00 --partition=gpu --gpus-per-node=a100:4 --account=x \
		--no-kill --requeue; do
		grep -qx "#SBATCH $line" <<<"$output"
	done
	grep -qF "plan '$PWD/jobs.csv' --gpus slurm -o \"\$folder/plan.json\" --prefer 'energy' || exit" <<<"$output"
	grep -q '" run "$folder/plan.json" .* --early-ok --command ' <<<"$output"
	[ ! -e jobs.pilot ]
	[ ! -e sbatch.log ]
}

# heshare by a stand-in: what the script does when heads are killed
@test "the script starts another head after one that was killed, and resumes" {
	"$HESHARE" pilot jobs.csv --print -- true |
		sed "s|^heshare=.*|heshare='$PWD/bin/fake'|; s|^folder=.*|folder='$PWD/f'|" >s.sh
	mkdir f
	cat >bin/fake <<-'END'
		#!/bin/bash
		echo "$*" >>calls
		[ "$1" = run ] || exit 0
		[ "$(grep -c ^run calls)" = 2 ] && exit 3
		kill -KILL $$
	END
	chmod +x bin/fake
	run -3 bash s.sh
	[ "$(grep -c ^run calls)" = 2 ]
	[ "$(sed -n 3p calls)" = "run $PWD/f/plan.json --resume-if-begun --launcher slurm --store $PWD/f/store.db --before-end 60 --command true" ]
	# SIGTERM that comes before the head is ready for it ends the head; no other one starts.
	printf '#!/bin/bash\necho "$*" >>calls\n[ "$1" = run ] || exit 0\nkill -TERM $PPID\nexec sleep 60\n' >bin/fake
	: >calls
	run -143 bash s.sh
	[ "$(grep -c ^run calls)" = 1 ]
}

@test "it is submitted with its chain; a job that ended before its run began is reported" {
	run -1 --separate-stderr "$HESHARE" pilot jobs.csv --chain 2 -- true
	[ "$(head -1 <<<"$output")" = "Slurm job 7, then 8, then 9" ]
	[ "$stderr" = "heshare pilot: Slurm job 7 ended before its run began; $PWD/jobs.pilot/pilot.7.log says why" ]
	[ "$(cat sbatch.log)" = "--parsable $PWD/jobs.pilot/pilot.sh
--parsable --dependency=afternotok:7 --kill-on-invalid-dep=yes $PWD/jobs.pilot/pilot.sh
--parsable --dependency=afternotok:7,afternotok:8 --kill-on-invalid-dep=yes $PWD/jobs.pilot/pilot.sh" ]
	# A store is there from the start.
	run "$HESHARE" status --store jobs.pilot/store.db
	[[ "$output" != *"no store there"* ]]
	# Slurm has two of them still.
	printf '8\n9\n' >active
	run -1 "$HESHARE" pilot jobs.csv -- true
	[ "$output" = "heshare pilot: Slurm job 8 and 1 more are there for this pilot already; heshare status --store $PWD/jobs.pilot/store.db shows what they do; to end them, give scancel the numbers in $PWD/jobs.pilot/slurm-jobs" ]
	[ "$(wc -l <sbatch.log)" = 3 ]
	: >active
	run -0 "$HESHARE" pilot jobs.csv --no-wait --dir "$PWD/other" -- true
	[ -x other ] && [ -f other/pilot.sh ]
}

@test "a chain that Slurm refuses half-way is reported and noted" {
	printf '#!/bin/sh\n[ -e one ] && { echo "sbatch: error: too many" >&2; exit 1; }\ntouch one; echo 7\n' >bin/sbatch
	run -1 --separate-stderr "$HESHARE" pilot jobs.csv --chain 2 -- true
	[ "${lines[0]}" = "Slurm job 7" ]
	[ "$stderr" = "heshare pilot: sbatch: sbatch: error: too many" ]
	[ "$(cat jobs.pilot/slurm-jobs)" = 7 ]
}

@test "a pilot that waits says why" {
	cat >bin/squeue <<-'END'
		#!/bin/sh
		case "$*" in *%i) exit ;; esac
		[ -e once ] && echo "FAILED (None)" && exit
		touch once
		echo "PENDING (PartitionConfig)"
	END
	run -1 --separate-stderr "$HESHARE" pilot jobs.csv -- true
	[ "$(head -1 <<<"$stderr")" = "heshare pilot: Slurm job 7: PENDING (PartitionConfig)" ]
}

@test "a pilot that has begun goes on with the same jobs alone" {
	"$HESHARE" pilot jobs.csv --no-wait -- true >/dev/null
	"$HESHARE" plan jobs.csv -o jobs.pilot/plan.json >/dev/null
	run -0 "$HESHARE" pilot jobs.csv --no-wait -- true
	[[ "$output" == *"plan.json is there: the pilot goes on with it, and options of planning change nothing"* ]]
	cp jobs.csv old.csv
	echo b,0,resnet18,4,100,1194 >>jobs.csv
	run -1 "$HESHARE" pilot jobs.csv -- true
	[ "$output" = "heshare pilot: $PWD/jobs.csv has changed since $PWD/jobs.pilot/plan.json, with which this pilot began: job b is new; name another folder by --dir for a new one" ]
	sed 's/100,/101,/' old.csv >jobs.csv
	run -1 "$HESHARE" pilot jobs.csv -- true
	[[ "$output" == *": job a differs in "* ]]
	head -1 old.csv >jobs.csv
	run -1 "$HESHARE" pilot jobs.csv -- true
	[[ "$output" == *": it has 0 jobs and "*"has 1; name another"* || "$output" == *"no job"* ]]
	[ "$(wc -l <sbatch.log)" = 2 ]
}

@test "what Slurm refuses, and what is wrong, gets one sentence" {
	printf '#!/bin/sh\necho "sbatch: Using default account x" >&2; echo "sbatch: error: invalid partition specified: x" >&2; exit 1\n' >bin/sbatch
	run -1 "$HESHARE" pilot jobs.csv -- true
	[ "$output" = "heshare pilot: sbatch: sbatch: error: invalid partition specified: x" ]
	PATH=/usr/bin:/bin
	if ! command -v sbatch; then
		run -1 "$HESHARE" pilot jobs.csv -- true
		[ "$output" = "heshare pilot: sbatch: not found; Slurm's commands must be in PATH" ]
	fi
	run -2 "$HESHARE" pilot jobs.csv jobs2.csv
	[ "$output" = 'heshare pilot: unexpected "jobs2.csv"; a command comes after --; usage: heshare pilot JOBS [-- COMMAND]' ]
	run -2 "$HESHARE" pilot jobs.csv --time 1:60:00 -- true
	[ "$output" = 'heshare pilot: --time: "1:60:00" is no time such as 30 (minutes), 2:00:00 or 1-12:00:00' ]
	run -2 "$HESHARE" pilot jobs.csv --time soon -- true
	[ "$output" = 'heshare pilot: --time: "soon" is no time such as 30 (minutes), 2:00:00 or 1-12:00:00' ]
	run -2 "$HESHARE" pilot jobs.csv --partition "a b" -- true
	[ "$output" = 'heshare pilot: --partition: "a b" has a space, quote, backslash or # in it' ]
	# Nothing becomes another line of the script, or hides the rest of its own.
	run -2 "$HESHARE" pilot jobs.csv --time $'2:00:00\n#SBATCH --account=other' --print -- true
	[[ "$output" == *"is no time such as 30 (minutes), 2:00:00 or 1-12:00:00" ]]
	for option in --time --partition --gpus-per-node --sbatch; do
		for end in $'\n' $'\r' $'\v' $'\xc2\x85'; do
			run -2 "$HESHARE" pilot jobs.csv $option "1$end#SBATCH -A x" --print -- true
			[ "${#lines[@]}" = 1 ]
		done
	done
	run -2 "$HESHARE" pilot jobs.csv --gpus-per-node 'a#:1' --print -- true
	[[ "$output" == *"has a space, quote, backslash or # in it" ]]
	run -1 "$HESHARE" pilot jobs.csv
	[ "$output" = "heshare pilot: job a has no command: give the jobs a column command, or name it: heshare pilot JOBS -- COMMAND" ]
	run -2 "$HESHARE" pilot jobs.csv --time 1 -- true
	[ "$output" = 'heshare pilot: --time: 1 is over before a job can start: the run stops 60 s earlier (--before-end)' ]
	run -2 "$HESHARE" pilot jobs.csv --gpus-per-node a100:0 -- true
	[ "$output" = 'heshare pilot: --gpus-per-node: "a100:0" is no GPU' ]
	run -2 "$HESHARE" pilot jobs.csv --policy nope -- true
	[[ "$output" == *'"nope"'* ]]
	# What heshare plan would refuse in the Slurm job is refused before.
	for options in '--policy joint:energy --prefer energy' '--policy exec:x --prefer energy' '--budget x' \
		'--policy exclusive --budget 1s'; do
		run -2 "$HESHARE" plan jobs.csv $options
		refused=${output#heshare plan: }
		run -2 "$HESHARE" pilot jobs.csv $options -- true
		[ "$output" = "heshare pilot: $refused" ]
	done
	run -2 "$HESHARE" pilot jobs.csv --predictor none -- true
	[ "$output" = "heshare pilot: --predictor: none: No such file or directory" ]
	run -1 "$HESHARE" pilot jobs.csv -- './x {foo}'
	[[ "$output" == *"{foo}"* ]]
	run -1 "$HESHARE" pilot none.csv -- true
	[ "$output" = "heshare pilot: none.csv: No such file or directory" ]
	for name in "a b" a%j "a'b" 'a"b' 'a\b' 'a#b' $'a\vb'; do
		run -1 "$HESHARE" pilot jobs.csv --dir "$name" -- true
		[[ "$output" == *"has a space, %, #, quote, backslash or control character in it, which sbatch does not take; name another by --dir" ]]
	done
}

@test "a plan for other nodes needs Slurm or hosts" {
	unset SLURM_JOB_ID
	run -1 "$HESHARE" plan jobs.csv --gpus slurm
	[ "$output" = "heshare plan: not in a Slurm job: SLURM_JOB_ID is not set; heshare pilot or sbatch starts one" ]
	printf '# none\n' >hosts
	run -1 "$HESHARE" plan jobs.csv --gpus ssh:hosts
	[ "$output" = "heshare plan: hosts: no host in it; a line is HOST or USER@HOST" ]
	printf 'a\na\n' >hosts
	run -1 "$HESHARE" plan jobs.csv --gpus ssh:hosts
	[ "$output" = "heshare plan: hosts: host a is there twice" ]
	printf -- '-oProxyCommand=x\n' >hosts
	run -1 "$HESHARE" plan jobs.csv --gpus ssh:hosts
	[ "$output" = 'heshare plan: hosts: "-oProxyCommand=x" is no name of a host; a line is HOST or USER@HOST' ]
	# They name folders, and are arguments.
	for name in 'a b' .. . .a ../x a/b /a u@-x u@..  u@a@b 'a;b' 'a$b' $'a\vb' u@ @a %; do
		echo "$name" >hosts
		run -1 "$HESHARE" plan jobs.csv --gpus ssh:hosts
		[[ "$output" == *'is no name of a host; a line is HOST or USER@HOST' ]]
	done
	for name in .. a/b -x; do
		printf '#!/bin/sh\necho %s\n' "$name" >bin/scontrol
		chmod +x bin/scontrol
		SLURM_JOB_ID=1 SLURM_JOB_NODELIST=a run -1 "$HESHARE" plan jobs.csv --gpus slurm
		[ "$output" = "heshare plan: scontrol: \"$name\" is no name of a node; one has at most 41 letters, digits and .-_" ]
	done
	printf '%042d\n' 0 >hosts
	run -1 "$HESHARE" plan jobs.csv --gpus ssh:hosts
	[[ "$output" == *"is no name of a host; a line is HOST or USER@HOST" ]]
	"$HESHARE" plan jobs.csv -o plan.json >/dev/null
	run -2 "$HESHARE" run plan.json --launcher rsh -c true
	[ "$output" = 'heshare run: --launcher: "rsh" is neither slurm nor ssh:HOSTFILE' ]
}
