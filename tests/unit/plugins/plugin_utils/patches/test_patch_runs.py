# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Complete runs of patching with a node of prepared responses: the calls in order, and the report."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from unit import outcomes
from unit.patch_cases import UPDATE
from unit.patch_observations import QUIET, failed, job, ok, read, seen, value

from ansible_collections.winkube.node.plugins.plugin_utils.patches import observe, report
from ansible_collections.winkube.node.plugins.plugin_utils.patches import run as patch_run
from ansible_collections.winkube.node.plugins.plugin_utils.patches.files import FileRules
from ansible_collections.winkube.node.plugins.plugin_utils.patches.patch import Patch, PatchFile
from ansible_collections.winkube.node.plugins.plugin_utils.patches.run import PatchOptions, PatchRun
from ansible_collections.winkube.node.plugins.plugin_utils.remote.errors import BatchLost, NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.remote.session import NodeSession
from ansible_collections.winkube.node.plugins.plugin_utils.windows import windows_info
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import (
    Batch,
    Call,
    CallResult,
    Observation,
    Progress,
)

PUBLIC = Patch(name="KB5046616", kb="KB5046616")
FIX = Patch(
    name="fix", kb="KB5999001", file=PatchFile(name="fix.msu", sha256="0" * 64, url="https://u:p@h/fix.msu?s=1")
)
CAB = Patch(name="cab", kb="KB5999002", file=PatchFile(name="fix.cab", sha256="1" * 64, url="https://h/fix.cab"))
JOB = {"started": 1, observe.PID: 77}
ABSENT = ok({"exists": False})
OBSERVE = "observe the patches"


class Answers:
    """A node with prepared responses, which records the calls.

    Args:
        observations: one response for each observation of the patches; the last one repeats.
        runs: one response for each batch.
        jobs: one response for each start of Windows Update.
        lines: one response for each search for a job.
    """

    name = "node-1"
    remote_commands = 0

    def __init__(
        self,
        *observations: Observation,
        runs: Sequence[Observation | Exception] = (),
        jobs: Sequence[Mapping[str, Any] | None] = (),
        lines: Sequence[str] = (),
    ) -> None:
        self.observations, self.runs, self.jobs, self.lines = list(observations), list(runs), list(jobs), list(lines)
        self.on_progress: Any = None
        self.noted: list[str] = []

    def observe(self, calls: Sequence[Call], *, step: str = "", private: bool = False) -> Observation:
        usual = (
            {windows_info.CALL_ID, *(call.id for call in observe.calls([PUBLIC, FIX]))} if step == OBSERVE else set()
        )
        ids = " ".join(call.id for call in calls if call.id not in usual)
        self.noted.append(f"{step}: {ids}")
        if step == OBSERVE:
            return self.observations.pop(0) if len(self.observations) > 1 else self.observations[0]
        if step == "start Windows Update":
            line = self.lines.pop(0)
            return Observation(calls={"wu.job": ok({"Line": line}) if line else ok()})
        return Observation()

    def run(self, batch: Batch, *, step: str = "", private: bool = False, system: bool = False) -> Observation:
        key = str(batch.key).partition("-")[0]
        self.noted.append(f"{step} ({key}, system {system}): {' '.join(call.id for call in batch.calls)}")
        for call in batch.calls:
            if call.id in ("wu.waited", "p0.get-0.download-0", "p1.install", "p0.install", "sweep"):
                self.on_progress(Progress(id=call.id, done=1, total=2))
        found = self.runs.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    def start_job(self, name: str, arguments: Mapping[str, Any], key: str, *, step: str) -> Mapping[str, Any] | None:
        self.noted.append(f"{step}: {name}, {key.rpartition('-wu-')[0]}, {arguments['accept_list']}")
        return self.jobs.pop(0)

    def wait(self, key: str, *, step: str) -> Observation:
        self.noted.append(f"{step}: {key}")
        return Observation()

    def forget(self, keys: Iterable[str]) -> None:
        self.noted += [f"forget {key}" for key in keys]

    def reboot(self, *, step: str = "") -> None:
        self.noted.append(step)


def windows(ubr: int = 2700, build: int = 20348, pending: str = "", kind: str = "Server") -> CallResult:
    values = [build, ubr, "Windows Server 2022 Datacenter", kind, "a", "a", ["x"] if pending == "files" else None]
    keys = [{"key_exists": pending == name} for name in ("servicing", "update")]
    return ok(*map(value, values), *keys)


UNKNOWN = windows(build=99999)


def state(*kbs: str, ubr: int = 2700, pending: str = "", version: CallResult | None = None, **more: Any) -> Observation:
    """Return an observation of a node on which these patches are installed."""
    found = {"files": ABSENT, "hotfixes": ok(*({"HotFixID": kb} for kb in kbs)), **more}
    base = seen(**found)
    return Observation(calls={**base.calls, windows_info.CALL_ID: version or windows(ubr, pending=pending)})


