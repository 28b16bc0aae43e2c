# The two commands: `make demo` and `make test`. Everything else is for those who change something.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready

.PHONY: demo test lint crds docs grammar conformance fuzz hostile soak e2e assets bench image lock clean help

help:  ## this list
	@sed -n 's/^\([a-z0-9]*\):.*## /\1\t/p' Makefile | sort | expand -t 14

$(READY): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV) || { echo "needs Python 3.11+ with venv (Debian: apt-get install python3-venv)" >&2; exit 1; }
	$(PY) -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(PY) -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

demo: $(READY)  ## start the gate on loopback and send it real AdmissionReviews
	$(VENV)/bin/modelgate demo

test: $(READY)  ## all tests; with MODELGATE_E2E=require also those on a real API server
	$(PY) -m pytest

lint: $(READY)  ## ruff, mypy --strict, import contracts
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

crds: $(READY)  ## definitions that embed types of Kubernetes, from policies/*/crds/src; and how its own kinds merge
	$(PY) -m tools.crds

grammar: $(READY)  ## the tables of the CEL grammar, made from webhook/cel/syntax/cel.lark
	$(PY) -m webhook.cel.syntax.grammar

docs: $(READY)  ## the tables of docs/rules, and docs/coverage.md, samples.md and crds.md, made from the data
	$(PY) -m tools.rules
	$(PY) -m tools.coverage

conformance: $(READY)  ## Kubernetes' own tables (../shared/corpora) against our schema and CEL engines
	$(PY) -m tests.conformance

N ?= 20000
fuzz: $(READY)  ## N random schemas, objects, reviews and connections: against the API server's own code, and for crashes
	$(PY) -m tests.fuzz -n $(N)

HOSTILE ?=
hostile: $(READY)  ## what hostile callers can do to a gate with one core and 512 MiB, against bars; options in HOSTILE
	$(PY) -m tests.hostile $(HOSTILE)

MINUTES ?= 60
soak: $(READY)  ## a gate under mixed load for MINUTES: slope of its memory, and its descriptors
	$(PY) -m tests.hostile.soak --minutes $(MINUTES)

assets: $(READY)  ## build etcd, kube-apiserver, kubelet … once, into a cache outside the checkout
	$(PY) -m tests.e2e.assets node

e2e: assets  ## a real API server, and a real one-node cluster with our image and chart
	MODELGATE_E2E=require $(PY) -m pytest tests/e2e

bench: $(READY)  ## requests per second, and microseconds per stage
	$(PY) -m tests.bench

image:  ## build the container image with docker, podman or buildah
	.ci/image

lock: $(READY)  ## bring the lock files up to date with pyproject.toml
	$(PY) -m pip install -q uv
	$(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --upgrade \
		pyproject.toml -o requirements/run.txt
	$(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --upgrade \
		--group build -o requirements/build.txt
	$(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --upgrade \
		pyproject.toml --group build --group dev --group bench -o requirements/dev.txt

clean:  ## remove the virtual environment and whatever else was made here
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
