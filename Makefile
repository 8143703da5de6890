# `make` alone explains itself. CI calls these targets and nothing else.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# Times mean the same on every machine.
export TZ := UTC
# Python keeps what it has compiled. Many containers forbid that; then each process compiles pandas anew, for a second.
unexport PYTHONDONTWRITEBYTECODE

PYTHON_IN_VENV := .venv/bin/python
AS_OF ?= 2026-11-21T00:00:00Z
ARGS ?=

# spark: Apache Spark. embedded: Sail, in the process of the command, without Java. The same commands, the same tables.
# Where none is named it is the one that make setup has installed, and spark before the first make setup.
INSTALLED := $(firstword $(shell cat .venv/.setup 2>/dev/null))
ENGINE ?= $(or $(INSTALLED),spark)
ifeq ($(filter $(ENGINE),spark embedded),)
$(error ENGINE=$(ENGINE) is no engine; write ENGINE=spark or ENGINE=embedded)
endif
# What is started says itself which engine it is on.
unexport ENGINE
# These are about Apache Spark, whatever the environment says.
cluster-run cluster-test s3-test test-spark attack-spark airflow-setup airflow-test bench: ENGINE := spark

PRIORITIES := .venv/bin/priorities
# $(call RUN,lint,lint_rules): what runs a command on the engine; its file in jobs/ is named where it is another.
ifeq ($(ENGINE),embedded)
RUN = $(PRIORITIES) $(1)
else
RUN = ./spark-submit.sh jobs/$(or $(2),$(1)).py
endif

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## create .venv and fetch Delta's jars, or ENGINE=embedded without Java; does nothing when up to date
	@tools/setup $(ENGINE)

.PHONY: driver
driver: setup ## install Microsoft's driver, for priorities capture, from the lock; make setup leaves it out
	@tools/setup driver

.PHONY: run
run: setup samples ## a night on the sample log (AS_OF=... for another moment)
	@$(call RUN,nightly) --config conf/local.yaml --as-of $(AS_OF) $(ARGS)

.PHONY: capture-run
capture-run: AS_OF := 2026-11-24T07:30:00Z
capture-run: setup ## a night on captures of servers alone, pipelines/capture/sample
	@$(call RUN,nightly) --config conf/capture.yaml --as-of $(AS_OF) $(ARGS)

# The sample log is made, not kept; the other folders in samples are kept by hand.
SAMPLE_LOG := samples/generated

# The stamp is written last: half a log is made again.
.PHONY: samples
samples: $(SAMPLE_LOG)/.made ## make the sample log, if it is missing or its generator changed

