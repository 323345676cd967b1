#!/usr/bin/env bash
# Prepares what a real Pod needs beside the control plane, in target/: kubelet and kube-scheduler; containerd and runc out of Debian's
# packages, which are unpacked there and not installed; two small programs, for a Pod's first container and for the machine's network.
# What is there is kept.
set -euo pipefail
cd "$(dirname "$0")/../.."

what="real machine" target=machine steps=2
wanted_go=$(awk '$1 == "go" { print $2; exit }' tests/machine/programs/go.mod)
out=$PWD/target/machine
packages=(containerd runc)
# shellcheck source=tests/go.sh
source tests/go.sh

[ "$(uname -s)" = Linux ] || fail "this is no Linux" "run it in Debian or Ubuntu"
[ "$(id -u)" = 0 ] || fail "a kubelet mounts volumes and starts containers, for which it has to be root" "run it as root, in a machine of its own"
for tool in ip:iproute2 unshare:util-linux setpriv:util-linux mount:mount; do
	command -v "${tool%%:*}" >/dev/null || fail "there is no ${tool%%:*}" "apt-get install ${tool##*:}"
done

unpack() {
	command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
		fail "${packages[*]} come out of Debian, and there is no apt-get" "run it on Debian or Ubuntu"
	printf '==> Unpacking %s into target/machine (seconds, once)\n' "${packages[*]}"
	rm -rf "$out" "$out.unfinished"
	mkdir -p "$out.unfinished/lists/partial" "$out.unfinished/cache/archives/partial"
	cd "$out.unfinished"
	# With lists of its own where the machine has none, or old ones: nothing outside of target/ changes.
	local own=(-o "Dir::State::Lists=$PWD/lists" -o "Dir::Cache=$PWD/cache" -o APT::Sandbox::User=root) package
	if ! apt-get -qq -o APT::Sandbox::User=root download "${packages[@]}" 2>/dev/null; then
		apt-get -qq "${own[@]}" update && apt-get -qq "${own[@]}" download "${packages[@]}" ||
			fail "${packages[*]} cannot be downloaded" "look at the sources of apt in /etc/apt, and at the network"
	fi
	for package in *.deb; do
		dpkg-deb -x "$package" .
	done
	rm -rf lists cache ./*.deb
	cd - >/dev/null
	mv "$out.unfinished" "$out"
}
[ -x "$out/usr/sbin/runc" ] && [ -x "$out/usr/bin/containerd" ] || unpack

step=0
for program in pause bridge; do
	step=$((step + 1))
	source=$(source_of_truth tests/machine/programs/go.mod "tests/machine/programs/$program/main.go")
	if [ -x "$out/$program" ] && [ "$(cat "$out/.$program.built-from" 2>/dev/null)" = "$source" ]; then
		continue
	fi
	need_go ""
	build "$step" "$program" "$program" tests/machine/programs "-s -w" "./$program"
	printf '%s\n' "$source" >"$out/.$program.built-from"
done

tests/cluster/build.sh kubelet kube-scheduler
