#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# heshare profiles, train --from-store, profile --store

setup_file() {
	export LAB="$BATS_FILE_TMPDIR/lab"
	"$HESHARE" profile --modelled -o "$LAB" 2>/dev/null
	"$HESHARE" profile --modelled --seed 2 --samples 240 -o "$LAB/week" 2>/dev/null
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	unset HESHARE_STORE
	export XDG_DATA_HOME="$BATS_TEST_TMPDIR/data"
	STORE="$XDG_DATA_HOME/heshare/store.db"
}

# slower FACTOR <SAMPLES: the same jobs when each takes that much longer
slower() {
	awk -F, -v OFS=, -v f="$1" 'NR > 1 { $(NF - 2) *= f } 1' # iteration_us: from the end, because names of co-runners have commas
}

@test "there is no store before something is imported" {
	run -1 "$HESHARE" profiles list
	[ "$output" = "heshare profiles list: $STORE: no store there" ]
	[ ! -e data ]
	run -1 "$HESHARE" train --from-store
	[ "$output" = "heshare train: $STORE: no store there" ]
}

@test "the store is below HOME when XDG_DATA_HOME does not tell, and named when neither does" {
	unset XDG_DATA_HOME
	HOME="$BATS_TEST_TMPDIR/me" run -1 "$HESHARE" profiles list
	[[ "$output" == *"/me/.local/share/heshare/store.db: no store there" ]]
	mkdir me
	HOME="$BATS_TEST_TMPDIR/me" "$HESHARE" profiles import "$LAB/profiles.csv"
	[ -f me/.local/share/heshare/store.db ]
	run -1 env -u HOME "$HESHARE" profiles list
	[[ "$output" == *"name it by --store FILE" ]]
	HESHARE_STORE=no.db run -1 env -u HOME "$HESHARE" profiles list
	[ "$output" = "heshare profiles list: no.db: no store there" ]
	run -0 env -u HOME "$HESHARE" profiles list --store me/.local/share/heshare/store.db
}

@test "what is exported is what was imported, byte for byte; twice adds nothing" {
	run -0 "$HESHARE" profiles import "$LAB"
	n="$(($(wc -l <"$LAB/profiles.csv") - 1))"
	[ "${lines[0]}" = "$LAB: profiles: $n new, 0 known; samples: 1000 new, 0 known" ]
	[ "${lines[1]}" = "$LAB: not read: week/" ]
	run -0 "$HESHARE" profiles import "$LAB/samples.csv" "$LAB/profiles.csv"
	[ "${lines[0]}" = "$LAB/samples.csv: profiles: 0 new, 0 known; samples: 0 new, 1000 known" ]
	[ "${lines[1]}" = "$LAB/profiles.csv: profiles: 0 new, $n known; samples: 0 new, 0 known" ]
	run -0 "$HESHARE" profiles export out
	[ "$output" = "out: $n profiles, 1000 samples" ]
	cmp "$LAB/profiles.csv" out/profiles.csv
	cmp "$LAB/samples.csv" out/samples.csv
}

@test "import, list, show and export as JSON" {
	"$HESHARE" profiles import --json --when 2026-03-01 "$LAB" | jq -e '.imports | length == 1 and .[0].number == 1
		and .[0].samples == {new: 1000, known: 0}'
	"$HESHARE" profiles list --json | jq -e '(.workloads | map(.samples) | add) == 1000
		and .deliveries[0].at_us == 1772323200000000 and .deliveries[0].source == "imported"
		and (.workloads[0] | .workload == "bert-large" and .batch_sizes.min == 1 and .newest_us == 1772323200000000)'
	"$HESHARE" profiles show resnet50 --json | jq -e '.workload == "resnet50" and (.profiles | length) == 21
		and (.samples | length > 50) and (.samples[0] | .solo.gpu_type and .iteration_us > 0 and .co_runner_power_w > 0)'
	"$HESHARE" profiles export out --json | jq -e '.samples == 1000'
}

