#!/usr/bin/env bash
# Makes a database with an administrator in OUT/empty, which each test copies.
#
# tests/keystone/prepare.sh OUT     the virtual environment with Keystone in it
set -euo pipefail
cd "$(dirname "$0")"
out=$1

manage() { # command and flags
	timeout 300 "$out/bin/keystone-manage" --config-file "$out/empty/keystone.conf" "$@" >>"$out/manage.log" 2>&1 ||
		{ tail -n 20 "$out/manage.log" >&2; exit 1; }
}

mkdir "$out/empty"
sed "s|FOLDER|$out/empty|" keystone.conf >"$out/empty/keystone.conf"
manage db_sync
manage fernet_setup --keystone-user "$(id -un)" --keystone-group "$(id -gn)"
manage credential_setup --keystone-user "$(id -un)" --keystone-group "$(id -gn)"
manage bootstrap --bootstrap-password administrator
rm "$out/empty/keystone.conf"