$(SAMPLE_LOG)/.made: dev/generate_log.py \
  $(wildcard dev/generator/*.py conf/catalog.yaml conf/rules/* samples/documentation/*) | setup
	@rm -rf $(SAMPLE_LOG)
	@$(PYTHON_IN_VENV) -m dev.generate_log --preset sample --out $(SAMPLE_LOG)
	@touch $@
	@if [ -e warehouse ]; then echo "make: the sample log is new; make clean removes the tables of the old one" >&2; fi

# Two files at a time, each in a process with an engine of its own; ARGS="-n 0" for a debugger. A pytest that chose
# no test ends with 5.
PYTEST_ALONE := $(PYTHON_IN_VENV) -m pytest -n 2 --dist loadscope
PYTEST := $(PYTEST_ALONE) \
  --ignore=tests/cluster --ignore=tests/airflow --ignore=tests/s3 --ignore=tests/attack --ignore=tests/engines

.PHONY: test
test: setup ## the tests but the long ones, on the embedded engine (ARGS="-k name" for some)
	@$(PYTEST) -m "not long" $(ARGS) || [ $$? -eq 5 ]

.PHONY: test-long test-spark
test-long: setup ## the tests that take eight seconds or more, which make test leaves out
	@$(PYTEST) -m long $(ARGS)

# A process speaks to one engine: the tests are on Apache Spark, and start the embedded engine beside it.
test-spark: setup ## both engines compared, and Apache Spark alone (half an hour with one input, PLAYED=nasty)
	@TEST_ENGINE=spark $(if $(PLAYED),PLAYED="$(PLAYED)") $(PYTEST_ALONE) \
	  tests/engines tests/storage/inputs/test_read.py $(ARGS)

.PHONY: test-fast
test-fast: setup ## the tests that are marked neither slow nor long, on the embedded engine
	@$(PYTEST) -m "not slow and not long" $(ARGS)

.PHONY: attack attack-spark
attack: setup ## try what may happen to a night: kills, bad files, hostile names, damaged tables (half an hour)
	@ATTACK=1 $(PYTEST_ALONE) tests/attack tests/commands/test_kill.py $(ARGS)

attack-spark: setup ## the same on Apache Spark (hours)
	@TEST_ENGINE=spark $(PYTEST_ALONE) tests/attack $(ARGS)

.PHONY: test-without-java
test-without-java: ## in a clone of its own with Java hidden: set up, make run and make test, ENGINE=embedded
	@tools/without_java setup run test

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
	@TEST_ENGINE=spark $(PYTHON_IN_VENV) -m pytest tests/s3 $(ARGS)

# Airflow needs other versions of many packages, so it has an environment of its own.
AIRFLOW_PYTHON := .venv-airflow/bin/python

.PHONY: airflow-setup
airflow-setup: setup ## create .venv-airflow; does nothing when up to date
	@tools/airflow/setup

.PHONY: airflow-test
airflow-test: airflow-setup ## load the DAG, and run a night and a backfill with Airflow
	@$(AIRFLOW_PYTHON) -m pytest --noconftest tests/airflow/test_dag_file.py
	@$(PYTHON_IN_VENV) -m pytest tests/airflow/test_nights.py $(ARGS)

.PHONY: airflow-lock
airflow-lock: setup ## pin the dependencies of Airflow anew
	@$(PYTHON_IN_VENV) -m uv pip compile tools/airflow/requirements.in --python-version 3.11 --universal --fork-strategy fewest \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet \
	  --output-file tools/airflow/requirements.lock

.PHONY: bench
bench: setup ## measure nights on both engines beside DuckDB (minutes; CASE=backlog; ARGS="--help" for more)
	@$(PYTHON_IN_VENV) -m dev.benchmarks $(if $(CASE),--case $(CASE)) $(ARGS)

.PHONY: notebooks
notebooks: setup ## run the notebooks on the warehouse of make run, into build/notebooks
	@$(PYTHON_IN_VENV) tools/notebooks.py $(ARGS)

.PHONY: report
report: setup ## write build/report.html, the page about the last night of make run
	@mkdir -p build
	@$(call RUN,report) --config conf/local.yaml --out build/report.html $(ARGS)

.PHONY: lint
lint: setup ## style and likely mistakes
	@$(PYTHON_IN_VENV) -m ruff check .
	@$(PYTHON_IN_VENV) -m ruff format --check .

.PHONY: lint-rules
lint-rules: setup ## what is wrong with the rules of conf/local.yaml (ARGS="--static" without a warehouse)
	@$(call RUN,lint,lint_rules) --config conf/local.yaml $(ARGS)

.PHONY: types
types: setup ## type checks of the packages
	@$(PYTHON_IN_VENV) -m mypy

.PHONY: format
format: setup ## format the code and fix what can be fixed
	@$(PYTHON_IN_VENV) -m ruff check --fix .
	@$(PYTHON_IN_VENV) -m ruff format .

.PHONY: docs
docs: setup ## write docs/data-dictionary.md from schemas, reasons and views, and docs/findings.md from the causes
	@$(PYTHON_IN_VENV) -m dev.pages

.PHONY: package
package: setup ## write the wheel of the command and its packages to build/
	@rm -rf build/lib build/bdist.* build/*.whl
	@$(PYTHON_IN_VENV) -m pip wheel --quiet --no-deps --no-index --no-build-isolation --wheel-dir build .
	@rm -rf build/lib build/bdist.*
	@ls build/*.whl

.PHONY: schemas
schemas: setup ## write the JSON Schemas of settings, catalog and rules from their models
	@$(PYTHON_IN_VENV) -m pipelines.settings.json_schema

.PHONY: lock
lock: setup ## pin the dependencies of pyproject.toml anew in requirements.lock
	@$(PYTHON_IN_VENV) -m uv pip compile pyproject.toml --extra spark --extra embedded --extra capture --extra notebooks \
	  --group dev --group build --group bench --group s3 --universal --fork-strategy fewest \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet --output-file requirements.lock

.PHONY: clean
clean: ## remove the sample log, tables, zips and caches; the environment stays
	@rm -rf build $(SAMPLE_LOG) warehouse spark-warehouse metastore_db derby.log
	@rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -not -path './.venv*' -prune -exec rm -rf {} +
