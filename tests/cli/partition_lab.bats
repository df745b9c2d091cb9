#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# heshare partition on GPUs of the lab: --run and the commands that it prints give the throughput per
# watt that it predicts.

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	PATH=$(dirname "$HESHARE"):$PATH
	unset LD_LIBRARY_PATH
	cd "$BATS_TEST_TMPDIR" || return
	printf 'name: two\nnodes:\n  - name: a\n    gpus: [ { type: V100-SXM2-32, count: 2 } ]\n' >f.yaml
	# With LOG set, a job's progress goes into a file of its own.
	TASK='test -z "${LOG:-}" || exec >"$LOG/{workload}"; exec vgpu-task --workload {workload} --batch {batch} --iterations 1000000000 --every 2'
	write_meter
}

# profile GPU NAME BATCH [SHARES]: the job alone
profile() {
	"$HES_LAB" --fleet f.yaml --speed 100 --dcgm -- heshare profile "$2" -g "$1" --store \
		s.db --warm-up 5 --window 10 --repeats 2..4 \
		--patience 100000 --clocks default --batch "$3" --shares "${4:-10..100}" -- \
			"$TASK" >/dev/null
}

# meter.sh GPU OPTION...: ask heshare partition, run the commands that it prints, and measure power
# and progress over 120 s. Jobs run for ever; those ended here are children of the commands' shell.
write_meter() {
	cat >meter.sh <<-'EOF'
		gpu=$1
		shift
		heshare partition "$@" --gpu $gpu --store s.db --json >answer.json || exit 1
		heshare partition "$@" --gpu $gpu --store s.db | sed -n '/^To run the jobs/,$ s/^  //p' >commands.sh
		rm -rf log && mkdir log
		LOG=$PWD/log sh commands.sh 3>&- &
		shell=$!
		begun() { for name in $(jq -r '.jobs[].workload' answer.json); do [ "$(grep -c '^heshare:.* s$' log/$name)" -ge 10 ] || return 1; done; }
		until begun 2>/dev/null; do
			kill -0 $shell 2>/dev/null || exit 1
			sleep 5
		done
		for f in log/*; do grep '^heshare:.* s$' $f | tail -n 1 >${f#log/}.first; done
		heshare measure -g $gpu --json -o power.json -- sleep 120
		for f in log/*; do grep '^heshare:.* s$' $f | tail -n 1 >${f#log/}.last; done
		pkill -TERM -P $shell -x vgpu-task
		wait $shell
		echo "the commands ended with $?"
		vgpu-look | awk 'NR > 1 && $NF != 0 { print "contexts are open:", $0; rc = 1 } END { exit rc }' || exit 1
		here() {
			for p in $(pgrep -x vgpu-task; pgrep -x nvidia-cuda-mps); do # of a name 15 letters count
				grep -qzx "HESHARE_LAB=$HESHARE_LAB" /proc/$p/environ 2>/dev/null && echo $p
			done
		}
		for i in 1 2 3 4 5 6; do [ -z "$(here)" ] || sleep $((i * 10)); done
		[ -z "$(here)" ] || { echo "processes are left: $(here)"; exit 1; }
	EOF
}

# predicted_and_measured GPU OPTION...: iterations per joule, by running the commands
predicted_and_measured() {
	local name
	"$HES_LAB" --fleet f.yaml --speed 50 -- sh meter.sh "$@" || { cat commands.sh; return 1; }
	for name in $(jq -r '.jobs[].workload' answer.json); do
		cat "$name.first" "$name.last" | awk \
			'{ n[NR] = $2; t[NR] = $5 } END { print (n[2] - n[1]) / (t[2] - t[1]) }'
	done | awk -v watts="$(jq '.gpus[0].power_w' power.json)" -v predicted="$(jq '(.given // .splits[.best]) | (.throughput | add) / .power_w' answer.json)" '
		{ sum += $1; print "iterations/s:", $1 }
		END { off = 100 * (sum / watts / predicted - 1); print "W:", watts
			printf "iterations/J: %.4f, predicted %.4f: %+.2f %%\n", sum / watts, predicted, off; exit !(off > -5 && off < 5) }'
}

@test "the recommended commands give the predicted throughput per watt, and leave nothing behind" {
	profile 0 resnet50 16
	profile 0 bert-large 8
	predicted_and_measured 0 resnet50 bert-large --objective sum
	# Turns are recommended: the commands are those of the split that is given.
	predicted_and_measured 0 resnet50/16 bert-large/8 --objective energy --split 50,50
	jq -e '.recommendation == "turns"' answer.json
	[ "$(jq '.splits[.best].sm_pct | min' answer.json)" -gt 10 ]
}

@test "the recommended commands run on a GPU that is not the first" {
	profile 1 resnet50 16 10,50,90,100
	profile 1 mobilenetv2 16 10,50,90,100
	# Under MPS an index is counted among the daemon's GPUs; heshare partition gives one to the
	# daemon and the jobs alike.
	"$HES_LAB" --fleet f.yaml -- heshare partition resnet50 mobilenetv2 --gpu 1 --store s.db \
		| grep -q 'CUDA_VISIBLE_DEVICES=GPU-' ||
		skip "heshare partition names the GPU by its index, not by its UUID"
	predicted_and_measured 1 resnet50 mobilenetv2 --objective sum
}

@test "--run carries the split out, with the predicted work per joule" {
	profile 1 resnet50 16 10,50,90,100
	profile 1 bert-large 8 10,50,90,100
	"$HES_LAB" --fleet f.yaml --speed 50 -- sh -c '
		heshare partition resnet50 bert-large --gpu 1 --store s.db --run \
			--objective sum --for 240 --json >run.json && vgpu-look
		heshare partition resnet50 bert-large --gpu 1 --store s.db --run --for 240 --json \
			>turns.json 2>turns.err && exit 1 || true' | tee look.txt
	jq -e '.recommendation == "turns" and (has("run") | not)' turns.json
	grep -qx 'heshare partition: nothing was run: the jobs are to take turns, one at a time without MPS; --split SHARES shares the GPU all the same' turns.err
	jq '.run' run.json
	awk 'NR > 1 && ($NF != 0 || $3 != "-") { exit 1 }' look.txt
	jq -e '
		def near(a; b): (a / b - 1) | fabs < 0.05;
		.splits[.best] as $best | .run
		| [.jobs[].sm_pct] == $best.sm_pct and .clock_mhz == $best.clock_mhz and .clock_held
		and .predicted_power_w == $best.power_w and .predicted_per_watt == $best.per_watt
		and .seconds > 200 and near(.power_w; .predicted_power_w)
		and near(.energy_j; .predicted_power_w * .seconds)
		and near(.per_watt; .predicted_per_watt)
		and all(.jobs[]; .state == "done" and (.throughput / .predicted_throughput - 1 | fabs) < 0.2)
		and ([.jobs[].attributed_j] | add) > 0.9 * .energy_j' run.json
	for job in resnet50-16 bert-large-8; do
		[ "$(grep -c '^heshare: .* iterations in' "partition.run/$job.log")" -gt 20 ]
	done

	# A signal ends jobs that never end: they are done. Commands and a split of the user's own.
	run -0 "$HES_LAB" --fleet f.yaml --speed 50 -- sh -c '
		heshare partition resnet50 bert-large --gpu 0 --store s.db --split 30,40 --objective sum --logs own \
			--run -- "exec vgpu-task --workload resnet50 --batch 16 --iterations 1000000000 --every 2" \
			"exec vgpu-task --workload bert-large --batch 8 --iterations 1000000000 --every 2" >own.txt &
		p=$!
		until grep -q iterations own/resnet50-16.log && grep -q iterations own/bert-large-8.log; do
			kill -0 $p || exit 1
			sleep 5
		done 2>/dev/null
		sleep 60
		heshare status --store s.db | grep "2 running" || exit 1
		kill -TERM $p
		wait $p || exit 1
		vgpu-look'
	[ "$(grep -cE '^[01] .* - .* 0$' <<<"$output")" = 2 ]
	grep -E '^resnet50/16 +30 +[0-9]+ .* done$' own.txt
	grep -E '^bert-large/8 +40 +[0-9]+ .* done$' own.txt
	grep -E '^  iterations per J +[0-9.]+ +[0-9.]+ +[+-][0-9.]+ %$' own.txt
	grep -q 'To run the jobs' own.txt && return 1

	# One that fails is said; the others go on until they end.
	run -1 --separate-stderr "$HES_LAB" --fleet f.yaml --speed 50 -- heshare partition resnet50 \
		bert-large --gpu 0 --store s.db --split 50,50 --logs own --run -- 'no-such-program' \
		'vgpu-task --workload bert-large --batch 8 --iterations 30'
	grep -E '^resnet50/16 .* failed$' <<<"$output"
	grep -E '^bert-large/8 +[0-9]+ +30 .* done$' <<<"$output"
	grep -q 'never made progress together' <<<"$output"
	grep -q 'its command was not found' <<<"$stderr"
}
