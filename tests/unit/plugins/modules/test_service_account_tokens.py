# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tokens of service accounts: existing ones, waiting for them, and the message if a token is missing."""

from __future__ import annotations

import base64
import contextlib
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.modules import service_account_tokens as module

pytestmark = pytest.mark.waits

PROXY, FLANNEL = "kube-system/proxy", "kube-flannel/flannel"


class End(Exception):
    """The end of the module, with its result."""


class Fake:
    """A cluster whose Secrets get their tokens after a number of requests, which is also the module."""

    check_mode = False

    def __init__(self, params: dict[str, t.Any], reads: t.Mapping[str, int]) -> None:
        self.params, self.reads, self.asked = params, dict(reads), 0

    def lookup(self, *path: str, form: object) -> dict[str, t.Any] | None:
        self.asked += 1
        _, namespace, _, name = path
        left = self.reads.get(f"{namespace}/{name}")
        if left is None:
            return None
        self.reads[f"{namespace}/{name}"] = left - 1
        token = base64.b64encode(f"token of {name}".encode()).decode()
        return {"metadata": {"name": name}, **({"data": {"token": token}} if left <= 0 else {})}

    def needed(self) -> contextlib.nullcontext[None]:
        return contextlib.nullcontext()

    def exit_json(self, **result: t.Any) -> None:
        raise End(result)

    def fail_json(self, **result: t.Any) -> None:
        raise End({"failed": True, **result})


def run(monkeypatch: pytest.MonkeyPatch, reads: t.Mapping[str, int], **params: t.Any) -> tuple[dict[str, t.Any], Fake]:
    fake = Fake({"secrets": [PROXY, FLANNEL], "timeout": 0, **params}, reads)
    monkeypatch.setattr(module, "AnsibleModule", lambda **_: fake)
    monkeypatch.setattr(module, "Cluster", lambda _: fake)
    monkeypatch.setattr(module, "POLL_SECONDS", 0.001)
    with pytest.raises(End) as end:
        module.main()
    return t.cast("dict[str, t.Any]", end.value.args[0]), fake


def test_without_a_timeout_missing_tokens_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    result, fake = run(monkeypatch, {PROXY: 0})
    assert result == {"changed": False, "tokens": {PROXY: "token of proxy"}}
    assert fake.asked == 2


def test_a_token_that_comes_later_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = run(monkeypatch, {PROXY: 0, FLANNEL: 3}, timeout=30)
    assert result["tokens"] == {PROXY: "token of proxy", FLANNEL: "token of flannel"}


def test_a_token_that_never_appears_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = run(monkeypatch, {PROXY: 0, FLANNEL: 10**9}, timeout=0.05)
    assert result["failed"]
    assert f"expected a token in {FLANNEL}, got none after" in result["msg"]
    assert "token of proxy" not in result["msg"]


def test_a_dry_run_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fake, "check_mode", True)
    result, _ = run(monkeypatch, {}, timeout=30)
    assert result["tokens"] == {}


@pytest.mark.parametrize("name", ["proxy", "/proxy", "kube-system/"])
def test_a_name_without_a_namespace_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    result, fake = run(monkeypatch, {}, secrets=[name])
    assert f"secrets: expected NAMESPACE/NAME, got {name!r}" in result["msg"]
    assert fake.asked == 0
