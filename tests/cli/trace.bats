#!/usr/bin/env bats
# heshare trace: logs and the generator in, jobs files out, bad input refused

HEADER=job_id,arrival_s,service_s,gpus

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# Status, then a piece of the one line on stderr.
refused() {
	local want=$1 piece=$2
	shift 2
	run "$HESHARE" trace "$@"
	echo "status $status: $output"
	[ "$status" -eq "$want" ]
	[[ "$output" == *"$piece"* ]]
	[ "${#lines[@]}" -eq 1 ]
}

# Sets $output to jobs, mean run time, GPU-hours per hour of run time, and the skipped rows by reason.
stats() {
	run "$HESHARE" trace "$@" --stats --json
	output=$(jq -c '[.jobs, .mean_runtime_s, (.gpu_hours * 3600 / .mean_runtime_s / .jobs * 1000 | round / 1000), (.skipped_by | to_entries | map(select(.value > 0) | "\(.key) \(.value)"))]' <<<"$output" || echo "$output")
	echo "$output"
}

# Sets $data to the folder of measured sets, or skips.
need_data() {
	data=${HES_DATA:-$HES_SOURCE_ROOT/../shared/data}
	[ -d "$data" ] || skip "no measured data"
}

@test "a log with fewer jobs than the default gives them all; a number that is given must be there" {
	{ echo $HEADER; for i in 1 2 3; do echo $i,$i,600,1; done; } >log.csv
	run "$HESHARE" trace log.csv -o jobs.csv
	[ "$status" -eq 0 ]
	[ "$(wc -l <jobs.csv)" = 4 ]
	refused 1 "60 jobs requested, but the trace has 3 single-GPU jobs" log.csv -n 60
}

@test "the generator gives 60 jobs, the same for the same seed, others for another" {
	"$HESHARE" trace helios-like --seed 4 -o a.csv
	"$HESHARE" trace helios-like --seed 4 >b.csv
	"$HESHARE" trace helios-like --seed 5 -o c.csv
	cmp a.csv b.csv
	! cmp -s a.csv c.csv
	[ "$(wc -l <a.csv)" -eq 61 ]
	[ "$(head -1 a.csv)" = id,arrival_s,workload,batch_size,iterations,memory_mib ]
	[ "$(ls)" = "$(printf 'a.csv\nb.csv\nc.csv')" ]
}

@test "a burst arrives at once, jobs all fit a T4, a mix holds" {
	"$HESHARE" trace helios-like -n 300 --burst --mix high -o a.csv
	[ "$(cut -d, -f2 a.csv | sort -u)" = "$(printf '0\narrival_s')" ]
	[ "$(cut -d, -f3 a.csv | tail -n +2 | sort -u | tr '\n' ' ')" = "bert-large gpt2 transformer " ]
	[ "$(awk -F, 'NR > 1 && $6 > 15360' a.csv | wc -l)" -eq 0 ]
}

@test "all fifteen workloads of Table IV are drawn" {
	"$HESHARE" trace helios-like -n 1000 -o a.csv
	[ "$(cut -d, -f3 a.csv | tail -n +2 | sort -u | wc -l)" -eq 15 ]
}

@test "jobs can come from measured profiles" {
	printf 'workload,gpu_type,batch_size,clock_mhz,memory_mib,iteration_us,busy,sm_util,dram_util,l2_util,power_mw\n' >p.csv
	printf 'mine,T4,8,1590,900,5e5,0.9,0.5,0.2,0.1,60000\nmine,V100-SXM2-32,8,1530,900,250000,0.9,0.5,0.2,0.1,60000\n' >>p.csv
	printf '%s\na,0,500,1\n' "$HEADER" >log.csv
	[ "$("$HESHARE" trace log.csv -n 1 --profiles p.csv | tail -n +2)" = j0001,0,mine,8,2000,900 ]
	[ "$("$HESHARE" trace log.csv -n 1 --profiles p.csv --reference T4 | tail -n +2)" = j0001,0,mine,8,1000,900 ]
	refused 1 "no profile on A100-SXM-80" log.csv -n 1 --profiles p.csv --reference A100-SXM-80
}

