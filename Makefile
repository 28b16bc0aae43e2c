# Start with `make demo` and `make test`. The other targets are for development.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready

.PHONY: demo test lint crds docs grammar conformance fuzz e2e assets bench image lock clean help

help:  ## list the targets
	@sed -n 's/^\([a-z0-9]*\):.*## /\1\t/p' Makefile | sort | expand -t 14

$(READY): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV) || { echo "needs Python 3.11+ with venv (Debian: apt-get install python3-venv)" >&2; exit 1; }
	$(PY) -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(PY) -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

demo: $(READY)  ## start the webhook on loopback and send it real AdmissionReviews
	$(VENV)/bin/modelgate demo

test: $(READY)  ## run all tests; with MODELGATE_E2E=require also those on a real API server
	$(PY) -m pytest

lint: $(READY)  ## run ruff, mypy --strict and the import contracts
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

crds: $(READY)  ## generate the CRDs that embed types of Kubernetes, and the merge rules of its built-in kinds
	$(PY) -m tools.crds

grammar: $(READY)  ## generate the tables of the CEL grammar from webhook/cel/syntax/cel.lark
	$(PY) -m webhook.cel.syntax.grammar

docs: $(READY)  ## generate docs/coverage.md, samples.md, crds.md and the tables of docs/rules
	$(PY) -m tools.rules
	$(PY) -m tools.coverage

conformance: $(READY)  ## run Kubernetes' own test tables (../shared/corpora) on the schema and CEL engines
	$(PY) -m tests.conformance

N ?= 20000
fuzz: $(READY)  ## compare with the API server's own code on N random schemas and objects
	$(PY) -m tests.fuzz -n $(N)

assets: $(READY)  ## build etcd, kube-apiserver, kubelet and others once, into a cache outside the checkout
	$(PY) -m tests.e2e.assets node

e2e: assets  ## test on a real API server, and on a one-node cluster with the image and the chart
	MODELGATE_E2E=require $(PY) -m pytest tests/e2e

bench: $(READY)  ## measure requests per second, and microseconds per stage
	$(PY) -m tests.bench

image:  ## build the container image with docker, podman or buildah
	.ci/image

lock: $(READY)  ## update the lock files from pyproject.toml
	$(PY) -m pip install -q uv
	$(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --upgrade \
		pyproject.toml -o requirements/run.txt
	$(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --upgrade \
		--group build -o requirements/build.txt
	$(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --upgrade \
		pyproject.toml --group build --group dev --group bench -o requirements/dev.txt

clean:  ## remove the virtual environment and all build output
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
