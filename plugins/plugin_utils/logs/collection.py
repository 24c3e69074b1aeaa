# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Collect the logs of one node.

The steps are to observe the node, gather the logs there, transfer and store the archive, and clean up.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import pathlib
import tempfile
import typing as t
import uuid

from ansible.errors import AnsibleConnectionFailure

from ...module_utils.redaction.texts import Redaction
from ..remote.errors import NodeError
from ..remote.session import NodeSession
from ..values.errors import ResourceError
from ..values.file_names import host_file_name
from ..wire.messages import Batch, Progress
from . import archive as logs_archive
from . import catalogue, gathering, page
from . import selection as logs_selection
from . import state as logs_state
from . import survey as logs_survey

_CLEANUP_TIMEOUT = 5.0
"""Time limit in seconds for reconnecting to the node after a failed collection, to delete the gathered files. If that
fails, too, the next run deletes the files."""


@dataclasses.dataclass(kw_only=True)
class CollectionOutcome:
    """The outcome of collecting a node's logs. It is filled while the logs are collected."""

    survey: logs_survey.Survey | None = None
    state: logs_state.State | None = None
    selection: logs_selection.Selection | None = None
    gathered: gathering.GatherResult | None = None
    kept: logs_archive.ArchiveContent | None = None
    archive: pathlib.Path | None = None
    problems: list[str] = dataclasses.field(default_factory=list)
    """Messages about everything that could not be collected, with the reasons."""

    def to_result(self) -> dict[str, t.Any]:
        """Return the result of the node_logs module, which is also the input for the index page of all logs."""
        result: dict[str, t.Any] = {"changed": self.archive is not None, "problems": self.problems}
        if self.survey is not None:
            windows = self.survey.windows
            result["windows"] = {
                "product": windows.product,
                "version": windows.version,
                "build": windows.build,
                "ubr": windows.ubr,
                "pending_reboot": list(windows.pending_reboot),
            }
            result["time"], result["boot"] = self.survey.time, self.survey.boot
            result["services_not_running"] = not_running(self.survey)
            result["without_log"] = without_log(self.survey)
        if self.state is not None:
            result["hns"] = logs_state.counts(self.state.hns)
            result["hns_problem"] = str((self.state.hns or {}).get("problem") or "")
        if self.gathered is not None:
            result["versions"] = dict(self.gathered.versions)
        if self.archive is not None and self.kept is not None:
            result["archive"] = str(self.archive)
            result["size"] = self.archive.stat().st_size
            result["files"] = len(self.kept.members)
        return result

    def plan(self) -> dict[str, t.Any]:
        """Return what would be collected and what would be left out, or an empty dict if the node was not observed."""
        if self.selection is None:
            return {}
        return {
            "selected": [item.path for item in self.selection.files],
            "event_logs": [item.channel for item in self.selection.exports],
            "left_out": [dataclasses.asdict(item) for item in self.selection.left_out],
        }


