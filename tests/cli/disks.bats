#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# heshare run where nothing can be written: full disks, a store or a folder that is moved away, and
# jobs that print without end. Disks are small ones in memory, in a mount namespace: they need root.

setup_file() {
	[ -n "${HES_LAB:-}" ] || return 0
	cd "$BATS_FILE_TMPDIR"
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 1 } ]\n' >one.yaml
	# No two jobs have room on the GPU.
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\na,0,resnet34,8,1500,50000\nb,0,resnet18,4,1500,50000\n' >jobs.csv
	"$HESHARE" plan jobs.csv -f one.yaml --policy joint --budget 500 --json |
		jq '(.gpus[].batches[] | .start_us, .end_us, (.jobs[] | .start_us, .end_us)) *= 1000' >plan.json
	jq -r '[.gpus[].batches[].jobs[]] | sort_by(.start_us)[].job' plan.json >order
}

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	PATH=$(dirname "$HESHARE"):$PATH
	unset LD_LIBRARY_PATH
	cd "$BATS_TEST_TMPDIR"
	cp "$BATS_FILE_TMPDIR"/* .
	mkdir disk
	export HESHARE_STORE=$PWD/store.db first=$(head -1 order) last=$(tail -1 order)
	export job='echo {job} began; until [ -e '$PWD'/go ]; do sleep 1; done; echo {job} >>'$PWD'/marks; echo "heshare: {iterations} iterations"; echo {job} ended'
	cat >begin.sh <<-'END'
		await() { until grep -qs "$@"; do sleep 1; done; }
		fill() { cat /dev/zero >disk/filler 2>/dev/null; }
	END
}

# A script in the lab, after begin.sh, with a small disk if we may.
lab() { # [SPEED]
	local own=()
	{ cat begin.sh; cat; } >script.sh
	[ "$(id -u)" != 0 ] || own=(unshare -m -- sh -c 'mount -t tmpfs -o size=1200k none disk; exec "$@"' sh)
	run --separate-stderr timeout -k 5 60 "${own[@]}" "$HES_LAB" --fleet one.yaml --speed ${1:-50} -- bash script.sh
	echo "$output"
	echo "$stderr"
}

small_disk() {
	[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip "a mount namespace needs root"
}

@test "of a job that prints without end the log keeps the beginning, progress and the end" {
	lab <<-'END'
		heshare run plan.json --log-max 100k --json --progress 'done (\d+)' -c 'i=0; while [ $i -lt 9000 ]; do i=$((i+1)); echo "line $i of {job}"
			[ $((i % 3000)) != 0 ] || { [ {job} = a ] && echo "heshare: $i iterations" || printf "\rdone $i of 9000\r\n"; sleep 5; }; done; echo the end' >out
	END
	[ "$status" -eq 0 ]
	jq -e '.jobs_done == 2' out
	for name in a b; do
		[ "$(stat -c %s "plan.run/$name.log")" -le 102400 ]
		[ "$(head -1 "plan.run/$name.log")" = "line 1 of $name" ]
		[ "$(tail -1 "plan.run/$name.log")" = "the end" ]
		grep -q "^\[heshare: the log has 51200 bytes, half of --log-max; " "plan.run/$name.log"
		grep -q "^\[heshare: [0-9]* bytes are left out here\]" "plan.run/$name.log"
	done
	grep -q "^heshare: 6000 iterations" plan.run/a.log
	grep -qx "done 6000 of 9000" plan.run/b.log
	run -2 heshare run plan.json --log-max 3X
	[ "$output" = 'heshare run: --log-max: "3X" is no size; write bytes, or a number with k, M, G or T, such as 50M' ]
}

@test "a job whose log has no room goes on; the log says what is missing, and status what is full" {
	small_disk
	lab <<-'END'
		# More than a pipe holds, so that it was read when the job goes on.
		print="head -c 200000 /dev/zero | tr '\0' x"
		heshare run plan.json --jobs disk/run -c "$print; until [ -e $PWD/full ]; do sleep 1; done; $print; : >$PWD/printed; $job" >out 2>err &
		until [ "$(stat -c %s disk/run/$first.log 2>/dev/null || echo 0)" -ge 200000 ]; do sleep 1; done
		fill
		heshare status
		heshare status --json | jq -r '.runs[].warnings[]'
		: >full
		until [ -e printed ]; do sleep 1; done
		rm disk/filler
		: >go
		wait $!
		echo "$?"
		tail -n 5 disk/run/$first.log
	END
	[ "${lines[0]%,*}" = "run 1  going" ]
	[[ "$output" == *"  warning $PWD/disk/run: its disk is full: 0 KiB are free"*$'\n'"$PWD/disk/run: its disk is full: 0 KiB are free"* ]]
	[[ "$output" =~ $'\n0\n'.*$'x\n[heshare: '[0-9]+' bytes could not be written here: No space left on device]'.*$'\n'$first' ended'$ ]]
	[ "$(sort marks | xargs)" = "a b" ]
}

@test "a store on a full disk or moved away: the run gives up, at once when stopped, and --resume runs no job twice" {
	small_disk
	export HESHARE_STORE=$PWD/disk/s/store.db
	for how in full moved "moved TERM"; do
		rm -rf plan.run marks go err
		: >marks
		export how
		lab 200 <<-'END'
			mkdir disk/s
			heshare run plan.json -c "$job" >out 2>err &
			await began plan.run/$first.log
			case $how in
			full) fill; heshare status --json | jq -r '.runs[].warnings[]' ;;
			*) mv disk/s disk/gone ;;
			esac
			: >go
			await "the journal cannot be written" err
			case $how in
			*TERM) kill -TERM $! ;;
			esac
			wait $!
			echo "$?"
			rm -f disk/filler
			[ -e disk/s ] || mv disk/gone disk/s
			heshare run plan.json --resume --json -c "$job" | jq .jobs_done
		END
		[ "${lines[*]: -2}" = "1 2" ]
		[ "$how" != full ] || [ "${lines[0]}" = "$PWD/disk/s/store.db: its disk is full: 0 KiB are free" ]
		grep -q "^heshare run: given up, because for [0-9]* s nothing could go on: $PWD/disk/s/store.db: .* What jobs did is kept: once that is corrected, the same command with --resume goes on" err
		[ "$how" = "moved TERM" ] || grep -q "because for 6[0-9][0-9] s" err
		[ "$(sort marks | xargs)" = "a b" ]
	done
}

@test "a run whose folder is removed starts nothing and charges no job; --resume does the rest" {
	lab <<-'END'
		heshare run plan.json --json -c "$job" >out 2>err &
		await began plan.run/$first.log
		while [ -e plan.run ]; do rm -rf plan.run 2>/dev/null; done
		heshare status --json | jq -r '.runs[].warnings[]'
		: >go
		wait $!
		jq -c '[.jobs_done, .jobs_failed, .jobs_waiting]' out
		heshare run plan.json --resume --json -c "$job" | jq .jobs_done
	END
	[ "$output" = "$PWD/plan.run: it was removed"$'\n[1,0,1]\n2' ]
	grep -q "nothing new starts: $PWD/plan.run: the folder of the run was removed while it was in use; --resume makes it again" err
	[ "$(sort marks | xargs)" = "a b" ]
}

@test "a store that may only be read and a full TMPDIR: refused with the place and the reason, and a run needs no TMPDIR" {
	small_disk
	mkdir closed
	cat >profile <<-'END'
		heshare profile resnet18 -g 0 --warm-up 0.2 --window 5 --repeats 2..2 --shares 100 --clocks default -- \
			sh -c ': >began; exec vgpu-task --workload resnet18 --batch 4 --iterations 1000000 --every 1'
	END
	lab <<-'END'
		HESHARE_STORE=$PWD/closed/store.db heshare run plan.json -c 'echo "heshare: {iterations} iterations"' >out
		mount --bind closed closed
		mount -o remount,bind,ro closed
		fill
		: >go
		export TMPDIR=$PWD/disk
		for store in store closed/store; do
			export HESHARE_STORE=$PWD/$store.db
			heshare run plan.json --restart -c "$job" >out 2>run.err
			echo "run $?"
			bash profile >out 2>profile.${store%%/*}.err
			echo "profile $?"
		done
		HESHARE_STORE=$PWD/closed/new.db bash profile >out 2>new.err
	END
	[ "$output" = $'run 0\nprofile 1\nrun 1\nprofile 1' ]
	[ ! -e began ]
	grep -q "^heshare profile: $PWD/disk/heshare-profile-......: guard.list: No space left on device$" profile.store.err
	for file in run profile.closed new; do
		grep -Eq "^heshare [a-z]*: $PWD/closed/(store|new).db: cannot open it or the files next to it: Read-only file system$" $file.err
	done
}
