#!/bin/sh
# Make data/traces/demo.csv again: 60 jobs from the generator fitted to Helios, in
# HeShare's setting. To be run when the model, the profile or the drawing changed.
#
#   tools/make_demo_trace.sh [OUTPUT]
#
# HESHARE names the program; else the one in build/ is taken.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
heshare=${HESHARE:-$root/build/src/cli/heshare}
exec "$heshare" trace helios-like --jobs 60 --seed 2026 --output "${1:-$root/data/traces/demo.csv}"
