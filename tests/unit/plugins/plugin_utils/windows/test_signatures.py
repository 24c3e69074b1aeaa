# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Programs that must be signed: Windows verifies the signer before a program is installed."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from unit.direct_node import DirectNode

from ansible_collections.winkube.node.plugins.plugin_utils.artifacts import catalogue, locations
from ansible_collections.winkube.node.plugins.plugin_utils.artifacts.catalogue import ArtifactError
from ansible_collections.winkube.node.plugins.plugin_utils.engine.converge import Convergence
from ansible_collections.winkube.node.plugins.plugin_utils.engine.outcome import ConvergenceOutcome
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import artifacts as preflight
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from simulator.artifacts.archives import zip_archive
from simulator.artifacts.releases import program
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings
from simulator.windows.updates import update_package
from simulator.windows.updates.update_catalogue import Update

MICROSOFT, PRIVATE = (update_package.SIGNERS[name] for name in ("microsoft", "private"))
ARCHIVE = "C:\\cache\\kubelet.zip"
KUBELET = "C:\\k\\kubelet.exe"


@pytest.fixture
def node(tmp_path: Path) -> t.Iterator[DirectNode]:
    machine = Machine(MachineSettings.read({"name": "node-1", "address": "127.0.0.11", "time_scale": 0.001}), tmp_path)
    machine.power_on()
    for folder in ("C:\\cache", "C:\\k"):
        machine.files.real(folder).mkdir(parents=True, exist_ok=True)
    yield DirectNode(machine)
    machine.power.power_off()


def signed(signer: str) -> bytes:
    """Return a program with a signature."""
    return update_package.make(Update("KB5999009", builds=(20348,), reboots=0), "exe", signer)


def install(node: DirectNode, content: bytes, signers: t.Sequence[str]) -> ConvergenceOutcome:
    """Unpack the program."""
    node.machine.files.write_bytes(ARCHIVE, zip_archive({"kubelet.exe": content}))
    given = {"type": "Archive", "name": "C:\\k", "path": ARCHIVE, "members": ["kubelet.exe"], "check": ["kubelet.exe"]}
    return Convergence(NodeSession(node), load([{**given, "allowed_signers": list(signers)}])).run()


@pytest.mark.parametrize("signers", [[MICROSOFT.subject], [MICROSOFT.thumbprint, PRIVATE.thumbprint]])
def test_a_program_of_an_allowed_signer_takes_its_place(node: DirectNode, signers: list[str]) -> None:
    assert install(node, signed("microsoft"), signers).failures == []
    assert node.machine.files.is_file(KUBELET)
    assert install(node, signed("microsoft"), signers).changes == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (program("kubelet", "1.37.1"), "NotSigned, no signer"),
        (signed("private"), "CN=Example Patches"),
        (signed("microsoft")[:-1] + b"!", "HashMismatch"),
    ],
    ids=["not signed", "by another", "changed"],
)
def test_an_unsigned_program_is_refused_before_it_replaces_the_old_one(
    node: DirectNode, content: bytes, words: str
) -> None:
    before = program("kubelet", "1.36.2")
    node.machine.files.write_bytes(KUBELET, before)
    (failure,) = install(node, content, [MICROSOFT.subject]).failures
    assert words in failure
    assert "allowed_signers" in failure
    assert node.machine.files.read_bytes(KUBELET) == before


def test_newly_required_signatures_are_checked_on_existing_files(node: DirectNode) -> None:
    unsigned = program("kubelet", "1.37.1")
    assert install(node, unsigned, []).failures == []
    assert "NotSigned" in install(node, unsigned, [MICROSOFT.subject]).failures[0]


def test_signers_are_named_for_all_kinds_or_by_kind() -> None:
    everywhere, one = [MICROSOFT.subject], {"kubernetes": [MICROSOFT.thumbprint]}
    for given, kind, expected in (
        (everywhere, "crictl", everywhere),
        (one, "kubernetes", one["kubernetes"]),
        (one, "crictl", None),
        ([], "crictl", None),
        (None, "crictl", None),
    ):
        resource = locations.resource(kind, "1.37.1", cache_dir="C:\\cache", allowed_signers=given)
        assert resource.get("allowed_signers") == expected
        load([resource])
    for wrong in (["somebody"], [MICROSOFT.subject, MICROSOFT.thumbprint], 5, {"kubernetes": 5}):
        with pytest.raises(ArtifactError, match="artifact_allowed_signers"):
            catalogue.signers(wrong, "kubernetes")
        (problem,) = preflight.problems({"cni_artifact_sources": {"allowed_signers": wrong}})
        assert problem.variable == "artifact_allowed_signers"


def test_an_archive_without_named_members_cannot_be_checked_in_time() -> None:
    with pytest.raises(ResourceError, match="expected allowed_signers only if members are listed"):
        load([{"type": "Archive", "name": "C:\\k", "path": ARCHIVE, "allowed_signers": [MICROSOFT.subject]}])
