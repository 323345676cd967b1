#!/usr/bin/env bash
# Records `make demo` and draws it as docs/demo.svg: asciinema records a terminal, svg-term makes a picture that moves.
# Both are installed into target/tools, by pip and npm.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=target/tools/picture
asciinema=2.4.0
svg_term=2.1.1
# Pauses are cut to this many seconds.
pause=1.5

for tool in python3 npm; do
	command -v "$tool" >/dev/null || {
		printf 'picture: there is no %s\nNext step: install it, with venv for python3\n' "$tool" >&2
		exit 1
	}
done
if [ ! -e "$tools/$asciinema-$svg_term" ]; then
	printf '==> Installing asciinema and svg-term into %s (a minute, once)\n' "$tools"
	rm -rf "$tools"
	python3 -m venv "$tools"
	"$tools/bin/python" -m pip install --disable-pip-version-check --no-input --quiet "asciinema==$asciinema"
	npm install --silent --no-audit --no-fund --prefix "$tools" "svg-term-cli@$svg_term"
	touch "$tools/$asciinema-$svg_term"
fi

${CARGO:-cargo} build --locked -p aerostat -p tests --bin aerostat --bin demo
cast=target/demo.cast
"$tools/bin/asciinema" rec --overwrite --quiet --idle-time-limit "$pause" --cols 110 --rows 32 --command target/debug/demo "$cast"
"$tools/node_modules/.bin/svg-term" --in "$cast" --out docs/demo.svg --window --no-cursor --width 110 --height 32
printf 'docs/demo.svg has %s KB\n' "$(($(wc -c <docs/demo.svg) / 1000))"
