# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Secrets appear in no output at any verbosity, in no report, in no command line, and in no file on the node."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from integration.conftest import SiteFactory
from integration.playbooks import PASSWORD, ROOT, PlayRun, Site, bootstrap_tokens

from simulator.machine.machine import ENVIRONMENT

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("secrets")]

HOST = "careful"
PROXY_PASSWORD = "Pr0xy-5ecret-of-the-test"
SIGNATURE = "S1gnature0fTheTest4711"
HIDDEN = "h1dden-value-of-the-test"
CONTAINERD = "github.com/containerd/containerd/releases/download/v2.3.7/containerd-2.3.7-windows-amd64.tar.gz"
RESOURCES = (
    {"type": "Environment", "name": "EXAMPLE_TOKEN", "value": HIDDEN, "no_log": True},
    {"type": "File", "name": r"C:\etc\example.conf", "content": "plain\n"},
    {"type": "Registry", "key": r"HKLM:\SOFTWARE\Example", "value_name": "a", "value": HIDDEN, "no_log": True},
)


@pytest.fixture(scope="module")
def site(start_site: SiteFactory) -> Site:
    """Return a site with a server behind a proxy with a password, whose containerd has a signed URL."""
    site = start_site({"name": HOST, "windows": "2022"}, cluster={"kind": "memory"})
    server = site.world.artifacts
    assert server is not None
    server.proxy_user = f"robot:{PROXY_PASSWORD}"
    server.fault("signature", "*containerd-2.3.7-windows-amd64.tar.gz", signature=SIGNATURE)
    content = server.content(CONTAINERD)
    assert content is not None
    proxy = f"http://robot:{PROXY_PASSWORD}@{server.address}:{server.port}"
    site.variables |= {
        "http_proxy": proxy,
        "https_proxy": proxy,
        "no_proxy": server.address,
        "containerd_url": f"http://{CONTAINERD}?sig={SIGNATURE}",
        "container_runtime_containerd_sha256": hashlib.sha256(content).hexdigest(),
    }
    return site


@pytest.fixture(scope="module")
def command_lines(site: Site) -> list[str]:
    """Return a list that collects every command line on the node from now on."""
    lines: list[str] = []
    programs = site.machine(HOST).programs
    run = programs.run

    def record(name: str, arguments: Any, *more: Any, **keywords: Any) -> Any:
        lines.append(" ".join([name, *map(str, arguments)]))
        return run(name, arguments, *more, **keywords)

    programs.run = record  # type: ignore[method-assign]
    return lines


@pytest.fixture(scope="module")
def tokens(site: Site) -> Iterator[dict[str, str]]:
    """Yield the bootstrap tokens that exist in the cluster at any time: secrets by id."""
    seen: dict[str, str] = {}
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.2):
            seen.update(bootstrap_tokens(site))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    yield seen
    stop.set()
    thread.join()


@pytest.fixture(scope="module")
def runs(site: Site, command_lines: list[str], tokens: dict[str, str]) -> list[PlayRun]:
    """Return runs at the highest verbosity: the first one, which also has hidden values, and drift checks."""
    loud = ("-vvvvvv", "--diff")
    task = {"name": "Converge", "winkube.node.node_state": {"resources": list(RESOURCES)}}
    plays = [
        {"import_playbook": str(ROOT / "playbooks" / "site.yml")},
        {"hosts": "node_windows", "gather_facts": False, "tasks": [task]},
    ]
    found = [site.run(plays, *loud).expect()]
    machine = site.machine(HOST)
    machine.services.configure("containerd", Environment=["HTTP_PROXY=http://elsewhere"])
    machine.registry.set(ENVIRONMENT, "HTTP_PROXY", "http://elsewhere")
    found.append(site.run("plan.yml", *loud).expect(2))
    # A value that is no longer in the inventory is still on the node.
    gone = {"http_proxy": "", "https_proxy": "", "containerd_url": "", "container_runtime_containerd_sha256": ""}
    found.append(site.run("plan.yml", *loud, variables=gone).expect(2))
    return found


def forms(secret: str) -> list[bytes]:
    """Return what to search for: a secret as text, as Windows' own text, and inside of the base64 of either."""
    found = []
    for data in (secret.encode(), secret.encode("utf-16-le")):
        found.append(data)
        # The characters at both ends depend on the adjacent text.
        found += [base64.b64encode(b"\0" * shift + data)[4:-4] for shift in range(3)]
    return found


@pytest.fixture(scope="module")
def secrets(runs: list[PlayRun], tokens: dict[str, str]) -> dict[str, list[bytes]]:
    """Return all forms of all secrets, by name."""
    assert tokens, "no bootstrap token was seen: nothing to look for"
    found = {f"bootstrap token {name}": forms(secret) for name, secret in tokens.items()}
    return found | {
        "ansible_password": forms(PASSWORD),
        "proxy password": forms(PROXY_PASSWORD),
        "signature": forms(SIGNATURE),
        "no_log value": forms(HIDDEN),
    }


def leaks(place: str, data: bytes, secrets: dict[str, list[bytes]]) -> list[str]:
    """Return the secrets in some data, with the text before them."""
    return [
        f"{name} in {place} after {data[max(0, position - 80) : position]!r}"
        for name, variants in secrets.items()
        for variant in variants
        if (position := data.find(variant)) >= 0
    ]


def test_programs_that_need_the_secrets_work(site: Site, runs: list[PlayRun]) -> None:
    server = site.world.artifacts
    assert server is not None
    assert server.status()["proxied"] >= 1
    assert PROXY_PASSWORD in str(site.machine(HOST).registry.data(ENVIRONMENT, "HTTPS_PROXY"))
    assert site.machine(HOST).registry.data(r"HKLM:\SOFTWARE\Example", "a") == HIDDEN


def test_output_contains_no_secrets(runs: list[PlayRun], secrets: dict[str, list[bytes]]) -> None:
    assert [leak for run in runs for leak in leaks("output", run.output.encode(), secrets)] == []


def test_reports_contain_no_secrets(site: Site, runs: list[PlayRun], secrets: dict[str, list[bytes]]) -> None:
    paths = [path for folder in ("report", "build") for path in (site.folder / folder).rglob("*") if path.is_file()]
    assert paths
    found = [leak for path in paths for leak in leaks(path.name, path.read_bytes(), secrets)]
    for run in runs:
        found += leaks("report.json", str(run.report).encode(), secrets)
    assert found == []


def test_command_lines_contain_no_secrets(command_lines: list[str], secrets: dict[str, list[bytes]]) -> None:
    assert any("kubeadm" in line for line in command_lines)
    assert [leak for line in command_lines for leak in leaks("command line", line.encode(), secrets)] == []


def test_files_on_the_node_contain_no_secrets(site: Site, secrets: dict[str, list[bytes]]) -> None:
    files = site.machine(HOST).files
    found: list[str] = []
    for entry in files.walk("C:\\"):
        if not entry.is_directory:
            found += leaks(entry.path, files.read_bytes(entry.path), secrets)
    assert found == []


def test_the_controllers_own_files_contain_no_secrets(site: Site, secrets: dict[str, list[bytes]]) -> None:
    ansible = [path for path in (site.folder / "ansible").rglob("*") if path.is_file()]
    assert [leak for path in ansible for leak in leaks(path.name, path.read_bytes(), secrets)] == []
