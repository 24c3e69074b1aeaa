# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A plugin of cloudbase-init that prepares user data for cloudbase-init's own plugin of the same name.

cloudbase-init 1.1.8 evaluates Jinja templates only in user data that is not multi-part, and skips what it does not
support: it logs a line and continues (plugins/common/userdata.py, userdataplugins/cloudconfig.py). This plugin
evaluates templates in every part, and refuses user data of which cloudbase-init would skip something. Of such user
data, nothing runs, and the log names the reason. cloudbase-init's Python runs this file, so it uses no other package.
"""

from __future__ import annotations

import email
import email.base64mime
import os
import re
import shutil

import yaml
from cloudbaseinit import exception
from cloudbaseinit.metadata.services import base as services
from cloudbaseinit.plugins.common import userdata
from cloudbaseinit.plugins.common.userdataplugins.cloudconfigplugins import factory as cloud_config
from cloudbaseinit.utils.template_engine import factory as templates

_CONFIG, _SCRIPT, _TEMPLATE = "text/cloud-config", "text/x-shellscript", "text/jinja2"
_HANDLER, _SKIPPED = "text/part-handler", "text/cloud-boothook"
_PASSED_ON = (_HANDLER, "text/x-cfninitdata")
"""Further types of parts that cloudbase-init supports. A part handler is a Python program that runs parts of further
types. It cannot take over boothooks (plugins/common/userdata.py, _add_part_handlers)."""
_MISSING = "CI_MISSING_JINJA_VAR/"
"""What cloudbase-init writes in place of an unknown variable (utils/template_engine/jinja2_template.py)."""
_FORMATS = {
    "#cloud-config-archive": "a cloud-config archive",
    "#cloud-config-jsonp": "a cloud-config JSON patch",
    "#cloud-boothook": "a boothook (text/cloud-boothook)",
    "#include": "an include file (text/x-include-url)",
    "#part-handler": "a part handler outside of multi-part user data",
    "#upstart-job": "an upstart job",
}
_KINDS = (
    ("cmd", re.compile(rb"^rem\s+cmd\s")),
    ("py", re.compile(rb"^#!\s*/usr/bin/env\s+python\s")),
    ("sh", re.compile(rb"^#!")),
    ("ps1", re.compile(rb"^#(ps1|ps1_sysnative|ps1_x86)\s")),
    ("EC2", re.compile(rb"</?(script|powershell)>")),
)
"""How cloudbase-init recognizes scripts, in this order. Capital letters count, and so do blank lines before the header
(plugins/common/userdatautils.py, `_SCRIPTS`)."""
_ENDINGS = ("cmd", "py", "exe", "sh", "ps1")
"""Endings of the names of parts that decide before their content (ibid., `_get_command`)."""
_FIRST_LINE = re.compile(rb"\s*##\s*template:", re.IGNORECASE)
_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_EXPECTED = "#cloud-config, #ps1_sysnative or rem cmd at the beginning of the first line"


class _PreparedService:
    """A metadata service with user data that has been prepared."""

    def __init__(self, service, user_data):
        self._service = service
        self._user_data = user_data

    def __getattr__(self, name):
        return getattr(self._service, name)

    def get_decoded_user_data(self):
        """Return the prepared user data."""
        return self._user_data


class UserDataPlugin(userdata.UserDataPlugin):
    """Runs user data like cloudbase-init's plugin, or refuses it by name."""

    def execute(self, service, shared_data):
        """Run the plugin, with the arguments and the result of cloudbase-init's plugin."""
        try:
            user_data = service.get_decoded_user_data()
        except services.NotExistingMetadataException:
            user_data = None
        if user_data:
            service = _PreparedService(service, prepared(user_data, service))
        return super().execute(service, shared_data)


def prepared(user_data, service):
    """Return user data with its templates evaluated.

    Args:
        user_data: the user data, as bytes.
        service: the metadata service, which provides the variables of templates.

    Raises:
        CloudbaseInitException: the user data contains something that cloudbase-init does not run.
    """
    head = user_data.replace(b"\r\n", b"\n").split(b"\n\n", 1)[0].lower()
    if b"content-type: multipart" not in head:
        _check_encoding(user_data, "user data")
        user_data = _rendered(user_data, service, "user data")
        _check_document(user_data, "user data")
        return user_data
    message = email.message_from_bytes(user_data)
    parts = [part for part in message.walk() if not part.is_multipart()]
    handled = False
    for number, part in enumerate(parts, 1):
        _prepare_part(part, service, f"part {number} ({part.get_content_type()}) of the user data", handled)
        handled = handled or part.get_content_type() == _HANDLER
    # cloudbase-init recognizes multi-part user data only with the name of this header in exactly these letters.
    content_type = message["Content-Type"]
    del message["Content-Type"]
    message["Content-Type"] = content_type
    return message.as_bytes()


