#!/usr/bin/env bash
# Runs `ansible-test sanity` on a copy of the checkout that lies where ansible-test wants it, on this host's own Python.
# usage: tests/sanity/run.sh [ansible-test options, such as --test validate-modules]
#
# Left out: pslint and shellcheck where their programs (pwsh, shellcheck) are missing; ansible-test skips them by itself.
# pylint reads only what the collection ships as its code: ansible-core forbids the throw-away name `_` everywhere, which tests may use
# (ruff and mypy read those, more strictly).
# pip comes from the interpreter's ensurepip instead of a download from Ansible's CI; the checks' own packages come from PyPI once.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
python=$(dirname "$(command -v ansible-test)")/python
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
trap 'exit 1' HUP INT TERM
node=$copy/ansible_collections/winkube/node
mkdir -p "$node"
cd "$top"
# What git knows, and new files that it does not ignore; a file that was removed but not yet committed is left out.
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do [ -e "$file" ] && printf '%s\0' "$file"; done |
    tar --null -T - -cf - | tar -xf - -C "$node"

# Modules extend a documentation fragment of kubernetes.core, which ansible-test looks for only next to the collection.
ln -s "$("$python" -c 'import ansible_collections, pathlib; print(pathlib.Path(list(ansible_collections.__path__)[0]) / "kubernetes")')" "$copy/ansible_collections/kubernetes"

# ansible-test keeps its environments under HOME: they belong to this checkout.
user=${HOME:-/nonexistent}
HOME=${SANITY_HOME:-$top/.venv/sanity}
export HOME
# ansible-test passes no PIP_* variable on; a mirror that the user configured still counts.
if [ -f "$user/.config/pip/pip.conf" ]; then
    mkdir -p "$HOME/.config/pip"
    cp "$user/.config/pip/pip.conf" "$HOME/.config/pip/"
fi
mkdir -p "$HOME/.ansible/test/cache"
packages=$("$python" -c 'import ansible_test, pathlib; print(pathlib.Path(ansible_test.__file__).parent / "_internal" / "python_requirements.py")')
pip=$(sed -n "s/^ *pip='\([0-9.]*\)'.*/\1/p" "$packages" | head -n 1)
printf 'import ensurepip\n\nensurepip.bootstrap()\n' > "$HOME/.ansible/test/cache/get_pip_$(echo "$pip" | tr . _).py"

cd "$node"
if [ "$#" -gt 0 ]; then
    ansible-test sanity --python "$version" --color no "$@"
else
    status=0
    ansible-test sanity --python "$version" --color no --skip-test pylint || status=1
    ansible-test sanity --python "$version" --color no --test pylint --exclude tests/ || status=1
    exit "$status"
fi
