#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# Programs as they are, scheduled by the preload library: in the lab, with a small arbiter
# (tests/lab/tiny_arbiter.py).

# A copy that belongs to this user, as the build tree may not.
setup_file() {
	cp "$HESHARE" "$(dirname "$HESHARE")/../../interpose/libheshare-fair.so" "$BATS_FILE_TMPDIR"
}

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	[ -n "${HES_CUDA_CLIENT:-}" ] || skip "this build has no CUDA client"
	PATH=$BATS_FILE_TMPDIR:$PATH
	unset LD_LIBRARY_PATH HESHARE_FAIR_SOCKET HESHARE_FAIR_TENANT HESHARE_FAIR_LIBRARY \
		HESHARE_FAIR_VERBOSE
	cd "$BATS_TEST_TMPDIR"
	export CLIENT=$HES_CUDA_CLIENT
}

teardown() {
	[ -z "${arbiter:-}" ] || kill "$arbiter" 2>/dev/null || true
	[ -z "${again:-}" ] || kill "$again" 2>/dev/null || true
}

# OPTION...: an arbiter in this folder; its process in $arbiter.
start_arbiter() {
	"$HES_SOURCE_ROOT/tests/lab/tiny_arbiter.py" "$PWD/s" --log log "$@" >ready 3>&- &
	arbiter=$!
	for _ in $(seq 2000); do
		[ ! -s ready ] || return 0
		sleep 0.05
	done
	return 1
}

# NAME [--if-refused WHAT] COMMAND...: the command as a tenant, in the lab.
tenant() {
	local name=$1 options=()
	shift
	[ "$1" != --if-refused ] || { options=("$1" "$2") && shift 2; }
	"$HES_LAB" --speed 1 -- heshare fair run --tenant "$name" --socket "$PWD/s" \
		"${options[@]}" -- "$@"
}

count() { # MESSAGE [NAME]
	jq -s --arg m "$1" --arg n "${2:-}" \
		'map(select(.message == $m and ($n == "" or .name == $n))) | length' log
}

# The lab's own answer, without the library.
checksum() { # OPTION...
	"$HES_LAB" --speed 1 -- "$CLIENT" --rounds 12 "$@"
}

@test "checksums are the same with the library, by every route to the driver" {
	local plain route own threads
	start_arbiter --slice 2
	for threads in 1 3; do
		for own in "" --ptsz; do
			for route in link dlsym proc1 proc2; do
				plain=$(checksum --route $route $own --threads $threads)
				run -0 --separate-stderr tenant "$route$own" "$CLIENT" --rounds \
					12 --route $route $own --threads $threads
				[ "$output" = "$plain" ] ||
					{ echo "$route $own $threads: $output, not $plain"; false; }
				[ -z "$stderr" ]
				[ "$(count grant "$route$own")" -ge 1 ]
			done
		done
	done
}

@test "two programs have the GPU by turns: leases do not overlap, and all launches are counted" {
	start_arbiter --slice 5
	"$HES_LAB" --speed 1 -- sh -c '
		for t in a b; do
			heshare fair run --tenant $t --socket "$PWD/s" -- "$CLIENT" --spin 50 --for 2 >out.$t &
		done
		wait'
	[ "$(count release a)" -gt 20 ]
	[ "$(count release b)" -gt 20 ]
	# A grant, its release or its end with the process, the next grant.
	jq -s -e 'reduce .[] as $m ({holder: null, wrong: 0};
		if $m.message == "grant" then .wrong += (if .holder then 1 else 0 end) | .holder = $m.tenant
		elif ($m.message == "release" or $m.message == "gone") and .holder == $m.tenant then .holder = null
		elif $m.message == "release" then .wrong += 1 else . end) | .wrong == 0' log
	# Both want the GPU all the time: each has its part of it.
	jq -s -e '[.[] | select(.message == "release")] | (map(select(.name == "a").gpu_ns) | add) as $a |
		(map(select(.name == "b").gpu_ns) | add) as $b | $a > 0.4 * $b and $b > 0.4 * $a' log
	for t in a b; do
		launches=$(grep launches out.$t | jq .launches)
		counted=$(jq -s --arg n $t \
			'map(select(.message == "release" and .name == $n).launches) | add' log)
		# The last lease may end with the process.
		[ "$counted" -le "$launches" ]
		[ "$counted" -ge "$((launches / 2))" ]
	done
}