@test "list and show tell people how much there is and how old" {
	"$HESHARE" profiles import --when 2026-03-01T12:30:00Z "$LAB" >/dev/null
	run -0 "$HESHARE" profiles list
	grep -qE '^workload +GPU type +batch +profiles +samples +points +newest, UTC$' <<<"$output"
	grep -qE '^resnet50 +T4 +1\.\.64 +7 +[0-9]+ +0  2026-03-01 12:30$' <<<"$output"
	grep -qE '^[0-9]+ profiles, 1000 samples, 0 rows of points$' <<<"$output"
	grep -qE '^ +1  2026-03-01 12:30  imported +0 +[0-9]+ +1000  ' <<<"$output"
	run -0 "$HESHARE" profiles show resnet50
	[ "$(grep -cE '^T4 ' <<<"$output")" -gt 20 ]
	run -1 "$HESHARE" profiles show resnet5
	[[ "$output" == *'no rows of workload "resnet5"'* ]]
}

@test "the folder that profile wrote serves where profiles are expected" {
	"$HESHARE" train "$LAB" -o predictor --trees 3 >/dev/null
	"$HESHARE" trace helios-like --rows 500 -n 3 --profiles "$LAB" -o jobs.csv
	"$HESHARE" trace helios-like --rows 500 -n 3 --profiles "$LAB/profiles.csv" | cmp - jobs.csv
	printf 'name: x\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 1 }, { type: V100-SXM2-32, count: 1 } ]\n' >x.yaml
	"$HESHARE" plan jobs.csv -f x.yaml --policy pwr --predictor predictor --profiles \
		"$LAB/profiles.csv" -o file.json >/dev/null
	"$HESHARE" plan jobs.csv -f x.yaml --policy pwr --predictor predictor --profiles "$LAB" -o \
		folder.json >/dev/null
	cmp file.json folder.json
	run -1 "$HESHARE" trace helios-like --profiles .
	[ "$output" = "heshare trace: ./profiles.csv: No such file or directory" ]
}

@test "every action that completion offers is one" {
	for word in $("$HESHARE" --complete profiles '' | cut -f 1); do
		run "$HESHARE" profiles "$word" too many operands
		[[ "$output" != *"nothing called"* ]]
	done
	[ "$word" = forget ]
}

@test "a delivery is forgotten by its number" {
	"$HESHARE" profiles import "$LAB" "$LAB/week" >/dev/null
	run -0 "$HESHARE" profiles forget 2
	"$HESHARE" profiles export out >/dev/null
	cmp "$LAB/samples.csv" out/samples.csv
	run -1 "$HESHARE" profiles forget 2
	[[ "$output" == *"nothing came as number 2" ]]
	run -2 "$HESHARE" profiles forget two
	# What runs saw of a workload with others.
	sqlite3 "$STORE" "INSERT INTO co_run_sets VALUES ('T4', 'a,b/16@50,./s.sh: whole run/1@50', 1.25, NULL, 0.01, 1772323200000000);
		INSERT INTO never_held VALUES ('a,b', 1)"
	run -0 "$HESHARE" profiles show a,b
	grep -qE '^T4 +a,b/16@50,./s.sh: whole run/1@50 +1.25 +0.010 +-$' <<<"$output"
	[[ "$output" == *"Never held: its co-runners stalled." ]]
	"$HESHARE" profiles show ./s.sh --json | jq -e '.never_held == false and (.sets[0] | .time == 1.25 and .energy == null)'
	run -1 "$HESHARE" profiles forget --sets s.sh
	[[ "$output" == *'no run learnt anything of workload "s.sh: whole run" with others' ]]
	"$HESHARE" profiles forget --sets ./s.sh
	"$HESHARE" profiles forget --sets a,b
	run -1 "$HESHARE" profiles show a,b
}