@test "statistics as text and JSON" {
	printf '%s\na,5,10,1\nb,65,30,2\n' "$HEADER" >log.csv
	run "$HESHARE" trace log.csv --stats --json
	[ "$status" -eq 0 ]
	[ "$(jq -c '[.jobs, .log_format, .span_s, .jobs_per_hour, .mean_runtime_s, .runtime_s.p50, .jobs_by_gpus["2"]]' \
		<<<"$output")" = '[2,"helios",60,60,20,20,1]' ]
	run "$HESHARE" trace log.csv --stats
	[[ "$output" == *"log.csv (helios): 2 jobs"* ]]
}

@test "the list names every format with its columns" {
	run "$HESHARE" trace --list --json
	[ "$(jq -c '.formats | map(.name)' <<<"$output")" = '["helios","philly","alibaba","miso","sacct","gavel","helios-like"]' ]
	run "$HESHARE" trace --list
	[[ "$(tr -s ' \n' ' ' <<<"$output")" == *"columns: arrival=timestamp, runtime=duration, gpus=num_gpus"* ]]
	[ "$(awk 'length > 80' <<<"$output")" = "" ]
}

@test "what was dropped, clamped and invented is printed apart from the jobs" {
	printf 'at,run,n,net\n0,60,1,gpt2\n9,500,1,mynet\n20,9000,1,gpt2\n30,500,2,gpt2\n40,,1,gpt2\n' >log.csv
	columns=arrival=at,runtime=run,gpus=n,workload=net
	"$HESHARE" trace log.csv -n 0 --columns $columns >jobs.csv 2>account
	[ "$(wc -l <jobs.csv)" -eq 4 ]
	diff account - <<-END
		log.csv (own columns): 3 jobs from 5 rows
		dropped      1 row without a run time
		dropped      1 row on several GPUs; --any-gpus keeps them
		kept         3 rows; each is a job
		run times    of the trace, alone on V100-SXM2-32, in whole iterations
		clamped      of the rows, 1 (33.3 %) below 120 s, 1 (33.3 %) above 6082 s
		             of the jobs, 1 (33.3 %) raised to 120 s, 1 (33.3 %) lowered to 6082 s
		             --durations trace keeps them
		invented     arrivals: Poisson, mean gap 30 s in the first third, then 60 s
		workloads    of the trace for 2 jobs
		invented     workloads of 1 job, drawn at random
		             1 of these name one that is not among the choices, such as mynet
		invented     batch sizes of 3 jobs, drawn at random
	END
	"$HESHARE" trace log.csv -n 0 --columns $columns --arrivals trace --durations trace -o \
		jobs.csv --speedup 2 2>account
	grep -qx 'arrivals     of the trace; 0 is 0 s after its first kept row; divided by 2' \
		account
	! grep -q clamped account
	[ "$(cut -d, -f2 jobs.csv | tr '\n' ' ')" = "arrival_s 0 4.5 10 " ]
	[ "$("$HESHARE" trace log.csv -n 0 --columns $columns --drop -o jobs.csv --json |
		jq -c '[.rows, .jobs.drawn, .runtime_limits.max_s, .invented.workloads, .arrivals, .unknown_workload]')" = \
		'[{"read":5,"skipped":1,"skipped_by":{"step":0,"without_gpu":0,"gpus_missing":0,"without_runtime":1,"without_arrival":0},"several_gpus":1,"shorter":1,"longer":1,"kept":1},1,6082,1,"poisson","mynet"]' ]
	[ "$(wc -l <jobs.csv)" -eq 2 ]
}