@test "a lease ends with its slice, whatever the kernels" {
	start_arbiter --slice 10
	"$HES_LAB" --speed 1 -- sh -c '
		heshare fair run --tenant short --socket "$PWD/s" -- "$CLIENT" --spin 20 --for 2 >short &
		heshare fair run --tenant long --socket "$PWD/s" -- "$CLIENT" --spin 2000 --for 2 >long
		wait'
	# The median of slices: kernels of 2 ms may end one before or after.
	jq -s -e '[foreach .[] as $m (null; if $m.message == "grant" then $m else . end;
			select($m.message == "release" and .slice_ns > 0) | $m.held_ns / .slice_ns)] | sort |
		length > 50 and .[length / 2 | floor] > 0.75 and .[length / 2 | floor] < 1.3' log
}

@test "without an arbiter a program runs as ever, and says so once" {
	run -0 --separate-stderr "$HES_LAB" -- heshare fair run --tenant a --socket "$PWD/none" \
		-- "$CLIENT" --rounds 5
	[ "$output" = "$("$HES_LAB" -- "$CLIENT" --rounds 5)" ]
	[ "$stderr" = "heshare-fair: no arbiter at $PWD/none (No such file or directory): running unscheduled" ]
}

@test "a program that the arbiter refuses waits, runs, or ends, as --if-refused says" {
	local plain says="heshare-fair: the arbiter at $PWD/s refuses: no room:"
	plain=$("$HES_LAB" -- "$CLIENT" --rounds 5)
	start_arbiter --refuse "no room"
	run -0 --separate-stderr tenant a --if-refused run "$CLIENT" --rounds 5
	[ "$output" = "$plain" ]
	[ "$stderr" = "$says running unscheduled" ]
	run -75 --separate-stderr tenant a --if-refused exit "$CLIENT" --rounds 5
	[ -z "$output" ]
	[ "$stderr" = "$says the program ends" ]
	kill "$arbiter"
	rm ready
	start_arbiter --refuse "no room" --times 3
	run -0 --separate-stderr tenant waits "$CLIENT" --rounds 5
	[ "$output" = "$plain" ]
	[ "$stderr" = "$says waiting until it accepts
heshare-fair: scheduled by the arbiter at $PWD/s as tenant waits" ]
	[ "$(count refused waits)" = 3 ]
	[ "$(count grant waits)" -ge 1 ]
}

@test "an arbiter of another version of the protocol is refused, and says what it speaks" {
	start_arbiter --version 1
	run -75 --separate-stderr tenant a --if-refused exit "$CLIENT" --rounds 5
	[ "$stderr" = "heshare-fair: the arbiter at $PWD/s refuses: it speaks version 1 of the protocol and this library version 2; both must be of one version of heshare: the program ends" ]
	run -1 --separate-stderr heshare fair top --socket "$PWD/s"
	[ "$stderr" = "heshare fair top: the arbiter speaks version 1 of the protocol and this program version 2; both must be of one version of heshare" ]
}

@test "a program on a GPU that the arbiter does not share has no reason to wait" {
	start_arbiter --refuse "this GPU is not shared by the arbiter" --code 19
	run -0 --separate-stderr tenant a "$CLIENT" --rounds 5
	[ "$output" = "$("$HES_LAB" -- "$CLIENT" --rounds 5)" ]
	[[ "$stderr" == *"not shared by the arbiter: running unscheduled" ]]
}

@test "when the arbiter is killed the program goes on, and a new arbiter has it again" {
	start_arbiter
	# The program ends when there is a file "end".
	tenant a sh -c '"$CLIENT" --spin 100 --for 1000 & until [ -e end ]; do sleep 0.05; done; kill $!' >out 2>err 3>&- &
	local program=$!
	until [ "$(count grant)" != 0 ]; do sleep 0.05; done
	kill -9 "$arbiter"
	local before
	before=$(grep -c progress out || true)
	until [ "$(grep -c progress out)" -ge $((before + 2)) ]; do sleep 0.05; done
	mv log first
	rm ready
	start_arbiter
	until [ "$(count grant)" != 0 ]; do sleep 0.05; done
	: >end
	wait "$program"
	[ "$(count hello a)" = 1 ]
	[ "$(count grant a)" -ge 1 ]
	[ "$(cat err)" = "heshare-fair: no arbiter at $PWD/s (the connection has ended): running unscheduled
heshare-fair: scheduled by the arbiter at $PWD/s as tenant a" ]
}

@test "a program that is killed in its lease leaves nothing" {
	start_arbiter
	"$HES_LAB" --speed 1 -- sh -c '
		heshare fair run --tenant a --socket "$PWD/s" -- "$CLIENT" --spin 100 --for 60 >a &
		until grep -q "\"grant\"" log; do sleep 0.05; done
		kill -9 $!
		heshare fair run --tenant b --socket "$PWD/s" -- "$CLIENT" --rounds 5 >b'
	[ "$(cat b)" = "$("$HES_LAB" -- "$CLIENT" --rounds 5)" ]
	[ "$(jq -s 'map(select(.message == "gone" and .name == "a")) | length' log)" = 1 ]
}

@test "a program without CUDA connects to nobody, and its exit status is the command's" {
	start_arbiter
	run -7 --separate-stderr "$HES_LAB" -- heshare fair run --tenant a --socket "$PWD/s" -- \
		sh -c 'echo hello; exit 7'
	[ "$output" = hello ]
	[ -z "$stderr" ]
	[ "$(count hello)" = 0 ]
}

launches() { # FILE
	od -An -t d8 -N 8 "$1" | tr -d ' '
}

@test "launches are counted for who asks for it, without an arbiter: graphs are, captured ones are not" {
	local library=$BATS_FILE_TMPDIR/libheshare-fair.so
	start_arbiter
	head -c 8 /dev/zero >n
	cp n m
	counted() { HESHARE_LAUNCHES=$PWD/$1 LD_PRELOAD=$library "$HES_LAB" -- "${@:2}"; }
	[ "$(counted n "$CLIENT" --rounds 9 --threads 2)" = "$(checksum --rounds 9 --threads 2)" ]
	[ "$(launches n)" = $((2 * 9 * 9)) ] # in a round four kernels and five graphs
	counted n sh -c '"$CLIENT" --noop 40; "$CLIENT" --noop 2'
	[ "$(launches n)" = $((2 * 9 * 9 + 2042)) ] # the client warms up by 1000
	[ "$(count hello)" = 0 ]
	# A tenant's are counted, too. A file that cannot be had counts nothing.
	HESHARE_LAUNCHES=$PWD/m tenant a "$CLIENT" --noop 30
	[ "$(launches m)" = 1030 ]
	[ "$(count hello a)" = 1 ]
	: >empty
	ln -s m link
	for file in empty link nowhere .; do counted "$file" "$CLIENT" --noop 7; done
	[ "$(launches m)" = 1030 ]
}

@test "a job of heshare run is no tenant, and its launches are counted" {
	start_arbiter
	export XDG_RUNTIME_DIR=$PWD/runtime HESHARE_STORE=$PWD/store.db
	mkdir -p runtime/heshare
	ln -s "$PWD/s" runtime/heshare/fair.sock
	echo $'id\nplain\ntenant' >jobs.csv
	cat >job <<-'END'
		if [ $1 = tenant ]; then
			heshare fair run --tenant b --socket "$2/s" -- "$CLIENT" --noop 50
		else
			"$CLIENT" --noop 50
		fi
		od -An -t d8 -N 8 "$HESHARE_LAUNCHES" >n.$1
	END
	"$HES_LAB" --speed 1 -- heshare run jobs.csv -- sh job {job} "$PWD"
	[ "$(tr -d ' ' <n.plain)" = 1050 ]
	[ "$(tr -d ' ' <n.tenant)" = 1050 ]
	[ "$(count hello)" = 1 ]
	[ "$(count hello b)" = 1 ]
	[ -z "$(find jobs.run -name '*.launches')" ]
}

@test "the workload of the lab's own program runs as a tenant, several processes of one tenant too" {
	start_arbiter --slice 5
	"$HES_LAB" --speed 1 -- sh -c '
		for i in 1 2; do
			heshare fair run --tenant same --socket "$PWD/s" -- vgpu-task --workload resnet50 --batch 1 --iterations 60 >out.$i &
		done
		wait'
	[ "$(tail -n 1 out.1)" = "heshare: 60 iterations" ]
	[ "$(tail -n 1 out.2)" = "heshare: 60 iterations" ]
	[ "$(count hello same)" = 2 ]
}

@test "a program with contexts on two GPUs has a connection for each; contexts come and go" {
	local program=$HES_SOURCE_ROOT/tests/lab/many_contexts.py plain
	start_arbiter
	printf 'name: two\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 2 } ]\n' \
		>two.yaml
	for how in "1 1" "1 3" "2 2" "2 5"; do
		plain=$("$HES_LAB" --fleet two.yaml -- "$program" $how)
		run -0 --separate-stderr "$HES_LAB" --fleet two.yaml -- heshare fair run \
			--tenant "${how/ /of}" --socket "$PWD/s" -- "$program" $how
		[ "$output" = "$plain" ]
		[ -z "$stderr" ]
		[ "$(jq -s --arg n "${how/ /of}" 'map(select(.message == "hello" and .name == $n).gpu) | unique | length' log)" = "${how% *}" ]
		[ "$(count grant "${how/ /of}")" -ge "${how% *}" ]
	done
}

@test "contexts on two GPUs from before the first launch are scheduled on both" {
	start_arbiter
	printf 'name: two\nnodes:\n  - name: a\n    gpus: [ { type: A100-SXM-80, count: 2 } ]\n' \
		>two.yaml
	run -0 --separate-stderr "$HES_LAB" --fleet two.yaml -- heshare fair run --tenant a \
		--socket "$PWD/s" -- \
		"$HES_SOURCE_ROOT/tests/lab/many_contexts.py" 2 2 keep
	[ "$output" = kept ]
	[ "$(jq -s 'map(select(.message == "hello").gpu) | unique | length' log)" = 2 ]
}

@test "at another speed of the lab its clocks and the library work together" {
	start_arbiter
	run -0 --separate-stderr "$HES_LAB" --speed 5 -- heshare fair run --tenant a --socket \
		"$PWD/s" -- "$CLIENT" --spin 100 --for 3
	[ -z "$stderr" ]
	[ "$(count grant a)" -ge 1 ]
}

@test "a driver that is closed and opened again works as before" {
	cat >reopen.py <<-'EOF'
		import _ctypes, ctypes, mmap
		holes = []
		for _ in range(3):
		    cuda = ctypes.CDLL("libcuda.so.1")
		    context, memory = ctypes.c_void_p(), ctypes.c_uint64()
		    rc = [cuda.cuInit(0), cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0), cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096)),
		          cuda.cuMemsetD32_v2(memory, 7, ctypes.c_size_t(1024)), cuda.cuCtxSynchronize(), cuda.cuCtxDestroy_v2(context)]
		    print(rc)
		    _ctypes.dlclose(cuda._handle)
		    holes += [mmap.mmap(-1, 4096) for _ in range(1000)] # other things take its place
	EOF
	start_arbiter
	run -0 --separate-stderr tenant a python3 reopen.py
	[ "$output" = "$(yes '[0, 0, 0, 0, 0, 0]' | head -n 3)" ]
	[ -z "$stderr" ]
}

