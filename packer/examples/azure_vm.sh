#!/bin/sh
# Hooks of the playbook verify_image.yml for Azure: `azure_vm.sh create NAME` starts a machine from an image, and prints
# its private address and the settings of the connection. `azure_vm.sh delete NAME` deletes the machine with its disk
# and its network interface.
#
# Environment variables:
#   RESOURCE_GROUP  the group of the image and of the machine
#   IMAGE           name or id of the image
#   SUBNET          id of a subnet from which the machine reaches the cluster, and which this computer reaches
#   ADMIN_PASSWORD  password of the account `operator`
set -eu

exists() {
    az vm show --resource-group "$RESOURCE_GROUP" --name "$1" --output none 2>/dev/null
}

case "$1" in
create)
    # If a run was interrupted, the next one calls this again. The Azure CLI reads the value @- from standard input
    # (azure-cli-core, _expand_file_prefixed_files), so the password is on no command line.
    exists "$2" || printf '%s' "$ADMIN_PASSWORD" | az vm create --resource-group "$RESOURCE_GROUP" --name "$2" \
        --image "$IMAGE" --subnet "$SUBNET" --public-ip-address "" --admin-username operator --admin-password @- \
        --os-disk-delete-option Delete --nic-delete-option Delete --output none
    address=$(az vm show --resource-group "$RESOURCE_GROUP" --name "$2" --show-details --query privateIps --output tsv)
    # A machine from the image has an HTTPS listener of WinRM with a certificate of its own, which nothing has pinned yet.
    python3 -c '
import json, os, sys
variables = {"connection": "psrp", "port": 5986, "user": "operator", "password": os.environ["ADMIN_PASSWORD"]}
psrp = {"protocol": "https", "auth": "ntlm", "cert_validation": "ignore", "message_encryption": "always"}
variables.update({f"psrp_{name}": value for name, value in psrp.items()})
found = {f"ansible_{name}": value for name, value in variables.items()}
print(json.dumps({"name": sys.argv[1], "address": sys.argv[2], "variables": found}))
' "$2" "$address"
    ;;
delete)
    if exists "$2"; then
        az vm delete --resource-group "$RESOURCE_GROUP" --name "$2" --yes
    fi
    ;;
esac