@test "modelled rows are kept apart unless requested" {
	run -0 "$HESHARE" profile --modelled --samples 100 --store s.db
	[[ "$output" == "s.db: profiles: "*" new, 0 known; samples: 100 new, 0 known" ]]
	run -1 "$HESHARE" train --from-store --store s.db
	[[ "$output" == *"the store has no samples that are not modelled; --with-modelled takes those too" ]]
	run -1 "$HESHARE" profiles export --store s.db out
	"$HESHARE" train --from-store --store s.db --with-modelled --trees 5 --json |
		jq -e '.rows == {fit: 75, test: 25}'
	"$HESHARE" profiles import --store s.db "$LAB/week/samples.csv" >/dev/null
	"$HESHARE" train --from-store --store s.db --trees 5 --json |
		jq -e '.rows == {fit: 180, test: 60}'
	"$HESHARE" profiles list --store s.db --json | jq -e '(.workloads | map(.modelled) | add) == 100
		and all(.workloads[]; .batch_sizes | .modelled == .profiled)'
	"$HESHARE" profile --modelled --samples 100 -o same --store s.db 2>&1 |
		grep "samples: 0 new, 100 known"
	run -1 "$HESHARE" profiles import --store s.db same
	[[ "$output" == *"it is in s.db already, as modelled; this one comes as imported" ]]
	run -0 "$HESHARE" profiles import --store s.db same --as modelled
}

@test "a predictor from the store is that from the file" {
	"$HESHARE" profiles import "$LAB" >/dev/null
	"$HESHARE" train --from-store --trees 10 -o a >/dev/null
	"$HESHARE" train "$LAB" --trees 10 -o b >/dev/null
	cmp a b
}

@test "a workload's name cannot speak to the terminal that lists it" {
	{ head -1 "$LAB/profiles.csv"; sed -n '2s/^[^,]*/a\x1b[31m/p' "$LAB/profiles.csv"
	} >rows.csv
	run -1 "$HESHARE" profiles import rows.csv
	[ "$output" = "heshare profiles import: rows.csv:2: workload: control character 0x1b in byte 2" ]
}

@test "what somebody else wrote into a store cannot speak to the terminal either" {
	"$HESHARE" profiles import "$LAB" >/dev/null
	sqlite3 "$STORE" "UPDATE origins SET name = char(27) || '[2J' || char(155) || '2J'"
	run -0 "$HESHARE" profiles list
	[[ "$output" == *'  \x1b[2J\xc2\x9b2J'* ]]
	! grep -q $'\x1b\|\xc2\x9b' <<<"$output"
}

@test "bad rows and types nobody knows leave the store as it was" {
	"$HESHARE" profiles import "$LAB/week" >/dev/null
	sum="$(sha256sum <"$STORE")"
	sed 's/,T4,/,T5,/' "$LAB/samples.csv" >types.csv
	run -1 "$HESHARE" profiles import types.csv
	[[ "$output" == 'heshare profiles import: types.csv: '*'"T5"'* ]]
	sed '900s/,[0-9]*,0$/,watts,0/' "$LAB/samples.csv" >row.csv
	run -1 "$HESHARE" profiles import row.csv
	[[ "$output" == 'heshare profiles import: row.csv:900: power_mw'* ]]
	mkdir empty
	run -1 "$HESHARE" profiles import empty
	[[ "$output" == *"empty: no profiles.csv, samples.csv, points.csv or gpu.json in it" ]]
	mkdir twice
	cp "$LAB/samples.csv" twice
	cp "$LAB/samples.csv" twice/profiles.csv
	for verb in "profiles import" train; do
		run -1 "$HESHARE" $verb twice
		[[ "$output" == *"twice/"*": samples, which another file of the folder holds" ]]
	done
	run -1 "$HESHARE" profiles import nothing.csv
	run -2 "$HESHARE" profiles import --when 2026-02-31 "$LAB"
	[[ "$output" == *'--when: "2026-02-31" is no date'* ]]
	[ "$sum" = "$(sha256sum <"$STORE")" ]
}

