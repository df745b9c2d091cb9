"$HESHARE" trace helios-like --jobs 60 --seed 1
