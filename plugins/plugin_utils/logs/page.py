# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Render the index page of collected logs, with one row for each node, including nodes without logs."""

from __future__ import annotations

import typing as t
import urllib.parse

import jinja2

from ..hns.facts.node_facts import NO_HNS
from ..values.versions import DATA

_STATUS = {"complete": "good", "partial": "warm", "failed": "bad", "unreachable": "bad", "skipped": "soft"}

_URGENCY = ("failed", "unreachable", "partial", "skipped", "complete")


def entry(name: str, result: t.Mapping[str, t.Any] | None, directory: str) -> dict[str, t.Any]:
    """Return one node's row of the index page.

    Args:
        name: name of the host.
        result: result of node_logs; None if the host failed earlier.
        directory: the page's folder; links are relative to it.
    """
    if not result:
        return {"node": name, "status": "skipped", "message": "an earlier step failed; see the run's output"}
    problems = [str(problem) for problem in result.get("problems") or ()]
    archive = str(result.get("archive") or "")
    if result.get("unreachable"):
        status = "unreachable"
    elif result.get("failed"):
        status = "failed"
    elif result.get("skipped"):
        status = "skipped"
    else:
        status = "partial" if problems else "complete"
    windows = result.get("windows") or {}
    versions = result.get("versions") or {}
    return {
        "node": name,
        "status": status,
        "message": str(result.get("msg") or "") if status not in ("complete", "partial") else "",
        "problems": problems,
        "windows": str(windows.get("product") or ""),
        "build": f"{windows['build']}.{windows['ubr']}" if windows else "",
        "pending_reboot": list(windows.get("pending_reboot") or ()),
        "kubelet": version(versions.get("kubelet", "")),
        "containerd": version(versions.get("containerd", "")),
        "not_running": list(result.get("services_not_running") or ()),
        "without_log": list(result.get("without_log") or ()),
        "hns": dict(result.get("hns") or {}),
        "hns_problem": str(result.get("hns_problem") or ""),
        "without_hns": result.get("hns_problem") == NO_HNS,
        "boot": _minute(result.get("boot")),
        "time": _minute(result.get("time")),
        "archive": archive.rsplit("/", 1)[-1],
        "link": _link(archive, directory),
        "size": size(int(result.get("size") or 0)) if archive else "",
        "files": int(result.get("files") or 0),
    }


def version(text: str) -> str:
    """Return the version in output such as `Kubernetes v1.34.2` or `containerd github.com/… v2.2.5 COMMIT`.

    >>> version("containerd github.com/containerd/containerd/v2 v2.2.5 abc")
    'v2.2.5'
    """
    parts = str(text).split()
    return next((word for word in parts if word.lstrip("v")[:1].isdigit() and "." in word), " ".join(parts)[:40])


def size(count: int) -> str:
    """Return a number of bytes as readable text.

    >>> size(1536), size(25_000_000)
    ('2 KB', '25.0 MB')
    """
    if count < 1_000_000:
        return f"{max(count / 1000, min(count, 1)):.0f} KB"
    return f"{count / 1_000_000:.1f} MB" if count < 1_000_000_000 else f"{count / 1_000_000_000:.1f} GB"


def page(nodes: t.Sequence[t.Mapping[str, t.Any]], *, written: str, since: str = "") -> str:
    """Return the index page as a self-contained HTML document.

    Args:
        nodes: rows from `entry`.
        written: time of writing, as text.
        since: maximum age of the logs, as text.
    """
    # Failures come first, so that readers find them among hundreds of nodes.
    nodes = sorted(nodes, key=lambda node: _URGENCY.index(node["status"]))
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(DATA), autoescape=True)
    summary = [(status, sum(1 for node in nodes if node["status"] == status)) for status in _STATUS]
    return environment.get_template("logs_index.html.j2").render(
        title="Logs of Windows nodes",
        nodes=nodes,
        summary=[(status, count) for status, count in summary if count],
        styles=_STATUS,
        written=written,
        since=since,
    )


def _minute(moment: t.Any) -> str:
    """Convert an ISO 8601 time in UTC to the form `2026-11-21 14:05`."""
    text = str(moment or "")
    return text[:16].replace("T", " ")


def _link(archive: str, directory: str) -> str:
    """Return a relative link to an archive, or an empty string if there is no archive.

    Because the link is relative, the page's folder can be moved.
    """
    if not archive:
        return ""
    name = archive.removeprefix(directory.rstrip("/") + "/")
    return urllib.parse.quote(name)
