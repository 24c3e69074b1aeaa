# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A small PowerShell: enough for the plain scripts that Ansible, testinfra and people send to a server.

An own parser, not tree-sitter-powershell: its grammar fails on everyday lines (`Get-Item -Name a, b`, `1..3`).
"""
