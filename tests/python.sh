#!/usr/bin/env bash
# Installs Python packages that tests need into a virtual environment of their own: what tests/NAME/requirements.txt pins, by hash, into
# target/NAME. What was installed from the same file is kept. The title says what they are.
set -euo pipefail

name=$1 title=$2 wanted=3.11
cd "$(dirname "$0")/$name"
out=$(cd ../.. && pwd)/target/$name
installing=

fail() { # cause, next step
	printf '%s: %s\nNext step: %s\n' "$name" "$1" "$2" >&2
	exit 1
}

clean() {
	[ -z "$installing" ] || kill "$installing" 2>/dev/null || true
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mark=$(cksum <requirements.txt | awk '{ print $1 "-" $2 }')
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
	exec "$out/bin/python" -m pip install --disable-pip-version-check --no-input --quiet --require-hashes \
		--only-binary :all: -r requirements.txt
}

printf '[1/1] %s: installing into target/%s (minutes, once)\n' "$title" "$name"
started=$SECONDS shown=0
install &
installing=$!
while kill -0 "$installing" 2>/dev/null; do
	sleep 1
	if ((SECONDS - started >= shown + 20)); then
		shown=$((SECONDS - started))
		printf '[1/1] %s: installing, %s s\n' "$title" "$shown"
	fi
done
wait "$installing" || fail "$python could not install what requirements.txt pins, see above" "make $name, once the cause is gone"
installing=
printf '%s\n' "$mark" >"$out/.built-from"
printf '[1/1] %s: done after %s s\n' "$title" $((SECONDS - started))
