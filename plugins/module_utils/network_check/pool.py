# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run many pods, a limited number at a time, and read their results. The caller passes the objects that do I/O."""

from __future__ import annotations

import collections
import typing as t

from ..api_error import ApiError
from .outcome import why_waiting

Pod = t.Mapping[str, t.Any]
T = t.TypeVar("T")
Read = t.TypeVar("Read", covariant=True)
_NO_ACCOUNT = "error looking up service account"
"""Part of the message with which the API server rejects pods in a new namespace until the namespace has its
`default` service account. Source: kubernetes/kubernetes, plugin/pkg/admission/serviceaccount."""


class PodApi(t.Protocol):
    """The API requests that `Pool` needs. Every method raises ApiError if its request fails."""

    def create_pod(self, namespace: str, body: t.Mapping[str, t.Any]) -> None:
        """Create a pod."""

    def pods(self, namespace: str, role: str) -> list[dict[str, t.Any]]:
        """Return the pods in a namespace that have the given role, `server` or `probe`."""

    def delete_pod(self, namespace: str, name: str) -> None:
        """Ask the API server to delete a pod."""


class Reader(t.Protocol[Read]):
    """Reads the results of pods from their status."""

    def read(self, pod: Pod) -> Read | None:
        """Return the result of a pod, or None if it is not known yet."""

    def give_up(self, pod: Pod | None, why: str) -> Read:
        """Return the result to record for a pod that the pool no longer waits for.

        Args:
            pod: the pod, or None if it does not exist or if the time limit of the run was reached.
            why: the reason why the pool no longer waits.
        """


class PoolLimits(t.NamedTuple):
    """The time limits of a pool of pods, and the maximum number of pods at a time."""

    parallel: int
    """How many pods may be starting or working at the same time."""
    pod_seconds: float
    """How many seconds one pod may take, including the download of its container image."""
    end: float
    """The time at which the whole run must end, on the pool's monotonic clock."""
    poll: float = 1.0
    """Seconds between two requests for the state of the pods."""


class Pool(t.Generic[T]):
    """Creates pods, a limited number at a time, and reads their results.

    Args:
        api: sends the API requests.
        namespace: the namespace of the pods.
        role: the role of the pods, `server` or `probe`.
        limits: the time limits, and the maximum number of pods at a time.
        clock: returns the time of a monotonic clock, in seconds.
        sleep: waits for a number of seconds.
    """

    def __init__(
        self,
        api: PodApi,
        namespace: str,
        role: str,
        limits: PoolLimits,
        clock: t.Callable[[], float],
        sleep: t.Callable[[float], None],
    ) -> None:
        self._api, self._namespace, self._role, self._limits = api, namespace, role, limits
        self._clock, self._sleep = clock, sleep
        self._waiting: collections.deque[t.Mapping[str, t.Any]] = collections.deque()
        self._started: dict[str, float] = {}
        self._first_refused: float | None = None
        self.results: dict[str, T] = {}
        """Maps the names of pods to their results."""

    def run(self, pods: t.Iterable[t.Mapping[str, t.Any]], reader: Reader[T], *, keep: bool) -> dict[str, T]:
        """Create the pods, and return a mapping from their names to their results.

        Args:
            pods: the pods to create.
            reader: reads the results.
            keep: whether to keep each pod when its result is known, instead of deleting it.

        Raises:
            ApiError: a request for the state of the pods failed permanently.
        """
        self._waiting.extend(pods)
        while self._waiting or self._started:
            if self._clock() >= self._limits.end:
                self._stop(reader)
                break
            self._create(reader)
            self._sleep(self._limits.poll)
            self._read(reader, keep)
        return self.results

    def _create(self, reader: Reader[T]) -> None:
        while self._waiting and len(self._started) < self._limits.parallel:
            body = self._waiting[0]
            name = str(body["metadata"]["name"])
            try:
                self._api.create_pod(self._namespace, body)
            except ApiError as error:
                if self._is_passing_refusal(error):
                    return
                self.results[name] = reader.give_up(None, f"the pod cannot be created: {error}")
            else:
                self._first_refused = None
                self._started[name] = self._clock()
            self._waiting.popleft()

    def _is_passing_refusal(self, error: ApiError) -> bool:
        """Return whether to repeat a rejected request to create a pod.

        The request is repeated for a limited time if it may succeed later.
        """
        now = self._clock()
        self._first_refused = now if self._first_refused is None else self._first_refused
        if now - self._first_refused > self._limits.pod_seconds:
            return False
        return error.status in (0, 429) or error.status >= 500 or _NO_ACCOUNT in str(error)

    def _read(self, reader: Reader[T], keep: bool) -> None:
        try:
            pods = {pod["metadata"]["name"]: pod for pod in self._api.pods(self._namespace, self._role)}
        except ApiError as error:
            if error.is_temporary:
                return
            raise
        for name, started in list(self._started.items()):
            pod = pods.get(name)
            result = reader.read(pod) if pod is not None else None
            if result is None and self._clock() - started > self._limits.pod_seconds:
                why = why_waiting(pod) if pod is not None else "another client deleted the pod"
                result = reader.give_up(pod, f"not ready after {self._limits.pod_seconds:g} seconds: {why}")
            if result is not None:
                self.results[name] = result
                del self._started[name]
                if not keep and pod is not None:
                    self._delete(name)

    def _delete(self, name: str) -> None:
        """Delete a pod. Ignore an error, because the pod is deleted with its namespace later."""
        try:
            self._api.delete_pod(self._namespace, name)
        except ApiError:
            return

    def _stop(self, reader: Reader[T]) -> None:
        names = [*self._started, *(str(body["metadata"]["name"]) for body in self._waiting)]
        for name in names:
            self.results[name] = reader.give_up(None, "the time limit of the run was reached")
        self._started.clear()
        self._waiting.clear()