# measured DIR: a folder as bench/gpu/measure writes it, of one network alone and with itself and another
measured() {
	member=workload,batch_size,precision,sm_share_pct,iterations,iteration_us,cv_pct,memory_mib
	gpu=kind,mechanism,windows,window_s,steady,power_mw,power_integral_mw,sm_clock_mhz,dram_active,sm_active,gpu_util,throttle
	mkdir -p "$1"
	cat >"$1/gpu.json" <<-'EOF'
		{ "format": "heshare measured GPU", "version": 1, "style": "graphs",
		  "gpu": { "name": "Tesla T4", "gpu_type": "T4" }, "idle_power_mw": 10000 }
	EOF
	{
		echo "$member,locked_clock_mhz,$gpu"
		echo "cnn,8,fp16,100,300,5000,0.5,900,,inference,none,3,1.5,1,60000,,1500,0.4,0.8,0.9,4"
		echo "cnn,8,fp16,50,200,7500,0.5,900,,inference,mps,3,1.5,1,45000,,1590,0.3,0.4,0.9,0"
		echo "cnn,8,fp16,100,250,6000,0.5,900,900,inference,mps,3,1.5,1,,40000,900,0.3,0.8,0.9,0"
		echo "cnn,8,tf32,100,150,10000,0.5,900,,inference,mps,3,1.5,1,65000,,1400,0.4,0.8,0.9,4"
		echo "cnn,8,fp32,100,100,15000,9,900,,inference,mps,3,1.5,0,65000,,1400,0.4,0.8,0.9,4"
	} >"$1/solo.csv"
	{
		echo "first_${member//,/,first_},second_${member//,/,second_},$gpu"
		echo "cnn,8,fp16,50,150,10000,1,,cnn,8,tf32,50,100,15000,1,,inference,mps,3,1.5,1,68000,,1300,,,1,4"
		echo "cnn,8,fp16,30,150,10000,1,,cnn,8,fp16,70,200,7500,1,,inference,green,3,1.5,1,68000,,1300,,,1,4"
	} >"$1/pairs.csv"
	{
		echo "group,form,$member,$gpu"
		for job in 1,unpartitioned2,cnn,8,fp16,100,150,10000 1,unpartitioned2,cnn,8,tf32,100,75,20000 \
			2,sequential2,cnn,8,fp16,100,300,5000 2,sequential2,cnn,8,tf32,100,150,10000; do
			echo "$job,1,,inference,mps,3,1.5,1,68000,,1300,,,1,4"
		done
	} >"$1/groups.csv"
}

@test "a folder that bench/gpu/measure wrote is imported, and what is not is named" {
	measured gpu
	mkdir gpu/notes
	touch gpu/sensor.csv gpu/$'a\x1b[31m'
	run -0 "$HESHARE" profiles import gpu
	[ "${lines[0]}" = "gpu: profiles: 2 new, 0 known; samples: 8 new, 0 known; points: 8 new, 0 known" ]
	[ "${lines[1]}" = "gpu: left out: 1 row not steady, 3 rows not shared by MPS" ]
	[ "${lines[2]}" = 'gpu: not read: a\x1b[31m, notes/, sensor.csv' ]
	[ "${#lines[@]}" = 3 ]
	"$HESHARE" profiles show cnn-fp16-graphs --json | jq -e '
		(.profiles == [{gpu_type: "T4", batch_size: 8, iteration_us: 5000, power_w: 60} + (.profiles[0] |
			del(.gpu_type, .batch_size, .iteration_us, .power_w))])
		and ([.points[] | [.sm_pct, .clock_mhz, .co_runners, .power_w]] | sort) == [[50, 0, "", 45],
			[50, 0, "cnn-tf32-graphs/8@50", 68], [100, 0, "", 60], [100, 0, "cnn-tf32-graphs/8@100", 68], [100, 900, "", 40]]'
	run -0 "$HESHARE" profiles import gpu
	[ "${lines[0]}" = "gpu: profiles: 0 new, 2 known; samples: 0 new, 8 known; points: 0 new, 8 known" ]
	"$HESHARE" profiles import gpu --store other.db --json | jq -e '.version == 2 and (.imports[0] |
		.points == {new: 8, known: 0} and .left_out == 4 and .not_read[1:] == ["notes/", "sensor.csv"])'
	# Programs without graphs have other names.
	sed -i 's/"graphs"/"eager"/' gpu/gpu.json
	"$HESHARE" profiles import gpu >/dev/null
	"$HESHARE" profiles list --json | jq -e '[.workloads[].workload] == ["cnn-fp16", "cnn-fp16-graphs", "cnn-tf32", "cnn-tf32-graphs"]'
	# A table alone does not say of which GPU it is.
	run -1 "$HESHARE" profiles import gpu/solo.csv
	[ "$output" = "heshare profiles import: gpu/solo.csv: a table of a measured GPU; give its folder, with gpu.json" ]
}

