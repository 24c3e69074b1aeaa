# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Load plugins that are not part of cloudbase-init.

Such plugins are Python files in cloudbase-init's folder Python\Lib\site-packages.
A simulated cloudbase-init runs such a file with the simulator's Python. The file can import the parts of the
`cloudbaseinit` package that are modelled here, and the packages that cloudbase-init's Python contains.
"""

from __future__ import annotations

import builtins
from types import SimpleNamespace
from typing import Any

from simulator.windows.cloudbase import cloud_config, user_data
from simulator.windows.cloudbase.configuration import FOLDER, CloudbaseRun
from simulator.windows.cloudbase.metadata import MetadataNotExistingError

_FOLDER = rf"{FOLDER}\Python\Lib\site-packages"
_BUNDLED = ("email", "gzip", "json", "re", "shutil", "os", "jinja2", "yaml", "__future__")


class CloudbaseInitError(Exception):
    """Raised by plugins. They know this exception as cloudbaseinit.exception.CloudbaseInitException."""


def load(run: CloudbaseRun, class_path: str) -> type[Any]:
    """Return a class from a Python file on the machine.

    Raises:
        ImportError: the file or the class does not exist, or the file imports an unknown module or name.
    """
    module, _, name = class_path.rpartition(".")
    path = rf"{_FOLDER}\{module}.py"
    if not run.machine.files.is_file(path):
        raise ImportError(f"No module named {module!r}")
    modules = _modules(run)

    def importer(requested: str, _globals: Any = None, _locals: Any = None, names: Any = (), _level: int = 0) -> Any:
        if requested in modules and names:
            return modules[requested]
        if requested.partition(".")[0] in _BUNDLED:
            return builtins.__import__(requested, None, None, names)
        raise ImportError(f"No module named {requested!r}")

    namespace = {"__name__": module, "__builtins__": {**vars(builtins), "__import__": importer}}
    exec(compile(run.machine.files.read_text(path), path, "exec"), namespace)
    if name not in namespace:
        raise ImportError(f"cannot import name {name!r} from {module!r}")
    found: type[Any] = namespace[name]  # type: ignore[assignment]
    return found


def _modules(run: CloudbaseRun) -> dict[str, SimpleNamespace]:
    """Return a mapping of the names of cloudbaseinit's packages to their modelled modules."""
    plugin = type("UserDataPlugin", (user_data.CloudbaseUserDataPlugin,), {"run": run})
    services = SimpleNamespace(NotExistingMetadataException=MetadataNotExistingError)
    return {
        "cloudbaseinit": SimpleNamespace(exception=SimpleNamespace(CloudbaseInitException=CloudbaseInitError)),
        "cloudbaseinit.metadata.services": SimpleNamespace(base=services),
        "cloudbaseinit.plugins.common": SimpleNamespace(userdata=SimpleNamespace(UserDataPlugin=plugin)),
        "cloudbaseinit.plugins.common.userdataplugins.cloudconfigplugins": SimpleNamespace(
            factory=SimpleNamespace(PLUGINS=dict.fromkeys(cloud_config.KEYS))
        ),
        "cloudbaseinit.utils.template_engine": SimpleNamespace(
            factory=SimpleNamespace(get_template_engine=user_data.template_engine)
        ),
    }
