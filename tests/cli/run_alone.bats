#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# heshare run: what a job may use of a GPU that it shares, who pays where memory or MPS clients run
# out, and that a job alone on its GPU gets it as if heshare were not there. Jobs wait for each
# other's files, not for times.

setup_file() {
	[ -n "${HES_LAB:-}" ] || return 0
	cd "$BATS_FILE_TMPDIR"
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 1 } ]\n' >one.yaml
	printf 'id,workload,batch_size,iterations,memory_mib\nserver,bert-large,16,300,2300\ntrain,vgg16,8,300,2700\n' >jobs.csv
	"$HESHARE" plan jobs.csv -f one.yaml --policy mps-equal -o both.json >/dev/null
	"$HESHARE" plan jobs.csv -f one.yaml --policy exclusive -o alone.json >/dev/null
}

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	PATH=$(dirname "$HESHARE"):$PATH
	unset LD_LIBRARY_PATH
	cd "$BATS_TEST_TMPDIR"
	cp "$BATS_FILE_TMPDIR"/*.{yaml,json} .
	export HESHARE_STORE=$PWD/store.db
	# workers N: so many processes of a job that work until there is a file "tried". When one
	# of them fails, or all have begun, there is a file "full".
	cat >workers <<-'END'
		for i in $(seq "$1"); do
			vgpu-task --workload "$2" --batch "$3" --iterations 1000000 --every 1 >w$i 2>&1 &
		done
		until grep -qs CUDA_ERROR w[0-9]* || [ "$(grep -ls iterations w[0-9]* | wc -l)" = "$1" ]; do sleep 1; done
		: >full
		until [ -e tried ]; do sleep 1; done
		kill $(jobs -p)
		wait
		echo "heshare: 300 iterations"
	END
}

lab() { # SPEED COMMAND...
	local speed=$1
	shift
	run --separate-stderr "$HES_LAB" --fleet one.yaml --speed "$speed" -- "$@"
}

@test "a job whose processes use more than it may is ended where others share the GPU, and tried again alone" {
	cat >job <<-'END'
		[ $HESHARE_JOB = server ] || exec vgpu-task --workload vgg16 --batch 8 --iterations 300
		[ $HESHARE_ATTEMPT = 1 ] || : >tried
		env | grep CUDA_MPS_ >mps.$HESHARE_ATTEMPT
		. ./workers 3 bert-large 16
	END
	lab 20 heshare run both.json --json -c 'exec bash ./job' --timeout-factor 0
	[ "$status" -eq 0 ]
	[[ "$stderr" =~ "job server: its "[23]" processes used "[0-9]+" MiB of a/0; it may use 2530 MiB because the jobs file says 2300; it is ended, because its co-runners need the rest" ]]
	[[ "$stderr" == *"job server failed with status 143 in attempt 1: its "*"; it is tried again alone; "* ]]
	jq -e '[.jobs[] | [.job, .state, .attempts]] == [["server", "done", 2], ["train", "done", 1]]' <<<"$output"
	grep -qx 'CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=2530M' mps.1
	! grep -q 'LIMIT\|PERCENTAGE' mps.2
}

@test "a job that gets no memory because another took too much is tried again alone, and both are named" {
	cat >job <<-'END'
		[ $HESHARE_JOB = train ] || { . ./workers 8 bert-large 16; exit; }
		until [ -e full ]; do sleep 1; done
		vgpu-task --workload vgg16 --batch 8 --iterations 300
		s=$?
		: >tried
		exit $s
	END
	# Without MPS no limit is kept, and no job ended for it.
	lab 20 heshare run both.json --no-mps --json -c 'exec bash ./job' --timeout-factor 0 --retries 0
	[ "$status" -eq 0 ]
	[[ "$stderr" =~ "job train failed because the GPU had no memory left: "[67]" processes of job server used "[0-9]+" MiB, and it may use 2530 MiB because the jobs file says 2300, status 1 in attempt 1; it is tried again alone" ]]
	jq -e '[.jobs[] | [.job, .state, .attempts]] == [["server", "done", 1], ["train", "done", 2]] and .co_failed == 1' <<<"$output"
}

@test "a job that is one client too many for MPS is tried again alone, and the other is named" {
	sed -i 's/T4/A100-SXM-80/' one.yaml
	jq '(.gpus[] | .gpu_type) = "A100-SXM-80" | (.gpus[].batches[].clock_mhz) = 1410 | (.jobs[] | select(.id == "server")).memory_mib = 70000' both.json >many.json
	cat >job <<-'END'
		[ $HESHARE_JOB = train ] || { . ./workers 49 mobilenetv2 1; exit; }
		until [ -e full ]; do sleep 1; done
		vgpu-task --workload mobilenetv2 --batch 1 --iterations 300
		s=$?
		: >tried
		exit $s
	END
	lab 2 heshare run many.json --json -c 'exec bash ./job' --timeout-factor 0 --retries 0
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"job train failed because MPS had no place for another client: 48 processes of job server were there, and MPS serves 48 or 60 on a GPU, status 1 in attempt 1; it is tried again alone"* ]]
	jq -e '[.jobs[] | [.job, .state, .attempts]] == [["server", "done", 1], ["train", "done", 2]]' <<<"$output"
}

@test "a job that dies at its limit learns that, and is tried again without" {
	jq '(.jobs[] | select(.id == "server")) |= (.memory_mib = 2000 | .measured_mib = 6311)' both.json >p.json
	lab 20 heshare run p.json --json --timeout-factor 0 \
		-c 'case {job} in server) set resnet152 16;; *) set vgg16 8;; esac; exec vgpu-task --workload $1 --batch $2 --iterations 300'
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"job server failed with status 1 in attempt 1: it ran out of GPU memory: it may use 2200 MiB because the jobs file says 2000; it used 6311 when it was profiled; it is tried again alone; "* ]]
	jq -e '.jobs[0] | .state == "done" and .attempts == 2' <<<"$output"
}

@test "a job that is to be tried again alone runs alone after a stop and --resume, too" {
	jq '(.jobs[] | select(.id == "server")) |= (.memory_mib = 2000 | .measured_mib = 6311)' both.json >limit.json
	cat >job <<-'END'
		[ $HESHARE_JOB/$1 = server/limit ] && set resnet152 16 300 || set mobilenetv2 1 1000000000
		[ ! -e stopped ] || { env | grep ^CUDA_MPS >>env.$HESHARE_JOB; set mobilenetv2 1 300; }
		exec vgpu-task --workload $1 --batch $2 --iterations $3 --every 1
	END
	cat >script <<-'END'
		heshare run $1.json -c "exec sh ./job $1" --grace 1 >/dev/null 2>$1.err &
		[ $1 = limit ] || until [ "$(grep -ls iterations both.run/*.log | wc -l)" = 2 ]; do sleep 1; done
		[ $1 = limit ] || vgpu-fault 0:crash
		until grep -q 'tried again \(alone\|by itself\)' $1.err; do sleep 1; done
		kill -TERM $!
		wait $!
		touch stopped
		heshare run $1.json -c "exec sh ./job $1" --resume --json
	END
	for plan in limit both; do
		rm -f stopped env.*
		lab 20 bash script $plan
		[ "$status" -eq 0 ]
		jq -e '[.jobs[].state] == ["done", "done"]' <<<"$output"
		alone=server
		[ $plan = limit ] || alone=$(sed -n 's/.*job \([a-z]*\), which was the first.*/\1/p' both.err)
		grep -q PERCENTAGE=50 env.*
		run ! grep 'LIMIT\|PERCENTAGE' env.$alone
	done
}