@test "a folder with points.csv gives them, and what an export wrote comes back whole" {
	measured gpu
	"$HESHARE" profiles import gpu --store a.db >/dev/null
	"$HESHARE" profiles export out --store a.db >/dev/null
	run -0 "$HESHARE" profiles import out --store b.db
	[ "$output" = "out: profiles: 2 new, 0 known; samples: 8 new, 0 known; points: 8 new, 0 known" ]
	"$HESHARE" profiles export again --store b.db >/dev/null
	diff -r out again
	# Points that a file and the tables have are stored once.
	cp out/points.csv gpu
	run -0 "$HESHARE" profiles import gpu --store d.db
	[ "${lines[0]}" = "gpu: profiles: 2 new, 0 known; samples: 8 new, 0 known; points: 8 new, 8 known" ]
	rm out/profiles.csv out/samples.csv
	run -0 "$HESHARE" profiles import out
	[ "$output" = "out: profiles: 2 new, 0 known; samples: 8 new, 0 known; points: 8 new, 0 known" ]
	# Other samples count next to those of points.
	cp "$LAB/week/samples.csv" out
	run -0 "$HESHARE" profiles import out --store c.db
	[ "$output" = "out: profiles: 2 new, 0 known; samples: 248 new, 0 known; points: 8 new, 0 known" ]
}

# wrong FILE OLD NEW TEXT: the folder with OLD replaced by NEW in FILE is refused with TEXT, and nothing is stored
wrong() {
	rm -rf gpu
	measured gpu
	grep -q "$2" "gpu/$1"
	sed -i "s/$2/$3/" "gpu/$1"
	run -1 "$HESHARE" profiles import gpu
	[[ "$output" == "heshare profiles import: gpu"*"$4"* ]] || { echo "$output"; return 1; }
	run -1 "$HESHARE" profiles show cnn-fp16-graphs
}

@test "wrong tables of a measured GPU are refused with file, row and column" {
	"$HESHARE" profiles import "$LAB/week" >/dev/null
	# Other units: seconds, watts, gigahertz, percent.
	wrong solo.csv ',5000,' ',0.005,' '/solo.csv: row 1: iteration_us: 0.005; 300 iterations took 1.5 s, so 5000 is expected'
	wrong pairs.csv ',10000,1,,cnn' ',10,1,,cnn' '/pairs.csv: row 1: iteration_us: 10; '
	wrong groups.csv ',68000,' ',68,' '/groups.csv: row 1: power_mw: 68; T4 is in mW and has '
	wrong solo.csv ',40000,900' ',40,900' '/solo.csv: row 3: power_integral_mw: 40; '
	wrong solo.csv ',1500,0.4' ',1.5,0.4' '/solo.csv: row 1: sm_clock_mhz: 1.5; T4 is in MHz and has '
	wrong solo.csv ',900,900,' ',900,0.9,' '/solo.csv: row 3: locked_clock_mhz'
	wrong solo.csv ',0.4,0.8,' ',40,0.8,' '/solo.csv:2: dram_active'
	wrong solo.csv ',fp16,50' ',half,50' '/solo.csv: row 2: precision: "half"; it must be one of fp16, fp32, tf32'
	wrong pairs.csv ',mps,' ',mig,' '/pairs.csv: row 1: mechanism: "mig"; it must be one of mps, green, none'
	wrong solo.csv ',4$' ',0xZ' '/solo.csv: row 1: throttle: "0xZ"; '
	# A column that is not there, a cell that is, the same point twice, and half a group.
	wrong solo.csv ',steady,' ',stable,' '/solo.csv:1: no column "steady"'
	wrong pairs.csv '^cnn' '' '/pairs.csv:2: first_workload'
	wrong solo.csv ',tf32,100,150,10000' ',fp16,50,200,7500' '/solo.csv: row 4: cnn-fp16-graphs/8@50 at 0 MHz, mps: row 2 has it, too'
	wrong groups.csv '^2,sequential2,cnn,8,tf32' '1,sequential2,cnn,8,tf32' '/groups.csv: row 1: form: "unpartitioned2"; row 4 of the same group has "sequential2"'
	wrong groups.csv '^1,unpartitioned2' '1,unpartitioned3' '/groups.csv: row 1: group 1 needs 3 members and has 2 rows'
	# Another GPU, a recording, and no document.
	wrong gpu.json '"T4"' '"T5"' '/gpu.json: gpu_type: unknown GPU type "T5"'
	wrong gpu.json '"style"' '"test": true, "style"' '/gpu.json: test: true, so this is a recording and no measured GPU'
	wrong gpu.json '"version": 1,' '' '/gpu.json: version: this program reads version 1'
	wrong gpu.json '{ "format"' '"format"' '/gpu.json:1: not JSON'
}

