# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module image_verification: see plugins/modules/image_verification.yml."""

from __future__ import annotations

import dataclasses
import datetime
import typing as t

from ..module_utils.redaction.texts import Redaction
from ..plugin_utils.actions.node_action import NodeAction
from ..plugin_utils.release_notes import documents, machine, observation, verification
from ..plugin_utils.release_notes.contents import with_texts
from ..plugin_utils.release_notes.files import read_notes
from ..plugin_utils.remote.errors import NodeError
from ..plugin_utils.remote.session import NodeSession
from ..plugin_utils.windows import node_paths


class ActionModule(NodeAction):
    """Compares a machine that was started from an image with the image's release notes."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "release_notes": {"type": "path", "required": True},
        "image_path": {"type": "str", "default": f"{node_paths.PROGRAM_DATA}\\release-notes.json"},
        "cache_dir": {"type": "str", "default": f"{node_paths.PROGRAM_DATA}\\cache"},
        "ctr": {"type": "str"},
        "docker": {"type": "str"},
        "offline": {"type": "bool", "default": True},
        "max_fill_percent": {"type": "int", "default": 90},
    }

    def perform(self, options: t.Mapping[str, t.Any], session: NodeSession) -> dict[str, t.Any]:
        notes = read_notes("release_notes", options["release_notes"], "verify_image_release_notes")
        documents.check_image_path(options["image_path"])
        sources = observation.ContentSources.of({**options, "runtime": notes.runtime})
        calls = (*machine.calls(options["image_path"]), *observation.calls(sources))
        seen, windows = session.observe(calls, step="read the contents of the machine")
        session.check_windows()
        now = datetime.datetime.now(datetime.UTC)
        try:
            current = observation.read(
                seen, windows, sources, release=notes.release, host=session.name, time=f"{now:%Y-%m-%dT%H:%M:%SZ}"
            )
        except observation.ContentsUnreadable as error:
            raise NodeError(f"{session.name}: cannot read the contents of the machine: {error}") from error
        # The secrets in the release notes were redacted in the same way, so the strings can be compared.
        current = with_texts(current, Redaction(self.passwords()).text)
        expected = verification.Expectations(offline=options["offline"], max_fill_percent=options["max_fill_percent"])
        results = verification.checks(notes, current, machine.read(seen), expected)
        counts = verification.counts(results)
        session.report_progress(f"release {notes.release}: {verification.summary(counts)}")
        return session.report(
            changed=False,
            release=notes.release,
            checks=[dataclasses.asdict(one) for one in results],
            counts=counts,
        )
