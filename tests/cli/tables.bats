#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# Tables of all commands with names of 30 and 40 characters, wide ones among them: no line is wider
# than the terminal, and columns line up.

GPU=a-node-of-twenty-eight-chars
JOB=a-job-whose-name-has-forty-characters-00
WIDE=訓練訓練訓練

setup_file() {
	cd "$BATS_FILE_TMPDIR"
	printf 'name: long\nnodes:\n  - name: %s\n    gpus: [ { type: A100-SXM-80, count: 1 }, { type: T4, count: 1 } ]\n  - name: %s\n    gpus: [ { type: T4, count: 1 } ]\n' \
		"$GPU" "b$GPU" >long.yaml
	printf 'name: two\nnodes:\n  - name: %s\n    gpus: [ { type: A100-SXM-80, count: 1 }, { type: T4, count: 1 } ]\n' \
		"$GPU" >lab.yaml
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib\n%s,0,resnet34,8,1500,1813\n%s,0,resnet18,4,1500,1194\nc,0,mobilenet,4,1500,1266\n' \
		"$JOB" "$WIDE" >jobs.csv
	cat >check.py <<-'END'
		import re, sys, unicodedata
		KEYS = "SM %|[0-9]+ runs|GPU|gpu|type|job|policy|workload|run|no\\.|tenant|quantile %|GPUs|error, %"
		def wide(text):
		    return sum(0 if unicodedata.combining(c) else
		        1 + (unicodedata.east_asian_width(c) in "WF") for c in text)
		def cells(line):
		    """Which columns of the terminal are not blank."""
		    return [c != " " for c in line for _ in range(wide(c))]
		width, tables, heading, rows = int(sys.argv[1]), 0, None, []
		def check():
		    ends = [(m.start(), m.end()) for m in re.finditer(r"\S+( \S+)*", heading)]
		    for (start, _), (_, end) in zip(ends, ends[1:]):
		        assert any(not any(c < len(r) and r[c] for r in rows)
		            for c in range(start, end)), f"columns are not apart: {heading}"
		for line in sys.stdin.read().split("\n") + [""]:
		    row = re.search(r"\S  +\S", line)
		    assert not (row and wide(line) > width), f"{wide(line)} columns: {line}"
		    if heading and not line:
		        check()
		        heading, rows = None, []
		    if heading and row:
		        rows.append(cells(line))
		    elif re.match(rf" *({KEYS}) [^:]*$", line):
		        # Columns that just fit are one blank apart: nothing tells them from words.
		        heading, tables = line if row else None, tables + 1
		assert tables >= int(sys.argv[2]), f"{tables} tables"
	END
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	PATH=$(dirname "$HESHARE"):$PATH
	F=$BATS_FILE_TMPDIR
	export HESHARE_STORE=$PWD/store.db
}

fits() { # TABLES COMMAND...: at least so many tables, which fit
	local tables=$1 width
	shift
	for width in 80 57; do
		COLUMNS=$width "$@" >printed 2>&1 || { cat printed; return 1; }
		python3 "$F/check.py" "$width" "$tables" <printed || { cat printed; return 1; }
	done
}

@test "tables of plans, replays, models and traces fit with long names" {
	fits 1 heshare gpus --fleet "$F/long.yaml"
	fits 1 heshare gpus --types
	fits 1 heshare plan "$F/jobs.csv" -f "$F/long.yaml" --policy heshare
	fits 1 heshare simulate "$F/jobs.csv" -f "$F/long.yaml" -p exclusive,heshare --wide --seeds 1..3
	fits 2 heshare simulate "$F/jobs.csv" -f "$F/long.yaml" -p exclusive,heshare --model-draws 3
	fits 1 heshare simulate "$F/jobs.csv" "$F/jobs.csv" -f "$F/long.yaml" -p exclusive,heshare
	fits 2 heshare model --list
	fits 1 heshare model resnet50 --co-runners vgg19:8:50
	fits 1 heshare partition resnet50/16 bert-large/8 --modelled
	cut -d, -f1,3-6 "$F/jobs.csv" | sed '1s/.*/id,workload,batch_size,iterations,memory_mib/' >p.csv
	fits 1 heshare partition --jobs p.csv --fleet "$F/long.yaml" --modelled
	fits 2 heshare trace helios-like --stats
	fits 1 heshare fair slices --interval 30 --power 2,3,8
}

@test "tables of runs, measurements and stores fit with long names" {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	export F GPU JOB WIDE
	export -f fits
	heshare plan "$F/jobs.csv" -f "$F/lab.yaml" --policy heshare -o plan.json >/dev/null
	run -0 "$HES_LAB" --fleet "$F/lab.yaml" --speed 100 -- bash -euc '
		fits 1 heshare gpus
		fits 1 heshare measure -- true
		fits 1 heshare measure --runs 2 -- true
		fits 2 heshare run plan.json --restart -c "vgpu-task --workload {workload} --batch {batch} --iterations {iterations}"
		fits 1 heshare status
		# The jobs may be too short for samples.
		heshare profile --modelled --types T4 --samples 20 -o rows >/dev/null
		heshare profiles import rows >/dev/null
		fits 2 heshare profiles list
	'
}
