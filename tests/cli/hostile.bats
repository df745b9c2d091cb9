#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# Nodes, jobs and other users that do harm: answers without end, pipes and links in place of files,
# folders that others may write.

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	cd "$BATS_TEST_TMPDIR"
	mkdir bin
	export PATH=$PWD/bin:$PATH HESHARE_STORE=$PWD/store.db
	unset LD_LIBRARY_PATH SLURM_JOB_ID
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 1 } ]\n' >one.yaml
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\na,0,resnet34,8,100,1813\nb,0,resnet18,4,100,1194\n' >jobs.csv
	# "good" is this machine; "out", "errors" and "late" print without end, the last when it runs jobs.
	cat >bin/ssh <<-'END'
		#!/bin/bash
		while [ "$1" != -- ]; do shift; done
		case $2 in
		out) exec yes ;;
		errors) exec yes >&2 ;;
		late) [[ $3 == *"'run'"* ]] && exec yes >&2 ;;
		esac
		exec sh -c "$3"
	END
	chmod +x bin/ssh
}

in_lab() {
	timeout -k 5 100 "$HES_LAB" --fleet one.yaml --speed 100 -- "$@"
}

@test "a node that answers without end is left out, and its answer is cut off" {
	printf 'out\nerrors\n' >hosts
	run -1 --separate-stderr in_lab "$HESHARE" plan jobs.csv --gpus ssh:hosts
	[ "$stderr" = "heshare plan: no node has a GPU to use; node out: its answer was cut off at 16 MiB; does its shell print something without end?" ]
	echo good >>hosts
	run -0 --separate-stderr in_lab "$HESHARE" plan jobs.csv --gpus ssh:hosts --policy exclusive \
		-o plan.json
	[[ "$stderr" == *"node out is left out: its answer was cut off at 16 MiB"* &&
		"$stderr" == *"node errors is left out: its answer was cut off at 16 MiB"* ]]
	# Nor do its messages fill the run's folder.
	echo late >hosts
	in_lab "$HESHARE" plan jobs.csv --gpus ssh:hosts --policy exclusive -o plan.json
	run -1 --separate-stderr in_lab "$HESHARE" run plan.json --launcher ssh:hosts -c true
	[[ "$stderr" == *"node late: its runner was ended, because its messages took 64 MiB"* ]]
	[ "$(cat plan.run/late/*.log | wc -c)" -le $((64 << 20)) ]
}

@test "a node by whose name another folder would be restored is refused" {
	mkdir -p runs/a
	: >runs/guard.list
	for name in .. . ../runs -x $'a\nb'; do
		SLURMD_NODENAME=$name run -1 in_lab "$HESHARE" gpus --offer --restore "$PWD/runs/a/%"
		jq -e '.error | endswith("is no name of a node")' <<<"$output"
	done
	[ -e runs/guard.list ]
}

# What a job can put in place of the files of its run: $R is the run's folder, $D that of the job's
# files, which is $R/NODE on several nodes. Names that a road does not have are just files there.
hostile_files() {
	cat <<-'END'
		$D/$job.log
		$D/.$job.1.status
		$D/$job
		$R/live.json
		$R/.live.json
		$D/live.json
		$R/report.json
		$R/.report.json
		$D/.clock
		$D/guard.list
		$D/[0-9]*.log
		$R/head.lock
	END
}
hostile_acts=(pipe link device folder sparse garbage gone)

# A job of each file with three of the acts; with HOSTILE=all, with every act.
hostile_jobs() {
	local file act n=0
	hostile_files | while read -r file; do
		for act in "${!hostile_acts[@]}"; do
			case ${HOSTILE:-}$(((act + n) % 7)) in all* | 0 | 2 | 4) ;; *) continue ;; esac
			echo "${hostile_acts[act]} $file"
		done
		n=$((n + 1))
	done
}

# Put it in place of $file.
put_act() {
	cat <<-'END'
		rm -rf "$file"
		case $act in
		pipe) mkfifo "$file" ;;
		link) ln -sfn "$PWD/canary" "$file" ;;
		device) ln -sfn /dev/zero "$file" ;;
		folder) mkdir -p "$file/in it" ;;
		sparse) truncate -s 1T "$file" ;;
		garbage) head -c 100000 /dev/urandom >"$file" ;;
		esac
	END
}

# on ROAD: how to plan and run
on_road() {
	rm -rf plan.run
	echo good >hosts
	gpus=all how=()
	export D=$PWD/plan.run
	[ "$1" = machine ] || gpus=ssh:hosts how=(--launcher ssh:hosts) D=$PWD/plan.run/good
}