def updated(*, reboot: bool = False, **more: Any) -> dict[str, CallResult]:
    text = job(finished=1, updates={"1": UPDATE}, reboot_required=reboot, **more)
    return {"wu.waited": ok(), "wu.answer": ok(text)}


def installed(*numbers: int, code: int = 0) -> dict[str, CallResult]:
    found: dict[str, CallResult] = {}
    for number in numbers:
        found[f"p{number}.have-0"] = ok()
        found[f"p{number}.install"] = ok(exit_code=code, seconds=61.25)
    return found


def answer(*parts: Mapping[str, CallResult]) -> Observation:
    return Observation(calls={call: result for part in parts for call, result in part.items()})


DISABLED = ok(*QUIET[:3], {"value": 4}, {"value": 4}, {"value": 3})
MARKED = ok(*QUIET[:2], {"values": {"BITS": {"value": "Disabled"}}}, *QUIET[3:])
CACHED = ok({"path": observe.CACHE, "exists": True})
LEFT = ok({"Name": "patches-1.claim", "PSIsContainer": False}, {"Name": "patches-wu-2", "PSIsContainer": True})
AT_WORK = {
    "left": LEFT,
    "jobs": ok({"Path": f"{observe.FOLDER}\\patches-wu-2\\j1", "Line": job(ansible_async_watchdog_pid=7)}),
    "shells": ok({"Id": 7}),
}
ENDED = {"left": ok(*({"Name": f"patches-1.{kind}", "PSIsContainer": False} for kind in ("claim", "json")))}
DIGEST = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
LOST = BatchLost("node-1: install patches: lost", None)


@dataclasses.dataclass
class Case:
    patches: Sequence[Patch]
    node: Answers
    options: PatchOptions = dataclasses.field(default_factory=lambda: PatchOptions(settle=0.1))
    allowed: bool = False


def session(node: Answers, allowed: bool = False, say: Callable[[str], object] | None = None) -> NodeSession:
    return NodeSession(cast("Any", node), allow_unsupported_windows=allowed, notify=say)


def options(**more: Any) -> PatchOptions:
    return PatchOptions(**{"settle": 0.1, **more})


