#!/usr/bin/env bash
# apt-get install "$@" as root, or by sudo where that asks for no password. Fails, saying why, where neither can be.
set -u
if ! command -v apt-get >/dev/null; then
    echo "apt-get is not here (not Debian or Ubuntu): install by hand: $*" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    sudo=()
elif sudo -n true 2>/dev/null; then
    sudo=(sudo -n)
else
    echo "not root, and sudo would ask for a password: install by hand: apt-get install $*" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
run() { "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" </dev/null >/dev/null; }
run install -y --no-install-recommends "$@" 2>/dev/null || { run update && run install -y --no-install-recommends "$@"; }
