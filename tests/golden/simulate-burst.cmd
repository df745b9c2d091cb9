"$HESHARE" simulate "$ROOT/tests/golden/data/jobs.csv" --fleet "$ROOT/tests/golden/data/fleet.yaml" --policy all --burst --no-timing
