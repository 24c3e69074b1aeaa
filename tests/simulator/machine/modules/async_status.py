# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate Ansible's async_status module, which reads the state of a job that the async wrapper started."""

from __future__ import annotations

import json
from typing import Any

from simulator.machine.modules.arguments import ModuleArguments
from simulator.machine.session import Session


def run(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Return the contents of the file with a job's results. In `cleanup` mode, delete the file instead."""
    job = arguments.text("jid")
    folder = arguments.path(session, "_async_dir")
    path = f"{folder}\\{job}"
    files = session.machine.files
    if not files.is_file(path):
        message = f"could not find job at '{folder}'"
        return {"ansible_job_id": job, "started": 1, "finished": 1, "failed": True, "msg": message}
    if arguments.text("mode", default="status") == "cleanup":
        files.delete(path)
        return {"ansible_job_id": job, "erased": path}
    try:
        data: dict[str, Any] = json.loads(files.read_text(path))
    except ValueError:
        return {"results_file": path, "ansible_job_id": job, "started": 1, "finished": 0}
    if "started" not in data:
        data |= {"finished": 1, "ansible_job_id": job}
    data.setdefault("finished", 0)
    return data
