#!/usr/bin/env bash
# The five-minute story of trainwright, on real data and this machine. Started by `make demo`.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n== %s\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@"; }

say "1. Train a model of handwritten digits through the six standard stages"
show tw run examples/digits/pipeline.yaml

say "2. Its checks have passed: put it into production"
show tw model promote digits@candidate --reason "first good model" || test $? -eq 1

say "3. A worse model (one epoch) is refused by its gate against production"
code=0
show tw run examples/digits/pipeline.yaml -p epochs=1 || code=$?
test "$code" -eq 7 || { echo "the gate should have refused it with exit code 7, not $code" >&2; exit 1; }

say "4. A parameter outside its range is refused before anything is queued"
code=0
show tw run examples/digits/pipeline.yaml -p C=5000 || code=$?
test "$code" -eq 3 || { echo "it should have been refused with exit code 3, not $code" >&2; exit 1; }

say "5. Penguins, with missing values; two models are trained in parallel"
show tw run examples/penguins/pipeline.yaml

say "6. Where does the model in production come from?"
show tw lineage models/digits@production

say "7. What there is now"
show tw ps -n 4
show tw model ls
say "Look around: .venv/bin/tw show -1, tw why -2, tw compare -3 -2, tw doctor"
