# Runs a server, and ends it when standard input ends: its other end is held by the test process, and the kernel
# closes it however that process dies.
#
# Arguments: the folder of the run; the server's name; the names of the servers that must end before it; "last" if the
# folder goes with it; the command. Prints the id of the server's process.
folder=$1 name=$2 after=$3 last=$4
shift 4
exec 3<&0 </dev/null
"$@" 3<&- >>"$folder/$name.log" 2>&1 &
server=$!
echo "$server" >"$folder/$name.pid"
echo "$server"
exec >/dev/null 2>&1

# Waits for a condition, at most so many tenths of a second.
within() { # tenths, command
	left=$1
	shift
	while [ "$left" -gt 0 ] && ! "$@"; do
		sleep 0.1
		left=$((left - 1))
	done
}
ended() { ! kill -0 "$server"; }
others_ended() {
	for other in $after; do
		[ ! -e "$folder/$other.pid" ] || return 1
	done
}

{
	while read -r _; do :; done <&3
	within 100 others_ended
	kill -TERM "$server"
	kill -CONT "$server"
	within 30 ended
	kill -KILL "$server"
} &
watcher=$!
wait "$server"
rm -f "$folder/$name.pid"
wait "$watcher"
[ "$last" != last ] || rm -rf "$folder"
