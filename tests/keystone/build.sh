#!/usr/bin/env bash
# Installs Keystone, OpenStack's identity service, into a virtual environment of its own: target/keystone. What requirements.txt pins, by
# hash. In target/keystone/empty is a database with an administrator, which each test copies. What was installed from the same files is kept.
set -euo pipefail
cd "$(dirname "$0")"

wanted=3.11
out=$(cd ../.. && pwd)/target/keystone
installing=

fail() { # cause, next step
	printf 'keystone: %s\nNext step: %s\n' "$1" "$2" >&2
	exit 1
}

clean() {
	[ -z "$installing" ] || kill "$installing" 2>/dev/null || true
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mark=$(cat requirements.txt keystone.conf build.sh | cksum | awk '{ print $1 "-" $2 }')
if [ -x "$out/bin/python" ] && [ "$(cat "$out/.built-from" 2>/dev/null)" = "$mark" ]; then
	exit 0
fi

python=
for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
	if "$candidate" -c "import sys; sys.exit(sys.version_info < (${wanted/./, }))" 2>/dev/null; then
		python=$candidate
		break
	fi
done
[ -n "$python" ] || fail "Python $wanted or newer is not on the PATH" "install Python $wanted (https://www.python.org/downloads)"
"$python" -c 'import venv, ensurepip' 2>/dev/null ||
	fail "this Python makes no virtual environments: its modules venv and ensurepip are missing" \
		"install them (Debian and Ubuntu: apt install python3-venv)"

manage() { # command and flags
	timeout 300 "$out/bin/keystone-manage" --config-file "$out/empty/keystone.conf" "$@" >>"$out/manage.log" 2>&1 ||
		{ tail -n 20 "$out/manage.log" >&2; exit 1; }
}

install() {
	# An older or a half-made one.
	rm -rf "$out"
	"$python" -m venv "$out"
	"$out/bin/python" -m pip install --disable-pip-version-check --no-input --quiet --require-hashes \
		--only-binary :all: -r requirements.txt
	mkdir "$out/empty"
	sed "s|FOLDER|$out/empty|" keystone.conf >"$out/empty/keystone.conf"
	manage db_sync
	manage fernet_setup --keystone-user "$(id -un)" --keystone-group "$(id -gn)"
	manage credential_setup --keystone-user "$(id -un)" --keystone-group "$(id -gn)"
	manage bootstrap --bootstrap-password administrator
	rm "$out/empty/keystone.conf"
}

printf '[1/1] Keystone: installing into target/keystone (two minutes, once)\n'
started=$SECONDS shown=0
install &
installing=$!
while kill -0 "$installing" 2>/dev/null; do
	sleep 1
	if ((SECONDS - started >= shown + 20)); then
		shown=$((SECONDS - started))
		printf '[1/1] Keystone: installing, %s s\n' "$shown"
	fi
done
wait "$installing" || fail "it could not be installed, see above" "make keystone, once the cause is gone"
installing=
printf '%s\n' "$mark" >"$out/.built-from"
printf '[1/1] Keystone: done after %s s\n' $((SECONDS - started))
