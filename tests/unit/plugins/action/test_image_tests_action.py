# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action image_tests runs pytest, and passes the machine's variables in its environment."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path
from xml.etree import ElementTree

import pytest
from unit.action_run import run

from ansible_collections.winkube.node.plugins.action import image_tests
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

SUITE = """
import json, os, sys
from pathlib import Path
def test_it(given):
    known = {"hosts": json.loads(os.environ["WINKUBE_TEST_VARIABLES"]), "notes": os.environ["WINKUBE_RELEASE_NOTES"]}
    Path(__file__).with_name("seen.json").write_text(json.dumps({**known, "arguments": sys.argv}))
    print(known["hosts"])
    assert given == "from the parent folder" and PASSES
"""
FIXTURE = "import pytest\n@pytest.fixture\ndef given(): return 'from the parent folder'\n"
HOST = {
    "inventory_hostname": "verify-1",
    "ansible_host": "10.0.0.31",
    "ansible_connection": "psrp",
    "ansible_psrp_protocol": "https",
    "ansible_psrp_cert_validation": "ignore",
    "ansible_port": 5986,
    "ansible_user": "Administrator",
    "ansible_password": "s3cret-password",
}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Return a folder with one test, below one with a fixture."""
    folder = tmp_path / "scenarios" / "image" / "tests"
    folder.mkdir(parents=True)
    (tmp_path / "scenarios" / "conftest.py").write_text(FIXTURE, encoding="utf-8")
    # This one is outside of the scenarios.
    (tmp_path / "conftest.py").write_text("raise ValueError", encoding="utf-8")
    return folder


def execute(
    suite: Path,
    tmp_path: Path,
    *,
    passes: bool = True,
    text: str = SUITE,
    host: t.Mapping[str, t.Any] = HOST,
    **options: t.Any,
) -> dict[str, t.Any]:
    (suite / "test_suite.py").write_text(text.replace("PASSES", str(passes)), encoding="utf-8")
    given = {"suite": str(suite), "release_notes": "/notes.json", "directory": str(tmp_path / "results"), **options}
    return run(image_tests, given, host)


def test_the_suite_knows_the_machine_and_the_release_notes(suite: Path, tmp_path: Path) -> None:
    result = execute(suite, tmp_path)
    assert (result["rc"], result["changed"]) == (0, False), result["output"]
    seen = json.loads((suite / "seen.json").read_text(encoding="utf-8"))
    assert seen["hosts"] == {
        "verify-1": {
            "ansible_host": "10.0.0.31",
            "ansible_port": 5986,
            "ansible_user": "Administrator",
            "ansible_password": "s3cret-password",
            "ansible_winrm_scheme": "https",
            "ansible_winrm_server_cert_validation": "ignore",
        }
    }
    assert seen["notes"] == "/notes.json"
    assert "s3cret" not in " ".join(seen["arguments"])
    (case,) = ElementTree.parse(tmp_path / "results" / "junit_testinfra.xml").iter("testcase")
    assert case.get("name") == "test_it"


@pytest.mark.parametrize(
    ("settings", "scheme"),
    [
        ({"ansible_port": 5985}, "http"),
        ({"ansible_port": "5985", "ansible_connection": "psrp"}, "http"),
        ({"ansible_port": 5986}, None),
        ({}, None),
        ({"ansible_port": 5985, "ansible_winrm_scheme": "https"}, "https"),
        ({"ansible_port": 5985, "ansible_connection": "psrp", "ansible_psrp_protocol": "https"}, "https"),
    ],
)
def test_port_5985_is_http_unless_the_scheme_is_set(
    suite: Path, tmp_path: Path, settings: dict[str, t.Any], scheme: str | None
) -> None:
    """As for Ansible's connection plugins."""
    host = {**{name: HOST[name] for name in ("inventory_hostname", "ansible_user", "ansible_password")}, **settings}
    execute(suite, tmp_path, host=host)
    seen = json.loads((suite / "seen.json").read_text(encoding="utf-8"))
    assert seen["hosts"]["verify-1"].get("ansible_winrm_scheme") == scheme


def test_a_failure_is_returned_without_the_password(suite: Path, tmp_path: Path) -> None:
    result = execute(suite, tmp_path, passes=False)
    assert result["rc"] == 1
    assert "1 failed" in result["output"]
    assert "Captured stdout" in result["output"]
    assert "s3cret" not in result["output"]


FAILING = """
import json, os, pytest
@pytest.fixture
def variables():
    (found,) = json.loads(os.environ["WINKUBE_TEST_VARIABLES"]).values()
    return {"ansible_password": found["ansible_password"]}
@pytest.fixture
def secret(variables): return variables["ansible_password"]
@pytest.fixture
def folder(secret): raise ValueError(f"no answer to Administrator:{secret}")
def test_argument(variables, secret): raise ValueError("in the test")
def test_assertion(variables, secret): assert variables == secret
def test_fixture(variables, secret, folder): pass
"""


@pytest.mark.parametrize("password", ["s3cret-password", "s3cret'\\\"<&\u00e9"])
@pytest.mark.parametrize("addopts", ["", "--tb=long --showlocals"])
def test_no_file_of_the_results_contains_the_password(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, password: str, addopts: str
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", addopts)
    result = execute(suite, tmp_path, text=FAILING, host={**HOST, "ansible_password": password})
    assert "2 failed, 1 error" in result["output"]
    (file,) = (tmp_path / "results").rglob("*")
    failures = [case for case in ElementTree.parse(file).iter("testcase") if len(case)]
    assert [case.get("name") for case in failures] == ["test_argument", "test_assertion", "test_fixture"]
    printed = file.read_text(encoding="utf-8")
    assert "no answer to Administrator:***" in printed
    assert "s3cret" not in printed + result["output"]


def test_tracebacks_do_not_contain_arguments(suite: Path, tmp_path: Path) -> None:
    """Redaction does not know short passwords, because these are parts of ordinary words."""
    text = FAILING.replace("{secret}", "").replace("secret", "given").replace("== given", "== 1")
    result = execute(suite, tmp_path, text=text, host={**HOST, "ansible_password": "Qx7z"})
    assert "2 failed, 1 error" in result["output"]
    assert "Qx7z" not in (tmp_path / "results" / "junit_testinfra.xml").read_text(encoding="utf-8") + result["output"]


def test_the_time_is_limited(suite: Path, tmp_path: Path) -> None:
    result = execute(suite, tmp_path, timeout=0)
    assert (result["rc"], result["output"]) == (124, "the tests did not end within 0 seconds")


def test_a_suite_is_required(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="suite: expected a folder that contains tests"):
        run(image_tests, {"suite": str(tmp_path / "none"), "release_notes": "x", "directory": "y"}, HOST)
