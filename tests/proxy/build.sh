#!/usr/bin/env bash
# Puts a real HTTP proxy into target/proxy, out of Debian's packages, which are unpacked there and not installed: tinyproxy, and
# nss_wrapper, with which it finds names that no resolver knows.
set -euo pipefail
cd "$(dirname "$0")/../.."

out=$PWD/target/proxy
packages=(tinyproxy-bin libnss-wrapper)
fail() { printf 'error: %s\n  next: %s\n' "$1" "$2" >&2; exit 1; }

[ -x "$out/usr/bin/tinyproxy" ] && exit
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
	fail 'tests of proxies need tinyproxy out of Debian, and there is no apt-get' 'run make test on Debian or Ubuntu'
printf '==> Unpacking tinyproxy into target/proxy (seconds, once)\n'
rm -rf "$out" "$out.unfinished"
mkdir -p "$out.unfinished/lists/partial" "$out.unfinished/cache/archives/partial"
cd "$out.unfinished"
# With lists of its own where the machine has none, or old ones: nothing outside of target/ changes.
own=(-o "Dir::State::Lists=$PWD/lists" -o "Dir::Cache=$PWD/cache" -o APT::Sandbox::User=root)
if ! apt-get -qq -o APT::Sandbox::User=root download "${packages[@]}" 2>/dev/null; then
	apt-get -qq "${own[@]}" update && apt-get -qq "${own[@]}" download "${packages[@]}" ||
		fail "${packages[*]} cannot be downloaded" 'look at the sources of apt in /etc/apt, and at the network'
fi
for package in *.deb; do
	dpkg-deb -x "$package" .
done
rm -rf lists cache ./*.deb
mv "$out.unfinished" "$out"
