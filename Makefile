# Needs make, git and Python 3.11 or newer. Everything else is installed into .venv. `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/sh
MAKEFLAGS += --no-builtin-rules

VENV := $(CURDIR)/.venv
# To use another virtual environment: make lint BIN=/path/to/bin
BIN ?= $(VENV)/bin
COLLECTIONS := $(VENV)/collections
COLLECTION := $(COLLECTIONS)/ansible_collections/winkube/node
PACKAGE := ansible_collections.winkube.node
# The number of pytest workers. Three suit two cores, because tests with servers wait nearly half of their time.
WORKERS ?= 3
# tests/work_order.py orders the tests, so that all workers end at about the same time.
PYTEST := $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadgroup --no-loadscope-reorder
PYTEST_ARGS ?=
# The packages in .venv. Releases use requirements-release.txt, which pins every version and hash.
REQUIREMENTS ?= requirements-test.txt
# Options of tests/soak.py, and the tests that it repeats
SOAK ?= --repetitions 20
SOAK_TESTS ?= -m waits tests/integration tests/simulator_tests tests/unit
# Options of the mutation run; `make mutants MUTANTS=--help` lists them
MUTANTS ?= --sample 20
# Options of ansible-test sanity, such as --test validate-modules. Empty: all checks
SANITY_ARGS ?=

export ANSIBLE_COLLECTIONS_PATH := $(COLLECTIONS)
export PATH := $(BIN):$(PATH)
# Ansible does not start in a locale that is not UTF-8, which is the default in a minimal container.
export LC_ALL := C.UTF-8
# Some container images set this. Then Python keeps no compiled files, and each of the hundreds of processes that the
# tests start compiles Ansible again: a third of the tests' CPU time.
unexport PYTHONDONTWRITEBYTECODE
# By default, pip gives up after 15 seconds without a response. Package mirrors may be slower.
export PIP_DEFAULT_TIMEOUT ?= 120
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# An environment given by BIN is used as it is. Our own is updated when the requirements change.
READY := $(COLLECTION)
DEMO_READY := $(COLLECTION)
ifeq ($(BIN),$(VENV)/bin)
READY += $(VENV)/.stamp
DEMO_READY += $(VENV)/.stamp-demo
endif

.PHONY: help venv demo test test-all lint ruff format mypy yamllint ansible-lint sanity sanity-quick changelog-lint docs-lint docs unit simulator-tests integration sweeps soak molecule mutants bench requirements build clean distclean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

venv: $(READY) ## Create .venv with Ansible and everything that the tests need

$(VENV)/.stamp: requirements.txt requirements-demo.txt $(REQUIREMENTS)
	@tests/venv.sh $(VENV) $(REQUIREMENTS)
	@touch $@ $(VENV)/.stamp-demo

# The demo needs neither the test tools nor the linters.
$(VENV)/.stamp-demo: requirements.txt requirements-demo.txt
	@tests/venv.sh $(VENV) requirements-demo.txt
	@touch $@

# Ansible finds a collection by its folder name. This link gives the checkout the expected one.
$(COLLECTION):
	@mkdir -p $(@D)
	@ln -sfn $(CURDIR) $@

demo: $(DEMO_READY) ## Turn four simulated servers into cluster nodes, and upgrade one (2 minutes): build/demo/report.html
	cd tests && $(BIN)/python -m demo

test: $(READY) ## Lint, the quick checks of sanity, unit, simulator and integration tests, molecule, in one pytest run
	@$(PYTEST) tests/integration tests/lint tests/simulator_tests tests/unit $(PYTEST_ARGS)

test-all: $(READY) ## `make test` with all variants of its tests, and all checks of sanity
	@WINKUBE_TESTS=all $(PYTEST) tests/integration tests/lint tests/simulator_tests tests/unit $(PYTEST_ARGS)

unit: $(READY) ## Unit tests of the engine, the modules and this repository
	@$(PYTEST) tests/unit $(PYTEST_ARGS)

simulator-tests: $(READY) ## Tests of the simulated servers
	@$(PYTEST) tests/simulator_tests $(PYTEST_ARGS)

integration: $(READY) ## ansible-playbook on simulated servers, over winrm and psrp, and molecule
	@$(PYTEST) tests/integration $(PYTEST_ARGS)

