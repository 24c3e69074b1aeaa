# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Mutation tests: break the code in small ways, and list the breaks that no test notices.

`make mutants` runs them; CONTRIBUTING.md has the options. The parts:

- `mutants` is one change of a file, and `sources` the files that can be changed.
- `python_mutants`, `yaml_mutants`, `jinja_mutants`, `template_mutants` and `powershell_mutants` find the changes in a
  text.
- `choice` takes those on changed lines, or a sample of them.
- `imports` and `coverage` find the test files that can notice a change.
- `workplace` is the copy of the checkout in which a change is made, and `running` runs the tests there.
"""
