# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What every test needs before it is imported: the collection under its Ansible name, and the tools of the tests."""

from __future__ import annotations

import gc
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from work_order import collection_order, mixed, next_scope, scope_of

ROOT = Path(__file__).resolve().parents[1]
COLLECTION = Path("ansible_collections", "winkube", "node")
MEMORY = Path("/dev/shm")
PLENTY = 4 << 30
"""The number of bytes that must be free in MEMORY. A whole run needs less than half of it."""
CHOICE = "WINKUBE_TESTS"
"""The environment variable that selects tests: `all`, or empty for all tests but the variants."""


def work_in_memory() -> None:
    """Put temporary files in memory, unless the user chose a folder (TMPDIR) or there is too little memory.

    Each simulated server consists of more than 200 small files and folders. On an ext4 file system, the kernel needed
    20 to 80 times as long to create them.
    """
    if "TMPDIR" in os.environ or not MEMORY.is_dir():
        return
    # Some tests run programs that they write. Containers often forbid this in /dev/shm.
    runs_programs = not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
    if runs_programs and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= PLENTY:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # pytest has already used the default folder


def collections_root() -> Path:
    """Return a folder that contains this checkout as ansible_collections/winkube/node.

    The checkout may be in such a folder itself (ansible-test requires it), or an entry of ANSIBLE_COLLECTIONS_PATH may
    link to it (the Makefile makes such a link). Otherwise a link is made below build/.
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
        # Several workers of pytest-xdist may run this at the same time. A rename is atomic.
        temporary = link.with_name(f"node.{os.getpid()}")
        temporary.symlink_to(ROOT, target_is_directory=True)
        temporary.replace(link)
    return made


def import_collection() -> None:
    """Let Python import the collection by its Ansible name, and each ansible-playbook that a test starts find it."""
    root = collections_root()
    others = [entry for entry in os.environ.get("ANSIBLE_COLLECTIONS_PATH", "").split(os.pathsep) if entry]
    # Before the first import of ansible: it reads its configuration once.
    os.environ["ANSIBLE_COLLECTIONS_PATH"] = os.pathsep.join(dict.fromkeys([str(root), *others]))
    # A configuration of the machine or of the current folder must not change the results of tests.
    os.environ.setdefault("ANSIBLE_CONFIG", str(ROOT / "tests" / "ansible.cfg"))
    from ansible.plugins.loader import init_plugin_loader
    from ansible.utils.collection_loader import AnsibleCollectionConfig

    if AnsibleCollectionConfig.collection_finder is None:
        init_plugin_loader([str(root)])


def find_control_plane() -> None:
    """Set KUBEBUILDER_ASSETS to a real control plane if it is not set and the machine has the shared tools."""
    unpack = ROOT.parent / "shared" / "tools" / "unpack.sh"
    if "KUBEBUILDER_ASSETS" in os.environ or not unpack.is_file():
        return
    answer = subprocess.run(["sh", str(unpack)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if answer.returncode == 0:
        os.environ["KUBEBUILDER_ASSETS"] = answer.stdout.strip().splitlines()[-1]


work_in_memory()
import_collection()
# No deadline: the time of an example depends more on the other work of the machine than on the code.
hypothesis.settings.register_profile("local", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
# CI must give the same result for the same commit. Developers' runs find new examples, which @example keeps.
hypothesis.settings.register_profile("ci", hypothesis.settings.get_profile("local"), derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


def send_without_delay(config: pytest.Config) -> None:
    """Let pytest-rerunfailures send each message at once: a test otherwise waits 40 ms for it.

    For each test, a worker sends two messages to the main process, and waits for the answer to the second one. Nagle's
    algorithm holds the second message back until the first one is acknowledged, which Linux delays. 1,728 unit tests
    took 35 seconds instead of 16.
    """
    connection = getattr(getattr(config, "failures_db", None), "sock", None)
    if isinstance(connection, socket.socket):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Find the control plane once, in the main process of pytest-xdist. Its workers inherit the environment."""
    worker = getattr(config, "workerinput", None)
    if worker is None:
        find_control_plane()
        return
    send_without_delay(config)
    if all(Path(argument).is_dir() for argument in config.args):
        files = [str(file) for folder in config.args for file in sorted(Path(folder).rglob("test_*.py"))]
        number = int(worker["workerid"].removeprefix("gw"))
        config.args = collection_order(files, number, worker["workercount"])


def leave_variants_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the variants of other tests, unless all tests or single tests by name were requested."""
    chosen = os.environ.get(CHOICE, "")
    if chosen not in ("", "all"):
        raise pytest.UsageError(f"{CHOICE}: expected all, or no value for all tests but the variants, got {chosen!r}")
    if chosen == "all" or any("::" in argument for argument in config.args):
        return
    kept: list[pytest.Item] = []
    variants: list[pytest.Item] = []
    for item in items:
        (variants if item.get_closest_marker("variant") else kept).append(item)
    if variants:
        config.hook.pytest_deselected(items=variants)
        items[:] = kept


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what the tests have counted, in all processes."""
    from integration import sweeps
    from simulator_tests.machine import recorded_scripts
    from wire_cases import agreement

    # Some entries are not reports but warnings or deselected tests.
    reports = [report for found in terminalreporter.stats.values() for report in found if hasattr(report, "when")]
    for tally in (sweeps.TALLY, agreement.TALLY, agreement.BY_HAND_TALLY, recorded_scripts.TALLY):
        for line in tally.lines(reports):
            terminalreporter.write_line(line)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Leave variants out, order the tests of a parallel run, and refuse a pytest-xdist that ignores groups.

    Tests of a group share addresses, so two workers cannot run them at the same time.
    """
    # Before pytest orders the tests by their fixtures: all workers must arrive at the same order.
    items.sort(key=lambda item: item.path)
    yield
    leave_variants_out(config, items)
    if getattr(config.option, "loadgroup", False):
        for item in items:
            if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
                raise pytest.UsageError(f"pytest {pytest.__version__} and this pytest-xdist ignore groups: {item}")
        items[:] = mixed(items, lambda item: item.nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give whole files to the workers of `--dist loadgroup`, and not single tests, and mix those that compute."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class Scheduling(LoadGroupScheduling):  # type: ignore[misc]  # xdist ships no type information
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

        def _assign_work_unit(self, node: Any) -> None:
            others = [
                test
                for other, scopes in self.assigned_work.items()
                for tests in scopes.values()
                for test, done in tests.items()
                if other is not node and not done
            ]
            self.workqueue.move_to_end(next_scope(self.workqueue, others), last=False)
            super()._assign_work_unit(node)

    return Scheduling(config, log)


def pytest_collection_finish() -> None:
    """Exempt what the collection of the tests created from garbage collections.

    11,000 items and all imported modules live until the end. 300 unit tests needed 20 CPU seconds instead of 25.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root folder of the checkout."""
    return ROOT