sweeps: $(READY) ## Inject faults at all points of each sweep; `make test` takes a sample
	@WINKUBE_SWEEPS=full $(PYTEST) --timeout 7200 -m sweep tests/integration $(PYTEST_ARGS)

soak: $(READY) ## Repeat the tests that wait, on a busy machine; SOAK="--repetitions 2" SOAK_TESTS=tests repeats all tests
	@$(BIN)/python tests/soak.py $(SOAK) -- --numprocesses $(WORKERS) --dist loadgroup --no-loadscope-reorder $(SOAK_TESTS)

molecule: $(READY) ## All molecule scenarios on simulated servers, with molecule's own command line
	$(BIN)/molecule test --all

# Python recognizes a changed file by its size and time. Two mutants may have the same, so nothing is kept of them.
mutants: export PYTHONDONTWRITEBYTECODE := 1
mutants: $(READY) ## Change the code in small ways, and list the changes that no test notices; MUTANTS="--since main"
	cd tests && $(BIN)/python -m mutation $(MUTANTS)

bench: $(READY) ## Measure the engine: build/bench.json
	cd tests && $(BIN)/python -m bench

docs: $(READY) ## Write what is generated: argument specifications, tables of READMEs, docs/variables.md, docs/resources.md
	$(BIN)/python docs/generate_argument_specs.py
	$(BIN)/python docs/generate_variables.py
	$(BIN)/python docs/generate_resources.py

lint: ruff mypy yamllint ansible-lint changelog-lint docs-lint ## All linters

ruff: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY) ## Let ruff fix and format the Python files
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# By package (-p), so that mypy knows each module by the name under which Ansible or pytest imports it.
mypy: $(READY)
	cd $(COLLECTIONS) && MYPYPATH=$(COLLECTIONS) $(BIN)/python -m mypy --config-file $(CURDIR)/pyproject.toml --cache-dir $(CURDIR)/.mypy_cache/collection -p $(PACKAGE).plugins.plugin_utils
	cd tests && $(BIN)/python -m mypy --config-file $(CURDIR)/pyproject.toml --cache-dir $(CURDIR)/.mypy_cache/simulator -p simulator -p wire_provider -p wire_cases -p mutation -p golden -m tallies -m sbom_schema -m traced_memory -m work_order
	$(BIN)/python -m mypy --config-file $(CURDIR)/pyproject.toml --cache-dir $(CURDIR)/.mypy_cache/packer packer/ansible/build_variables.py packer/fetch_iso.py packer/windows/ansible_playbook.py

yamllint: $(READY)
	$(BIN)/yamllint --strict .

# --offline: all dependencies are installed, so Galaxy is not queried.
ansible-lint: $(READY)
	$(BIN)/ansible-lint --offline

changelog-lint: $(READY)
	$(BIN)/antsibull-changelog lint

# --plugin-docs: also checks the documentation of modules, roles and other plugins. This needs a copy of kubernetes.core,
# whose documentation fragment they extend. antsibull-docs copies only what git tracks, so git must not find this
# repository from the virtual environment.
docs-lint: $(READY)
	GIT_CEILING_DIRECTORIES=$(abspath $(BIN)/..) $(BIN)/antsibull-docs lint-collection-docs --plugin-docs .

sanity: $(READY) ## The checks of ansible-test sanity that need neither containers nor PowerShell
	tests/sanity/run.sh $(SANITY_ARGS)

# pylint takes three minutes of CPU time. The import check starts a process for each file and takes more than one
# minute.
sanity-quick: $(READY) ## The checks of sanity without the slow ones (pylint, import) and those of our own linters (pep8, yamllint, changelog)
	tests/sanity/run.sh --skip-test pylint --skip-test pep8 --skip-test import --skip-test yamllint --skip-test changelog

requirements: ## Update requirements-release.txt to the newest compatible versions (needs uv)
	uv pip compile requirements-test.txt --universal --python-version 3.11 --generate-hashes --upgrade --quiet \
		--custom-compile-command "make requirements" --output-file requirements-release.txt

build: $(READY) ## Build the collection as a tarball in build/
	$(BIN)/ansible-galaxy collection build --force --output-path build

clean: ## Remove the files that tests and the demo wrote
	rm -rf build .ansible .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache tests/output
	find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean ## Remove .venv as well
	rm -rf .venv
