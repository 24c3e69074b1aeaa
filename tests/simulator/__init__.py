# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulated Windows servers that speak real WSMan and PSRP.

Read README.md first. Its table lists the packages in the order of their imports: each package imports only packages
that are below it in the table.
"""
