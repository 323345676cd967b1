#!/usr/bin/env bash
# Installs what tests/FOLDER/requirements.txt pins, by hash, into a virtual environment of its own: target/FOLDER. Where the folder has a
# prepare.sh, that makes the rest there. What was installed from the same files is kept.
#
# tests/venv.sh FOLDER NAME TIME     NAME and TIME are for people: "moto, and the SDK of AWS", "a minute"
set -euo pipefail
[ $# = 3 ] || { printf 'usage: tests/venv.sh FOLDER NAME TIME\n' >&2; exit 2; }
cd "$(dirname "$0")/$1"

folder=$1 name=$2 time=$3
wanted=3.11
out=$(cd ../.. && pwd)/target/$folder
installing=

fail() { # cause, next step
	printf '%s: %s\nNext step: %s\n' "$folder" "$1" "$2" >&2
	exit 1
}

clean() {
	[ -z "$installing" ] || kill -- "-$installing" 2>/dev/null || true
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

sources=(requirements.txt)
[ ! -e prepare.sh ] || sources+=(prepare.sh *.conf)
mark=$(cat "${sources[@]}" | cksum | awk '{ print $1 "-" $2 }')
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

install() {
	# An older or a half-made one.
	rm -rf "$out"
	"$python" -m venv "$out"
	"$out/bin/python" -m pip install --disable-pip-version-check --no-input --quiet --require-hashes \
		--only-binary :all: -r requirements.txt
	[ ! -e prepare.sh ] || ./prepare.sh "$out"
}

printf '[1/1] %s: installing into target/%s (%s, once)\n' "$name" "$folder" "$time"
started=$SECONDS shown=0
# With all that it starts in a group of its own, which ends with this.
set -m
install &
installing=$!
set +m
while kill -0 "$installing" 2>/dev/null; do
	sleep 1
	if ((SECONDS - started >= shown + 20)); then
		shown=$((SECONDS - started))
		printf '[1/1] %s: installing, %s s\n' "$name" "$shown"
	fi
done
wait "$installing" || fail "$python could not install what requirements.txt pins, see above" "make $folder, once the cause is gone"
installing=
printf '%s\n' "$mark" >"$out/.built-from"
printf '[1/1] %s: done after %s s\n' "$name" $((SECONDS - started))
