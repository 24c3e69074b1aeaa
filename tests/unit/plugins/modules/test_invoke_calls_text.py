# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The text of the module: valid for Windows PowerShell 5.1, no code from strings, consistent with docs/wire.md."""

from __future__ import annotations

import base64
import json
import re
import typing as t
from pathlib import Path

import pytest
import tree_sitter
import tree_sitter_powershell
from ansible.executor.powershell.module_manifest import _create_powershell_wrapper

from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Batch, Call, Input

MODULE = "plugins/modules/invoke_calls.ps1"
COLLECTING_MODULE = "plugins/modules/collect_batch.ps1"
PARTS = (
    "_CallAccess",
    "_CallChecks",
    "_CallFiles",
    "_CallJson",
    "_CallKeys",
    "_CallObjects",
    "_CallParts",
    "_CallPrograms",
    "_CallRuns",
    "_CallVerbs",
)
COLLECTING_PARTS = ("_CallChecks", "_CallJson", "_CallKeys", "_CallParts")
UPLOADED = (MODULE, *(f"plugins/module_utils/{part}.psm1" for part in PARTS))
FILES = (COLLECTING_MODULE, *UPLOADED)
LAUNCHER = "plugins/plugin_utils/data/kubelet_launcher.ps1"
"""The script that runs the kubelet of a machine that joins by itself. The rules of PowerShell apply to it, too."""
FIRST_BOOT = "plugins/plugin_utils/data/first_boot.ps1"
"""The script of the first boot of a machine from an image, likewise."""
INSTALL_VERSIONS = "plugins/plugin_utils/data/install_cached_versions.ps1"
"""The script with which such a machine installs cached versions, likewise."""

# Keywords for running code from strings, which have no place in a program that treats values as data.
CODE_FROM_TEXT = re.compile(
    r"Invoke-Expression|\biex\b|\[scriptblock\]|AddScript|NewScriptBlock|ExpandString\(|InvokeScript|Invoke-Command",
    re.I,
)
# What Windows PowerShell 5.1 cannot parse or does not have.
ONLY_IN_7 = {
    "ternary": r"\?\s[^{]*\s:\s",
    "null-coalescing": r"\?\?",
    "null-conditional": r"\$\{?\w+\}?\?[.\[]",
    "pipeline chain": r"&&|\|\|",
    "hashtables from JSON": r"-AsHashtable",
    "parallel": r"-Parallel\b",
    "argument list": r"\.ArgumentList\b",
    "tick count": r"TickCount64",
    "move over": r"File\]::Move\([^)]*\$true\)",
    "hash in one go": r"SHA256\]::HashData",
    "clean block": r"\bclean\s*\{",
}


@pytest.fixture(params=(*FILES, LAUNCHER, FIRST_BOOT, INSTALL_VERSIONS))
def source(request: pytest.FixtureRequest, repository: Path) -> bytes:
    return (repository / request.param).read_bytes()


def tree(source: bytes) -> tree_sitter.Node:
    language = tree_sitter.Language(tree_sitter_powershell.language())
    return tree_sitter.Parser(language).parse(source).root_node


def walk(node: tree_sitter.Node) -> t.Iterator[tree_sitter.Node]:
    yield node
    for child in node.children:
        yield from walk(child)


def code(source: bytes) -> str:
    """Return the source with comments and strings blanked."""
    blanked = bytearray(source)
    for node in walk(tree(source)):
        if node.type in ("comment", "verbatim_string_characters"):
            blanked[node.start_byte : node.end_byte] = b" " * (node.end_byte - node.start_byte)
    return blanked.decode()


def all_code(repository: Path) -> str:
    return "\n".join(code((repository / file).read_bytes()) for file in FILES)


def test_the_module_parses(source: bytes) -> None:
    wrong = [node.start_point.row + 1 for node in walk(tree(source)) if node.type == "ERROR" or node.is_missing]
    assert wrong == []


def test_the_module_is_small_and_plain_ascii(source: bytes) -> None:
    lines = source.decode("ascii").splitlines()
    assert len(lines) < 320
    assert [number for number, line in enumerate(lines, 1) if len(line) > 120 or line != line.rstrip()] == []
    assert b"\r" not in source


