# Start with `make demo` and `make test`. The other targets are for development.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
KEPT := $(VENV)/.kept

.PHONY: demo test check quick lint crds docs pictures grammar conformance site oracle tables fuzz hostile soak mutants e2e e2e-long assets alerts bench bench-e2e image release lock clean help

help:  ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | sort | expand -t 14

$(READY): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || { echo "$(PYTHON): needs 3.11 or newer: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { echo "needs venv (Debian: apt-get install python3-venv)" >&2; exit 1; }
	$(PY) -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(PY) -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

# As in the image: the command need not compile the built-in policies then. Files of other code or policies are not used.
$(KEPT): $(READY) $(shell find policies webhook -name '*.py' -o -name '*.yaml' -o -name '*.json' -o -name '*.lark')
	$(PY) -c "from webhook.catalog import ship; ship()"
	touch $@

demo: $(KEPT)  ## start the webhook on loopback and send it real AdmissionReviews
	$(VENV)/bin/modelgate demo

test: $(KEPT)  ## run all tests; with MODELGATE_E2E=require also those on a real API server
	@mkdir -p build
	@$(PY) -m pytest $(NODE) > build/node.log 2>&1 & node=$$!; \
	nice -n 19 $(PY) -m pytest -n auto --ignore=tests/e2e --durations=15; units=$$?; \
	wait $$node; nodes=$$?; cat build/node.log; exit $$((units || nodes))
	$(PY) -m pytest $(PLANES)

# Modules side by side in three processes, each with a plane of its own: a module waits most of its time. What needs the
# node, of which there is one, mostly waits, too: it runs beside the unit tests, which step aside.
PLANES := tests/e2e -m "not long and not node" -n 3 --dist loadfile --no-loadscope-reorder --durations=15
NODE := tests/e2e -m "node and not long" --durations=15

# Left out of `make check`: clusters, tests that start whole servers and processes, and what `make conformance` runs.
SLOW := tests/e2e tests/serve/test_server.py tests/serve/test_connection.py tests/serve/test_callers.py \
	tests/serve/test_soak.py tests/serve/test_digest.py tests/hostile/test_short.py tests/cli/test_process.py \
	tests/cli/test_installation.py tests/tools/test_site.py tests/tools/test_pages.py tests/reconciler/test_process.py \
	tests/conformance/test_upstream.py tests/test_contributing.py

check: lint conformance  ## lint, types, unit tests and conformance, without root, Go or a cluster; several minutes
	$(PY) -m pytest -q -n auto --hypothesis-profile=quick $(addprefix --ignore=,$(SLOW))

quick: lint  ## run lint and the tests of the packages that the change touches; about a minute
	$(PY) -m tests.quick $(SLOW)

lint: $(READY)  ## run ruff, mypy --strict and the import contracts
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

crds: $(READY)  ## generate the CRDs that embed types of Kubernetes, and the merge rules of its built-in kinds
	$(PY) -m tools.crds

grammar: $(READY)  ## generate the tables of the CEL grammar from cel-python's cel.lark and webhook/cel/syntax/kubernetes.lark
	$(PY) -m webhook.cel.syntax.parser

docs: $(READY)  ## generate webhook/facts/inputs.json, docs/coverage.md, samples.md, crds.md, releases.md, checks.md, the tables of docs/rules, READMEs of charts
	$(PY) -m tools.inputs
	$(PY) -m tools.rules
	$(PY) -m tools.coverage
	$(PY) -m tools.charts.readme
	$(PY) -m tools.charts.catalog
	$(PY) -m tools.checks

pictures: $(READY)  ## draw the pictures of the documentation from the texts in docs/pictures; needs Go
	$(PY) -m tools.pictures
	$(PY) -m tools.pictures.terminal

site: $(READY)  ## build the documentation as static pages, build/site/html
	$(PY) -m tools.site

conformance: $(READY)  ## compare the engines with recorded answers of Kubernetes and of upstream's webhooks
	$(PY) -m tests.conformance

oracle: $(READY)  ## build Kubernetes' own code as a program once, into a cache outside the checkout; needs Go
	$(PY) -m tests.oracle.build

tables: $(READY)  ## answer all cases again with the code of Kubernetes K8S=1.37.2, and print the differences
	$(PY) -m tests.oracle.tables $(K8S)

N ?= 20000
fuzz: oracle  ## N random schemas, objects, reviews and connections: compare with the API server's own code, find crashes
	$(PY) -m tests.fuzz -n $(N)

HOSTILE ?=
hostile: $(READY)  ## measure what hostile callers can do to a gate with one core and 512 MiB; options in HOSTILE
	$(PY) -m tests.hostile $(HOSTILE)

MINUTES ?= 60
soak: $(READY)  ## serve mixed calls for MINUTES, and measure the slope of memory and the descriptors
	$(PY) -m tests.hostile.soak --minutes $(MINUTES)

MUTANTS ?=
mutants: $(READY)  ## change the rooms on which safety rests, a mistake at a time, and list what their tests miss; options in MUTANTS
	$(PY) -m tests.mutants $(MUTANTS)

assets: $(READY)  ## build etcd, kube-apiserver, kubelet and others once, into a cache outside the checkout
	$(PY) -m tests.e2e.assets node

alerts: $(READY)  ## test the chart's alerts with promtool, which is built once; needs Go
	$(PY) -m tests.e2e.assets alerts
	MODELGATE_PROMTOOL=require $(PY) -m pytest -q tests/chart/test_monitoring.py

# What is run on every supported release: kinds, webhooks, rights, charts, the doctor, what rules read; on a control plane.
CORE := $(addprefix tests/e2e/,test_chart.py test_install.py test_kinds.py test_plane.py \
	test_surroundings.py test_view.py)
ifdef K8S
e2e: $(READY)  ## test on a real API server, and on a one-node cluster; with K8S=1.34.4, the core on that release
	MODELGATE_E2E_KUBERNETES=$(K8S) $(PY) -m tests.e2e.assets plane
	MODELGATE_E2E_KUBERNETES=$(K8S) MODELGATE_E2E=require $(PY) -m pytest $(CORE)
else
e2e: assets
	MODELGATE_E2E=require $(PY) -m pytest $(PLANES)
	MODELGATE_E2E=require $(PY) -m pytest $(NODE)
endif

e2e-long: assets  ## run what lasts: restarts, rotations, lifecycle, upheaval, soak, and AIM's own tests with CHAINSAW="SUITE --crds FOLDER"
	MODELGATE_E2E=require $(PY) -m pytest tests/e2e -m long --durations=15
	$(if $(CHAINSAW),$(PY) -m tests.e2e.chainsaw $(CHAINSAW))
	$(PY) -m tests.hostile.soak --minutes $(MINUTES)
	-$(PY) -m tests.mutants --sample 20

BENCH ?=
bench: $(READY)  ## measure calls, the server, starts and scaling, and print the tables; options in BENCH, such as --publish
	$(PY) -m tests.bench $(BENCH)

bench-e2e: $(READY)  ## measure creates through a real API server beside a Go webhook and others; options in BENCH
	$(PY) -m tests.bench.e2e $(BENCH)

image:  ## build the container image with docker, podman or buildah
	.ci/image

release: $(READY)  ## build wheel, image, charts, manifests, bill of materials, provenance and checksums of the commit
	$(PY) -m tools.release build

lock: $(READY)  ## update the lock files from pyproject.toml
	$(PY) -m pip install -q uv
	$(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --upgrade \
		pyproject.toml --extra server --extra tracing -o requirements/run.txt
	$(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --upgrade \
		pyproject.toml --constraint requirements/run.txt -o requirements/check.txt
	$(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --upgrade \
		--group build -o requirements/build.txt
	$(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --upgrade \
		pyproject.toml --extra server --extra tracing --extra lsp --group build --group dev --group bench -o requirements/dev.txt
	$(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --upgrade \
		--group release -o requirements/release.txt

clean:  ## remove the virtual environment and all build output
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