@test "what jobs put in place of the files of their run holds up neither a runner nor a head" {
	hostile_jobs >rows
	[ "$(wc -l <rows)" -ge 36 ]
	echo mine >canary
	echo id,arrival_s,workload,batch_size,iterations,memory_mib >rows.csv
	for n in $(seq "$(wc -l <rows)"); do echo "r$n,0,resnet18,4,100,1194"; done >>rows.csv
	# Job N does what row N says, then waits until live.json is written again.
	put_act >act
	cat >row <<-'END'
		job=$1 R=$PWD/plan.run
		read -r act file < <(sed -n "${job#r}p" rows)
		file=$(eval "echo $file")
		. ./act
		env -u LD_PRELOAD timeout -k 5 60 "$HESHARE" status >"out-$job" 2>&1 || echo "$job: $?" >>refused
		[ "$file" != "$R/live.json" ] || [ "$act" = folder ] ||
			until [ -f "$file" ] && [ ! -L "$file" ] && [ "$(stat -c %s "$file")" -lt 100000 ]; do sleep 0.1; done
		[ "$act" != folder ] || rm -rf "$file"
	END
	for road in machine nodes; do
		on_road $road
		in_lab "$HESHARE" plan rows.csv --gpus $gpus --policy exclusive -o plan.json
		run in_lab "$HESHARE" run plan.json "${how[@]}" -c 'bash row {job}' --early-ok
		echo "$road: $output"
		[ "$status" -eq 0 ]
		[ ! -e refused ]
		[ "$(cat canary)" = mine ]
		[ -f plan.run/report.json ] && [ ! -L plan.run/report.json ]
		jq -e --arg n "$(wc -l <rows)" '.jobs_done + .jobs_early == ($n | tonumber)' plan.run/report.json
	done
}