def test_the_uploaded_module_stays_small(repository: Path) -> None:
    # Every execution uploads it 1.78 times, and a first build has up to 20 executions. Parallel programs took 4,000:
    # eight downloads at once save minutes, and uploading 7 KB more takes milliseconds. Owners, and folders with access
    # lists from the beginning, took 2,500. 22,000 went into features that a real PowerShell revealed to be missing:
    # validating batches before they run, retrying operations on open files, and finding the files of killed processes.
    assert sum((repository / file).stat().st_size for file in UPLOADED) < 69_300
    collecting = (COLLECTING_MODULE, *(f"plugins/module_utils/{part}.psm1" for part in COLLECTING_PARTS))
    assert sum((repository / file).stat().st_size for file in collecting) < 23_000


def test_comments_are_few(repository: Path) -> None:
    # They are uploaded as well. docs/powershell_module.md has no such limit.
    nodes = [node for file in FILES for node in walk(tree((repository / file).read_bytes())) if node.type == "comment"]
    texts = [node.text or b"" for node in nodes]
    headers = (b"#!powershell", b"#AnsibleRequires ", b"# Copyright: ", b"# GNU General Public License ")
    assert 1_000 < sum(len(text) for text in texts if not text.startswith(headers)) < 2_600


def test_the_documentation_names_all_parts_and_functions_that_exist(repository: Path) -> None:
    page = (repository / "docs/powershell_module.md").read_text(encoding="utf-8")
    parts = page.split("## Parts\n")[1].split("\n## ")[0]
    assert tuple(re.findall(r"^\| `(_\w+)` \|", parts, re.M)) == PARTS
    named = set(re.findall(r"`([A-Z][a-z]+-[A-Z]\w+)`", page))
    cmdlets = {"ConvertFrom-Json", "ConvertTo-Json", "Get-FileHash", "Set-Acl", "Add-Type"}
    defined = set(re.findall(r"^function ([\w-]+)", all_code(repository), re.M))
    assert named - cmdlets <= defined
    assert len(named & defined) > 20


def test_no_text_becomes_code(source: bytes) -> None:
    assert CODE_FROM_TEXT.findall(code(source)) == []
    # `& NAME` runs the value of a variable only for a command that was resolved before.
    allowed = {"$command", "$settings.kubelet", '"$env:SystemRoot\\System32\\taskkill.exe"'}
    allowed.add('"$PSScriptRoot\\invoke_calls.ps1")[-1]')
    allowed.add('"$env:SystemRoot\\Sysnative\\WindowsPowerShell\\v1.0\\powershell.exe"')
    assert set(re.findall(r"(?:^|[|=(\s])&\s+(\S+)", code(source))) <= allowed


@pytest.mark.parametrize("name", ONLY_IN_7)
def test_windows_powershell_can_read_it(source: bytes, name: str) -> None:
    assert re.search(ONLY_IN_7[name], code(source), re.I) is None


def test_the_checks_find_violations() -> None:
    bad = b"$a = $b ? 1 : 2\n$c ?? 1\n$d?.e\nx && y\nInvoke-Expression $z\n[scriptblock]::Create($q)\n# iex\n"
    found = [name for name, pattern in ONLY_IN_7.items() if re.search(pattern, code(bad), re.I)]
    assert {"ternary", "null-coalescing", "null-conditional", "pipeline chain"} <= set(found)
    assert CODE_FROM_TEXT.findall(code(bad)) == ["Invoke-Expression", "[scriptblock]"]
    assert any(node.type == "ERROR" for node in walk(tree(b"if ($a {")))


def test_ansible_basic_is_left_out(repository: Path) -> None:
    text = "".join((repository / file).read_text(encoding="utf-8") for file in FILES)
    assert not re.search(r"#\s*AnsibleRequires.*(Ansible\.Basic|CSharpUtil)|#\s*Requires\s+-Module", text, re.I)
    # One call is compiled, after a batch has failed.
    assert next(part for part in re.split(r"\nfunction ", text) if "Add-Type" in part).startswith("Get-Holder(")
    assert text.count("Add-Type") == 1