# The figures of the paper's clamp on Philly's jobs on one GPU.
@test "a quarter of Philly's jobs are shorter than the paper's limits, an eighth longer" {
	need_data
	"$HESHARE" trace "$data/philly_trace/philly.csv.gz" -o jobs.csv 2>account
	grep -qF 'of the rows, 19058 (24.9 %) below 120 s, 9057 (11.8 %) above 6082 s' account
	"$HESHARE" trace "$data/philly_trace/philly.csv.gz" -n 0 --arrivals trace --durations \
		trace -o jobs.csv
	zcat "$data/philly_trace/philly.csv.gz" | awk -F, 'NR > 1 && $3 == 1 { print $1 }' |
		sort | TZ=UTC date -f - +%s |
		awk 'NR == 1 { first = $1 } { print $1 - first }' >real
	tail -n +2 jobs.csv | cut -d, -f2 | cmp - real
}

@test "real logs become jobs" {
	need_data
	for f in helios_venus/venus_gpu_jobs.csv.gz philly_trace/philly.csv.gz \
		alibaba_2023_openb/openb_pod_list_default.csv.gz miso_a100/trace_100_jobs.csv; do
		"$HESHARE" trace "$data/$f" -o jobs.csv
		[ "$(wc -l <jobs.csv)" -eq 61 ]
	done
}

@test "a job asks for what the model says, so that it lasts its run time" {
	printf '%s\na,0,1000,1\n' "$HEADER" >log.csv
	"$HESHARE" trace log.csv -n 1 --workloads gpt2 -o one.csv
	"$HESHARE" trace log.csv -n 1 --workloads gpt2 --min-runtime 2000 -o two.csv
	one=$(awk -F, 'NR == 2 { print $5 }' one.csv)
	two=$(awk -F, 'NR == 2 { print $5 }' two.csv)
	[ $((two - 2 * one)) -ge -1 ] && [ $((two - 2 * one)) -le 1 ]
}

@test "an unknown format is answered with the columns that were found" {
	printf 'colour,taste\nred,sour\n' >log.csv
	refused 1 \
		"log.csv:1: no known log (--list) has the columns colour, taste; say what they are" \
		log.csv
	refused 1 'format helios: log.csv:1: no known log' log.csv --format helios
	refused 2 "--format: \"slurm\" is not one of" log.csv --format slurm
	printf 'JobID      JobName\n---- ----\n1 a\n' >log.csv
	refused 1 "log.csv:1: one column only; columns are separated by , ; | or tab" log.csv
	# The example is made of the file's own columns, and works.
	printf 'Submitted;Begin Time;Finish-Time;N GPUs\n5;6;9;1\n' >log.csv
	refused 1 '--columns arrival=Submitted,start=2,end=Finish-Time,gpus=4' log.csv
	printf 'w\ta b\tz\nx\ty\t77\n' >log.csv
	refused 1 'such as --columns runtime=z' log.csv
	printf 'a,2400000.0,2400038.0,25\n' >log.csv
	refused 1 'log.csv:1: no header row, and no known log (--list); say which of the 4 columns are what, such as --columns start=2,end=3' log.csv
	stats log.csv --columns start=2,end=3,gpus=4:percent
	[ "$output" = '[1,38,0.25,[]]' ]
}

