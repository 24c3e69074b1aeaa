# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Connect to a test cluster as an administrator, for the code that installs Calico in the cluster."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

Object = dict[str, Any]
_PLURALS = {
    "APIServer": "apiservers",
    "BGPConfiguration": "bgpconfigurations",
    "BlockAffinity": "blockaffinities",
    "ClusterInformation": "clusterinformations",
    "FelixConfiguration": "felixconfigurations",
    "IPAMBlock": "ipamblocks",
    "IPAMConfig": "ipamconfigs",
    "IPPool": "ippools",
    "TigeraStatus": "tigerastatuses",
}
_NAMESPACED = ("ConfigMap", "DaemonSet", "Deployment", "Secret", "Service", "ServiceAccount")
_ATTEMPTS = 50


class RefusedError(Exception):
    """The API server refused a request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def path_of(document: Mapping[str, Any]) -> str:
    """Return the API path of the collection to which an object belongs."""
    kind, version, metadata = str(document["kind"]), str(document["apiVersion"]), document["metadata"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    place = f"/namespaces/{metadata['namespace']}" if kind in _NAMESPACED else ""
    return f"{base}{place}/{_PLURALS.get(kind, kind.lower() + 's')}"


class AdminClient:
    """An administrator's connection, which several threads can share; it sends one request at a time.

    Args:
        kubeconfig: a kubeconfig with a client certificate, such as `SimulatedCluster.kubeconfig`.
    """

    def __init__(self, kubeconfig: Path) -> None:
        document = yaml.safe_load(kubeconfig.read_text())
        cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
        parts = urlsplit(cluster["server"])
        self._host, self._port = parts.hostname or "", parts.port or 443
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._context = ssl.create_default_context(cadata=authority)
        with tempfile.TemporaryDirectory() as folder:
            pair = Path(folder, "pair.pem")
            pair.touch(mode=0o600)
            names = ("client-certificate-data", "client-key-data")
            pair.write_bytes(b"\n".join(base64.b64decode(user[name]) for name in names))
            self._context.load_cert_chain(pair)
        self._lock = threading.Lock()
        self._connection: http.client.HTTPSConnection | None = None

    def call(self, method: str, path: str, body: object = None, media: str = "application/json") -> Object:
        """Send a request, and return the response's JSON object.

        Raises:
            RefusedError: the API server refused the request.
            OSError, http.client.HTTPException: the API server did not respond, or its response is not valid HTTP.
        """
        data = None if body is None else json.dumps(body)
        with self._lock:
            status, text = self._send(method, path, data, {"Content-Type": media, "Accept": "application/json"})
        found = json.loads(text) if text[:1] == b"{" else {}
        if status >= 400:
            raise RefusedError(status, str(found.get("message") or text.decode(errors="replace")))
        return dict(found)

    def _send(self, method: str, path: str, data: str | None, headers: dict[str, str]) -> tuple[int, bytes]:
        """Send a request over the open connection. If none is open or the request fails, use a new connection."""
        while True:
            used, self._connection = self._connection, None
            connection = used or http.client.HTTPSConnection(self._host, self._port, timeout=10, context=self._context)
            try:
                connection.request(method, path, data, headers)
                answer = connection.getresponse()
                found = answer.status, answer.read()
            except (http.client.HTTPException, OSError):
                connection.close()
                if used is None:
                    raise
                continue
            self._connection = connection
            return found

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._connection:
                self._connection.close()
                self._connection = None

    def find(self, path: str) -> Object | None:
        """Return the object or list at an API path, or None if the API server responds with 404."""
        try:
            return self.call("GET", path)
        except RefusedError as error:
            if error.status == 404:
                return None
            raise

    def items(self, path: str) -> list[Object]:
        """Return the objects at a collection's path, or an empty list if the resource type does not exist."""
        return list((self.find(path) or {}).get("items") or [])

    def merge(self, path: str, patch: Mapping[str, Any]) -> Object:
        """Apply a JSON merge patch to an object, and return the result."""
        return self.call("PATCH", path, patch, "application/merge-patch+json")

    def apply(self, document: Mapping[str, Any]) -> None:
        """Create or replace an object. Retry for a while, because the API might not serve a new resource type yet."""
        collection = path_of(document)
        one = f"{collection}/{document['metadata']['name']}"
        for attempt in range(_ATTEMPTS):
            try:
                try:
                    self.call("POST", collection, document)
                    return
                except RefusedError as error:
                    if error.status != 409:
                        raise
                known = self.call("GET", one)
                version = {"resourceVersion": known["metadata"]["resourceVersion"]}
                self.call("PUT", one, {**document, "metadata": {**document["metadata"], **version}})
                return
            except RefusedError as error:
                if error.status not in (404, 409) or attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(0.1)

    def apply_all(self, documents: Sequence[Mapping[str, Any]]) -> None:
        """Apply several objects in order."""
        for document in documents:
            self.apply(document)

    def delete(self, path: str) -> None:
        """Delete an object if it exists."""
        try:
            self.call("DELETE", path)
        except RefusedError as error:
            if error.status != 404:
                raise


class RepeatingThread:
    """A thread that runs a function repeatedly until it is stopped.

    If a request to the API server fails, `error` contains the error until the function succeeds.

    Args:
        name: the name of the thread.
        work: the function.
        pause: the seconds between two runs.
    """

    def __init__(self, name: str, work: Callable[[], None], pause: float = 0.3) -> None:
        self._work, self._pause = work, pause
        self._stop = threading.Event()
        self.error = ""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._pause):
            try:
                self._work()
                self.error = ""
            except (RefusedError, OSError, http.client.HTTPException) as error:
                self.error = str(error)

    def stop(self) -> None:
        """Stop the thread, and wait at most 15 seconds for it to end."""
        self._stop.set()
        self._thread.join(15)
