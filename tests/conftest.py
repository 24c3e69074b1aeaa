# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What every test needs before it is imported: the collection under its Ansible name, and the tools of the tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parents[1]
COLLECTION = Path("ansible_collections", "winkube", "node")
CHOICE = "WINKUBE_TESTS"
"""The environment variable that says which tests run: `all`, or nothing for all but the variants."""


def collections_root() -> Path:
    """Return a folder that holds this checkout as ansible_collections/winkube/node.

    The checkout may itself lie there (as ansible-test wants it), or an entry of ANSIBLE_COLLECTIONS_PATH may link to it
    (the Makefile makes one); else a link is made under build/.
    """
    if ROOT.parts[-3:] == COLLECTION.parts:
        return ROOT.parents[2]
    for entry in os.environ.get("ANSIBLE_COLLECTIONS_PATH", "").split(os.pathsep):
        if entry and (Path(entry) / COLLECTION).resolve() == ROOT:
            return Path(entry)
    made = ROOT / "build" / "collections"
    link = made / COLLECTION
    link.parent.mkdir(parents=True, exist_ok=True)
    if link.resolve() != ROOT:
        # Workers of xdist come here at the same moment: make it aside, then rename, which is atomic.
        temporary = link.with_name(f"node.{os.getpid()}")
        temporary.symlink_to(ROOT, target_is_directory=True)
        temporary.replace(link)
    return made


def import_collection() -> None:
    """Make the collection importable by its Ansible name, and findable by every ansible-playbook that tests start."""
    root = collections_root()
    others = [entry for entry in os.environ.get("ANSIBLE_COLLECTIONS_PATH", "").split(os.pathsep) if entry]
    # Before the first import of ansible: it reads its configuration once.
    os.environ["ANSIBLE_COLLECTIONS_PATH"] = os.pathsep.join(dict.fromkeys([str(root), *others]))
    # A configuration of the machine or of the current folder must not change what tests see.
    os.environ.setdefault("ANSIBLE_CONFIG", str(ROOT / "tests" / "ansible.cfg"))
    from ansible.plugins.loader import init_plugin_loader
    from ansible.utils.collection_loader import AnsibleCollectionConfig

    if AnsibleCollectionConfig.collection_finder is None:
        init_plugin_loader([str(root)])


def find_control_plane() -> None:
    """Name a real control plane in KUBEBUILDER_ASSETS where this machine has the shared tools and nobody named one."""
    unpack = ROOT.parent / "shared" / "tools" / "unpack.sh"
    if "KUBEBUILDER_ASSETS" in os.environ or not unpack.is_file():
        return
    answer = subprocess.run(["sh", str(unpack)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if answer.returncode == 0:
        os.environ["KUBEBUILDER_ASSETS"] = answer.stdout.strip().splitlines()[-1]


import_collection()
# No deadline: how long an example takes says more about the machine's other work than about the code.
hypothesis.settings.register_profile("people", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
# What CI says of a commit must not depend on the day; new examples are found where people work, and kept by @example.
hypothesis.settings.register_profile("ci", hypothesis.settings.get_profile("people"), derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "people")


def pytest_configure(config: pytest.Config) -> None:
    """Find the control plane once, in xdist's controller: its workers inherit the environment."""
    if not hasattr(config, "workerinput"):
        find_control_plane()


def leave_variants_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the variants of other tests, unless all tests or one of them by name were requested."""
    chosen = os.environ.get(CHOICE, "")
    if chosen not in ("", "all"):
        raise pytest.UsageError(f"{CHOICE}: expected all, or nothing to leave variants out, got {chosen!r}")
    if chosen == "all" or any("::" in argument for argument in config.args):
        return
    variants = [item for item in items if item.get_closest_marker("variant")]
    if variants:
        config.hook.pytest_deselected(items=variants)
        items[:] = [item for item in items if item not in set(variants)]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what the tests have counted, also where other processes ran them."""
    from integration import sweeps
    from simulator_tests.machine import recorded_scripts
    from wire_cases import agreement

    # Some entries are not reports: warnings, tests that were deselected.
    reports = [report for found in terminalreporter.stats.values() for report in found if hasattr(report, "when")]
    for tally in (sweeps.TALLY, agreement.TALLY, agreement.BY_HAND_TALLY, recorded_scripts.TALLY):
        for line in tally.lines(reports):
            terminalreporter.write_line(line)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave variants out, and refuse a pair of pytest and pytest-xdist that ignores groups.

    Tests of a group share addresses: on two workers they would be in each other's way.
    """
    leave_variants_out(config, items)
    if getattr(config.option, "loadgroup", False):
        for item in items:
            if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
                raise pytest.UsageError(f"pytest {pytest.__version__} and this pytest-xdist ignore groups: {item}")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root folder of the checkout."""
    return ROOT
