# A machine: namespaces of its own for the network, mounts and processes, and what runs in them. It ends in order when it is asked
# to, and at once when this process is killed.
#
# Arguments: the folder of its sockets, which goes with it; the machine's folder, whose name its cgroup has, too; those of inside.sh.
sockets=$1 folder=$2
shift 2
if [ -e /sys/fs/cgroup/cgroup.procs ]; then
	mkdir "/sys/fs/cgroup/${folder##*/}"
else
	for hierarchy in /sys/fs/cgroup/*/; do
		mkdir "$hierarchy${folder##*/}"
	done
fi
setpriv --pdeathsig KILL \
	unshare --net --mount --uts --pid --fork --kill-child --mount-proc sh "$folder/inside.sh" "$folder" "$@" &
machine=$!
echo "$machine" >"$folder/namespaces.pid"
end() {
	read -r first <"/proc/$machine/task/$machine/children"
	if [ -n "$first" ]; then kill -TERM $first; else kill -KILL "$machine"; fi
}
trap end TERM
while kill -0 "$machine" 2>/dev/null; do wait "$machine"; done
rm -r "$sockets"

# The kernel keeps groups without processes.
for _ in 1 2 3 4 5 6 7 8 9 10; do
	groups=$(find /sys/fs/cgroup -maxdepth 7 -depth -type d -path "*/${folder##*/}*")
	[ -n "$groups" ] || break
	echo "$groups" | while read -r group; do rmdir "$group"; done
	sleep 0.1
done