@test "empty files of a measured GPU are refused, tables without rows are not" {
	measured gpu
	: >gpu/solo.csv
	run -1 "$HESHARE" profiles import gpu
	[[ "$output" == "heshare profiles import: gpu/solo.csv: "* ]]
	rm gpu/solo.csv
	# Nothing was measured of pairs yet: the groups count.
	sed -i 1q gpu/pairs.csv
	run -0 "$HESHARE" profiles import gpu
	[[ "$output" == "gpu: profiles: 0 new, 0 known; samples: 0 new, 0 known; points: 2 new, 0 known"* ]]
	sed -i 1q gpu/groups.csv
	run -1 "$HESHARE" profiles import gpu
	[ "$output" = "heshare profiles import: gpu: no rows in solo.csv, pairs.csv or groups.csv" ]
	head -1 "$LAB/samples.csv" >gpu/samples.csv
	run -1 "$HESHARE" profiles import gpu
	[[ "$output" == "heshare profiles import: gpu/samples.csv: no samples below the header" ]]
	: >gpu/gpu.json
	rm gpu/samples.csv
	run -1 "$HESHARE" profiles import gpu
	[[ "$output" == "heshare profiles import: gpu/gpu.json:1: not JSON: "* ]]
}

@test "wrong usage gives exit status 2" {
	run -2 "$HESHARE" profiles lst
	[[ "$output" == *'nothing called "lst" (did you mean list?)'* ]]
	run -2 "$HESHARE" profiles show
	[[ "$output" == *"usage: heshare profiles show WORKLOAD" ]]
	run -2 "$HESHARE" profiles list more
	run -2 "$HESHARE" train --from-store "$LAB"
	[[ "$output" == *"--from-store takes no operand, but "* ]]
	run -2 "$HESHARE" train "$LAB" --with-modelled
}

@test "a file that is no store, and a damaged one, are refused and left as they are" {
	for file in "$LAB/samples.csv" damaged; do
		if [ $file = damaged ]; then
			"$HESHARE" profiles import --store damaged "$LAB" >/dev/null
			dd if=/dev/zero of=damaged bs=4096 seek=20 count=3 conv=notrunc status=none
		fi
		sum="$(sha256sum <"$file")"
		run -1 "$HESHARE" profiles import --store "$file" "$LAB/week"
		[[ "$output" == *"not a store"* || "$output" == *"damaged"* ]]
		[ "$sum" = "$(sha256sum <"$file")" ]
	done
}

@test "a store that would never answer is refused" {
	endless='WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c)'
	"$HESHARE" profiles import --store s.db "$LAB/week" >/dev/null
	cp s.db view.db
	sqlite3 view.db "ALTER TABLE points RENAME TO p; CREATE VIEW points AS $endless SELECT i AS id, 1 AS origin_id FROM c"
	run -1 timeout 20 "$HESHARE" profiles list --store view.db
	[ "$output" = "heshare profiles list: view.db: not a store: it has a view points, which no store of heshare's has" ]
	cp s.db trigger.db
	sqlite3 trigger.db "CREATE TABLE t (x); CREATE TRIGGER r AFTER INSERT ON origins BEGIN INSERT INTO t SELECT i FROM (SELECT 1 AS i); UPDATE origins SET at_us =
		(SELECT count(*) FROM profiles a, profiles b, samples c, samples d, samples e, samples f); END"
	run -1 timeout 20 "$HESHARE" profiles import --store trigger.db "$LAB"
	[ "$output" = "heshare profiles import: trigger.db: not a store: it has a trigger r, which no store of heshare's has" ]
	# Without its indexes, and with rows that belong to no delivery.
	cp s.db slow.db
	sqlite3 slow.db "DROP INDEX profiles_by_origin; DROP INDEX samples_by_origin;
		INSERT INTO origins (at_us, source, name) WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 2000000) SELECT 0, 'imported', '' FROM c"
	run -1 timeout 60 "$HESHARE" profiles list --store slow.db
	[[ "$output" == "heshare profiles list: slow.db: a query took more than "*" steps"* ]]
}