@test "a program whose standard error takes nothing goes on when the arbiter is killed" {
	cat >full.py <<-'EOF'
		import os, subprocess, sys
		_, out = os.pipe()
		os.set_blocking(out, False)
		try:
		    while os.write(out, b"x" * 4096):
		        pass
		except BlockingIOError:
		    os.set_blocking(out, True)
		sys.exit(subprocess.run(sys.argv[1:], stderr=out).returncode)
	EOF
	start_arbiter
	tenant a python3 full.py timeout -s KILL 200 "$CLIENT" --spin 100 --for 4 --idle 20000 \
		>out 3>&- &
	local program=$!
	until [ "$(count grant)" != 0 ]; do sleep 0.05; done
	kill -9 "$arbiter"
	wait "$program"
	[ "$(grep -c progress out)" -ge 3 ]
}

@test "a message to a closed standard error ends no program" {
	# Nobody reads its standard error.
	run -0 "$HES_LAB" -- heshare fair run --tenant a --socket "$PWD/none" -- env HESHARE_FAIR_WEIGHT=junk python3 -c '
import os, subprocess, sys
unread, out = os.pipe()
os.close(unread)
p = subprocess.run(sys.argv[1:], stderr=out, stdout=subprocess.PIPE, preexec_fn=lambda: __import__("signal").signal(13, 0))
print(p.returncode, p.stdout.decode().strip())' "$CLIENT" --rounds 5
	[ "${lines[-1]}" = "0 $("$HES_LAB" -- "$CLIENT" --rounds 5)" ]
}