@test "a log with columns of one's own becomes jobs" {
	printf 'nr,submit,minutes,gpus,net,bs\na,2026-11-01 10:00:00,10,1,resnet50,16\nb,2026-11-01T10:05:00.5Z,30,0.5,bert-large,\n' >log.csv
	printf 'c,2026-11-01T12:06:00+02:00,5,1,mynet,8\nd,2026-11-01 10:07:00,5,4,gpt2,8\ne,2026-11-01 10:09:00,,1,gpt2,8\n' >>log.csv
	printf 'f,2026-11-01 10:10:00,Unknown,1,gpt2,8\ng,2026-11-01 10:11:00,9,0,gpt2,8\n' \
		>>log.csv
	"$HESHARE" trace log.csv -n 0 --arrivals trace -o jobs.csv \
		--columns id=nr,arrival=submit,runtime=minutes:min,gpus=gpus,workload=net,batch_size=bs
	[ "$(cut -d, -f1,2 jobs.csv | tr '\n' ' ')" = "id,arrival_s a,0 b,300.5 c,360 " ]
	[[ "$(sed -n 2p jobs.csv)" == *,resnet50,16,* ]]
	[[ "$(sed -n 3p jobs.csv)" == *,bert-large,* ]]
	[ "$("$HESHARE" trace log.csv --stats --json --columns runtime=minutes:min,gpus=gpus |
		jq -c '[.jobs, .skipped, .mean_runtime_s, .jobs_by_gpus["<1"]]')" = '[4,3,750,1]' ]
	"$HESHARE" simulate jobs.csv --policy exclusive
}

# As sacct prints them: -P, -p (with a bar at the end) and with another delimiter.
@test "Slurm's accounting becomes jobs: no steps, no waiting tasks, GPUs of the resources" {
	cat >log.txt <<-'END'
		JobIDRaw|JobID|JobName|State|Submit|Start|End|Elapsed|AllocTRES
		7|7|a, "b"|COMPLETED|2024-03-31T01:30:00|2024-03-31T01:30:05|2024-03-31T03:10:05|00:40:00|billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,node=1
		7.batch|7.batch|batch|COMPLETED|2024-03-31T01:30:05|2024-03-31T01:30:05|2024-03-31T03:10:05|00:40:00|cpu=8,node=1
		7.0|7.0|x|COMPLETED|2024-03-31T01:30:05|2024-03-31T01:30:05|2024-03-31T03:10:05|00:40:00|cpu=8,gres/gpu=2
		9|8_3|"c|CANCELLED by 1001|2024-03-31T02:00:00|2024-03-31T04:00:00|2024-04-02T06:03:04|2-02:03:04|cpu=8,gres/gpu:a100=1,gres/gpu:v100=1
		10|8_[4-9%2]|c|PENDING|2024-03-31T02:00:00|Unknown|Unknown|00:00:00|gres/gpu=1
		11|9+0|h|TIMEOUT|2024-03-31T02:00:00|2024-03-31T05:00:00|2024-03-31T05:10:00|10:00|gres/gpu=1,gres/gpumem=9G
		12|10|cpu|COMPLETED|2024-03-31T02:00:00|2024-03-31T05:00:00|2024-03-31T05:10:00|10:00|cpu=8,node=1
		13|11|c|CANCELLED|2024-03-31T07:00:00|None|2024-03-31T07:00:20|00:00:00|
	END
	local want='["step 2","without_gpu 1","gpus_missing 1","without_runtime 1"]'
	stats log.txt
	[ "$output" = "[3,61061.33333,1.997,$want]" ]
	[ "$("$HESHARE" trace log.txt -n 0 --any-gpus --arrivals trace | cut -d, -f1,2 | tr '\n' ' ')" = 'id,arrival_s 7,0 8_3,1800 9+0,1800 ' ]
	sed 's/$/|/; s/|"c|/|c|/' log.txt | tr '|' ';' | sed 's/a, "b"/"a; ""b"""/; s/$/\r/' >semi.csv
	(printf '\xef\xbb\xbf'; cat semi.csv) | gzip >semi.csv.gz
	local same=$output
	stats semi.csv.gz
	[ "$output" = "$same" ]
	# Steps are known as such without the id, too. Times of day are local: over the change to
	# summer time the scheduler's own figure is right, and so is the difference in its zone.
	local columns=arrival=Submit,start=Start,end=End,gpus=AllocTRES
	head -4 log.txt >one.txt
	stats one.txt --columns $columns
	[ "$output" = '[1,6000,2,["step 2"]]' ]
	"$HESHARE" trace one.txt --columns $columns --stats | grep -x 'dates        without a zone are read as UTC; --timezone names another'
	stats one.txt --columns $columns --timezone Europe/Berlin
	[ "$output" = '[1,2400,2,["step 2"]]' ]
	stats one.txt --columns $columns,runtime=Elapsed
	[ "$output" = '[1,2400,2,["step 2"]]' ]
	for zone in Mars/Base Europe ''; do
		refused 2 "--timezone: this machine knows no such zone" one.txt --timezone "$zone"
	done
	# Older Slurm, and the forms of durations.
	printf 'JobID|Submit|Elapsed|AllocGRES\n1|0|05:00|gpu:a100:2(S:0-1)\n2|0|1-0|gpu:2\n3|0|00:05:00.5|gpu\n4|0|1:00:00|\n5|0|1:00:00|mps:100\n6|0|2 days 01:00:00|gpu:1\n' >old.txt
	stats old.txt
	[ "$output" = '[4,65850.125,1.329,["without_gpu 1","gpus_missing 1"]]' ]
	for word in 00:99:00 1-25:00:00 -00:05:00 1: 5:x; do
		printf 'a,b\n1,%s\n' "$word" >log.csv
		refused 1 "log.csv:2: b: \"$word\" is neither a number nor a time like 2-03:04:05" log.csv --columns runtime=b
	done
}

