# Builds Go programs for tests, one after the other. To be sourced by a script that has set `what` (who speaks), `target` (the
# make target that runs it), `out` (the folder of the programs), `steps` (how many programs there are) and `wanted_go`.
# shellcheck shell=bash disable=SC2154
building=

fail() { # cause, next step
	printf '%s: %s\nNext step: %s\n' "$what" "$1" "$2" >&2
	exit 1
}

# What a program was built from. Another answer than that of the last time means: build again.
source_of_truth() { # file…
	cat "$@" | cksum | awk '{ print $1 "-" $2 }'
}

# Ends the build that is running, and takes away its unfinished file.
clean() {
	[ -z "$building" ] || kill "$building" 2>/dev/null || true
	rm -f "$out"/.*."$$"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

need_go() { # what else would help, if anything
	command -v go >/dev/null ||
		fail "Go is not installed" "install Go $wanted_go or newer (https://go.dev/doc/install)${1:+, or $1}"
	go version >/dev/null ||
		fail "Go $wanted_go or newer is needed, see above" "update Go (https://go.dev/doc/install), or unset GOTOOLCHAIN so that Go fetches it"
}

build() { # number, title, program, folder, flags of the linker, package
	local started=$SECONDS unfinished=$out/.$3.$$ shown=0
	printf '[%s/%s] %s: building\n' "$1" "$steps" "$2"
	(cd "$4" && CGO_ENABLED=0 exec go build -trimpath -ldflags "$5" -o "$unfinished" "$6") &
	building=$!
	while kill -0 "$building" 2>/dev/null; do
		sleep 1
		if ((SECONDS - started >= shown + 20)); then
			shown=$((SECONDS - started))
			printf '[%s/%s] %s: building, %s s\n' "$1" "$steps" "$2" "$shown"
		fi
	done
	wait "$building" || fail "go could not build $3, see above" "make $target, once the cause is gone"
	building=
	mv "$unfinished" "$out/$3"
	printf '[%s/%s] %s: done after %s s\n' "$1" "$steps" "$2" $((SECONDS - started))
}

# For a folder that makes one program, from which the script runs: builds `$out/<program>` unless it is there from the same files.
build_once() { # program, title, how long it takes, package, file…
	local program=$1 title=$2 takes=$3 package=$4 from
	shift 4
	from=$(source_of_truth "$@")
	mkdir -p "$out"
	if [ -x "$out/$program" ] && [ "$(cat "$out/.built-from" 2>/dev/null)" = "$from" ]; then
		return
	fi
	need_go ""
	printf '==> Building %s (%s on two cores, once)\n' "$title" "$takes"
	build 1 "$program" "$program" . '-s -w' "$package"
	printf '%s\n' "$from" >"$out/.built-from"
}