def cases() -> dict[str, Case]:
    signed = dataclasses.replace(FIX, test_signed=True)
    turned_on = answer({"p0.testsigning": ok(exit_code=0), **installed(0)})
    staged = answer(installed(0, code=3010))
    return {
        "nothing to do": Case([PUBLIC, FIX], Answers(state(PUBLIC.kb, FIX.kb))),
        "an empty list": Case([], Answers(state())),
        "check mode": Case([PUBLIC, FIX], Answers(state(FIX.kb, pending="update")), options(check_mode=True)),
        "check mode, where work is going on": Case([PUBLIC], Answers(state(**AT_WORK)), options(check_mode=True)),
        "check mode without reboots": Case(
            [PUBLIC], Answers(state(PUBLIC.kb, pending="update")), options(check_mode=True, may_reboot=False)
        ),
        "a public patch and a reboot": Case(
            [PUBLIC],
            Answers(state(), state(PUBLIC.kb, ubr=2849), runs=[answer(updated(reboot=True))], jobs=[JOB]),
        ),
        "a public patch, disabled services": Case(
            [PUBLIC],
            Answers(
                state(registry=DISABLED),
                state(PUBLIC.kb, registry=MARKED),
                runs=[answer(updated())],
                jobs=[JOB],
            ),
        ),
        "two files and a cache, disabled services": Case(
            [FIX, CAB],
            Answers(
                state(registry=DISABLED, files=CACHED),
                state(FIX.kb, CAB.kb, registry=MARKED, files=CACHED),
                runs=[answer(installed(0, 1))],
            ),
        ),
        "a public patch and a file that fails": Case(
            [FIX, PUBLIC],
            Answers(
                state(),
                state(PUBLIC.kb, files=CACHED),
                runs=[answer(updated(), {"p0.have-0": ok(), "p0.install": failed("Error code = 0x800f0922")})],
                jobs=[JOB],
            ),
        ),
        "the file is rolled back": Case(
            [FIX], Answers(state(), state(), state(), state(), runs=[staged, answer(installed(0, code=3010))])
        ),
        "a reboot is pending first": Case(
            [FIX], Answers(state(pending="servicing"), state(), state(FIX.kb), runs=[answer(installed(0))])
        ),
        "it never stops waiting for a reboot": Case([FIX], Answers(state(pending="servicing")), options(max_reboots=2)),
        "installed, and it waits for a reboot": Case(
            [FIX], Answers(state(FIX.kb, pending="update")), options(max_reboots=0)
        ),
        "reboots are not allowed": Case(
            [FIX], Answers(state(), state(pending="update"), runs=[staged]), options(may_reboot=False)
        ),
        "staged, and reboots are not allowed": Case(
            [FIX], Answers(state(), state(), runs=[staged]), options(may_reboot=False)
        ),
        "files wait to be renamed after the reboot": Case(
            [FIX], Answers(state(), state(FIX.kb, pending="files"), runs=[staged])
        ),
        "test signing is turned on": Case([signed], Answers(state(), state(FIX.kb), runs=[turned_on, turned_on])),
        "test signing is on": Case(
            [signed],
            Answers(state(FIX.kb, registry=ok({}, value("TESTSIGNING"), *QUIET[2:]))),
        ),
        "a refused file": Case(
            [signed, CAB],
            Answers(state(), state(CAB.kb), runs=[answer(installed(0))]),
            options(rules=FileRules(test_signing=False)),
        ),
        "a full disk": Case([FIX, PUBLIC], Answers(state(space=ok({"free": 2**20})))),
        "just enough room": Case(
            [FIX], Answers(state(space=ok({"free": 16 * 2**20})), state(FIX.kb), runs=[answer(installed(0))])
        ),
        "the batch is lost once": Case(
            [FIX, PUBLIC],
            Answers(state(), state(PUBLIC.kb), state(PUBLIC.kb, FIX.kb), runs=[LOST, answer(installed(0))], jobs=[JOB]),
        ),
        "an earlier run ends": Case([PUBLIC], Answers(state(**AT_WORK), state(PUBLIC.kb, **ENDED))),
        "an earlier run never ends": Case([PUBLIC], Answers(state(PUBLIC.kb, **AT_WORK))),
        "the job never starts": Case(
            [PUBLIC, FIX],
            Answers(state(), state(FIX.kb), jobs=[None, None, None], lines=["", "{", ""], runs=[answer(installed(0))]),
        ),
        "the job is found": Case(
            [PUBLIC],
            Answers(state(), state(PUBLIC.kb), jobs=[None], lines=[json.dumps(JOB)], runs=[answer(updated())]),
        ),
        "the job has ended at once": Case(
            [PUBLIC], Answers(state(), state(PUBLIC.kb), jobs=[{"started": 1}], runs=[answer(updated())])
        ),
        "the job fails": Case([PUBLIC], Answers(state(), jobs=[{"failed": True, "msg": "no module"}])),
        "the job goes on": Case(
            [PUBLIC],
            Answers(state(), state(PUBLIC.kb), jobs=[JOB], runs=[answer({"wu.waited": failed("timeout")})]),
        ),
        "the stack works for long, and hot fixes cannot be read": Case(
            [FIX],
            Answers(
                state(pending="servicing"),
                state(FIX.kb, settle__again=failed("timeout", "ProcessNotTerminated")),
                state(hotfixes=failed("denied")),
            ),
            options(max_reboots=1),
        ),
        "hot fixes cannot be read": Case(
            [FIX],
            Answers(
                state(
                    hotfixes=failed("denied"),
                    packages=ok({"PackageName": "Package_for_KB5999001~1", "PackageState": "Installed"}),
                )
            ),
        ),
        "an unknown Windows": Case([PUBLIC], Answers(state(PUBLIC.kb, version=UNKNOWN))),
        "an unknown Windows that is allowed": Case([PUBLIC], Answers(state(PUBLIC.kb, version=UNKNOWN)), allowed=True),
        "a client": Case([PUBLIC], Answers(state(version=windows(kind="")))),
        "unreadable packages": Case([PUBLIC], Answers(state(packages=failed("DISM is broken")))),
    }


def transcript(case: Case) -> dict[str, Any]:
    messages: list[str] = []
    run = PatchRun(session(case.node, case.allowed, messages.append), case.patches, case.options)
    found: dict[str, Any] = {"asked": case.node.noted, "said": messages}
    try:
        run.run()
    except NodeError as error:
        found["error"] = error
    modes = {"check_mode": case.options.check_mode, "may_reboot": case.options.may_reboot}
    return {**found, "result": report.result(run, **modes, diff=True, name="host-1")}


def shortened(found: dict[str, Any]) -> dict[str, Any]:
    """Return a transcript with one line for each part of the result."""
    result = {
        key: [json.dumps(item) for item in value] if isinstance(value, list) else value
        for key, value in found["result"].items()
    }
    flags = {key: result.pop(key) for key in list(result) if not isinstance(result[key], list) and key != "msg"}
    return found | {"result": {"flags": json.dumps(flags), **result}}


@pytest.mark.parametrize("part", [0, 1])
def test_every_run_has_the_recorded_calls_and_report(part: int) -> None:
    found = {name: shortened(transcript(case)) for name, case in list(cases().items())[part * 18 : (part + 1) * 18]}
    outcomes.check("patches/more_runs", found) if part else outcomes.check("patches/runs", found)


