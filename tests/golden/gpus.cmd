"$HESHARE" gpus --fleet "$ROOT/data/fleets/heshare.yaml" --json
