# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Programs that verify_image.yml calls: a hook that deletes machines, and a stand-in for Kubernetes' e2e.test."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from simulator.control import ControlServer
from simulator.fleet import Fleet

_DELETE = """#!{python}
import json, pathlib, sys, urllib.request
action, name = sys.argv[1:]
with pathlib.Path({calls!r}).open("a") as calls:
    calls.write(f"{{action}} {{name}}\\n")
request = {{"node": {machine!r}, "action": "off"}}
urllib.request.urlopen({url!r} + "/simulator/power", json.dumps(request).encode()).read()
"""
_E2E = """#!{python}
import json, os, pathlib, sys
options = dict(one.partition("=")[::2] for one in sys.argv[1:])
pathlib.Path({record!r}).write_text(json.dumps([options, os.environ.get("KUBE_TEST_REPO_LIST", "")]))
print("Ran 2 of 7000 Specs")
(pathlib.Path(options["--report-dir"]) / "junit_01.xml").write_text('''<testsuites><testsuite name="Kubernetes">
<testcase name="[sig-windows] Services should be reachable"></testcase>
<testcase name="[sig-windows] DNS should resolve"><failure message="" type="failed">no answer</failure></testcase>
</testsuite></testsuites>''')
sys.exit(1)
"""


@contextmanager
def programs(folder: Path, fleet: Fleet, machine: str) -> Iterator[None]:
    """Write `delete` and `e2e.test` to a folder. The hook appends its calls to the file `calls`.

    Args:
        folder: the folder.
        fleet: the fleet of the machine.
        machine: name of the machine in the fleet, which the hook powers off.
    """
    control = ControlServer(fleet)
    control.start()
    values = {"record": str(folder / "e2e.json"), "calls": str(folder / "calls"), "machine": machine}
    for name, text in (("delete", _DELETE), ("e2e.test", _E2E)):
        path = folder / name
        path.write_text(text.format(python=sys.executable, url=control.url, **values), encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    try:
        yield
    finally:
        control.stop()


def e2e_call(folder: Path) -> tuple[Mapping[str, str], str]:
    """Return the options of e2e.test, and the file with its registries."""
    options, repositories = json.loads((folder / "e2e.json").read_text(encoding="utf-8"))
    return options, repositories
