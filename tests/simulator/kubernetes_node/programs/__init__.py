# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Common parts of a node's programs (command lines, configuration, versions and log files), and kubectl.exe.

Start with `contracts.py`, which reads the flags and fields that each version of a program accepts. `flags.py` parses
the command lines of the Kubernetes programs, and `cli.py` those of containerd's programs.
"""
