# Two commands on a fresh machine with git, make and python3: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --require-hashes
export OMP_NUM_THREADS := 1

.PHONY: demo test test-all lint format docs size bench crash mutate requirements schema clean

demo: $(VENV)/.demo ## handwritten digits from the raw file to a model in production, on this machine
	@PATH="$(CURDIR)/$(BIN):$$PATH" examples/demo.sh

test: $(VENV)/.dev lint ## style, types, floors, and every quick test
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not heavy"

test-all: $(VENV)/.dev $(VENV)-sources/.ours docs size bench ## what takes longer: heavy tests, the site, the size, the benchmarks
	TW_TEST_SOURCES="$(abspath $(VENV)-sources)" $(BIN)/python -m pytest -m heavy

lint: $(VENV)/.dev
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/mypy
	$(BIN)/mypy tests --exclude "^tests/conftest.py" --allow-untyped-defs --allow-incomplete-defs --allow-untyped-calls --allow-any-generics --no-warn-return-any
	$(BIN)/lint-imports --no-logo

format: $(VENV)/.dev
	$(BIN)/ruff check --quiet --fix .
	$(BIN)/ruff format --quiet .

docs: $(VENV)/.dev ## the site, strictly: a broken link fails
	$(BIN)/python docs/generate.py
	$(BIN)/mkdocs build --quiet --strict --site-dir build/site

size: ## the base install in a fresh environment: at most 150 MB and 40 packages
	$(PYTHON) bench/size.py

bench: $(VENV)/.dev $(VENV)-dvc/.made ## every benchmark, quickly; each prints JSON last
	$(BIN)/python bench/startup.py --quick
	$(BIN)/python bench/step_overhead.py --quick
	$(BIN)/python bench/step_overhead.py --quick --function --imports pandas
	$(BIN)/python bench/log_overhead.py --quick
	$(BIN)/python bench/large_graph.py --quick
	$(BIN)/python bench/query.py --quick
	$(BIN)/python bench/sched_scale.py --quick
	$(BIN)/python bench/simulate.py --quick
	$(BIN)/python bench/sched_queue.py --quick
	$(BIN)/python bench/dataset.py --quick --dvc $(VENV)-dvc/bin/dvc

crash: $(VENV)/.dev ## kill engine, supervisor and runner at every point; SEEDED=1: three bugs must be found
	$(BIN)/python tests/crash/run.py $(if $(SEEDED),--seeded)

mutate: $(VENV)/.dev ## change one thing at a time in the scheduler: a test must notice; takes an hour
	$(BIN)/python tests/mutation/mutate.py

requirements: ## pin anew; needs uv
	requirements/compile.sh

clean:
	rm -rf build $(VENV) $(VENV)-* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# The stamp comes last: an environment whose making was killed is made anew, not taken for a whole one.
$(VENV)/.made:
	$(PYTHON) -m venv --clear $(VENV)
	touch $@

$(VENV)/.demo: $(VENV)/.made requirements/demo.txt pyproject.toml
	$(PIP) -r requirements/demo.txt
	$(BIN)/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.made requirements/dev.txt pyproject.toml
	$(PIP) -r requirements/dev.txt
	$(BIN)/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation --editable .
	touch $@ $(VENV)/.demo

# Engines and peers that heavy tests and benchmarks use, each in an environment of its own.
$(VENV)-%/.made: requirements/%.txt pyproject.toml $(VENV)/.dev
	$(BIN)/uv venv --quiet --clear --no-project --python $(BIN)/python $(VENV)-$*
	$(BIN)/uv pip sync --quiet --require-hashes --python $(VENV)-$* requirements/$*.txt
	touch $@

$(VENV)-sources/.ours: $(VENV)-sources/.made
	$(BIN)/uv pip install --quiet --no-deps --no-build-isolation --python $(VENV)-sources --editable .
	touch $@
