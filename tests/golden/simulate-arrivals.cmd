"$HESHARE" simulate "$ROOT/tests/golden/data/jobs.csv" --fleet "$ROOT/tests/golden/data/fleet.yaml" --policy all --seeds 1..2 --json --no-timing
