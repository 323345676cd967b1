#!/usr/bin/env bash
# Makes the book: all pages at their places beside one another, so that a link means the same here and in the repository, with
# docs/SUMMARY.md as its table of contents. The result is target/book/html.
#
# docs/build.sh MDBOOK            makes it
# docs/build.sh --pages FOLDER    puts what mdBook would read into a folder that is not there yet
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = --pages ]; then
	book=$2
else
	mdbook=$(realpath -e "${1:-}" 2>/dev/null) || {
		printf 'docs: MDBOOK names no program\nNext step: make docs, which installs it\n' >&2
		exit 1
	}
	book=target/book
	rm -rf "$book"
fi
mkdir -p "$book"
cp docs/book.toml "$book/"
# The files that pages lead to, too: manifests, the contract, sources.
git ls-files -z --cached --others --exclude-standard -- '*.md' '*.yaml' '*.json' '*.wit' '*.rs' '*.sh' '*.toml' LICENSE deploy |
	xargs -0 cp --parents -t "$book/" 2>/dev/null || true
# Its links are written for the folder docs.
sed -E 's|\]\(\.\./|](ROOT/|; s|\]\(([a-z])|](docs/\1|; s|\]\(ROOT/|](|' docs/SUMMARY.md >"$book/SUMMARY.md"
[ "$1" != --pages ] || exit 0
"$mdbook" build "$book"
printf '\n%s\n' "$book/html/index.html"
