# Plans, jobs and scripts of the tests of heshare run in the lab. Every job leaves a line in "marks"
# when it is done: a job with two lines ran twice.
setup_file() {
	[ -n "${HES_LAB:-}" ] || return 0
	cd "$BATS_FILE_TMPDIR"
	printf 'name: two\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 1 }, { type: T4, count: 1 } ]\n' >two.yaml
	cat >jobs.csv <<-END
		id,arrival_s,workload,batch_size,iterations,memory_mib
		a,0,resnet34,8,1500,1813
		b,0,resnet18,4,1500,1194
		c,0,mobilenet,4,1500,1266
		d,0,resnet18,4,2500,1194
		e,0,resnet34,4,1500,1373
		f,0,gpt2,1,1500,1513
		g,0,resnet18,8,2000,1494
		h,0,mobilenet,8,2000,1666
	END
	# Planned times are stretched: a job's time limit is ten times its planned time, and a
	# second of the lab is short.
	"$HESHARE" plan jobs.csv -f two.yaml --policy heshare --json | stretch >batches.json
	"$HESHARE" plan jobs.csv -f two.yaml --policy joint --budget 3000 --json |
		stretch >open.json
}

stretch() {
	jq '(.gpus[].batches[] | .start_us, .end_us, (.jobs[] | .start_us, .end_us)) *= 1000'
}

# only_limited PLAN JOB: with --timeout-factor 1 --timeout-least S, JOB has a limit of S seconds;
# the other limits are out of reach.
only_limited() {
	jq --arg job "$2" \
		'(.gpus[].batches[].jobs[] | select(.job == $job)) |= (.end_us = .start_us)' "$1"
}

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	PATH=$(dirname "$HESHARE"):$PATH
	unset LD_LIBRARY_PATH
	cd "$BATS_TEST_TMPDIR"
	cp "$BATS_FILE_TMPDIR"/{two.yaml,jobs.csv,batches.json,open.json} .
	: >marks
	export HESHARE_STORE=$PWD/store.db
	local work='vgpu-task --workload {workload} --batch {batch} --iterations'
	export task="$work {iterations} && echo {job} >>$PWD/marks"
	export numbered="$work {iterations} && echo {job} \$HESHARE_ATTEMPT >>$PWD/marks"
	# One that is done at once, by what it prints.
	export quick='echo "heshare: {iterations} iterations"'
	# One that does not end before there is a file "go" or "go-JOB", and one that never does by
	# itself.
	export gated="$work {iterations} && until [ -e $PWD/go ] || [ -e $PWD/go-{job} ]; do sleep 1; done && echo {job} >>$PWD/marks"
	export endless="exec $work 1000000000 --every 2"
	# Nobody ends before something happens to all.
	export endless_first="[ \$HESHARE_ATTEMPT != 1 ] || $endless; $task"
	# In a script: wait until this many jobs have printed progress.
	cat >await <<-'END'
		while [ "$(grep -ls "heshare: " batches.run/*.log | wc -l)" -lt "$1" ]; do sleep 0.2; done
	END
	# ... until so many jobs are done, as the journal knows.
	cat >await_done <<-'END'
		while [ "$(sqlite3 store.db "SELECT count(*) FROM run_jobs WHERE state = 'done'" 2>/dev/null || echo 0)" -lt "$1" ]; do sleep 1; done
	END
	# In a script: after this, job $1 of GPU 0 cannot be killed. The time limit may end an
	# attempt before; then the next one is held. Only this job may have a context on GPU 0: the
	# others wait until there is a file "held".
	export stubborn="$work 1000000000 --every 2 | { read -r _; : >$PWD/begun-\$HESHARE_ATTEMPT; cat; }"
	cat >hold <<-'END'
		n=1
		until grep -q "job $1: its processes are killed and do not end" err; do
			[ ! -e begun-$n ] || { vgpu-fault 0:unkillable; n=$((n + 1)); }
			sleep 1
		done
		: >held
	END
	# At the end of a script: what a run must not leave, and ...
	cat >left <<-'END'
		pgrep -f 'vgpu-task --workload' | while read -r p; do
			tr '\0' '\n' </proc/$p/environ 2>/dev/null | grep -qx "HESHARE_LAB=$HESHARE_LAB" && echo "left: process $p"
		done
		find . -name control -path '*pipe*' | while read -r s; do echo "left: $s"; done
		heshare gpus --json | jq -r '.gpus[] | select(.clock_mhz > 400) | "left: \(.name) at \(.clock_mhz) MHz"'
	END
	# ... what a guard that is at work still leaves when it had all the time that it may need.
	cat >left_in_the_end <<-'END'
		n=0
		until [ -z "$(sh left)" ] || [ $((n += 1)) -gt 500 ]; do sleep 2; done
		sh left
	END
}

lab() { # SPEED COMMAND...
	local speed=$1
	shift
	run --separate-stderr "$HES_LAB" --fleet two.yaml --speed "$speed" -- "$@"
}

once() { # every job left its line once
	[ "$(sort marks | tr -d '\n')" = abcdefgh ]
}

# Three jobs that certainly run together.
together() {
	jq '{format, version: 1, policy, prefer, seed, predicted, gpus: [{gpu: "a/0", type: "A100-SXM-80", batches: [{clock_mhz: 1410, start_us: 0,
		end_us: 6000000000, energy_mj: 9000000, jobs: [("a", "c", "e") | {job: ., sm_pct: 30, start_us: 0, end_us: 6000000000}]}]}],
		jobs: [.jobs[] | select(.id == ("a", "c", "e")) | .iterations = 2000]}' batches.json >three.json
}