class Collection:
    """A run that collects the logs of one node.

    Args:
        session: the session with the node.
        requested: the logs that the user has selected.
        directory: folder for archives on the controller.
        redaction: the redaction of secrets.
    """

    def __init__(
        self,
        session: NodeSession,
        requested: catalogue.RequestedLogs,
        directory: pathlib.Path,
        redaction: Redaction,
    ) -> None:
        self._session, self._node = session, session.node
        self._requested, self._directory = requested, directory
        self._redaction = redaction
        self.outcome = CollectionOutcome()

    def survey(self) -> tuple[logs_survey.Survey, logs_selection.Selection]:
        """Observe the node in one remote command, and select the logs to collect.

        Raises:
            NodeError: the node could not be observed, or did not report its Windows version.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        scope = logs_survey.SCOPE
        asked = (*map(scope.call, logs_survey.calls(self._requested)), *logs_state.calls(self._requested))
        # Configurations of CNI plugins and proxies may contain secrets.
        seen, windows = self._session.observe(asked, step="find logs", private=True)
        survey = logs_survey.read(dataclasses.replace(seen, calls=scope.results(seen.calls)), windows)
        self.outcome.survey = survey
        self.outcome.state = logs_state.read(seen)
        self.outcome.selection = logs_selection.select(survey, self._requested)
        self.outcome.problems += [*survey.problems, *self.outcome.state.problems]
        return survey, self.outcome.selection

    def preview(self) -> None:
        """Observe the node, and report how much would be collected.

        Raises:
            NodeError: the node could not be observed, or did not report its Windows version.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        dummy, selection = self.survey()
        taken = page.size(sum(file.expected for file in selection.files))
        self._session.report_progress(
            f"would collect {len(selection.files)} files ({taken} at most) and {len(selection.exports)} event logs"
        )

    def collect(self) -> None:
        """Observe the node, gather its logs, and transfer the archive.

        Raises:
            ResourceError: the folder on the controller is not writable. In this case, the node was not contacted.
            NodeError: no archive was stored. `outcome` still contains what is known about the node.
            AnsibleConnectionFailure: the node cannot be reached, or the connection was lost.
        """
        _make(self._directory)
        survey, selection = self.survey()
        if survey.free < selection.required_space:
            raise NodeError(
                f"{self._node.name}: gather logs: expected {(selection.required_space >> 20) + 1} MB of free space "
                f"on C:, got {survey.free >> 20} MB; collect less (limit_mb, since, sources)"
            )
        work_folder = gathering.WorkFolder.named(uuid.uuid4().hex)
        try:
            gathered = self._gather(selection, survey, work_folder)
            self._transfer(work_folder, gathered)
        except (NodeError, AnsibleConnectionFailure):
            self._node.timeouts = dataclasses.replace(
                self._node.timeouts, reconnect=_CLEANUP_TIMEOUT, first_contact=_CLEANUP_TIMEOUT
            )
            with contextlib.suppress(NodeError, AnsibleConnectionFailure):
                self._clean_up()
            raise
        try:
            self._clean_up()
        except (NodeError, AnsibleConnectionFailure) as error:
            self.outcome.problems.append(f"{error}; the gathered files stay on the node until the next run")

    def _gather(
        self, selection: logs_selection.Selection, survey: logs_survey.Survey, work_folder: gathering.WorkFolder
    ) -> gathering.GatherResult:
        self._node.on_progress = self._report_progress
        batch = Batch(calls=gathering.calls(selection, survey, work_folder))
        seen = self._node.run(batch, step="gather logs")
        try:
            gathered = gathering.read(seen, selection)
        except ValueError as error:
            raise NodeError(f"{self._node.name}: gather logs: {error}") from error
        self.outcome.gathered = gathered
        self.outcome.problems += gathered.problems
        return gathered

    def _transfer(self, work_folder: gathering.WorkFolder, gathered: gathering.GatherResult) -> None:
        """Transfer the archive and store it completely or not at all."""
        self._session.report_progress(f"downloading {page.size(gathered.size)}")
        try:
            self._keep(work_folder, gathered)
        except (logs_archive.ArchiveError, OSError) as error:
            # The controller's disk may be full; the node is cleaned up anyway.
            raise NodeError(f"{self._node.name}: store logs in {self._directory}: {error}") from error

    def _keep(self, work_folder: gathering.WorkFolder, gathered: gathering.GatherResult) -> None:
        name = host_file_name(self._node.name)
        # A temporary file is readable only by its owner.
        with tempfile.TemporaryFile(dir=self._directory) as raw:
            self._node.fetch(work_folder.archive, gathered.size, gathered.sha256, t.cast("t.BinaryIO", raw))
            raw.seek(0)
            target, path = tempfile.mkstemp(dir=self._directory, prefix=f".{name}.", suffix=".part")
            try:
                with os.fdopen(target, "wb") as file:
                    self.outcome.kept = logs_archive.write(
                        t.cast("t.BinaryIO", raw),
                        file,
                        folder=name,
                        members=gathered.members,
                        documents=self._documents,
                        redaction=self._redaction,
                        limit=self.outcome.selection.most if self.outcome.selection else 0,
                        temporary=self._directory,
                    )
                archive = self._directory / f"{name}.tar.gz"
                os.replace(path, archive)  # noqa: PTH105 - the same, and atomic
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)  # noqa: PTH108
        self.outcome.problems += [f"{member}: not a text file" for member in self.outcome.kept.not_texts]
        self.outcome.archive = archive

    def _clean_up(self) -> None:
        self._node.observe((gathering.remove(),), step="clean up")

    def _documents(self, kept: logs_archive.ArchiveContent) -> dict[str, t.Any]:
        """Return the documents that the archive contains in addition to the node's files."""
        outcome = self.outcome
        documents: dict[str, t.Any] = {"manifest.json": self._manifest(kept)}
        if outcome.survey is not None:
            documents["facts/services.json"] = [dataclasses.asdict(service) for service in outcome.survey.services]
        if outcome.state is not None:
            documents |= {f"facts/{name}.json": fact for name, fact in outcome.state.facts.items()}
            documents |= {f"commands/{name}.txt": text for name, text in outcome.state.commands.items()}
            if outcome.state.hns is not None:
                documents["facts/hns.json"] = outcome.state.hns
        return documents

    def _manifest(self, kept: logs_archive.ArchiveContent) -> dict[str, t.Any]:
        outcome = self.outcome
        result = {key: value for key, value in outcome.to_result().items() if key != "changed"}
        files = outcome.selection.files if outcome.selection else ()
        sizes = outcome.gathered.sizes if outcome.gathered else {}
        return {
            "node": self._node.name,
            "collected": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "since_hours": self._requested.since.total_seconds() / 3600,
            "limit_bytes": self._requested.limit,
            **result,
            **outcome.plan(),
            "files": [
                {
                    "member": file.member,
                    "path": file.path,
                    "size_on_node": sizes[file.member][0],
                    "taken": sizes[file.member][1],
                }
                for file in files
                if file.member in kept.members
            ],
            "not_texts": list(kept.not_texts),
        }

    def _report_progress(self, progress: Progress) -> None:
        self._session.report_progress(f"gathering, {progress.done}/{progress.total} {progress.id}")


def _make(directory: pathlib.Path) -> None:
    """Create the folder for archives and check that it is writable, before any node gathers logs."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise ResourceError("directory", str(directory), f"expected a writable folder ({error})") from error


def not_running(survey: logs_survey.Survey) -> list[str]:
    """Return which of the services in data/log_sources.yml are neither running nor disabled on the node.

    If a service's start type is not Automatic, its name is followed by the start type in parentheses.
    """
    ours = {service.name.casefold() for service in catalogue.sources().services}
    return [
        service.name if service.start == "Automatic" else f"{service.name} ({service.start.lower()})"
        for service in survey.services
        if service.name.casefold() in ours and service.status != "Running" and service.start != "Disabled"
    ]


def without_log(survey: logs_survey.Survey) -> list[str]:
    """Return which of containerd, the kubelet and kube-proxy are services of the node but have no log.

    A kubelet that runs as a native service, and containerd without --log-file, write no log. Sources:
    kubernetes/kubernetes, pkg/windows/service/service.go; containerd/containerd,
    cmd/containerd/command/service_windows.go.
    """
    with_log = {file.source for file in survey.files}
    missing = []
    for entry in catalogue.sources().services:
        service = survey.service(entry.name)
        if entry.version and service is not None and not service.log_files and entry.log not in with_log:
            missing.append(service.name)
    return missing