@pytest.mark.parametrize("trouble", ["none", "wrong bytes", "no connection"])
def test_files_of_the_controller_are_uploaded(trouble: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local = tmp_path / "fix.msu"
    local.write_bytes(b"x")
    digest = "0" * 64 if trouble == "wrong bytes" else DIGEST
    patch = dataclasses.replace(FIX, file=PatchFile(name="fix.msu", sha256=digest, local=str(local)))
    pushed: list[tuple[str, str, str]] = []

    def push(_node: Any, path: str, target: str, _there: Mapping[str, int], step: str) -> int:
        pushed.append((path, target, step))
        if trouble == "no connection":
            raise NodeError("the connection broke")
        return 2

    monkeypatch.setattr(patch_run, "push", push)
    node = Answers(state(), state(FIX.kb), runs=[answer(installed(0))])
    found = transcript(Case([patch], node))
    (entry,) = found["result"]["patches"]
    target = f"{observe.CACHE}\\{digest[:16]}\\fix.msu"
    assert pushed == ([] if trouble == "wrong bytes" else [(str(local), target, "upload fix.msu")])
    if trouble == "none":
        bringing = "p0.join-0.copy p0.join-0.commit p0.join-0.drop p0.have-0"
        installing = f"{bringing} p0.signature p0.untrusted p0.testsigning p0.install p0.remove"
        assert node.noted[1:] == [
            "prepare the installation: folder-0",
            f"install patches (patches, system True): {installing} sweep",
            f"{OBSERVE}: settle.worker settle.installer settle.again settle.pending pieces",
        ]
        assert found["said"][0] == "node-1: fix: uploading fix.msu"
        assert entry["source"] == str(local)
    else:
        why = {
            "wrong bytes": f"{local}: expected SHA-256",
            "no connection": f"{local} could not be uploaded: the connection broke",
        }
        assert entry["message"].startswith(why[trouble]) or entry["status"] == "installed"


def test_a_file_that_is_there_is_not_uploaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    local = tmp_path / "fix.msu"
    local.write_bytes(b"x")
    patch = dataclasses.replace(FIX, file=PatchFile(name="fix.msu", sha256=DIGEST, local=str(local)))
    monkeypatch.setattr(patch_run, "push", None)
    there = ok({"path": f"{observe.CACHE}\\{DIGEST[:16]}\\FIX.msu", "exists": True, "sha256": DIGEST})
    node = Answers(state(files=there), state(FIX.kb), runs=[answer(installed(0))])
    assert transcript(Case([patch], node))["result"]["patches"][0]["status"] == "installed"
    # The next one of the same patch is.
    second = PatchFile(name="base.msu", sha256=DIGEST, local=str(local))
    pushed: list[str] = []
    monkeypatch.setattr(patch_run, "push", lambda _node, _path, target, _there, _step: pushed.append(target) or 1)
    node.observations, node.runs = [state(files=there), state(FIX.kb)], [answer(installed(0))]
    transcript(Case([dataclasses.replace(patch, requires=(second,))], node))
    assert pushed == [f"{observe.CACHE}\\{DIGEST[:16]}\\base.msu"]


def test_without_a_listener_no_progress_is_reported() -> None:
    run = PatchRun(session(Answers(state(), state(FIX.kb), runs=[answer(installed(0))])), [FIX], PatchOptions())
    run.run()
    assert run.records[0].changed


def test_a_run_that_saw_nothing_reports_so() -> None:
    run = PatchRun(session(Answers()), [FIX], PatchOptions())
    outcomes.check("patches/nothing_seen", report.result(run, check_mode=False, may_reboot=True, diff=True, name="a"))


def test_information_of_a_node_is_that_of_release_notes() -> None:
    packages = [
        {"PackageName": name, "PackageState": state, "ReleaseType": "Update"}
        for name, state in (
            ("Package_for_RollupFix~31bf3856ad364e35~amd64~~20348.2700.1.10", "Installed"),
            ("Package_for_KB5044281~31bf3856ad364e35~amd64~~1.1", "installed"),
            ("Package_for_KB5044282~31bf3856ad364e35~amd64~~1.1", "InstallPending"),
            ("OpenSSH-Server-Package~31bf3856ad364e35~amd64~~1.1", "Installed"),
        )
    ]
    fixes = [{"HotFixID": "KB5044282", "Description": "Security Update", "InstalledOn": "2024-10-08"}]
    found = seen(hotfixes=ok({"HotFixID": "KB5044300"}, *fixes), packages=ok(*packages))
    shown, quiet = (report.information(read(one).node) for one in (found, state()))
    notes = report.release_notes(shown)
    outcomes.check("patches/information", {"a node": shown, "its notes": notes, "a node without updates": quiet})