# On a real H100 a job starts for 4 to 13 s; plans without it missed the mean completion by a half.
@test "points of an H100 and the start-ups of jobs alone predict the run of a plan there within 15 %" {
	data=$HES_SOURCE_ROOT/data/measured/h100-80gb-hbm3/run
	awk -F, -v OFS=, 'NR == FNR { if ($1 == "exclusive") { sum[$3] += $9; n[$3]++ }; next }
		FNR == 1 { print $0, "start_s"; next }
		{ print $0, $1 in n && $6 == "" ? sum[$1] / n[$1] : "" }' "$data/attempts.csv" "$data/points.csv" >points.csv
	run -0 "$HESHARE" profiles import points.csv
	[ "$output" = "points.csv: profiles: 4 new, 0 known; samples: 20 new, 0 known; points: 20 new, 0 known" ]
	printf 'name: h\nnodes:\n  - name: here\n    gpus: [ { type: H100-SXM, count: 1 } ]\n' >fleet.yaml
	printf '#!/bin/sh\ncat >/dev/null\ncat "%s"\n' "$data/plan-heshare.json" >same
	chmod +x same
	"$HESHARE" plan "$data/jobs.csv" --fleet fleet.yaml --policy exec:./same -o plan.json 2>/dev/null
	jq -e --slurpfile run "$data/run-heshare.json" '$run[0].measured as $m |
		[.predicted.avg_jct_us / 1e6 / $m.avg_jct_s, .predicted.busy_energy_j / $m.busy_j] |
		all(. > 0.85 and . < 1.15)' plan.json
}

@test "a store whose disk is full keeps what it has" {
	mkdir disk
	cat >full.sh <<-'EOF'
		mount -t tmpfs -o size=450k none "$PWD/disk" && cd "$PWD/disk" || exit 77
		"$HESHARE" profiles import --store s.db "$LAB/week"
		"$HESHARE" profiles import --store s.db "$LAB" && exit 1
		"$HESHARE" profiles export --store s.db ../out
	EOF
	unshare -rm sh -c 'mount -t tmpfs none "$PWD/disk"' 2>/dev/null ||
		skip "no file system can be mounted here"
	run -0 unshare -rm sh full.sh
	[[ "$output" == *"s.db: no room left on its disk; nothing was changed"* ]]
	cmp "$LAB/week/samples.csv" out/samples.csv
}

@test "importers killed at any moment lose nothing that they reported" {
	head -1 "$LAB/samples.csv" >header
	for i in $(seq 20); do
		{ cat header; sed -n "$((50 * i - 48)),$((50 * i + 1))p" "$LAB/samples.csv"; } >"part$i.csv"
	done
	for seed in 1 2 3 4 5 6 7 8 9 10; do
		rm -rf s.db*
		"$HESHARE" profiles import --store s.db part*.csv >reported 2>/dev/null &
		pid=$!
		sleep "$(awk -v s=$seed 'BEGIN { srand(s); printf "%.3f", 0.002 + 0.05 * rand() }')"
		kill -KILL $pid 2>/dev/null || true
		wait $pid || true
		sed -n 's/: profiles: 0 new.*//p' reported >names
		[ -s names ] || continue
		xargs "$HESHARE" profiles import --store s.db --json <names |
			jq -e '.imports | all(.samples == {new: 0, known: 50})' >/dev/null
		"$HESHARE" profiles import --store s.db part*.csv >/dev/null
		"$HESHARE" profiles list --store s.db --json |
			jq -e '(.workloads | map(.samples) | add) == 1000' >/dev/null
	done
}