@pytest.mark.parametrize(
    ("module", "parts"), [("invoke_calls", ("ArgvParser", *PARTS)), ("collect_batch", COLLECTING_PARTS)]
)
def test_ansible_finds_all_its_parts(repository: Path, module: str, parts: tuple[str, ...]) -> None:
    path = repository / f"plugins/modules/{module}.ps1"
    wrapped = _create_powershell_wrapper(
        name=f"ansible_collections.winkube.node.plugins.modules.{module}",
        module_data=path.read_bytes(),
        module_path=str(path),
        module_args={"batch": "{}"},
        environment={},
        async_timeout=0,
        become_plugin=None,
        substyle="powershell",
        task_vars={},
        profile="legacy",
    )
    manifest = json.loads(wrapped.split(b"\n\0\0\0\0\n")[1])
    names = [name.rsplit(".", 2)[-2] for name in manifest["scripts"] if name.endswith(".psm1")]
    assert sorted(names) == sorted(parts)
    script = manifest["scripts"][f"ansible_collections.winkube.node.plugins.modules.{module}.ps1"]["script"]
    assert base64.b64decode(script) == path.read_bytes()


def test_every_function_that_is_called_exists_and_is_used(repository: Path) -> None:
    text = all_code(repository)
    defined = set(re.findall(r"^function ([\w-]+)", text, re.M))
    exported: set[str] = set()
    for part in PARTS:
        # Its names are strings, which `code` blanks.
        whole = (repository / f"plugins/module_utils/{part}.psm1").read_text(encoding="utf-8")
        exported |= set(re.findall(r"'([\w-]+)'", whole.partition("\n$export = @{")[2]))
    assert exported <= defined
    assert [name for name in defined if len(re.findall(rf"(?<![\w-]){name}(?![\w-])", text)) < 2] == []
    for part in PARTS:
        own = code((repository / f"plugins/module_utils/{part}.psm1").read_bytes())
        functions = set(re.findall(r"^function ([\w-]+)", own, re.M))
        elsewhere = text.replace(own, "")
        used = {name for name in functions if re.search(rf"(?<![\w-]){name}(?![\w-])", elsewhere)}
        assert used <= exported, f"{part} hides {used - exported}"


def test_the_collecting_module_has_the_functions_that_it_needs(repository: Path) -> None:
    # Functions of other parts are missing only when they are called.
    sources = {part: code((repository / f"plugins/module_utils/{part}.psm1").read_bytes()) for part in PARTS}
    bodies = {
        body.split("(")[0].split()[0]: body
        for source in sources.values()
        for body in re.split(r"^function ", source, flags=re.M)[1:]
    }
    there = {name for part in COLLECTING_PARTS for name in re.findall(r"^function ([\w-]+)", sources[part], re.M)}
    reached: set[str] = set()
    pending = [code((repository / COLLECTING_MODULE).read_bytes())]
    while pending:
        text = pending.pop()
        for name in bodies.keys() - reached:
            if re.search(rf"(?<![\w-]){name}(?![\w-])", text):
                reached.add(name)
                pending.append(bodies[name])
    assert {"Read-Batch", "Wait-Key", "Remove-Key", "Open-Shared", "Get-BatchFolder"} <= reached
    assert reached <= there


def positional(command: tree_sitter.Node) -> int:
    """Return the number of a command's arguments without a parameter name."""
    count, named = 0, False
    for part in command.child_by_field_name("command_elements").children if command.children[1:] else []:
        if part.type == "command_parameter":
            named = True
        elif part.type != "command_argument_sep":
            count, named = count + (not named), False
    return count


def commands(source: bytes) -> t.Iterator[tuple[str, tree_sitter.Node]]:
    """Yield every command with its name."""
    for node in walk(tree(source)):
        if node.type == "command" and node.children[0].type == "command_name":
            yield (node.children[0].text or b"").decode(), node


