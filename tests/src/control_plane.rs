//! A real control plane on loopback: etcd, kube-apiserver and, if asked, kube-controller-manager.
