# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run the controllers in one thread.

When a resource changes, each controller that watches it checks the whole cluster. Some also run at intervals.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Protocol

from ..errors import ApiErrorResponse
from ..store import ObjectStore

_LOG = logging.getLogger(__name__)
_PAUSE = 0.02  # collects a burst of changes


class Controller(Protocol):
    """A control loop. Its `sync` method moves the actual state one step closer to the desired state."""

    watches: tuple[str, ...]
    """The plural names of the resources whose changes trigger a sync."""
    every: float
    """The seconds after which the controller runs even without a change; with 0, it runs only after changes."""

    def sync(self) -> None:
        """Move the actual state closer to the desired state."""


class ControllerLoop:
    """The thread that runs the controllers."""

    def __init__(self, store: ObjectStore, controllers: Sequence[Controller]) -> None:
        self._store = store
        self._controllers = controllers
        self._seen = [-1] * len(controllers)
        self._ran = [0.0] * len(controllers)
        self._thread = threading.Thread(target=self._run, name="controllers", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Wait at most 10 seconds for the thread to end, which it does when the store is closed."""
        self._thread.join(10)

    def step(self) -> None:
        """Run each controller whose watched resources have changed or whose interval has elapsed."""
        for index, controller in enumerate(self._controllers):
            revision = max(self._store.changed_at(plural) for plural in controller.watches)
            due = controller.every and time.monotonic() - self._ran[index] >= controller.every
            if revision <= self._seen[index] and not due:
                continue
            self._ran[index] = time.monotonic()
            self._seen[index] = revision
            try:
                controller.sync()
            except ApiErrorResponse as error:
                # As in a real cluster, there can be a conflict, or an object can still be missing. Retry a little
                # later.
                _LOG.debug("%s: %s", type(controller).__name__, error)
                self._seen[index] = -1
            except Exception:
                _LOG.exception("%s", type(controller).__name__)

    def _run(self) -> None:
        while not self._store.closed:
            revision = self._store.revision
            self.step()
            self._store.wait(revision, 0.25)
            time.sleep(_PAUSE)
