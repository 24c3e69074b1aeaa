# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Mutation tests: break the code in small ways, and list the breaks that no test notices.

`make mutants` runs them; CONTRIBUTING.md has the options. The parts:

- `mutants` defines a change of a file, and `sources` lists the files that can be changed.
- `python_mutants`, `yaml_mutants`, `jinja_mutants`, `template_mutants` and `powershell_mutants` find the changes in a
  text.
- `choice` selects the changes on changed lines, or a sample of them.
- `linemap` stores which tests run a line, `recording` and `mapping` record this, and `selection` chooses the tests for
  a mutant. `imports` and `coverage` find whole test files instead.
- `workplace` is the copy of the checkout in which a change is made.
- `server` runs tests there, each job in a child process (`jobs`, `session`).
- `running` determines a mutant's outcome from the tests, and `trying` tries many mutants.
"""
