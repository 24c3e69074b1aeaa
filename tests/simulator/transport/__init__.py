# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The transport of simulated Windows servers: WSMan with WinRS shells and PSRP, over HTTP and HTTPS.

`host` is the interface to the machine, `server.NodeServer` serves one node, and `certificates` creates the certificate
that all nodes share.
"""