@test "the logs of Helios, Alibaba and Gavel are read as their owners publish them" {
	cat >helios.csv <<-'END'
		job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
		11,u,v,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0
		12,u,v,0,1,1,COMPLETED,2020-06-09 18:42:28,2020-06-09 18:42:28,2020-06-09 18:43:28,60,0
		13,u,v,1,1,1,CANCELLED,2020-06-09 18:42:29,,2020-06-09 18:42:40,0,11
	END
	stats helios.csv --format helios
	[ "$output" = '[1,36848,1,["without_gpu 1","without_runtime 1"]]' ]
	echo '[{"jobid": "application_1"}]' >other.json
	refused 1 "other.json: JSON; a log is a table: a header row, then a row a job" other.json
	printf 'job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\na,w,1.0,T,2432418.0,2432456.0,600.0,29.2,25.0,MISC\nb,ps,2.0,T,2432418.0,2432456.0,600.0,29.2,,CPU\nc,w,4.0,R,2432418.0,,600.0,29.2,50.0,V100\nd,w,4.0,T,2432418.0,2432456.0,600.0,29.2,50.0,V100\n' >pai.csv
	stats pai.csv
	[ "$output" = '[2,38,1.125,["gpus_missing 1","without_runtime 1"]]' ]
	tail -n +2 pai.csv >bare.csv
	stats bare.csv --columns start=5,end=6,gpus=9:percent,instances=3
	[ "$output" = '[2,38,1.125,["gpus_missing 1","without_runtime 1"]]' ]
	printf 'ResNet-18 (batch size 32)\tpython3 m.py --d=%%s/c\timg\t--num_steps\t1\t4830\t1\t1\t-1.000000\t0.000000\nLM (batch size 5)\tpython m.py\tlm\t--steps\t1\t120000\t1\t1\t-1.000000\t312.5\n' >gavel.trace
	[ "$("$HESHARE" trace gavel.trace -n 0 --arrivals trace 2>account | cut -d, -f2-5 | sed -n 2p)" = 0,resnet18,32,4830 ]
	grep -qx 'iterations   of the trace for 2 jobs' account
	refused 1 "gavel.trace: this log has iterations and no run times to summarise" gavel.trace --stats
}

