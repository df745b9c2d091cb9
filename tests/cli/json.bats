#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# Every JSON document that a command writes: its format, its version, and each member in
# docs/formats. The list of formats is that of the sources.

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	PATH=$(dirname "$HESHARE"):$PATH
	unset LD_LIBRARY_PATH
	cd "$BATS_TEST_TMPDIR"
	mkdir j
	export HESHARE_STORE=$PWD/store.db HESHARE_FAIR_SOCKET=$PWD/fair.sock
	printf 'name: two\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 1 }, { type: T4, count: 1 } ]\n' >two.yaml
	cat >jobs.csv <<-END
		id,arrival_s,workload,batch_size,iterations,memory_mib,deadline_s,command
		a,0,resnet34,8,300,1813,1000,vgpu-task --workload resnet34 --batch 8 --iterations 300
		b,0,resnet18,4,300,1194,,vgpu-task --workload resnet18 --batch 4 --iterations 300
		c,0,mobilenet,4,300,1266,0.001,exit 3
		d,0,gpt2,1,300,,,vgpu-task --workload gpt2 --batch 1 --iterations 300; until [ -e $PWD/go ]; do sleep 0.2; done
	END
	sed 's/$/,u/; 1s/u$/user/' jobs.csv >users.csv
	printf 'id,workload,batch_size,iterations,command\nx,resnet18,4,100,true\n' >more.csv
	cat >log.csv <<-END
		job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
		1,u,v,1,4,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:05,2020-04-01 00:10:05,600,5
		2,u,v,1,4,1,COMPLETED,2020-04-01 00:00:09,2020-04-01 00:00:10,2020-04-01 00:20:10,1200,1
		3,u,v,0,4,1,COMPLETED,2020-04-01 00:00:09,2020-04-01 00:00:10,2020-04-01 00:20:10,1200,1
	END
}

# Documents that need no GPU.
without_gpus() {
	heshare gpus --types --json >j/types
	heshare gpus --fleet two.yaml --json >j/fleet
	heshare trace --list --json >j/trace-list
	heshare trace log.csv --stats --json >j/stats
	heshare trace log.csv --jobs 2 --json -o drawn.csv >j/trace
	heshare plan users.csv -f two.yaml --power-cap 500 -o j/plan >/dev/null
	printf '#!/bin/sh\ncat >%s/j/request; exit 1\n' "$PWD" >policy && chmod +x policy
	! heshare plan users.csv -f two.yaml --policy exec:./policy
	simulate=(heshare simulate --policy heshare,cap,static -f two.yaml --burst --json)
	"${simulate[@]}" jobs.csv --model-draws 2 >j/simulate
	"${simulate[@]}" jobs.csv drawn.csv >j/sets
	heshare model --list --json >j/model-list
	heshare model resnet50 -b 8 -s 50 --co-runners vgg19:8:50 --json >j/model
	heshare model --add-workload unet --gflop 62 --weights 118 --kernels 140 -o own.yaml --json >j/fit
	heshare profile --modelled -o rows --samples 60
	heshare train rows -o predictor --left-out --left-out-types --trees 10 --json >j/train
	heshare predict --predictor predictor --json >j/predictor
	heshare predict resnet50 -b 16 -g T4 --share 50 --co-runners vgg19:8:50 --predictor predictor \
		--profiles rows/profiles.csv --json >j/predict
	heshare fair slices --interval 30 --power 2,3,8 --json >j/slices
	heshare partition resnet50/16 bert-large/8 --modelled --split 30,70 --floor 0.1 --json >j/partition
	mkdir -p sets/etf_jetson_tx2 # a published set
	printf 'model,gpu_mhz,exec_time_us,gpu_power_mw\nresnet18,114.75,180739,498\nresnet18,114.75,90000,498\n' >sets/etf_jetson_tx2/freq_time_power.csv
	! "$HES_CALIBRATE" --check --json sets >j/check
	heshare partition --jobs jobs.csv --fleet two.yaml --most 2 --modelled --json >j/partition-fleet
}

with_gpus() {
	cat >work <<-'END'
		heshare gpus --json >j/gpus
		heshare gpus --offer >j/offer
		heshare measure -g 0 --json -o j/measure -- sleep 0.5
		heshare measure -g 0 --runs 2 --json -o j/series -- sleep 0.2
		heshare profile resnet18 -g 1 --shares 50,100 --clocks default --warm-up 1 --window 2 --repeats 2..2 --batch 4 --patience 2000 --json -- vgpu-task --workload resnet18 --batch 4 --iterations 1000000000 --every 5 >j/profile
		heshare advise --json >j/advise
		heshare profiles list --json >j/list
		sqlite3 store.db "INSERT INTO co_run_sets VALUES ('T4', 'resnet18/4@50,x/1@50', 0.9, 0.8, 0.01, 1)"
		heshare profiles show resnet18 --json >j/show
		heshare profiles export out --json >j/export
		heshare run jobs.csv --retries 0 --power-cap 500 --json >j/report 2>err & run=$!
		until heshare status 1 --json >seen 2>/dev/null && jq -e ".jobs_failed == 1 and .jobs_running == 1 and .age_s != null" seen >/dev/null && jq -e ".jobs | length == 1" jobs.run/live.json >/dev/null; do kill -0 $run || exit 9; sleep 0.5; done
		mv seen j/status; heshare status --json >j/status-list; cp jobs.run/live.json j/live
		heshare add 1 more.csv --json >j/add
		: >go; wait $run; cp jobs.run/report.json j/report-file
		heshare restore jobs.run --json >j/restore
		heshare partition resnet18/4 resnet18/4 -g 1 --modelled --run --split 50,50 --for 2 --json -- "vgpu-task --workload resnet18 --batch 4 --iterations 1000000000 --every 5" "vgpu-task --workload resnet18 --batch 4 --iterations 1000000000 --every 5" >j/partition-run
		heshare fair serve --gpus 0 --json --profile-for 0 >j/events 2>serve.err & serve=$!
		until heshare fair top --once --json >j/top 2>/dev/null; do kill -0 $serve || exit 9; sleep 0.1; done
		python3 $HES_SOURCE_ROOT/tests/lab/fair_client.py "$HESHARE_FAIR_SOCKET" work alice 1000 >client.out & client=$!
		until heshare fair top --once --json >j/top && jq -e ".gpus[0].tenants | length == 1" j/top; do kill -0 $client || exit 9; sleep 0.1; done
		kill $client $serve; wait
		heshare fair history --json --kwh-price 1 --carbon 1 >j/history
	END
	"$HES_LAB" --fleet two.yaml --speed 40 -- bash work
}

@test "every JSON document has a format and a version, and its members are described" {
	without_gpus
	with_gpus
	heshare profiles import rows/samples.csv --store imported.db --json >j/import
	python3 "$HES_SOURCE_ROOT/tests/tools/json_members.py" "$HES_SOURCE_ROOT/docs/formats" j/*
	# None of the sources' formats is missing.
	diff <(grep -rhoE '"heshare-[a-z-]+"' "$HES_SOURCE_ROOT"/{src,tools} | tr -d \" | grep -v tuned | sort -u) \
		<(jq -r .format j/* | sort -u)
}
