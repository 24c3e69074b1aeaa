# Needs make, git and Python 3.11 or newer; everything else goes into .venv. `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/sh
MAKEFLAGS += --no-builtin-rules

VENV := $(CURDIR)/.venv
# A virtual environment made elsewhere can be used instead: make lint BIN=/path/to/bin
BIN ?= $(VENV)/bin
COLLECTIONS := $(VENV)/collections
COLLECTION := $(COLLECTIONS)/ansible_collections/winkube/node
PACKAGE := ansible_collections.winkube.node
# How many pytest workers run side by side: on two cores three, since tests of servers wait nearly half of their time.
WORKERS ?= 3
# In our own order, the long ones first: at the end all workers have something small left to do.
PYTEST := $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadgroup --no-loadscope-reorder
PYTEST_ARGS ?=
# What .venv is made from; releases take requirements-release.txt, where every version and every hash is fixed.
REQUIREMENTS ?= requirements-test.txt
# Options of tests/soak.py, and which tests it repeats
SOAK ?= --repetitions 20
SOAK_TESTS ?= -m waits tests/integration tests/simulator_tests tests/unit
# Options of the mutation run; `make mutants MUTANTS=--help` lists them
MUTANTS ?= --sample 20
# Options of ansible-test sanity, such as --test validate-modules; none: all checks
SANITY_ARGS ?=

export ANSIBLE_COLLECTIONS_PATH := $(COLLECTIONS)
export PATH := $(BIN):$(PATH)
# ansible refuses to start in a locale that is not UTF-8; a bare container has none.
export LC_ALL := C.UTF-8
# A pip that has seen no answer for 15 seconds gives up; package mirrors may be slower.
export PIP_DEFAULT_TIMEOUT ?= 120
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Another environment brings its own packages; ours is made when the requirements change.
READY := $(COLLECTION)
DEMO_READY := $(COLLECTION)
ifeq ($(BIN),$(VENV)/bin)
READY += $(VENV)/.stamp
DEMO_READY += $(VENV)/.stamp-demo
endif

.PHONY: help venv demo test test-all lint ruff format mypy yamllint ansible-lint sanity sanity-quick changelog-lint docs-lint unit simulator-tests integration sweeps soak molecule mutants bench requirements build clean distclean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

venv: $(READY) ## Make .venv with Ansible and all that the tests need

$(VENV)/.stamp: requirements.txt requirements-demo.txt $(REQUIREMENTS)
	@tests/venv.sh $(VENV) $(REQUIREMENTS)
	@touch $@ $(VENV)/.stamp-demo

# The demo needs neither tests nor linters.
$(VENV)/.stamp-demo: requirements.txt requirements-demo.txt
	@tests/venv.sh $(VENV) requirements-demo.txt
	@touch $@

# Ansible finds collections by their folder: this link gives the checkout the one it wants.
$(COLLECTION):
	@mkdir -p $(@D)
	@ln -sfn $(CURDIR) $@

demo: $(DEMO_READY) ## Take four simulated servers to cluster nodes (3 minutes): build/demo/report.html
	cd tests && $(BIN)/python -m demo

test: $(READY) ## Lint, the quick checks of sanity, unit, simulator and integration tests, molecule, in one pytest run
	@$(PYTEST) tests/integration tests/lint tests/simulator_tests tests/unit $(PYTEST_ARGS)

test-all: $(READY) ## `make test`, with the variants of tests in other surroundings, and all of sanity
	@WINKUBE_TESTS=all $(PYTEST) tests/integration tests/lint tests/simulator_tests tests/unit $(PYTEST_ARGS)

unit: $(READY) ## Unit tests of the engine, the modules and this repository
	@$(PYTEST) tests/unit $(PYTEST_ARGS)

simulator-tests: $(READY) ## Tests of the simulated servers
	@$(PYTEST) tests/simulator_tests $(PYTEST_ARGS)

integration: $(READY) ## ansible-playbook on simulated servers, over winrm and psrp, and molecule
	@$(PYTEST) tests/integration $(PYTEST_ARGS)

sweeps: $(READY) ## Every sweep of faults at all of its points; `make test` takes a sample of them
	@WINKUBE_SWEEPS=full $(PYTEST) --timeout 7200 -m sweep tests/integration $(PYTEST_ARGS)

soak: $(READY) ## Repeat the tests that wait, beside busy loops; SOAK="--repetitions 2", SOAK_TESTS=tests: all tests
	@$(BIN)/python tests/soak.py $(SOAK) -- --numprocesses $(WORKERS) --dist loadgroup --no-loadscope-reorder $(SOAK_TESTS)

molecule: $(READY) ## All molecule scenarios on simulated servers, by molecule's own command line
	$(BIN)/molecule test --all

mutants: $(READY) ## Break the code in small ways and see whether tests notice; MUTANTS="--since main"
	cd tests && $(BIN)/python -m mutation $(MUTANTS)

bench: $(READY) ## Measure the engine: build/bench.json
	cd tests && $(BIN)/python -m bench

lint: ruff mypy yamllint ansible-lint changelog-lint docs-lint ## All linters

ruff: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY) ## Let ruff fix and format the Python files
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# By package (-p), so that a module has one name: the one that Ansible, or pytest, imports it by.
mypy: $(READY)
	cd $(COLLECTIONS) && MYPYPATH=$(COLLECTIONS) $(BIN)/python -m mypy --config-file $(CURDIR)/pyproject.toml --cache-dir $(CURDIR)/.mypy_cache/collection -p $(PACKAGE).plugins.plugin_utils
	cd tests && $(BIN)/python -m mypy --config-file $(CURDIR)/pyproject.toml --cache-dir $(CURDIR)/.mypy_cache/simulator -p simulator -p wire_provider -p wire_cases -p mutation -p golden -m tallies

yamllint: $(READY)
	$(BIN)/yamllint --strict .

# --offline: what it needs is installed; it must not ask Galaxy.
ansible-lint: $(READY)
	$(BIN)/ansible-lint --offline

changelog-lint: $(READY)
	$(BIN)/antsibull-changelog lint

# --plugin-docs: check the documentation of modules, roles and other plugins, too. It needs a copy of kubernetes.core, whose documentation
# fragment they extend. antsibull-docs copies what git tracks. So git must not find this repository from the virtual environment.
docs-lint: $(READY)
	GIT_CEILING_DIRECTORIES=$(abspath $(BIN)/..) $(BIN)/antsibull-docs lint-collection-docs --plugin-docs .

sanity: $(READY) ## The checks of ansible-test sanity that need neither containers nor PowerShell
	tests/sanity/run.sh $(SANITY_ARGS)

# pylint costs three minutes of CPU, and the import check, which starts a process for each file, more than one.
sanity-quick: $(READY) ## The checks of sanity but its slow ones: pylint, pep8 (ruff checks the same), import
	tests/sanity/run.sh --skip-test pylint --skip-test pep8 --skip-test import

requirements: ## Write requirements-release.txt anew, with the newest versions that fit (needs uv)
	uv pip compile requirements-test.txt --universal --python-version 3.11 --generate-hashes --upgrade --quiet \
		--custom-compile-command "make requirements" --output-file requirements-release.txt

build: $(READY) ## The collection as a tarball, in build/
	$(BIN)/ansible-galaxy collection build --force --output-path build

clean: ## Remove what tests and the demo wrote
	rm -rf build .ansible .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache tests/output
	find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean ## Remove .venv as well
	rm -rf .venv