@test "a row that lacks what is needed is skipped and counted, however it says so" {
	local word columns=arrival=t,runtime=d,gpus=n
	for word in '' NaN NaT NA na N/A NULL null None '\N' - Unknown ' nan ' 9223372036854775807 \
		9.223372036854775807e+18 -9223372036854775808 18446744073709551615 4294967295 2147483647 \
		-1 . --- ... '*' '<null>' '[NULL]' '(none)' "''" 'None assigned' 'not available' '#REF!' '#NULL!' \
		1.#IND -1.#QNAN inf -Infinity TBD Unlimited NotSet Partition_Limit; do
		printf 't,d,n\n%s,5,1\n1,%s,1\n2,5,%s\n3,7,1.0\n' "$word" "$word" "$word" >log.csv
		stats log.csv --columns $columns
		[ "$output" = '[1,7,1,["gpus_missing 1","without_runtime 1","without_arrival 1"]]' ]
	done
	printf 't,d,n\n,5,1\n' >log.csv
	refused 1 "log.csv: no single-GPU job in this trace; rows: 1 without an arrival" log.csv \
		--columns $columns
	printf 't,d,n\n2016-12-31 23:59:60,3,1\n2017-01-01 00:00:01Z,3,1\n2016/02/29 10:00,3,1\n' >log.csv
	[ "$("$HESHARE" trace log.csv --stats --json --columns $columns | jq -c '[.jobs, .gap_s.p0]')" = '[3,1]' ]
	for word in '2017-02-29 10:00:00' 2017-13-01 '2017-01-01 25:00:00' '2017-04-31T01:00:00Z' \
		'2017-03-05 12:30:60' '0099-01-01 00:00:00'; do
		printf 't,d,n\n%s,3,1\n' "$word" >log.csv
		refused 1 "log.csv:2: t: \"$word\" is a date or time that does not exist, or before 1970" \
			log.csv --columns $columns
	done
	printf 't,d,n\n2026-03-29 02:30:00,3,1\n' >log.csv
	refused 1 '"2026-03-29 02:30:00" is a date or time that does not exist' log.csv --columns $columns --timezone Europe/Berlin
	"$HESHARE" trace log.csv --stats --columns $columns --timezone America/New_York
	for word in 20170229 20170301; do
		printf 't,d,n\n%s,3,1\n' "$word" >log.csv
		refused 1 "log.csv:2: t: $word is a date or a number of seconds; write dates like 2017-03-01, and name the unit of numbers, as in arrival=t:s" \
			log.csv --columns $columns
		"$HESHARE" trace log.csv --stats --columns arrival=t:s,runtime=d,gpus=n
	done
	printf 't;d\n1;5594,5\n' >log.csv
	stats log.csv --columns arrival=t,runtime=d
	[ "$output" = '[1,5594.5,1,[]]' ]
}

@test "GPUs and durations are read as schedulers write them; what is unclear is refused" {
	local cell want
	while read -r cell want; do
		printf 'd;g\n5;%s\n' "$cell" >log.csv
		stats log.csv --columns runtime=d,gpus=g
		[ "$output" = "[1,5,$want,[]]" ]
	done <<-'END'
		select=1:ncpus=8:ngpus=2 2
		select=2:ncpus=8:ngpus=1+1:ngpus=4:mem=2gb,walltime=01:00:00 6
		ngpus=2,select=1:ngpus=2 2
		2:ppn=4:gpus=2 4
		a100:2 2
		GPU:2 2
		Gres/GPU:A100=3 3
		nvidia.com/gpu=2 2
		gpu:2080ti 1
		scratchy:9,gpu:2 2
		50% 0.5
	END
	for cell in 8:00 gres/gpu=abc gpu= gpu:2x gpu:a100:many select=1:ngpus=x site:9 gpu:-1; do
		printf 'd;g\n5;%s\n' "$cell" >log.csv
		refused 1 "log.csv:2: g: \"$cell\" has no number of GPUs, as 2, gpu:a100:2, gres/gpu=2 and select=1:ngpus=2 have" \
			log.csv --columns runtime=d,gpus=g
	done
	while read -r want cell; do
		printf 'd\n%s\n' "$cell" >log.csv
		stats log.csv --columns runtime=d:min
		[ "$output" = "[1,$want,1,[]]" ]
	done <<-'END'
		1800 1800s
		2400 40 min
		5400 1h30m
		93600.5 1 day 2 hours 0.5 sec
		300 5
	END
	for cell in 5x 1m2h '1h 30' 1h-2m; do
		printf 'd\n%s\n' "$cell" >log.csv
		refused 1 "log.csv:2: d: \"$cell\" is neither a number nor a time like 2-03:04:05" log.csv --columns runtime=d
	done
	# The components of a job of Slurm are one job.
	printf 'JobID|Submit|Elapsed|AllocTRES\n101|0|10|gres/gpu=1\n102+0|0|20|gres/gpu=1\n102+0.batch|0|20|gres/gpu=1\n102+1|0|20|gres/gpu=3\n103|0|30|gres/gpu=4\n104+0|0|40|gres/gpu=4\n' >het.txt
	sed -i 's/|\([1-4]\)0|/|00:00:\10|/' het.txt
	[ "$("$HESHARE" trace het.txt --stats --json | jq -c '[.jobs, .mean_runtime_s, .jobs_by_gpus["1"], .jobs_by_gpus["3-4"], .skipped_by.step]')" = '[4,25,1,3,2]' ]
}