@test "nothing inherited or left on the machine changes what a job alone on its GPU gets, and it is reported" {
	cat >script <<-'END'
		nvidia-cuda-mps-control -d
		echo set_default_active_thread_percentage 10 | nvidia-cuda-mps-control
		export CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=20 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=100M
		export CUDA_MPS_CLIENT_PRIORITY=1 CUDA_LAUNCH_BLOCKING=1 XLA_PYTHON_CLIENT_MEM_FRACTION=.2
		ln -s /dev/null libheshare-fair.so
		LD_PRELOAD=$LD_PRELOAD:$PWD/libheshare-fair.so heshare run alone.json -c 'env | grep "^CUDA_[LM]" | sort >env.{job}; vgpu-task --workload {workload} --batch {batch} --iterations {iterations}'
		echo "status $?"
		echo get_server_list | nvidia-cuda-mps-control >servers
		kill -KILL $(cat "$CUDA_MPS_PIPE_DIRECTORY"/nvidia-cuda-mps-control.pid)
		heshare run alone.json --restart -c 'vgpu-task --workload {workload} --batch {batch} --iterations {iterations}'
		echo "status $?"
	END
	lab 50 bash script
	# Its share and memory are not those of the daemon, which nobody came to; its stale socket
	# stops no job.
	[ "$(grep -c '^status 0' <<<"$output")" = 2 ]
	[ ! -s servers ]
	[ "$(sed 's/=.*\/none$/=none/' env.train)" = $'CUDA_LAUNCH_BLOCKING=1\nCUDA_MPS_PIPE_DIRECTORY=none' ]
	[[ "$stderr" == *"an MPS daemon of user $(id -u) (process "*"its clients may be on the GPU, too; jobs do not use it; to do: "* ]]
	[[ "$stderr" == *"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=20: set here, and not passed on to jobs: the plan decides"* ]]
	[[ "$stderr" == *"CUDA_LAUNCH_BLOCKING=1, XLA_PYTHON_CLIENT_MEM_FRACTION=.2: set here, so the jobs get it; they run as planned only if they were profiled with it"* ]]
	[[ "$stderr" == *"LD_PRELOAD has libheshare-fair.so, as heshare fair run sets it: "* ]]
}