@test "a socket that an arbiter left in the user's folder does not hide root's" {
	[ ! -e /run/heshare/fair.sock ] || skip "this machine has an arbiter"
	mkdir -p x/heshare
	python3 -c 'import socket; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind("x/heshare/fair.sock")'
	XDG_RUNTIME_DIR=$PWD/x run -0 --separate-stderr "$HES_LAB" -- heshare fair run --tenant \
		a -- "$CLIENT" --rounds 2
	[[ "$stderr" == "heshare-fair: no arbiter at /run/heshare/fair.sock "* ]]
}

@test "names, weights, clocks and sockets reach the arbiter" {
	start_arbiter
	"$HES_LAB" -- heshare fair run --tenant "größe 1" --weight 2.5 --clock 1200 --socket \
		"$PWD/s" -- "$CLIENT" --rounds 2
	jq -s -e 'map(select(.message == "hello")) | .[0].name == "größe 1" and .[0].weight == 2.5 and .[0].clock == 1200' log
}

@test "CUDA counts the GPUs of a tenant as the arbiter does, unless the user chose by CUDA's order" {
	order() {
		env -u CUDA_DEVICE_ORDER -u CUDA_VISIBLE_DEVICES "$@" heshare fair run --tenant t --socket s \
			-- sh -c 'echo "${CUDA_DEVICE_ORDER:-its own}"' 2>/dev/null
	}
	[ "$(order env)" = PCI_BUS_ID ]
	[ "$(order env CUDA_VISIBLE_DEVICES=1)" = "its own" ]
	[ "$(order env CUDA_DEVICE_ORDER=FASTEST_FIRST)" = FASTEST_FIRST ]
}

