# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Mutation tests: break the code in small ways, and list the breaks that no test notices.

`make mutants` runs them; CONTRIBUTING.md has the options. The parts:

- `mutants` is one change of a file, and `sources` the files that can be changed.
- `python_mutants`, `yaml_mutants`, `jinja_mutants`, `template_mutants` and `powershell_mutants` find the changes in a
  text.
- `choice` takes those on changed lines, or a sample of them.
- `linemap` knows which tests run a line, `recording` and `mapping` find it out, and `selection` chooses the tests for a
  mutant. `imports` and `coverage` find whole test files instead.
- `workplace` is the copy of the checkout in which a change is made.
- `server` runs tests there, each job in a child process (`jobs`, `session`).
- `running` says what they mean for a mutant, and `trying` tries many mutants.
"""
