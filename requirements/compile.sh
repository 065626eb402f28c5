#!/usr/bin/env bash
# Pins every requirement with hashes and without addresses. Needs uv; run by `make requirements`.
set -euo pipefail
cd "$(dirname "$0")/.."
pin() { uv pip compile --quiet --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-header "$@"; }
pin pyproject.toml requirements/dev.in requirements/docs.in -o requirements/dev.txt
pin pyproject.toml -c requirements/dev.txt -o requirements/base.txt
pin pyproject.toml requirements/demo.in -c requirements/dev.txt -o requirements/demo.txt
pin pyproject.toml requirements/sources.in -o requirements/sources.txt
pin requirements/dvc.in -o requirements/dvc.txt