@test "start and end are a run time" {
	printf 'from,to\n100,160\n1700000000,1700000600\nNone,\n' >log.csv
	[ "$("$HESHARE" trace log.csv --stats --json --columns start=from,end=to | jq -c '[.jobs, .mean_runtime_s]')" = '[2,330]' ]
	printf 'from,to\n160,100\n' >log.csv
	refused 1 "log.csv:2: to: 100 is before from, 160" log.csv --columns start=from,end=to
}

@test "wrong columns, and wrong values of one's own log, are refused with line, column and value" {
	printf 'nr,submit,dur,n\na,0,60,1\na,5,60,1\n' >log.csv
	refused 2 '--columns: "runtime" is not FIELD=COLUMN, such as runtime=duration' log.csv \
		--columns runtime
	refused 2 '--columns: no field "power"; there are: id, arrival, start, end, runtime' \
		log.csv --columns power=n
	refused 2 '--columns: runtime is given twice' log.csv --columns runtime=dur,runtime=n
	refused 2 '--columns: the run time is needed: runtime=COLUMN, or start=COLUMN and end' \
		log.csv --columns arrival=submit
	refused 2 'the run time is needed' log.csv --columns start=submit,runtime=dur
	refused 1 'log.csv:1: no column "hours"; there are: nr, submit, dur, n' log.csv \
		--columns runtime=hours
	refused 2 '--columns: no unit "day" of runtime; there are: us, ms, s, min, h, d' log.csv --columns runtime=dur:day
	refused 2 '--columns: no unit "pct" of gpus; there are: percent, %, milli' log.csv --columns runtime=dur,gpus=n:pct
	refused 1 'log.csv:1: no column "x:day"' log.csv --columns runtime=x:day
	refused 1 'log.csv: "a" is the id of several jobs' log.csv -n 0 --columns id=nr,runtime=dur
	refused 2 "--columns has no effect with --format" log.csv --columns runtime=dur --format helios
	refused 2 "go with a log" helios-like --columns runtime=dur
	printf 'submit,dur,n,bs\n0,60,1,\nnoon,60,1,\n' >log.csv
	refused 1 'log.csv:3: submit: "noon" is neither a number nor a time like 2017-10-09 07:01:55' log.csv \
		--columns arrival=submit,runtime=dur
	printf 'submit,dur,n,bs\n0,-5,1,\n' >log.csv
	refused 1 'log.csv:2: dur: -5 is outside' log.csv --columns runtime=dur
	printf 'submit,dur,n,bs\n0,5,many,\n' >log.csv
	refused 1 'log.csv:2: n: "many" is not a number' log.csv --columns runtime=dur,gpus=n
	printf 'submit,dur,n,bs\n0,5,1,0\n' >log.csv
	refused 1 'log.csv:2: bs: 0 is no whole number from 1 to 65536' log.csv --columns \
		runtime=dur,batch_size=bs
	printf 'submit,dur,n,bs\n0,5,1,large\n' >log.csv
	refused 1 'log.csv:2: bs: "large" is not a number' log.csv --columns runtime=dur,batch_size=bs
}

