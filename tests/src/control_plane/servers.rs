//! The servers' command lines.

use anyhow::Result;

use super::binaries;
use super::process::Server;
use super::running::ControlPlane;

impl ControlPlane {
    pub(super) fn etcd_command(&self) -> Result<Server<'_>> {
        let (client, peer) = (self.ports.etcd, self.ports.etcd_peer);
        let arguments = vec![
            format!("--data-dir={}", self.folder.join("etcd").display()),
            format!("--listen-client-urls=http://127.0.0.1:{client}"),
            format!("--advertise-client-urls=http://127.0.0.1:{client}"),
            format!("--listen-peer-urls=http://127.0.0.1:{peer}"),
            // What is lost in a power failure is a test's data.
            "--unsafe-no-fsync".to_owned(),
        ];
        Ok(Server {
            program: binaries::find("etcd")?,
            arguments,
            folder: &self.folder,
            after: &["kube-apiserver", "kube-controller-manager", "kube-scheduler"],
            last: true,
        })
    }

    pub(super) fn api_server_command(&self) -> Result<Server<'_>> {
        let file = |name: &str| self.folder.join(name).display().to_string();
        let mut arguments = vec![
            format!("--etcd-servers=http://127.0.0.1:{}", self.ports.etcd),
            format!("--secure-port={}", self.ports.api_server),
            "--bind-address=127.0.0.1".to_owned(),
            // Without these two the server looks for an address that others reach, and a laptop on a train has none.
            "--advertise-address=127.0.0.1".to_owned(),
            "--endpoint-reconciler-type=none".to_owned(),
            format!("--cert-dir={}", file("certificates")),
            format!("--tls-cert-file={}", file("kube-apiserver.crt")),
            format!("--tls-private-key-file={}", file("kube-apiserver.key")),
            format!("--client-ca-file={}", file("ca.crt")),
            // As in every cluster: a kubelet is kept to its own Node.
            "--authorization-mode=Node,RBAC".to_owned(),
            "--enable-admission-plugins=NodeRestriction".to_owned(),
            "--service-cluster-ip-range=10.96.0.0/16,fd00:96::/112".to_owned(),
            format!("--service-account-issuer={}/", self.url()),
            format!("--service-account-key-file={}", file("sa.pub")),
            format!("--service-account-signing-key-file={}", file("sa.key")),
            format!("--audit-policy-file={}", file("audit-policy.yaml")),
            format!("--audit-log-path={}", file("audit.log")),
            // One file: who reads it remembers a place in it.
            "--audit-log-maxsize=0".to_owned(),
            "--allow-privileged=true".to_owned(),
        ];
        if !self.options.full_admission {
            arguments.push("--disable-admission-plugins=ServiceAccount,TaintNodesByCondition".to_owned());
        }
        Ok(Server {
            program: binaries::find("kube-apiserver")?,
            arguments,
            folder: &self.folder,
            after: &[],
            last: false,
        })
    }

    pub(super) fn controller_manager_command(&self, flags: &[String]) -> Result<Server<'_>> {
        let file = |name: &str| self.folder.join(name).display().to_string();
        let mut arguments = vec![
            format!("--kubeconfig={}", file("controller-manager.kubeconfig")),
            format!("--service-account-private-key-file={}", file("sa.key")),
            format!("--root-ca-file={}", file("ca.crt")),
            "--use-service-account-credentials".to_owned(),
            "--cloud-provider=external".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", self.ports.controller_manager),
            format!("--cert-dir={}", file("certificates")),
        ];
        arguments.extend_from_slice(flags);
        if let Some(cidr) = &self.options.cluster_cidr {
            arguments.push("--allocate-node-cidrs".to_owned());
            arguments.push(format!("--cluster-cidr={cidr}"));
        }
        Ok(Server {
            program: binaries::find("kube-controller-manager")?,
            arguments,
            folder: &self.folder,
            after: &[],
            last: false,
        })
    }

    pub(super) fn scheduler_command(&self) -> Result<Server<'_>> {
        let file = |name: &str| self.folder.join(name).display().to_string();
        let arguments = vec![
            format!("--kubeconfig={}", file("scheduler.kubeconfig")),
            "--leader-elect=false".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", self.ports.scheduler),
            format!("--cert-dir={}", file("certificates")),
        ];
        Ok(Server {
            program: binaries::find("kube-scheduler")?,
            arguments,
            folder: &self.folder,
            after: &[],
            last: false,
        })
    }
}
