# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Process user data as cloudbase-init does: templates, cloud-config, scripts and multi-part data.

Sources: plugins/common/userdata.py and plugins/common/userdataplugins
"""

from __future__ import annotations

import email
import ntpath
import re
from collections.abc import Callable
from email.message import Message
from typing import Any

import jinja2

from simulator.machine.objects import NotModelled
from simulator.windows.cloudbase import cloud_config, scripts
from simulator.windows.cloudbase.configuration import CloudbaseRun
from simulator.windows.cloudbase.metadata import MetadataNotExistingError
from simulator.windows.cloudbase.scripts import DONE

_MODULE = "plugins.common.userdata"
_OWN_TYPES = (
    "text/part-handler",
    "text/cloud-config",
    "text/cloud-boothook",
    "text/x-shellscript",
    "multipart/mixed",
    "text/x-cfninitdata",
)
"""The content types that the plugins in the option `user_data_plugins` process. Source: conf/default.py"""
MISSING = "CI_MISSING_JINJA_VAR/"


class _MissingVariable(jinja2.DebugUndefined):
    def __str__(self) -> str:
        return f"{MISSING}{self._undefined_name}"


class JinjaEngine:
    """The engine for Jinja templates. Source: utils/template_engine/jinja2_template.py"""

    def render(self, data: Any, template: bytes) -> bytes:
        """Render a template without its first line, which names the engine."""
        text = template.partition(b"\n")[2].decode()
        rendered: str = jinja2.Template(text, trim_blocks=True, undefined=_MissingVariable).render(**data)
        return rendered.encode()


def template_engine(data: bytes) -> JinjaEngine | None:
    """Return the engine that a document's first line names, or None if the document is not a Jinja template."""
    head = re.match(r"##\s*template:(.*)", data.decode(), re.IGNORECASE)
    return JinjaEngine() if head and head[1].lower().strip() == "jinja" else None


class CloudbaseUserDataPlugin:
    """cloudbase-init's UserDataPlugin.

    A plugin's constructor has no parameters, so `own_plugins.py` sets the attribute `run` in a subclass.
    """

    run: CloudbaseRun

    def execute(self, service: Any, shared_data: Any) -> tuple[int, bool]:
        """Process the user data, and return the plugin's state and whether the machine has to reboot."""
        try:
            data = service.get_decoded_user_data()
        except MetadataNotExistingError:
            return DONE, False
        if not data or not self.run.configuration.flag("process_userdata", True):
            return DONE, False
        if "Content-Type: multipart" in data.decode().split("\n\n")[0]:
            return self._multi_part(data)
        engine = template_engine(data)
        content = engine.render(service.get_instance_data(), data) if engine else data
        if content.startswith(b"#cloud-config"):
            return scripts.plugin_result(cloud_config.process(self.run, content))
        if content.strip().startswith(b"-----BEGIN CERTIFICATE-----"):
            return DONE, False
        return scripts.plugin_result(scripts.run_data(self.run, content))

    def _multi_part(self, data: bytes) -> tuple[int, bool]:
        self.run.log("DEBUG", _MODULE, f"User data content:\n{data.decode()}")
        result = DONE, False
        handlers: dict[str, Callable[..., object]] = {}
        for part in email.message_from_string(data.decode()).walk():
            try:
                result = scripts.plugin_result(self._handled(part, handlers))
            except NotModelled:
                raise
            except Exception as error:
                kind, name = part.get_content_type(), part.get_filename()
                self.run.log("ERROR", _MODULE, f"Exception during multipart part handling: {kind}, {name} ({error})")
                result = DONE, False
            if result[1]:
                return result
        for handler in set(handlers.values()):
            handler(None, "__end__", None, None)
        return result

    def _handled(self, part: Message, handlers: dict[str, Callable[..., object]]) -> int:
        """Process a part of multi-part data, with the part handler for its content type if there is one.

        Source: userdataplugins/parthandler.py
        """
        kind, payload = part.get_content_type(), part.get_payload(decode=True)
        if kind in handlers:
            handlers[kind](None, kind, part.get_filename(), payload)
            return 0
        if kind != "text/part-handler":
            return self._part(part)
        namespace: dict[str, Any] = {}
        exec(compile(payload, part.get_filename() or "", "exec"), namespace)  # type: ignore[arg-type]
        for one in namespace["list_types"]():
            if one in _OWN_TYPES:
                self.run.log("INFO", _MODULE, f'Skipping part handler for content type "{one}" as it is already managed'
                             " by a plugin")  # fmt: skip
            else:
                self.run.log("INFO", _MODULE, f"Adding part handler for content type: {one}")
                handlers[one] = namespace["handle_part"]
        if namespace["handle_part"] in handlers.values():
            namespace["handle_part"](None, "__begin__", None, None)
        return 0

    def _part(self, part: Message) -> int:
        kind = part.get_content_type()
        if kind == "multipart/mixed":
            return 0
        payload = part.get_payload(decode=True)
        assert isinstance(payload, bytes)
        if kind == "text/cloud-config":
            # Templates are not evaluated here, and the line that names the template engine is a YAML comment.
            return cloud_config.process(self.run, payload)
        if kind == "text/x-shellscript":
            path = ntpath.join(r"C:\Windows\Temp", part.get_filename() or "")
            self.run.machine.files.write_bytes(path, payload)
            return scripts.run_file(self.run, path)
        if kind == "text/cloud-boothook":
            self.run.log("INFO", "plugins.common.userdataplugins.cloudboothook", f"{kind} content is currently not"
                         " supported")  # fmt: skip
            return 0
        if kind == "text/x-cfninitdata":
            raise NotModelled(f"user data of type {kind}")
        self.run.log("INFO", _MODULE, f"Userdata plugin not found for content type: {kind}")
        return 0