@test "a runner that is killed leaves statuses of any kind, which are no ends of jobs, and no next round" {
	echo mine >canary
	sed "s/count: 1/count: ${#hostile_acts[@]}/" one.yaml >many.yaml
	# One of them is a job that nobody knows, also when it is planned again.
	echo id,arrival_s,workload,batch_size,iterations,memory_mib,command >rows.csv
	for act in "${hostile_acts[@]}"; do echo "$act,0,resnet18,4,100,1194,bash job $act"; done >>rows.csv
	sed -i '/^gone/s/resnet18/own/' rows.csv
	put_act >act
	# The first attempt of each job waits for the end of its runner; one takes the next round's name.
	cat >job <<-'END'
		act=$1 file=$D/.$1.1.status
		[ ! -e killed ] || { echo "$1" >>marks; exit; }
		. ./act
		file=$(echo plan.run/[0-9]*-1.json) file=${file%1.json}2.json
		[ "$act" != pipe ] || [ "$file" = plan.run/[0-9]*-2.json ] || mkfifo "$file"
		echo "0 $(date +%s)000000 0" >"forged/.$1.1.status"
		: >"ready-$1"
		sleep 1000
	END
	cat >script <<-'END'
		"$HESHARE" plan rows.csv --gpus $gpus --policy exclusive -o plan.json
		"$HESHARE" run plan.json $launch --early-ok &
		until [ "$(ls | grep -c ^ready-)" = 7 ]; do sleep 0.1; done
		: >killed
		[ $gpus = all ] && store=$HESHARE_STORE || store=$(echo plan.run/good/*.db)
		# shellcheck disable=SC2016
		env -u LD_PRELOAD python3 -c 'import os, signal, sqlite3, sys
		journal = sqlite3.connect(sys.argv[1], timeout=30)
		if len(sys.argv) > 2:
		    journal.execute("UPDATE runs SET folder = ?", sys.argv[2:])
		    journal.commit()
		os.kill(journal.execute("SELECT runner_pid FROM runs ORDER BY id DESC").fetchone()[0], signal.SIGKILL)' "$store" $forged
		wait $! || [ $gpus != all ] || "$HESHARE" run plan.json --resume --early-ok
	END
	sed -i 's/^\t*//' script
	for road in machine nodes; do
		on_road $road
		rm -f ready-* killed marks
		# A journal on a node is the jobs' own: its folder is not believed.
		export gpus launch="${how[*]}" forged=
		[ $road = machine ] || forged=$PWD/forged
		rm -rf forged && mkdir forged
		run timeout -k 5 100 "$HES_LAB" --fleet many.yaml --speed 100 -- bash script
		echo "$road: $output"
		# Who leaves a folder there cannot start again; nobody else is harmed.
		[ "$status" -le 1 ]
		[ "$(cat canary)" = mine ]
		[ "$(ls -A forged | wc -l)" = 7 ]
		[ "$(grep -v folder marks | sort -u | wc -l)" = 6 ] && [ "$(grep -vc folder marks)" = 6 ]
		jq -e '[.jobs[] | select(.job != "folder") | .attempts == 2 and .state != "failed"] | all' plan.run/report.json
	done
}

@test "jobs on several nodes run as who called sudo, and in no folder that others can change" {
	[ "$(id -u)" = 0 ] && id nobody >/dev/null || skip "jobs of another user need root"
	place=$(mktemp -d /tmp/heshare-hostile.XXXXXX)
	chmod 755 "$place"
	on_road nodes
	sed -i 's/exec sh -c/exec env -u SUDO_USER sh -c/' bin/ssh
	mkdir "$place/own" "$place/all"
	chown nobody "$place/own"
	chmod 777 "$place/all"
	in_lab "$HESHARE" plan jobs.csv --gpus $gpus --policy exclusive -o plan.json
	export SUDO_USER=nobody
	for folder in own all run; do
		run in_lab "$HESHARE" run plan.json "${how[@]}" --no-mps --early-ok --restart \
			--jobs "$place/$folder" -c 'id -un'
		echo "$output"
		printf '%s %s %s\n' "$folder" "$status" "$(ls "$place/$folder" | wc -l)" >>ends
		[[ $folder = run || "$output" == *"$place/$folder: "*"only root can write"* ]]
	done
	cat "$place/run/good/a.log" "$place/run/good/b.log" >users
	rm -r "$place"
	[ "$(sort -u users)" = nobody ]
	[ "$(cut -d' ' -f1,2 ends)" = $'own 1\nall 1\nrun 0' ]
	[ "$(head -2 ends | cut -d' ' -f3 | sort -u)" = 0 ]
}

@test "a job that needs more memory than the nodes that are left have waits, and the others run" {
	printf 'name: two\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 1 }, { type: T4, count: 1 } ]\n' >one.yaml
	sed -i 's/exec sh -c/CUDA_VISIBLE_DEVICES=${2#h} exec sh -c/' bin/ssh
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\na,0,resnet34,8,100,1813\nb,0,resnet18,4,100,40000\n' >large.csv
	cat >script <<-'END'
		echo h0 >hosts
		"$HESHARE" plan large.csv --gpus ssh:hosts --policy exclusive -o plan.json
		"$HESHARE" run plan.json --launcher ssh:hosts -c false --retries 0
		for host in h1 h0; do
			echo $host >hosts
			"$HESHARE" run plan.json --launcher ssh:hosts --resume -c 'echo {job} >>marks' --early-ok
			jq -c '[.jobs_waiting, .state]' plan.run/report.json
		done
	END
	run in_lab bash script
	echo "$output"
	[[ "$output" == *"1 job needs more memory than any GPU of the nodes that are up has, and waits for --resume"* ]]
	[ "$(grep '^\[' <<<"$output" | tr '\n' ' ')" = '[1,"stopped"] [0,"done"] ' ]
	[ "$(tr '\n' ' ' <marks)" = "a b " ]
}

@test "clocks that a node refuses are counted; a store that is locked does not end --resume" {
	on_road nodes
	cat >script <<-'END'
		"$HESHARE" plan jobs.csv --gpus $gpus --policy joint --budget 100 --json |
			jq '.gpus[].batches[] |= (.clock_mhz = 900 | del(.unlocked))' >plan.json
		vgpu-fault all:no-permission
		"$HESHARE" run plan.json --launcher $gpus -c '[ {job} = a ] || [ -e again ]' --retries 0 --early-ok
		jq -c '[.clocks_refused, .jobs_failed]' plan.run/report.json
		: >again
		env -u LD_PRELOAD python3 -c '
		import os, sqlite3, time
		d = sqlite3.connect("store.db", isolation_level=None)
		d.execute("BEGIN IMMEDIATE")
		open("locked", "w")
		while "it is tried again" not in open("messages").read():
		    time.sleep(0.05)
		d.execute("COMMIT")' &
		until [ -e locked ]; do sleep 0.1; done
		"$HESHARE" run plan.json --launcher $gpus --resume -c true --early-ok 2>messages
		echo "status $?"
	END
	sed -i 's/^\t*//' script
	: >messages
	export gpus
	run in_lab bash script
	echo "$output"
	[[ "$output" == *'[1,1]'*'status 0' ]]
	grep -q 'another program has been writing to it for .* it is tried again' messages
	jq -e '.jobs_done + .jobs_early == 2' plan.run/report.json
}

@test "pipes and links in place of a node's files, and of the run's, hold nobody up" {
	echo good >hosts
	in_lab "$HESHARE" plan jobs.csv --gpus ssh:hosts --policy exclusive -o plan.json
	echo mine >elsewhere
	# The first job waits until the head has read what it put there.
	cat >job <<-'END'
		[ "$1" = a ] || { [ -e again ]; exit; }
		for log in plan.run/good/[0-9]*.log; do rm "$log"; mkfifo "$log"; done
		ln -sf ../elsewhere plan.run/.live.json
		ln -sf ../elsewhere plan.run/report.json
		round=$(cd plan.run; echo [0-9]*-1.json)
		mkfifo "plan.run/${round%-1.json}-2.json"
		rm -f plan.run/live.json
		until [ -e plan.run/live.json ]; do sleep 0.1; done
	END
	in_lab_run() { in_lab "$HESHARE" run plan.json --launcher ssh:hosts -c 'sh job {job}' --retries 0 "$@"; }
	run -1 --separate-stderr in_lab_run
	[ "$(cat elsewhere)" = mine ]
	[ -f plan.run/report.json ] && [ ! -L plan.run/report.json ]
	jq -e '.jobs_done == 1' plan.run/report.json
	# The next head does not wait, either.
	run -1 --separate-stderr in_lab_run --resume
	[[ "$stderr" == *"-2.json: it is not a plain file; remove it" ]]
	rm plan.run/*-2.json
	: >again
	run -0 --separate-stderr in_lab_run --resume
	jq -e '.jobs_done == 2' plan.run/report.json
	# Another head: what it looks for by itself is no pipe, and it says so.
	run -1 --separate-stderr in_lab "$HESHARE" run plan.json --launcher ssh:hosts --restart \
		-c 'rm -f plan.run/report.json; mkfifo plan.run/report.json; false' --retries 0
	[ -f plan.run/report.json ]
	rm -rf one && mkdir -p one && mkfifo one/profiles.csv
	run -1 timeout -k 5 60 "$HESHARE" plan jobs.csv -f one.yaml --profiles one -o p.json
	[[ "$output" == *"one/profiles.csv: it is not a plain file; remove it" ]]
	for name in store.db-journal store.db-wal store.db-shm; do
		rm -f store.db-*
		mkfifo $name
		run -1 timeout -k 5 60 "$HESHARE" status
		[ "$output" = "heshare status: $PWD/$name: it is not a plain file; remove it" ]
	done
	rm store.db-*
	# What users name may be a pipe.
	cat jobs.csv | "$HESHARE" plan /dev/stdin -f one.yaml -o p.json
	"$HESHARE" plan <(cat jobs.csv) -f one.yaml -o p.json
}

@test "jobs are added by those alone who can do nothing else to the store's owner" {
	mkdir -p -m 755 above/place
	export HESHARE_STORE=$PWD/above/place/store.db
	"$HESHARE" plan jobs.csv -f one.yaml --policy joint --budget 100 -o plan.json
	sed '2d; s/^b,/x,/' jobs.csv >more.csv
	cat >script <<-'END'
		"$HESHARE" run plan.json -c 'touch begun; until [ -e go ]; do sleep 0.1; done' & p=$!
		until [ -e begun ]; do sleep 0.1; done
		"$HESHARE" add 1 more.csv -c true --no-wait
		kill -KILL $p; wait $p
		: >go
		for which in above above/place above/place/store.db above/place/store.db-journal; do
			[ -e $which ] || : >$which
			chmod o+w $which
			"$HESHARE" add 1 more.csv -c true
			"$HESHARE" status 1 --json | jq -c "[.jobs_added]"
			chmod o-w $which
		done
		rm above/place/store.db-journal
		mv plan.json plan; mkfifo plan.json
		"$HESHARE" add 1 more.csv -c true
		mv plan plan.json
		chmod o+w above/place
		"$HESHARE" run plan.json --resume -c true
	END
	run in_lab bash script
	here=$(realpath .)
	for which in "above: others may write it (mode 0757)" \
		"above/place: others may write it (mode 0757)" \
		"above/place/store.db: others may write it (mode 0646)" \
		"above/place/store.db-journal: others may write it (mode 0646)"; do
		[[ "$output" == *"heshare add: runs take no jobs from a store that other users can change: $here/$which"* ]]
	done
	[ "$(grep -c '^\[1\]$' <<<"$output")" = 4 ]
	# The journal names the plan.
	[[ "$output" == *"heshare add: $here/plan.json: it is not a plain file; remove it"* ]]
	[[ "$output" == *"1 added job is left out: other users can change the store, its folder, or a folder above it"* ]]
}

@test "MPS has no folder where others could replace it" {
	"$HESHARE" plan jobs.csv -f one.yaml --policy joint --budget 100 -o plan.json
	mkdir -m 757 open
	cd open
	cp ../*.json ../one.yaml .
	place=$(mktemp -d /tmp/heshare-hostile.XXXXXX)
	in_lab "$HESHARE" run plan.json --jobs "$place" -c 'echo "$CUDA_MPS_PIPE_DIRECTORY" >>../own'
	in_lab "$HESHARE" run plan.json --restart --jobs run -c 'echo "$CUDA_MPS_PIPE_DIRECTORY" >>../moved'
	rm -r "$place"
	grep -q "^$place/mps/" ../own
	grep -q "^/tmp/heshare-$(id -u)-[0-9a-f]*/" ../moved
}
