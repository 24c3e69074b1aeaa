# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A small PowerShell interpreter for the simple scripts that Ansible, testinfra and users send to a server.

It has its own parser, because tree-sitter-powershell fails on common lines (`Get-Item -Name a, b`, `1..3`).
"""
