#!/usr/bin/env bash
# Whether a program of a release starts, for the architecture of this machine or, under qemu, for another one.
#
# deploy/starts.sh PROGRAM VERSION
set -euo pipefail

program=$1 version=$2

fail() {
	printf 'starts: %s\nNext step: %s\n' "$1" "$2" >&2
	exit 1
}

machine=$(LC_ALL=C readelf -hW "$program" | sed -n 's/^ *Machine: *//p')
case $machine in
*X86-64) wanted=x86_64 ;;
AArch64) wanted=aarch64 ;;
*) fail "$program is for a machine of the kind \"$machine\"" "look at what was built" ;;
esac
run=()
if [ "$wanted" != "$(uname -m)" ]; then
	emulator=
	for candidate in "qemu-$wanted-static" "qemu-$wanted"; do
		emulator=$(command -v "$candidate") && break
	done
	[ -n "$emulator" ] ||
		fail "$program is for $wanted, and cannot be started here: there is no qemu-$wanted" \
			"install it (Debian and Ubuntu: apt install qemu-user-static)"
	run=("$emulator")
fi
# With an environment of its own, as in the image.
said=$(env -i "${run[@]}" "$program" --version) || fail "$program does not start" "look at what was built"
[ "$said" = "aerostat $version" ] || fail "$program says that it is \"$said\", and not aerostat $version" "look at what was built"
said=$(env -i "${run[@]}" "$program" run 2>&1) && fail "$program runs without a config" "look at what was built"
[[ $said == *--cloud-config* ]] || fail "$program does not ask for a config, but says: $said" "look at what was built"
printf '%s starts: aerostat %s for %s\n' "$program" "$version" "$wanted"
