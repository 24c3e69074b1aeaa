# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run batches of calls on a simulated machine, and read the answers."""

from __future__ import annotations

import json
from typing import Any

from simulator.machine.session import Session
from wire_provider.module import run

Call = dict[str, Any]


def answer(session: Session, batch: object) -> dict[str, Any]:
    """Return the module's answer to a batch, or to a text that should be one."""
    text = batch if isinstance(batch, str) else json.dumps(batch)
    return run(session.machine, text, session.process, session.user, session.environment)


def observe(session: Session, *calls: Call, **keys: object) -> dict[str, Any]:
    """Return the observation of calls. The batch must not fail."""
    result = answer(session, {"calls": list(calls), **keys})
    assert not result.get("failed"), result
    observation: dict[str, Any] = result["observation"]
    return observation
