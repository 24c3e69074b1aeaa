# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Build the Kubernetes objects that the cluster_support role applies, without any I/O. Read components.py first.

| module | content |
|---|---|
| `components` | the components, their objects, and which components the variables request |
| `catalogue` | the versions, images and names in data/cluster_support.yml |
| `settings` | the variables from which the objects are built |
| `parts` | parts of objects that several components share |
| `runtime_classes` | one RuntimeClass for each version of Windows |
| `exporter` | windows_exporter, and alerting rules |
| `log_shipper` | Fluent Bit |
| `csi` | CSI drivers as HostProcess DaemonSets |
| `azure` | cloud-node-manager |
| `demo` | workloads that show that the cluster runs Windows containers |
| `gmsa` | credential specs of gMSAs, and the permissions to use them |
"""