def test_analyzers_rules_hold(source: bytes) -> None:
    # The rules that `ansible-test sanity --test pslint` checks, as far as they can be checked in the text. If
    # PSScriptAnalyzer is available, as in the workflow, it decides.
    text = code(source)
    own = set(re.findall(r"^function ([\w-]+)", text, re.M))
    found = list(commands(source))
    # PSAvoidUsingPositionalParameters allows two, for the commands that it knows.
    assert [node.text for name, node in found if name in own and positional(node) > 2] == []
    # PSCustomUseLiteralPath
    assert [node.text for _, node in found if re.search(rb"\s-Path\b", node.text or b"")] == []
    # PSPossibleIncorrectComparisonWithNull
    assert re.findall(r"[^\n]*\s-(?:eq|ne) \$null[^\n]*", text) == []
    # PSProvideCommentHelp reads the names after -Function, but not those in a table.
    assert not re.search(r"Export-ModuleMember -Function", text)


def table(wire: str, heading: str) -> list[str]:
    """Return the first column of the table below a heading."""
    section = wire.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", section, re.M)


@pytest.fixture
def wire(repository: Path) -> str:
    return (repository / "docs" / "wire.md").read_text(encoding="utf-8")


def test_the_modules_verbs_are_those_of_the_specification(repository: Path, wire: str) -> None:
    verbs = (repository / "plugins/module_utils/_CallVerbs.psm1").read_text(encoding="utf-8")
    assert re.findall(r"^        '(@[a-z-]+)' \{", verbs, re.M) == table(wire, "Verbs")


def test_the_module_allows_the_specified_commands(repository: Path, wire: str) -> None:
    checks = (repository / "plugins/module_utils/_CallChecks.psm1").read_text(encoding="utf-8")
    allowed = checks.split("$kinds = @{")[1].split("$verbs = @(")
    batch, rest = allowed[0].split("    call = @{")
    call, source = rest.split("    input = @{")
    named = [set(re.findall(r"(\w+) = '", part)) for part in (batch, call, source)]
    assert named == [set(table(wire, "Batch")), set(table(wire, "Call")), {"from", "where", "parameter", "property"}]
    assert re.findall(r"'(@[a-z-]+)'", allowed[1].split("\n)\n")[0]) == table(wire, "Verbs")


def test_the_modules_keys_are_those_of_the_specification(repository: Path, wire: str) -> None:
    text = "".join((repository / file).read_text(encoding="utf-8") for file in FILES)
    assert set(re.findall(r"\$Call\['(\w+)'\]", text, re.I)) == set(table(wire, "Call"))
    assert set(re.findall(r"\$Batch\['(\w+)'\]", text, re.I)) == set(table(wire, "Batch"))
    expected = set(re.findall(r"`(\w+)`", wire.split("\n`input`: ")[1].split("\nComparison")[0])) & {
        "from",
        "where",
        "parameter",
        "property",
    }
    assert set(re.findall(r"(?:\$Source|\['input'\])\['(\w+)'\]", text, re.I)) == expected


def test_the_controller_writes_the_keys_of_the_wire(wire: str) -> None:
    call = Call(
        id="a",
        command="x.exe",
        parameters={"P": 1},
        arguments=("a",),
        stdin="in",
        environment={"E": "1"},
        input=Input(calls=("b",), where={"w": 1}, parameter="p", property="q"),
        select=("s",),
        success_codes=(0, 1),
        final_codes=(22,),
        output_limit=1,
        on_error="continue",
        retries=1,
        delay=2.0,
        until={"u": 1},
        timeout=1.0,
        needs=("b",),
        unless=("c",),
        always=True,
        secret=True,
        parallel=2,
        watch="w",
        long=True,
    )
    assert call.to_wire().keys() == set(table(wire, "Call"))
    assert t.cast("dict[str, t.Any]", call.to_wire()["input"]).keys() == {"from", "where", "parameter", "property"}
    batch = Batch(mode="collect", key="k" * 8, wait=1, forget=("f" * 8,), calls=(call,))
    assert batch.to_wire().keys() == set(table(wire, "Batch"))


def test_registry_values_are_not_cast_to_a_type(repository: Path) -> None:
    # .NET Framework returns a DWord of 8 bytes as Int64, and a longer one as bytes (PowerShell/PowerShell#9552,
    # #26700).
    text = (repository / "plugins/module_utils/_CallVerbs.psm1").read_text(encoding="utf-8")
    reading = text.split("function Read-Value(")[1].split("\nfunction ")[0]
    assert re.findall(r"\$value -is \[(\w+)\]", reading) == ["int", "long"]
    assert not re.search(r"\]\$value\b", reading)
