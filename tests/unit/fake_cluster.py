# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A Kubernetes API with a few objects over HTTP, and running modules against it as Ansible does."""

from __future__ import annotations

import dataclasses
import http.server
import json
import re
import threading
import types
import typing as t
import urllib.parse
from pathlib import Path

import pytest
from ansible.module_utils import basic

Document = dict[str, t.Any]
KINDS = ("nodes", "namespaces", "pods", "daemonsets", "certificatesigningrequests", "poddisruptionbudgets")
"""The kinds that can be listed."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """A request that changes something."""

    method: str
    path: str
    body: t.Any = None
    query: t.Mapping[str, str] = dataclasses.field(default_factory=dict)


class FakeCluster:
    """The API server.

    Args:
        folder: the folder for its kubeconfig.
    """

    def __init__(self, folder: Path) -> None:
        self.objects: dict[str, Document] = {"version": {"gitVersion": "v1.37.1"}}
        """The objects by path."""
        self.asked: list[Asked] = []
        self.types: set[str] = set()
        """The content types of patches."""
        self.denied: t.Callable[[Document], bool] = lambda _spec: False
        """Returns whether an access review is denied."""
        self.failures: dict[tuple[str, str], list[tuple[int, t.Any]]] = {}
        """Responses that replace the usual ones, by method and path."""
        self.authorization = "Bearer s3cret"
        """The header that every request with credentials must have."""
        self.anonymous_status = 401
        """The status of responses to requests without credentials."""
        self.headers: list[tuple[str, str]] = []
        """The headers of the last request."""
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.kubeconfig = folder / "admin.conf"
        self.kubeconfig.write_text(json.dumps(self._kubeconfig()), encoding="utf-8")

    def close(self) -> None:
        """Make the server unreachable."""
        self._server.shutdown()
        self._server.server_close()

    def add(self, path: str, **document: t.Any) -> Document:
        """Add an object, after setting the metadata that every object has.

        Args:
            path: its path, which ends with its name; the part after `namespaces` is its namespace.
            document: the object.
        """
        parts = path.split("/")
        about = {"name": parts[-1], "uid": f"uid of {parts[-1]}", "resourceVersion": "7"}
        if "namespaces" in parts:
            about["namespace"] = parts[parts.index("namespaces") + 1]
        document["metadata"] = {**about, **document.get("metadata", {})}
        self.objects[path] = document
        return document

    def fail(self, method: str, path: str, status: int, body: t.Any = None) -> None:
        """Set the response to the next request with this method and path."""
        self.failures.setdefault((method, path), []).append((status, body))

    def answer(self, asked: Asked) -> tuple[int, t.Any]:
        """Return the status and the body of a response."""
        if asked.method != "GET":
            self.asked.append(asked)
        if failures := self.failures.get((asked.method, asked.path)):
            return failures.pop(0)
        if asked.path.endswith("accessreviews"):
            return 201, {"status": {"allowed": not self.denied(asked.body["spec"])}}
        return getattr(self, f"_{asked.method.lower()}")(asked)  # type: ignore[no-any-return]

    def _get(self, asked: Asked) -> tuple[int, t.Any]:
        if asked.path in self.objects:
            return 200, self.objects[asked.path]
        kind = asked.path.rpartition("/")[2]
        found = [one for path, one in self.objects.items() if path.rpartition("/")[0] == asked.path]
        if "namespaces" not in asked.path:
            root = asked.path.removesuffix(f"/{kind}")
            found += [one for path, one in self.objects.items() if _is_of(path, f"{root}/namespaces", kind)]
        selector, _sign, expected = asked.query.get("fieldSelector", "").partition("=")
        if selector:
            part, dot, field = selector.partition(".")
            found = [one for one in found if (one[part].get(field) if dot else one.get(part)) == expected]
        required = _requirements(asked.query.get("labelSelector", ""))
        found = [one for one in found if _has_labels(one["metadata"].get("labels") or {}, required)]
        if not found and kind not in KINDS:
            return 404, {"message": f"{kind} not found"}
        return 200, {"items": found}

    def _post(self, asked: Asked) -> tuple[int, t.Any]:
        if asked.path.endswith("/eviction"):
            del self.objects[asked.path.removesuffix("/eviction")]
            return 201, {}
        path = f"{asked.path}/{asked.body['metadata']['name']}"
        if path in self.objects:
            return 409, {"message": "it already exists"}
        self.objects[path] = asked.body
        return 201, asked.body

    def _put(self, asked: Asked) -> tuple[int, t.Any]:
        self.objects[asked.path.removesuffix("/approval")] = asked.body
        return 200, asked.body

    def _patch(self, asked: Asked) -> tuple[int, t.Any]:
        if asked.path not in self.objects:
            return 404, {"message": "not found"}
        _merge(self.objects[asked.path], asked.body)
        return 200, self.objects[asked.path]

    def _delete(self, asked: Asked) -> tuple[int, t.Any]:
        if asked.path not in self.objects:
            return 404, {"message": "not found"}
        if asked.query.get("dryRun") != "All":
            del self.objects[asked.path]
        return 200, {}

    def _kubeconfig(self) -> Document:
        def context(name: str, server: str) -> tuple[Document, Document]:
            return (
                {"name": name, "cluster": {"server": server}},
                {"name": name, "context": {"cluster": name, "user": "admin"}},
            )

        one, other = context("own", self.url), context("gone", "http://127.0.0.1:1")
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "own",
            "clusters": [one[0], other[0]],
            "contexts": [one[1], other[1]],
            "users": [{"name": "admin", "user": {"token": "s3cret"}}],
        }

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        cluster = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # A response is two writes. Nagle's algorithm would delay the second one by 40 ms.
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if "Authorization" not in self.headers:
                    self.send_response(cluster.anonymous_status)
                    self.send_header("Content-Length", "2")
                    self.end_headers()
                    self.wfile.write(b"{}")
                    return
                cluster.headers = self.headers.items()
                assert self.headers["Authorization"] == cluster.authorization
                if self.command == "PATCH":
                    cluster.types.add(self.headers["Content-Type"])
                target = urllib.parse.urlsplit(self.path)
                path = urllib.parse.unquote(target.path).removeprefix("/")
                query = dict(urllib.parse.parse_qsl(target.query))
                status, found = cluster.answer(Asked(self.command, path, json.loads(body or "null"), query))
                data = found if isinstance(found, bytes) else json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the base class names them so

            def log_message(self, *_arguments: object) -> None:
                """Log nothing."""

        return Handler


def _is_of(path: str, root: str, kind: str) -> bool:
    """Return whether a path is that of an object of a kind in any namespace."""
    parts = path.removeprefix(f"{root}/").split("/")
    return path.startswith(f"{root}/") and len(parts) == 3 and parts[1] == kind


def _merge(found: Document, patch: Document) -> None:
    for key, value in patch.items():
        if isinstance(value, dict) and isinstance(found.get(key), dict):
            _merge(found[key], value)
        elif value is None:
            found.pop(key, None)
        else:
            found[key] = value


def add_node(cluster: FakeCluster, name: str, **more: t.Any) -> Document:
    """Add a node that is Ready."""
    ready = [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}]
    addresses = [{"type": "Hostname", "address": name}, {"type": "InternalIP", "address": "192.0.2.5"}]
    status = {"conditions": ready, "addresses": addresses, "nodeInfo": {"kubeletVersion": "v1.37.0", "bootID": "2"}}
    return cluster.add(f"api/v1/nodes/{name}", **{"spec": {"podCIDR": "10.0.1.0/24"}, "status": status, **more})


class _EndError(BaseException):
    """The end of a module. Modules must not catch it."""


def run_module(
    module: types.ModuleType, cluster: FakeCluster, *, check_mode: bool = False, **options: t.Any
) -> Document:
    """Return a module's result, including `failed` and `warnings`.

    Args:
        module: the module.
        cluster: the cluster that the module uses.
        check_mode: whether to run in check mode.
        options: the other options of the module.
    """
    given = {"kubeconfig": str(cluster.kubeconfig), **options, "_ansible_check_mode": check_mode}
    warnings: list[str] = []

    def end(module: basic.AnsibleModule, **result: t.Any) -> t.NoReturn:
        raise _EndError(basic.remove_values(result, module.no_log_values))

    def fail(module: basic.AnsibleModule, **result: t.Any) -> t.NoReturn:
        end(module, failed=True, **result)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(basic, "_ANSIBLE_ARGS", json.dumps({"ANSIBLE_MODULE_ARGS": given}).encode())
        patch.setattr(basic, "_ANSIBLE_PROFILE", "legacy", raising=False)
        patch.setattr(basic.AnsibleModule, "exit_json", end)
        patch.setattr(basic.AnsibleModule, "fail_json", fail)
        patch.setattr(basic.AnsibleModule, "warn", lambda _module, text, **_more: warnings.append(text))
        with pytest.raises(_EndError) as caught:
            module.main()
    return {**caught.value.args[0], **({"warnings": warnings} if warnings else {})}


def _requirements(selector: str) -> dict[str, set[str]]:
    """Return the accepted values by label: `a=b,c in (d,e)`."""
    parts = re.findall(r"([^,=() ]+)(?:=([^,]*)| in \(([^)]*)\))", selector)
    return {label: {value} if value else set(values.split(",")) for label, value, values in parts}


def _has_labels(labels: t.Mapping[str, str], required: t.Mapping[str, set[str]]) -> bool:
    return all(labels.get(label) in values for label, values in required.items())
