# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Services are called through every Windows node that is Ready, until all of them answer or the time is up."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.module_utils.api_error import ApiError
from ansible_collections.winkube.node.plugins.module_utils.service_calls import CallTools, ServiceCall, wait_for_calls

Object = dict[str, t.Any]


def node(name: str, address: str, *, system: str = "windows", ready: str = "True") -> Object:
    conditions = [{"type": "Ready", "status": ready}]
    status = {"conditions": conditions, "addresses": [{"type": "InternalIP", "address": address}]}
    return {"metadata": {"name": name, "labels": {"kubernetes.io/os": system}}, "status": status}


class Workloads:
    """One service with a Deployment of two pods."""

    def __init__(self, *nodes: Object) -> None:
        self.known, self.available, self.errors = list(nodes), 2, [ApiError("503", 503)]

    def nodes(self) -> list[Object]:
        if self.errors:
            raise self.errors.pop()
        return self.known

    def service(self, name: str) -> Object | None:
        return {"metadata": {"name": name}, "spec": {"ports": [{"nodePort": 30080}]}} if name == "web" else None

    def deployment(self, name: str) -> Object | None:
        return {"spec": {"replicas": 2}, "status": {"availableReplicas": self.available}} if name != "gone" else None


class Clock:
    """A clock that only sleeping advances."""

    def __init__(self, answers: t.Mapping[str, str]) -> None:
        self.now, self.answers, self.asked = 0.0, answers, [""]

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def get(self, url: str) -> str:
        self.asked.append(url)
        return self.answers.get(url, "")

    @property
    def tools(self) -> CallTools:
        return CallTools(lambda: self.now, self.sleep, self.get)


def test_every_ready_windows_node_is_called() -> None:
    api = Workloads(node("a", "10.0.0.1"), node("b", "fd00::1"), node("c", "10.0.0.3", ready="False"),
                    node("d", "10.0.0.4", system="linux"))  # fmt: skip
    clock = Clock({})
    calls = wait_for_calls(api, ["web"], 60, clock.tools)
    assert calls == [
        ServiceCall("web", "a", "http://10.0.0.1:30080/", ""),
        ServiceCall("web", "b", "http://[fd00::1]:30080/", ""),
    ]
    # The API server was unavailable once.
    assert clock.now == 2.0


def test_a_service_that_does_not_answer_is_called_until_the_time_is_up() -> None:
    clock = Clock({"http://10.0.0.1:30080/": "refused"})
    (call,) = wait_for_calls(Workloads(node("a", "10.0.0.1")), ["web"], 10, clock.tools)
    assert call.problem == "refused"
    assert len(clock.asked) > 4
    assert clock.now >= 10


@pytest.mark.parametrize(
    ("service", "available", "nodes", "problem"),
    [
        ("web", 1, [node("a", "10.0.0.1")], "expected 2 available pods, got 1"),
        ("web", 2, [], "the cluster has no Windows node that is Ready"),
        ("gone", 2, [node("a", "10.0.0.1")], "the namespace has no Deployment of this name"),
        ("other", 2, [node("a", "10.0.0.1")], "the namespace has no Service of this name"),
    ],
)
def test_a_service_that_cannot_be_called_is_named(
    service: str, available: int, nodes: list[Object], problem: str
) -> None:
    api, clock = Workloads(*nodes), Clock({})
    api.available, api.errors = available, []
    assert wait_for_calls(api, [service], 0, clock.tools) == [ServiceCall(service, "", "", problem)]


def test_a_permanent_error_ends_the_check() -> None:
    api = Workloads()
    api.errors = [ApiError("forbidden", 403)]
    with pytest.raises(ApiError, match="forbidden"):
        wait_for_calls(api, ["web"], 60, Clock({}).tools)