def _prepare_part(part, service, where, handled):
    """Check a part, and evaluate its template.

    Args:
        part: the part.
        service: the metadata service.
        where: what messages call the part.
        handled: whether a part handler precedes it, which may run parts of any type.
    """
    kind, payload = part.get_content_type(), part.get_payload(decode=True)
    if kind in (_CONFIG, _TEMPLATE):
        payload = _rendered(payload, service, where)
        if kind == _TEMPLATE and not payload.startswith(b"#cloud-config"):
            _refuse(where, "a template of a cloud-config")
        # In a part of this type, cloudbase-init needs no header (userdataplugins/cloudconfig.py).
        if payload.strip():
            _check_config(payload, where)
        del part["Content-Type"]
        part["Content-Type"] = _CONFIG
    elif kind == _SCRIPT:
        _check_script(payload, part.get_filename() or "", where)
    elif kind not in _PASSED_ON and (kind == _SKIPPED or not handled):
        _refuse(where, "a part of type {}".format(" or ".join((_CONFIG, _SCRIPT, *_PASSED_ON))))
    # In any other encoding, the line ends of batch files and letters outside of ASCII would change.
    del part["Content-Transfer-Encoding"]
    part["Content-Transfer-Encoding"] = "base64"
    part.set_payload(email.base64mime.body_encode(payload) or "")


def _rendered(content, service, where):
    """Return a document with its template evaluated."""
    engine = templates.get_template_engine(content)
    if not engine:
        if _FIRST_LINE.match(content):
            _refuse(where, "## template: jinja as the first line", "a template that is not evaluated")
        return content
    content = engine.render(service.get_instance_data(), content)
    missing = content.decode().partition(_MISSING)[2]
    if missing:
        name = re.match(r"\w*", missing).group()
        _refuse(where, "variables that the metadata service provides", f"the unknown variable {name}")
    return content


def _check_encoding(content, where):
    """Refuse what cloudbase-init cannot decode. Its log would quote all of it (utils/encoding.py)."""
    try:
        content.decode()
    except UnicodeDecodeError:
        mark = content.startswith(_BYTE_ORDER_MARKS)
        _refuse(where, "UTF-8 without a byte order mark", "a byte order mark" if mark else "another encoding")


def _check_document(content, where):
    """Refuse what cloudbase-init does not run (plugins/common/userdata.py, _process_non_multi_part)."""
    if not content.strip():
        return
    if content.startswith(b"#cloud-config"):
        for header, name in _FORMATS.items():
            if content.startswith(header.encode()):
                _refuse(where, "a cloud-config or a script", name)
        _check_config(content, where)
    elif not content.strip().startswith(_CERTIFICATE):
        _check_kind(_kind(content), content, where)


def _kind(content):
    return next((kind for kind, pattern in _KINDS if pattern.search(content)), "")


def _check_config(content, where):
    try:
        found = yaml.safe_load(content)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        # The text of the error quotes the content, which contains secrets.
        _refuse(where, "YAML", "an error in line {}".format(mark.line + 1 if mark else "?"))
    if not isinstance(found, dict):
        _refuse(where, "a mapping of cloud-config keys")
    unknown = sorted(str(key) for key in set(found) - set(cloud_config.PLUGINS))
    if unknown:
        _refuse(where, "the keys {}".format(", ".join(cloud_config.PLUGINS)), ", ".join(unknown))


def _check_script(content, name, where):
    if not name:
        _refuse(where, "a script with a file name")
    ending = os.path.splitext(name)[1][1:].lower()  # noqa: PTH122  # as cloudbase-init does
    kind = ending if ending in _ENDINGS else _kind(content)
    _check_kind(kind, content, where, f"a script whose name ends with .ps1 or .cmd, or {_EXPECTED}")


def _check_kind(kind, content, where, expected=_EXPECTED):
    if not kind:
        _refuse(where, expected, _described(content))
    if kind == "sh" and not shutil.which("bash"):
        _refuse(where, "a script for PowerShell (#ps1_sysnative) or cmd.exe (rem cmd)", "a script for bash")


def _described(content):
    """Return what is wrong with the first line. It quotes nothing, because the content may be a secret."""
    if content.startswith(_BYTE_ORDER_MARKS):
        return "a byte order mark"
    first = content.lstrip()[:1000].lower()
    for header, name in _FORMATS.items():
        if first.startswith(header.encode()):
            return name
    if first.startswith((b"content-type:", b"mime-version:")):
        return "a MIME message that is not multi-part"
    if not (first.startswith(b"#cloud-config") or _kind(first)):
        return "no such header"
    return "a header after blank lines or spaces" if content[:1].isspace() else "a header in other letters"


def _refuse(where, expected, got=""):
    found = f", got {got}" if got else ""
    raise exception.CloudbaseInitException(
        f"{where}: expected {expected}{found}. cloudbase-init would skip it, so nothing of the user data runs."
    )