@test "a name that is not UTF-8 is cleaned, and the library says so" {
	start_arbiter
	run -0 --separate-stderr tenant a env HESHARE_FAIR_TENANT=$'\xc3\xb6\xff\xc2\x85b' "$CLIENT" --rounds 2
	[ "$stderr" = "heshare-fair: HESHARE_FAIR_TENANT has control characters or is not UTF-8: ? stands for what is wrong" ]
	jq -s -e 'map(select(.message == "hello")) | .[0].name == "ö???b"' log
}

# A driver with two functions of one base name and different parameters, and a program that calls
# both.
prefetch_programs() {
	cat >driver.c <<-'EOF'
		#include <stdio.h>
		#include <string.h>
		struct place { int type, id; };
		int cuMemPrefetchAsync(unsigned long long at, size_t n, int device, void *stream)
		{
			return printf("1: %llu %zu %d %p\n", at, n, device, stream) < 0;
		}
		int cuMemPrefetchAsync_v2(unsigned long long at, size_t n, struct place where, unsigned flags, void *stream)
		{
			return printf("2: %llu %zu %d %d %u %p\n", at, n, where.type, where.id, flags, stream) < 0;
		}
		int cuGetProcAddress(const char *name, void **out, int version, unsigned long long flags)
		{
			*out = strcmp(name, "cuMemPrefetchAsync") ? NULL : version < 12080 ? (void *)cuMemPrefetchAsync : (void *)cuMemPrefetchAsync_v2;
			return !*out;
		}
	EOF
	cc -shared -fPIC -w -Wl,-Bsymbolic -Wl,-soname,libcuda.so.1 driver.c -o libcuda.so.1
	cat >prefetch.c <<-'EOF'
		#include <dlfcn.h>
		#include <stdio.h>
		#include <string.h>
		struct place { int type, id; };
		int main(void)
		{
			void *lib = dlopen("./libcuda.so.1", RTLD_NOW), *one = dlsym(lib, "cuMemPrefetchAsync"), *two = dlsym(lib, "cuMemPrefetchAsync_v2"), *f;
			int (*get)(const char *, void **, int, unsigned long long) = dlsym(lib, "cuGetProcAddress");
			Dl_info info;
			for (int version = 8000; version <= 12080; version += 4080) {
				get("cuMemPrefetchAsync", &f, version, 0);
				printf("%s %d\n", f == one ? "one" : f == two ? "two" : "other", dladdr(f, &info) && strstr(info.dli_fname, "fair") != NULL);
			}
			((int (*)(unsigned long long, size_t, int, void *))one)(5, 6, -1, (void *)0x70);
			return ((int (*)(unsigned long long, size_t, struct place, unsigned, void *))two)(5, 6, (struct place){ 1, 2 }, 0, (void *)0x70);
		}
	EOF
	cc -w -D_GNU_SOURCE prefetch.c -o prefetch -ldl
}

