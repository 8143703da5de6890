# `make` alone explains itself. CI calls these targets and nothing else.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# Times mean the same on every machine.
export TZ := UTC

PYTHON_IN_VENV := .venv/bin/python
AS_OF ?= 2026-11-21T00:00:00Z
ARGS ?=

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## create .venv and fetch the Delta jars; does nothing when up to date
	@tools/setup

.PHONY: fast-start
fast-start: setup ## once per machine: jobs start some seconds sooner from then on (a minute or two, 210 MB)
	@tools/fast_start

.PHONY: run
run: setup samples ## the nightly job on the sample log (AS_OF=... for another moment)
	@./spark-submit.sh jobs/nightly.py --config conf/local.yaml --as-of $(AS_OF) $(ARGS)

# The sample log is made, not kept; the other folders in samples are kept by hand.
SAMPLE_LOG := samples/generated

# The stamp is written last: half a log is made again.
.PHONY: samples
samples: $(SAMPLE_LOG)/.made ## make the sample log, if it is missing or its generator changed

$(SAMPLE_LOG)/.made: jobs/generate_log.py $(wildcard pipelines/generate/*.py samples/documentation/*) | setup
	@rm -rf $(SAMPLE_LOG)
	@./spark-submit.sh jobs/generate_log.py --preset sample --out $(SAMPLE_LOG)
	@touch $@
	@if [ -e warehouse ]; then echo "make: the sample log is new; make clean removes the tables of the old one" >&2; fi

.PHONY: test
test: setup ## all tests (ARGS="-k name" for some)
	@$(PYTHON_IN_VENV) -m pytest --ignore=tests/jobs --ignore=tests/cluster --ignore=tests/airflow --ignore=tests/s3 $(ARGS)

.PHONY: test-nights
test-nights: setup ## whole nights in a row, rerun, backfilled and killed (long)
	@$(PYTHON_IN_VENV) -m pytest tests/jobs $(ARGS)

.PHONY: test-fast
test-fast: setup ## the tests that are not marked slow
	@$(PYTHON_IN_VENV) -m pytest --ignore=tests/jobs --ignore=tests/cluster --ignore=tests/airflow --ignore=tests/s3 -m "not slow" $(ARGS)

.PHONY: cluster-run
cluster-run: setup samples ## the nightly job on a cluster of two workers on this machine
	@$(PYTHON_IN_VENV) -m tools.local_cluster ./spark-submit.sh jobs/nightly.py --config conf/local.yaml \
	  --as-of $(AS_OF) $(ARGS) --spark $(SMALL_CLUSTER)

# What a user of a small cluster says; conf/spark/cluster.conf leaves it to the cluster.
SMALL_CLUSTER := --conf spark.sql.shuffle.partitions=8 --conf spark.ui.enabled=false \
  --conf spark.sql.sources.parallelPartitionDiscovery.parallelism=4

.PHONY: cluster-test
cluster-test: setup ## the nightly job on a real standalone cluster, against one machine
	@$(PYTHON_IN_VENV) -m pytest tests/cluster $(ARGS)

.PHONY: s3-test
s3-test: setup ## a night on an S3 server on loopback (fetches 690 MB of jars the first time)
	@$(PYTHON_IN_VENV) -m pytest tests/s3 $(ARGS)

# Airflow needs other versions of many packages, so it has an environment of its own.
AIRFLOW_PYTHON := .venv-airflow/bin/python

.PHONY: airflow-setup
airflow-setup: setup ## create .venv-airflow; does nothing when up to date
	@tools/airflow/setup

.PHONY: airflow-test
airflow-test: airflow-setup ## load the DAG, and run two nights and a backfill with Airflow
	@$(AIRFLOW_PYTHON) -m pytest --noconftest tests/airflow/test_dag_file.py
	@$(PYTHON_IN_VENV) -m pytest tests/airflow/test_nights.py $(ARGS)

.PHONY: airflow-lock
airflow-lock: ## pin the dependencies of Airflow anew (needs uv)
	@uv pip compile tools/airflow/requirements.in --python-version 3.11 --universal --fork-strategy fewest \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet \
	  --output-file tools/airflow/requirements.lock

.PHONY: bench
bench: setup ## measure the pipeline against DuckDB and against nothing (minutes; ARGS="--help" for more)
	@$(PYTHON_IN_VENV) -m benchmarks $(ARGS)

.PHONY: notebooks
notebooks: setup ## run the notebooks on the warehouse of make run, into build/notebooks
	@$(PYTHON_IN_VENV) tools/notebooks.py $(ARGS)

.PHONY: report
report: setup ## write build/report.html, the page about the last night of make run
	@mkdir -p build
	@./spark-submit.sh jobs/report.py --config conf/local.yaml --out build/report.html $(ARGS)

.PHONY: lint
lint: setup ## style and likely mistakes
	@$(PYTHON_IN_VENV) -m ruff check .
	@$(PYTHON_IN_VENV) -m ruff format --check .

.PHONY: lint-rules
lint-rules: setup ## what is wrong with the rules of conf/local.yaml (ARGS="--static" without a warehouse)
	@./spark-submit.sh jobs/lint_rules.py --config conf/local.yaml $(ARGS)

.PHONY: types
types: setup ## type checks of the packages
	@$(PYTHON_IN_VENV) -m mypy

.PHONY: format
format: setup ## format the code and fix what can be fixed
	@$(PYTHON_IN_VENV) -m ruff check --fix .
	@$(PYTHON_IN_VENV) -m ruff format .

.PHONY: docs
docs: setup ## write docs/data-dictionary.md from the schemas
	@mkdir -p docs build
	@$(PYTHON_IN_VENV) -m schemas.dictionary > build/data-dictionary.md
	@mv build/data-dictionary.md docs/data-dictionary.md

.PHONY: lock
lock: ## pin the dependencies of pyproject.toml anew in requirements.lock (needs uv)
	@uv pip compile pyproject.toml --group dev --group build --group bench --group notebooks --group connect --group s3 \
	  --universal --fork-strategy fewest \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet --output-file requirements.lock

.PHONY: clean
clean: ## remove the sample log, tables, zips and caches; the environment stays
	@rm -rf build $(SAMPLE_LOG) warehouse spark-warehouse metastore_db derby.log
	@rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -not -path './.venv*' -prune -exec rm -rf {} +