@test "an unknown workload is answered with those there are" {
	refused 2 'unknown workload "resnet51"; there are: resnet152' helios-like --workloads \
		gpt2,resnet51
	refused 2 'unknown workload ""' helios-like --workloads gpt2,
	refused 2 'unknown workload "net"' helios-like --workloads net
	refused 1 "no workload fits in 5 MiB" helios-like --max-memory 5
	refused 2 "gpt2 needs more than 100 MiB" helios-like --workloads gpt2 --max-memory 100
	refused 2 'unknown GPU type "K80"' helios-like --reference K80
}

@test "bad numbers are refused with line, column and value" {
	printf '%s\na,1,60,1\nb,-2,60,1\n' "$HEADER" >log.csv
	refused 1 "log.csv:3: arrival_s: -2 is outside 0 to 1e+10" log.csv
	printf '%s\na,1,1e999,1\n' "$HEADER" >log.csv
	refused 1 'log.csv:2: service_s: "1e999"' log.csv
	printf '%s\na,1,60,999999999999\n' "$HEADER" >log.csv
	refused 1 "log.csv:2: gpus: 999999999999 is outside" log.csv
}

@test "empty, truncated, absent and foreign files are refused" {
	: >log.csv
	refused 1 "log.csv: empty file" log.csv
	printf '%s\n' "$HEADER" >log.csv
	refused 1 "log.csv: no single-GPU job in this trace" log.csv
	refused 1 "log.csv: no jobs in this trace" log.csv --stats
	refused 1 "nowhere.csv: No such file" nowhere.csv
	refused 1 "helios-lik: No such file or directory; did you mean the generator helios-like?" helios-lik
	refused 1 "directory" .
	(echo "$HEADER"; seq 1 5000 | sed 's/.*/&,&,60,1/') | gzip >log.csv.gz
	head -c 9000 log.csv.gz >cut.csv.gz
	refused 1 "truncated gzip" cut.csv.gz
	head -c 4000 /bin/ls >binary
	refused 1 "binary:" binary
}

@test "a wrong generator profile is refused" {
	printf 'name: x\n' >mine.yaml
	refused 1 "mine.yaml:" mine.yaml
}

@test "wrong usage is answered with exit 2" {
	refused 2 "a SOURCE is needed"
	refused 2 "--min-runtime is above --max-runtime" helios-like --min-runtime 9000
	refused 2 "--jobs: \"-3\" is not a whole number" helios-like --jobs -3
	refused 2 "--gap" helios-like --gap nan
	refused 2 "--json goes with --list, --stats or -o FILE" helios-like --json
	refused 2 "--durations trace has no limits" helios-like --durations trace --max-runtime 9000
	refused 1 "50001 jobs requested, but the trace has" helios-like --jobs 50001
}

@test "an output that cannot be written leaves nothing, and an old file as it was" {
	refused 1 "cannot create" helios-like -o no/such/jobs.csv
	[ -z "$(ls)" ]
	mkdir taken
	refused 1 "taken: cannot create: Is a directory" helios-like -o taken
	[ "$(ls -A)" = taken ]
	echo old >jobs.csv
	printf '%s\na,1,-60,1\n' "$HEADER" >log.csv
	refused 1 "service_s" log.csv -o jobs.csv
	[ "$(cat jobs.csv)" = old ]
}

@test "a full disk gives an error" {
	[ -w /dev/full ] || skip "no /dev/full"
	run bash -c '"$HESHARE" trace helios-like >/dev/full'
	[ "$status" -eq 1 ]
	[[ "$output" == *"write"* ]]
}
