#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# The lab shown by programs that know nothing of it: nvtop and pynvml of Debian's contrib, taken out
# of their packages without being installed. Skipped where they cannot be had.

setup_file() {
	export CLIENTS=$HES_BUILD_ROOT/lab-clients
	"$HES_SOURCE_ROOT/tools/lab-clients.sh" "$CLIENTS" >"$BATS_FILE_TMPDIR/log" 2>&1 ||
		export WITHOUT=yes
}

setup() {
	[ -z "${WITHOUT:-}" ] || skip "nvtop and python3-pynvml cannot be had here"
	PATH=$(dirname "$HESHARE"):$PATH
	export PYTHONPATH=$CLIENTS/usr/lib/python3/dist-packages
	cd "$BATS_TEST_TMPDIR"
}

@test "pynvml sees 4 T4, 2 V100 and 2 A100, a task's process, its clock and its watts" {
	cat >look.py <<-'EOF'
		import collections, subprocess, time
		import pynvml as n
		n.nvmlInit()
		gpus = [n.nvmlDeviceGetHandleByIndex(i) for i in range(n.nvmlDeviceGetCount())]
		print(sorted(collections.Counter(n.nvmlDeviceGetName(b) for b in gpus).items()))
		task = subprocess.Popen(["vgpu-task", "--workload", "resnet50", "--batch", "16", "--iterations", "100000"],
		                        stdout=subprocess.DEVNULL)
		while not n.nvmlDeviceGetUtilizationRates(gpus[0]).gpu > 50:
		    time.sleep(0.1)
		time.sleep(1)
		found = n.nvmlDeviceGetComputeRunningProcesses(gpus[0])
		print([p.pid == task.pid for p in found], found[0].usedGpuMemory >> 20)
		print(n.nvmlDeviceGetMemoryInfo(gpus[0], version=n.nvmlMemory_v2).used >> 20)
		print(600 < n.nvmlDeviceGetClockInfo(gpus[0], n.NVML_CLOCK_SM) < 1590, n.nvmlDeviceGetClockInfo(gpus[7], n.NVML_CLOCK_SM))
		print(60000 < n.nvmlDeviceGetPowerUsage(gpus[0]) < 71000, n.nvmlDeviceGetPowerUsage(gpus[7]))
		print(n.nvmlDeviceGetCurrentClocksThrottleReasons(gpus[0]) == n.nvmlClocksThrottleReasonSwPowerCap)
		n.nvmlDeviceSetGpuLockedClocks(gpus[0], 600, 600)
		print(n.nvmlDeviceGetClockInfo(gpus[0], n.NVML_CLOCK_SM))
		type, samples = n.nvmlDeviceGetSamples(gpus[0], n.NVML_TOTAL_POWER_SAMPLES, 0)
		print(len(samples) > 20, all(a.timeStamp < b.timeStamp for a, b in zip(samples, samples[1:])))
		task.kill()
		task.wait()
	EOF
	run -0 --separate-stderr "$HES_LAB" --speed 5 -- python3 look.py
	[ "${lines[0]}" = \
		"[('NVIDIA A100-SXM4-80GB', 2), ('Tesla T4', 4), ('Tesla V100-PCIE-32GB', 2)]" ]
	[ "${lines[1]}" = "[True] 3571" ]
	[ "${lines[2]}" = "3827" ]
	[ "${lines[3]}" = "True 210" ]
	[ "${lines[4]}" = "True 55000" ]
	[ "${lines[5]}" = "True" ]
	[ "${lines[6]}" = "600" ]
	[ "${lines[7]}" = "True True" ]
}

@test "pynvml gets the errors of GPUs that refuse, are silent or lost" {
	cat >ask.py <<-'EOF'
		import pynvml as n
		n.nvmlInit()
		for i, ask in enumerate((lambda b: n.nvmlDeviceSetGpuLockedClocks(b, 600, 600), n.nvmlDeviceGetPowerUsage,
		                         n.nvmlDeviceGetTemperature)):
		    try:
		        ask(n.nvmlDeviceGetHandleByIndex(i), *([0] if i == 2 else []))
		    except n.NVMLError as e:
		        print(e.value, e)
	EOF
	run -0 --separate-stderr "$HES_LAB" --fault 0:no-permission --fault 1:sensor-gap --fault \
		2:gpu-lost -- python3 ask.py
	[ "$output" = $'4 Insufficient Permissions\n3 Not Supported\n15 GPU is lost' ]
}

@test "nvtop draws the GPUs and the task" {
	command -v tmux >/dev/null || skip "tmux is not installed"
	cat >watch.sh <<-'EOF'
		vgpu-task --workload resnet50 --batch 16 --iterations 100000 --device 6 >/dev/null &
		nvtop
	EOF
	tmux -L "lab$$" new-session -d -x 180 -y 60 \
		"PATH=$CLIENTS/usr/bin:\$PATH '$HES_LAB' -- sh watch.sh"
	for _ in $(seq 500); do
		sleep 0.2
		tmux -L "lab$$" capture-pane -p >screen
		if grep -q "Compute.*vgpu-task" screen &&
			grep -q "POW *[1-9][0-9][0-9] / 400 W" screen; then break; fi
	done
	tmux -L "lab$$" send-keys q
	tmux -L "lab$$" kill-server || true
	cat screen
	[ "$(grep -o 'Device [0-3] \[Tesla T4\]' screen | wc -l)" -eq 4 ]
	[ "$(grep -o 'Device [45] \[Tesla V100-PCIE-32GB\]' screen | wc -l)" -eq 2 ]
	[ "$(grep -o 'Device [67] \[NVIDIA A100-SXM4-80GB\]' screen | wc -l)" -eq 2 ]
	grep -q "Compute.*vgpu-task" screen
	grep -q "POW *[1-9][0-9][0-9] / 400 W" screen
	grep -q "GPU 300MHz" screen
}
