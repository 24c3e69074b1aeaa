# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module release_notes: see plugins/modules/release_notes.yml."""

from __future__ import annotations

import datetime
import pathlib
import typing as t

from ..module_utils.redaction.texts import Redaction
from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.release_notes import documents, observation, sbom, sections
from ..plugin_utils.release_notes.contents import ImageContents, with_texts
from ..plugin_utils.release_notes.release import ImageRelease
from ..plugin_utils.remote.errors import NodeError
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.reports import files
from ..plugin_utils.values.errors import ResourceError
from ..plugin_utils.windows import node_paths
from ..plugin_utils.wire.messages import Batch


class ActionModule(NodeAction):
    """Writes the release notes and the software bill of materials (SBOM) of a machine that becomes an image."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "release": {"type": "str", "required": True},
        "directory": {"type": "path", "required": True},
        "sbom": {"type": "bool", "default": True},
        "image_path": {"type": "str", "default": f"{node_paths.PROGRAM_DATA}\\release-notes.json"},
        "cache_dir": {"type": "str", "default": f"{node_paths.PROGRAM_DATA}\\cache"},
        "runtime": {"type": "str", "choices": ["containerd", "docker"], "default": "containerd"},
        "ctr": {"type": "str"},
        "docker": {"type": "str"},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        release = str(ImageRelease.parse(options["release"]))
        documents.check_image_path(options["image_path"])
        if options["sbom"] and (problem := sbom.missing_library()):
            raise NodeError(f"{session.name}: {problem}")
        now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
        result = {"changed": bool(options["image_path"]), "release": release, "image_path": options["image_path"]}
        try:
            contents = self._read(options, session, release, now)
        except observation.ContentsUnreadable as error:
            problem = f"read the contents of the image: {error}"
            if not self._task.check_mode:
                raise NodeError(f"{session.name}: {problem}") from error
            # Nothing was installed in check mode, so a machine that is not prepared yet has no container runtime.
            session.warn(problem)
            return session.report(**result)
        texts = documents.texts(contents, written=now, with_sbom=options["sbom"])
        folder = pathlib.Path(options["directory"]) / release
        paths = {kind: folder / documents.file_name(session.name, kind) for kind in texts}
        if not self._task.check_mode:
            self._write(options["directory"], {paths[kind]: text for kind, text in texts.items()})
            if options["image_path"]:
                self._store(options["image_path"], texts["json"], session)
        summary = sections.summary(contents)
        session.report_progress(f"release {release}: {summary}")
        return session.report(summary=summary, files={kind: str(path) for kind, path in paths.items()}, **result)

    def _read(
        self, options: t.Mapping[str, t.Any], session: NodeSession, release: str, now: datetime.datetime
    ) -> ImageContents:
        sources = observation.ContentSources.of(options)
        seen, windows = session.observe(observation.calls(sources), step="read the contents of the image")
        session.check_windows()
        time = f"{now:%Y-%m-%dT%H:%M:%SZ}"
        contents = observation.read(seen, windows, sources, release=release, host=session.name, time=time)
        for artifact in contents.artifacts:
            if not artifact.verified:
                session.warn(f"{artifact.path} differs from its manifest or has no manifest")
        return with_texts(contents, Redaction(self.passwords()).text)

    @staticmethod
    def _write(directory: str, texts: t.Mapping[pathlib.Path, str]) -> None:
        try:
            for path, text in texts.items():
                files.write_text(path, text)
        except OSError as error:
            raise ResourceError("directory", directory, f"expected a writable folder ({error})") from error

    @staticmethod
    def _store(path: str, text: str, session: NodeSession) -> None:
        step = "store the release notes in the image"
        seen = session.node.run(Batch(calls=(documents.store_call(path, text),)), step=step)
        if seen.stopped is not None:
            raise NodeError(f"{session.name}: {step}: {seen[seen.stopped.id].error}")