@test "functions with the same name are kept apart by their addresses" {
	prefetch_programs
	run -0 --separate-stderr heshare fair run --tenant a --socket "$PWD/none" -- ./prefetch
	[ "$output" = "one 1
two 1
1: 5 6 -1 0x70
2: 5 6 1 2 0 0x70" ]
}

refused() { # SENTENCE ARGUMENT...
	local sentence=$1
	shift
	run -2 --separate-stderr heshare fair run "$@"
	[ "$stderr" = "heshare fair run: $sentence" ] || { echo "got: $stderr"; false; }
}

@test "wrong usage of fair run exits 2 with what would be right" {
	refused "--tenant is missing: the name that the arbiter counts the command under" -- true
	refused "--tenant: empty; a name is needed" --tenant "" -- true
	refused "--tenant: \"$(printf '%060d' 0)...\" has more than 63 bytes" --tenant "$(printf '%064d' 1)" -- true
	refused "--tenant: control character 0x09 in byte 2" --tenant $'a\tb' -- true
	refused "--tenant: control character 0x85 in byte 2" --tenant $'a\xc2\x85' -- true
	refused $'--tenant: "a\\xff" is not UTF-8, which names must be' --tenant $'a\xff' -- true
	refused "--weight: 0 is outside 1e-06 to 1e+06" --tenant a --weight 0 -- true
	run -2 heshare fair run --tenant a --if-refused hope -- true
	[[ "$output" == *"--if-refused"*wait*run*exit* ]]
	run -127 --separate-stderr heshare fair run --tenant a --socket "$PWD/s" -- \
		nothing-of-this-name
	[ "$stderr" = \
		"heshare fair run: nothing-of-this-name: No such file or directory" ]
	HESHARE_FAIR_LIBRARY=/nowhere.so run -1 --separate-stderr heshare fair run --tenant a -- \
		true
	[ "$stderr" = "heshare fair run: /nowhere.so: No such file or directory" ]
}

@test "a pipe is no program, and nobody waits for its writer" {
	mkfifo -m 755 pipe
	run -126 --separate-stderr timeout -k 5 60 heshare fair run --tenant a --socket "$PWD/s" -- ./pipe
	[ "$stderr" = "heshare fair run: ./pipe: Permission denied" ]
}

@test "what is preloaded already stays, behind the library" {
	LD_PRELOAD=libc.so.6 run -0 --separate-stderr heshare fair run --tenant a --socket \
		"$PWD/s" -- sh -c 'echo "$LD_PRELOAD"'
	[[ "$output" == /*/libheshare-fair.so:libc.so.6 ]]
}

@test "a static program is said to run unscheduled" {
	printf 'int main(void) { return 0; }\n' >static.c
	cc -static static.c -o static || skip "no static C library"
	run -0 --separate-stderr heshare fair run --tenant a --socket "$PWD/s" -- ./static
	[ "${stderr_lines[0]}" = "heshare fair run: ./static is a static program, so nothing can be preloaded: it runs unscheduled" ]
}

preloaded() { # PROGRAM: what it preloads
	"$1" fair run --tenant a --socket "$PWD/s" -- sh -c 'echo "$LD_PRELOAD"' 2>stderr
}

not_preloaded() { # PROGRAM WHY
	run preloaded "$1"
	[ "$status" = 1 ]
	[ "$(cat stderr)" = "heshare fair run: $2" ] || { cat stderr; false; }
}

@test "the library is taken from next to the program or from its build tree, unless others could replace it" {
	local own="the library must be root's or this user's alone, with all folders above it:" copy
	here=$(realpath .)
	mkdir -p -m 755 copy build/{src/cli,interpose} other/bin other/interpose
	cp "$HESHARE" copy/
	cp "$HESHARE" build/src/cli/
	cp "$HESHARE" other/bin/
	copy=$BATS_FILE_TMPDIR/libheshare-fair.so
	ln "$copy" copy/ 2>/dev/null || cp "$copy" copy/
	cp "$copy" build/interpose/
	# A folder of this name two above a program is no build tree.
	cp "$copy" other/interpose/
	not_preloaded other/bin/heshare "libheshare-fair.so is not found: make builds it; HESHARE_FAIR_LIBRARY can name it"
	[ "$(preloaded copy/heshare)" = "$here/copy/libheshare-fair.so" ]
	[ "$(preloaded build/src/cli/heshare)" = "$here/build/interpose/libheshare-fair.so" ]
	chmod o+w copy
	not_preloaded copy/heshare "$own $here/copy: others may write it (mode 0757)"
	HESHARE_FAIR_LIBRARY=copy/libheshare-fair.so not_preloaded build/src/cli/heshare \
		"$own $here/copy: others may write it (mode 0757)"
	# As in /tmp, where others can replace nothing of this user's.
	chmod +t copy
	[ "$(preloaded copy/heshare)" = "$here/copy/libheshare-fair.so" ]
	chmod o+w build/interpose/libheshare-fair.so
	not_preloaded build/src/cli/heshare \
		"$own $here/build/interpose/libheshare-fair.so: others may write it (mode 0757)"
	[ "$(id -u)" -eq 0 ] || return 0
	chmod 775 copy
	[ "$(id -u)" -ne 0 ] ||
		not_preloaded copy/heshare "$own $here/copy: others may write it (mode 0775)"
	chmod 755 copy
	# Somebody else's file, and somebody else's link to a file of this user's.
	mv copy/libheshare-fair.so mine.so
	cp mine.so copy/libheshare-fair.so
	chown nobody copy/libheshare-fair.so
	not_preloaded copy/heshare "$own $here/copy/libheshare-fair.so: user $(id -u nobody) owns it and could replace it"
	ln -sf "$here/mine.so" copy/libheshare-fair.so
	chown -h nobody copy/libheshare-fair.so
	not_preloaded copy/heshare "$own $here/copy/libheshare-fair.so: user $(id -u nobody) owns it and could replace it"
	chown -h root copy/libheshare-fair.so
	[ "$(preloaded copy/heshare)" = "$here/mine.so" ]
}

@test "a user's own group may write the library's folder, another group may not" {
	[ "$(id -u)" -eq 0 ] || skip "other users are made by root"
	[ "$(id -gn games)" = games ] || skip "there is no user with a group of its own"
	place=$(mktemp -d /tmp/heshare-group.XXXXXX)
	cp "$BATS_FILE_TMPDIR"/{heshare,libheshare-fair.so} "$place"
	chown -R games:games "$place"
	chmod -R 775 "$place"
	as_games() {
		setpriv --reuid games --regid games --clear-groups "$place/heshare" fair run \
			--tenant a --socket /none -- sh -c 'echo "$LD_PRELOAD"'
	}
	run -0 --separate-stderr as_games
	[ "$output" = "$place/libheshare-fair.so" ]
	chgrp daemon "$place"
	run -1 --separate-stderr as_games
	[[ "$stderr" == *"$place: others may write it (mode 0775)" ]]
	rm -r "$place"
}
