#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# bench/gpu/measure from end to end: real worker processes with PyTorch on the CPU, a GPU played
# from a recording.

measure="$HES_SOURCE_ROOT/bench/gpu/measure"
recording="$HES_SOURCE_ROOT/tests/gpu/recording.json"

setup() {
	cd "$BATS_TEST_TMPDIR"
}

torch_python() {
	for python in python3 /usr/bin/python3; do
		if "$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)'; then return; fi
	done
	skip "python3-torch is not installed"
}

# A short run of small networks.
tiny=("$measure" --recorded-nvml "$recording" --networks mobilenet,mobilenetv2 --shares 50 \
	--window 0.02 --minutes 60 --out out)

points() { # rows of all tables of points in DIR
	cat "$1"/{solo,pairs}.csv | grep -c ',inference,'
}

@test "without a GPU the schedule is printed with times" {
	run -0 python3 "$measure" --dry-run --minutes 8
	[[ $output == *"sensor  idle"* ]]
	[[ $output == *"pair vgg19:8:fp16@50% + mobilenetv2:8:fp16@50%"* ]]
	[[ $output == *"after 8 minutes; another run with the same --out goes on from here"* ]]
}

@test "wrong arguments get an error that names what would be right" {
	run -2 python3 "$measure" --only solos --out x
	[[ $output == *'stage "solos" is unknown; there are sensor, solo, shares'* ]]
	run -2 python3 "$measure" --networks lenet --out x
	[[ $output == *'network "lenet" is unknown; there are resnet50'* ]]
	run -2 python3 "$measure"
	[[ $output == *'--out DIR is needed'* ]]
	run -2 python3 "$measure" --out x --window 0.1
	[[ $output == *'a power sensor needs 0.5 s'* ]]
	[ ! -e x ]
}

@test "what is played from a recording is refused under data/measured" {
	run -2 python3 "$measure" --recorded-nvml "$recording" --out data/measured/fake
	[[ $output == *'is no measurement and must not go there'* ]]
	[ ! -e data ]
	mkdir -p data/measured
	ln -s data/measured elsewhere
	run -2 python3 "$measure" --recorded-nvml "$recording" --out elsewhere/fake
	[ ! -e data/measured/fake ]
}

@test "a machine without a driver gets an error" {
	if ldconfig -p | grep -q libnvidia-ml; then skip "a driver is here"; fi
	torch_python
	run -1 "$python" "$measure" --out x --minutes 1
	[[ $output == *"no NVIDIA driver"* ]]
}

@test "sensors, solo points, pairs and groups are measured, and the README made" {
	torch_python
	run -0 "$python" "${tiny[@]}" --only sensor,solo,pairs
	# Of one network, the groups show all that there is.
	run -0 "$python" "${tiny[@]}" --only groups --networks mobilenetv2
	[ "$(grep -c ,fp32,100, out/solo.csv)" -eq 6 ]
	[ "$(grep -c inference out/pairs.csv)" -eq 1 ]
	[ "$(grep -c ,sequential2, out/groups.csv)" -ge 2 ]
	[ "$(grep -c ,equal4, out/groups.csv)" -ge 4 ]
	[ "$(cut -d, -f1 out/sensor.csv | sort -u | tr '\n' ' ')" = "context idle load state " ]
	jq -e '.test and .version == 1 and .idle_power_mw > 1e5 and .failures == []' out/gpu.json
	# A sampler that the networks left no time saw too few steps to say.
	jq -e '.energy_refresh_ms == null or .energy_refresh_ms > 20' out/gpu.json
	grep -q 'Not a measurement' out/README.md
	run pgrep -f "$PWD"
	[ -z "$output" ]
}

# begin POINTS: a run in the background, which has more than so many points in its tables
begin() {
	"$python" "${tiny[@]}" --only solo,pairs 2>log &
	pid=$!
	until [ -f out/solo.csv ] && [ "$(points out)" -gt "$1" ]; do sleep 0.1; done
}

@test "a run goes on where one was interrupted or killed, with no point twice and no worker left" {
	torch_python
	begin 0
	kill -INT "$pid"
	wait "$pid" || [ $? -eq 130 ]
	first=$(points out)
	[ "$first" -lt 7 ]
	begin "$first"
	workers=$(pgrep -P "$pid") || true
	kill -KILL "$pid" || true
	wait "$pid" || true
	for _ in $(seq 1000); do
		# One that has ended may be a zombie: not every first process of a container waits
		# for orphans.
		ps -o stat= -p "${workers//$'\n'/,}" | grep -v '^Z' || break
		sleep 0.1
	done
	run ! eval "ps -o stat= -p '${workers//$'\n'/,}' | grep -v '^Z'"
	run -0 "$python" "${tiny[@]}" --only solo,pairs
	[ "$(points out)" -eq 7 ]
	[ "$(cut -d, -f1-4 out/solo.csv | sort | uniq -d | wc -l)" -eq 0 ]
}

@test "a folder of another GPU is refused" {
	torch_python
	mkdir out
	echo '{"test": true, "gpu": {"name": "NVIDIA Other"}}' >out/gpu.json
	run -1 "$python" "${tiny[@]}"
	[[ $output == *"holds measurements of NVIDIA Other; give NVIDIA Synthetic Test GPU another folder"* ]]
}
