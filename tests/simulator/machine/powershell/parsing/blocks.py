# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The parser for statements with blocks: conditions, loops, `try`, functions and script blocks."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Protocol

from simulator.machine.powershell.parsing.expressions import Expressions
from simulator.machine.powershell.parsing.scanner import TextScanner
from simulator.machine.powershell.parsing.syntax import (
    Attribute,
    Block,
    Flow,
    ForEach,
    Function,
    FunctionParameter,
    If,
    Literal,
    Loop,
    Switch,
    SyntaxNode,
    Trap,
    Try,
)


class PipelineParser(Protocol):
    """The statement parser's methods that the block parser uses."""

    expressions: Expressions

    def statements(self, scanner: TextScanner, *ends: str) -> tuple[SyntaxNode, ...]:
        """Parse statements up to a closing token."""

    def pipeline(self, scanner: TextScanner) -> SyntaxNode:
        """Parse a pipeline."""

    def word(self, scanner: TextScanner) -> SyntaxNode:
        """Parse one word of a command."""


class Blocks:
    """The parser for statements with blocks."""

    def __init__(self, parent: PipelineParser) -> None:
        self._parent = parent

    def contents(self, scanner: TextScanner, *ends: str) -> Block:
        """Parse the contents of a script block: `param`, then statements or `begin`, `process`, `end`."""
        start = scanner.position
        scanner.separators()
        while scanner.match(r"using\s+namespace\s+[^\r\n;]+"):
            scanner.separators()
        attributes: list[Attribute] = []
        while scanner.see(r"\[\s*[A-Za-z_.]+\s*\("):
            place = scanner.position
            text = self._attribute(scanner)
            scanner.separators()
            if not scanner.see(r"param\s*\(|\[\s*[A-Za-z_.]+\s*\("):
                scanner.position = place
                break
            attributes.append(self._read_attribute(text))
        parameters: tuple[FunctionParameter, ...] = ()
        if scanner.match(r"param\s*\("):
            parameters = self._parameters(scanner)
            scanner.separators()
        phases: dict[str, tuple[SyntaxNode, ...]] = {}
        if scanner.see(r"dynamicparam\s*\{"):
            raise scanner.fail("dynamicparam")
        while found := scanner.match(r"(begin|process|end)\s*\{"):
            phases[found[1].casefold()] = self._braced(scanner)
            scanner.separators()
        body = self._parent.statements(scanner, *ends)
        return Block(
            body=body,
            parameters=parameters,
            begin=phases.get("begin", ()),
            process=phases.get("process"),
            end=phases.get("end", ()),
            text=scanner.text[start : scanner.position],
            attributes=tuple(attributes),
        )

    def block(self, scanner: TextScanner) -> Block:
        """Parse a script block after its opening brace, including its closing brace."""
        contents = self.contents(scanner, "}")
        scanner.expect("}")
        return contents

    def _braced(self, scanner: TextScanner) -> tuple[SyntaxNode, ...]:
        body = self._parent.statements(scanner, "}")
        scanner.expect("}")
        return body

    def _body(self, scanner: TextScanner) -> tuple[SyntaxNode, ...]:
        scanner.lines()
        scanner.expect("{")
        return self._braced(scanner)

    def _condition(self, scanner: TextScanner) -> SyntaxNode:
        scanner.lines()
        scanner.expect("(")
        scanner.lines()
        condition = self._parent.pipeline(scanner)
        scanner.lines()
        scanner.expect(")")
        return condition

    def _attribute(self, scanner: TextScanner) -> str:
        """Consume `[Name(…)]` or `[Name]`, and return the text between the brackets."""
        depth, start = 0, scanner.position
        while not scanner.at_end:
            if scanner.match(re.compile(r"'(?:[^']|'')*'|\"(?:[^\"`]|`.)*\"", re.DOTALL)):
                continue
            char = scanner.peek()
            scanner.position += 1
            depth += {"[": 1, "]": -1}.get(char, 0)
            if depth == 0:
                return scanner.text[start + 1 : scanner.position - 1]
        raise scanner.fail("Missing ']'")

    def _read_attribute(self, text: str) -> Attribute:
        """Parse the text between the brackets of an attribute."""
        name, _, rest = text.partition("(")
        inner = TextScanner(rest.rstrip().removesuffix(")"))
        arguments: list[SyntaxNode] = []
        named: dict[str, SyntaxNode] = {}
        inner.lines()
        while not inner.at_end:
            key = inner.match(r"([A-Za-z]\w*)\s*(=(?!=))?")
            inner.lines()
            if key and not key[2]:
                named[key[1].casefold()] = Literal(True)
            else:
                value = self._parent.expressions.expression(inner, commas=False)
                if key:
                    named[key[1].casefold()] = value
                else:
                    arguments.append(value)
            inner.lines()
            if not inner.take(",") and not inner.at_end:
                raise inner.fail("Unexpected token")
            inner.lines()
        short = name.strip().casefold().rpartition(".")[2].removesuffix("attribute")
        return Attribute(short, tuple(arguments), named)

    def _parameters(self, scanner: TextScanner) -> tuple[FunctionParameter, ...]:
        found: list[FunctionParameter] = []
        scanner.lines()
        while not scanner.take(")"):
            kind = ""
            attributes: list[Attribute] = []
            while scanner.looking_at("["):
                text = self._attribute(scanner)
                if "(" in text:
                    attributes.append(self._read_attribute(text))
                else:
                    kind = text.strip()
                scanner.lines()
            name = scanner.match(r"\$([A-Za-z_]\w*)")
            if not name:
                raise scanner.fail("Missing ')' in function parameter list.")
            scanner.lines()
            default = None
            if scanner.take("="):
                scanner.lines()
                # A comma separates parameters here, so arrays need parentheses.
                default = self._parent.expressions.expression(scanner, commas=False)
                scanner.lines()
            found.append(FunctionParameter(name[1], kind, default, tuple(attributes)))
            scanner.take(",")
            scanner.lines()
        return tuple(found)

    def statement(self, scanner: TextScanner) -> SyntaxNode:
        """Parse one statement, with its label if it has one."""
        scanner.blanks()
        label = scanner.match(r":([A-Za-z_]\w*)[ \t\r\n]+(?=(foreach|for|while|do|switch)\b)")
        found = self._statement(scanner)
        if label and isinstance(found, (ForEach, Loop, Switch)):
            return replace(found, label=label[1].casefold())
        return found

    def _statement(self, scanner: TextScanner) -> SyntaxNode:
        word = scanner.keyword(
            "if",
            "foreach",
            "while",
            "do",
            "for",
            "switch",
            "try",
            "function",
            "filter",
            "return",
            "exit",
            "throw",
            "break",
            "continue",
            "trap",
            "class",
            "enum",
            "data",
            "workflow",
            "configuration",
            "begin",
            "process",
            "end",
            "parallel",
        )
        if word is None or (
            word in ("foreach", "data", "end", "process", "begin", "for") and not self._follows(scanner, word)
        ):
            if word:
                scanner.position -= len(word)
            return self._parent.pipeline(scanner)
        readers = {
            "if": self._if,
            "foreach": self._foreach,
            "while": self._while,
            "do": self._do,
            "for": self._for,
            "switch": self._switch,
            "try": self._try,
            "function": self._function,
            "filter": self._filter,
            "trap": self._trap,
        }
        if word in readers:
            return readers[word](scanner)
        if word in ("break", "continue"):
            label = scanner.match(r"[ \t]+([A-Za-z_]\w*)(?=\s|[;})]|$)")
            return Flow(word, label=label[1].casefold() if label else "")
        if word in ("return", "exit", "throw"):
            scanner.blanks()
            empty = scanner.at_end or scanner.see(r"[;\r\n})]")
            return Flow(word, None if empty else self._parent.pipeline(scanner))
        raise scanner.fail(f"the simulator does not model the statement '{word}'")

    @staticmethod
    def _follows(scanner: TextScanner, word: str) -> bool:
        return bool(scanner.see(r"\s*\(\s*\$" if word == "foreach" else r"\s*\("))

    def _if(self, scanner: TextScanner) -> SyntaxNode:
        clauses = [(self._condition(scanner), self._body(scanner))]
        otherwise: tuple[SyntaxNode, ...] | None = None
        while True:
            place = scanner.position
            scanner.lines()
            if scanner.keyword("elseif"):
                clauses.append((self._condition(scanner), self._body(scanner)))
            elif scanner.match(r"else(?=[\s{])"):
                otherwise = self._body(scanner)
                break
            else:
                scanner.position = place
                break
        return If(tuple(clauses), otherwise)

    def _foreach(self, scanner: TextScanner) -> SyntaxNode:
        found = scanner.match(r"\s*\(\s*\$([A-Za-z_]\w*)\s+in\s")
        if not found:
            raise scanner.fail("Missing variable name after foreach.")
        scanner.lines()
        source = self._parent.pipeline(scanner)
        scanner.lines()
        scanner.expect(")")
        return ForEach(found[1], source, self._body(scanner))

    def _while(self, scanner: TextScanner) -> SyntaxNode:
        return Loop(self._condition(scanner), self._body(scanner))

    def _do(self, scanner: TextScanner) -> SyntaxNode:
        body = self._body(scanner)
        scanner.lines()
        word = scanner.keyword("while", "until")
        if not word:
            raise scanner.fail("Missing while or until keyword in do loop.")
        return Loop(self._condition(scanner), body, first=True, until=word == "until")

    def _for(self, scanner: TextScanner) -> SyntaxNode:
        scanner.blanks()
        scanner.expect("(")
        parts: list[SyntaxNode | None] = []
        for end in (";", ";", ")"):
            scanner.lines()
            parts.append(None if scanner.looking_at(end) else self._parent.pipeline(scanner))
            scanner.lines()
            scanner.expect(end)
        return Loop(parts[1], self._body(scanner), before=parts[0], step=parts[2])

    def _switch(self, scanner: TextScanner) -> SyntaxNode:
        scanner.blanks()
        options = {""}
        while found := scanner.match(r"-(wildcard|regex|exact|casesensitive|file)\b\s*"):
            options.add(found[1].casefold())
        mode = next((name for name in ("wildcard", "regex") if name in options), "exact")
        if "file" in options and not scanner.looking_at("("):
            value = self._parent.word(scanner)
        else:
            value = self._condition(scanner)
        scanner.lines()
        scanner.expect("{")
        cases: list[tuple[SyntaxNode | None, tuple[SyntaxNode, ...]]] = []
        scanner.separators()
        while not scanner.take("}"):
            if scanner.match(r"default(?=\s*\{)"):
                cases.append((None, self._body(scanner)))
            else:
                bare = scanner.match(r"[A-Za-z_][\w.*-]*(?=\s*\{)")
                case: SyntaxNode = Literal(bare[0]) if bare else self._parent.expressions.expression(scanner)
                cases.append((case, self._body(scanner)))
            scanner.separators()
            if scanner.at_end:
                raise scanner.fail("Missing closing '}' in statement block or type definition.")
        return Switch(value, tuple(cases), mode, "casesensitive" in options, "file" in options)

    def _try(self, scanner: TextScanner) -> SyntaxNode:
        body = self._body(scanner)
        catches: list[tuple[tuple[str, ...], tuple[SyntaxNode, ...]]] = []
        last: tuple[SyntaxNode, ...] = ()
        while True:
            place = scanner.position
            scanner.lines()
            if scanner.match(r"catch(?=[\s{\[])"):
                types: list[str] = []
                scanner.lines()
                while scanner.looking_at("["):
                    types.append(self._attribute(scanner))
                    scanner.lines()
                    scanner.take(",")
                    scanner.lines()
                catches.append((tuple(types), self._body(scanner)))
            elif scanner.match(r"finally(?=[\s{])"):
                last = self._body(scanner)
            else:
                scanner.position = place
                break
        if not catches and not last:
            raise scanner.fail("The Try statement is missing its Catch or Finally block.")
        return Try(body, tuple(catches), last)

    def _function(self, scanner: TextScanner) -> SyntaxNode:
        found = scanner.match(r"\s+((?:(?:global|script|local|private):)?[A-Za-z_][\w-]*)\s*")
        if not found:
            raise scanner.fail("Missing name after function keyword.")
        parameters = self._parameters(scanner) if scanner.take("(") else ()
        scanner.lines()
        scanner.expect("{")
        block = self.block(scanner)
        if parameters:
            block = replace(block, parameters=parameters)
        return Function(found[1], block)

    def _filter(self, scanner: TextScanner) -> SyntaxNode:
        found = self._function(scanner)
        assert isinstance(found, Function)
        return replace(found, is_filter=True)

    def _trap(self, scanner: TextScanner) -> SyntaxNode:
        scanner.lines()
        kind = self._attribute(scanner) if scanner.looking_at("[") else ""
        return Trap(kind, self._body(scanner))