@test "a job that is alone in its batch uses no MPS, though other batches share" {
	jq '.gpus[0].batches += [.gpus[0].batches[0] | (.start_us, .end_us) |= . + 2000000000 | .jobs = [.jobs[1] | .job = "last" | .sm_pct = 100 | (.start_us, .end_us) |= . + 2000000000]] |
		.jobs += [.jobs[1] | .id = "last"]' both.json >three.json
	lab 50 heshare run three.json -c 'env | grep ^CUDA_MPS >env.{job}; exec vgpu-task --workload {workload} --batch {batch} --iterations {iterations}'
	[ "$status" -eq 0 ]
	grep -q 'CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50' env.train
	grep -qx 'CUDA_MPS_PIPE_DIRECTORY=.*/none' env.last
	[ "$(wc -l <env.last)" = 1 ]
}

@test "contexts that are on a GPU before a run are named, by gpus too" {
	cat >script <<-'END'
		vgpu-task --workload resnet50 --batch 16 --iterations 100000000 --every 1 >other &
		until grep -qs iterations other; do sleep 1; done
		heshare gpus
		heshare gpus --json | jq -c '.gpus[0].contexts | map(.name)'
		heshare run alone.json -c 'exec vgpu-task --workload {workload} --batch {batch} --iterations {iterations}'
		kill $!
	END
	lab 50 bash script
	[[ "$output" =~ "GPU 0 is not free: process "[0-9]+" (vgpu-task) of user "[a-z0-9]+" with 3571 MiB has a context there" ]]
	[[ "$output" == *'["vgpu-task"]'* ]]
	[[ "$stderr" =~ "heshare run: a/0 is not free: process "[0-9]+" (vgpu-task) of user "[a-z0-9]+" with 3571 MiB has a context there and belongs to no job of this run: jobs share the GPU with it" ]]
	# Before the first job started, and once.
	[ "$(grep -c "is not free" <<<"$stderr")" = 1 ]
}
