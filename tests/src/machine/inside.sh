# The first process of a machine, which sees nothing but itself, and files. containerd and the kubelet write only below /run and
# /var, which are the machine's own.
#
# Arguments: the machine's folder; the name of its node; the folder of containerd's programs; that of the kubelet; those of bridge,
# which leads from ports of this machine to sockets that servers outside listen at, and the other way round.
set -e
folder=$1 name=$2 tools=$3 kubernetes=$4
shift 4
ip link set lo up
echo "$name" >/proc/sys/kernel/hostname
mount -t tmpfs none /run
mkdir /run/machine /run/tools /run/kubernetes
mount --bind "$folder" /run/machine
mount --bind "$tools" /run/tools
mount --bind "$kubernetes" /run/kubernetes
cd /run/machine
mount -t tmpfs none /var/lib
mount -t tmpfs none /var/log
mkdir -p containerd kubelet pods /var/lib/kubelet
mount --bind kubelet /var/lib/kubelet
export PATH="/run/tools/usr/bin:/run/tools/usr/sbin:$PATH"
/run/tools/bridge "$@" >bridge.log 2>&1 &
containerd --config containerd.toml >containerd.log 2>&1 &
containerd=$!
kubelet=
set +e
end() {
	if [ -n "$kubelet" ]; then
		kill "$kubelet"
		wait "$kubelet"
	fi
	for task in $(ctr -n k8s.io tasks ls -q); do
		ctr -n k8s.io tasks kill -s KILL "$task"
	done
	kill "$containerd"
	wait "$containerd"
	exit
}
trap end TERM
until [ -S /run/containerd/containerd.sock ]; do sleep 0.05; done
/run/kubernetes/kubelet --config=kubelet.yaml --kubeconfig=kubeconfig --root-dir=/var/lib/kubelet --cert-dir=certificates \
	--hostname-override="$name" --cloud-provider=external >kubelet.log 2>&1 &
kubelet=$!
wait
