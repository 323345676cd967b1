//! The file of `--cloud-config`, as it becomes while the process runs.

use std::path::{Path, PathBuf};

use ::controllers::chain;
use sandbox::Digest;
use tracing::warn;

use super::states::ModuleEvent;
use crate::config::{CloudConfig, ModuleSource, WrittenConfig, loosened};

/// The file, and what was last seen in it.
pub(super) struct ConfigFile {
    path: PathBuf,
    /// The config with which the process was started, but for the module.
    start: WrittenConfig,
    source: ModuleSource,
    /// Where the module was, by the newest file whose module could be put in place: no other one may ask for less.
    strict: ModuleSource,
    /// The keys beside the module in which it differs from the start.
    differences: Vec<String>,
    /// The fault that was found in it, to report it once.
    wrong: Option<String>,
}

impl ConfigFile {
    /// The file as it was at the start.
    pub(super) fn new(path: PathBuf, source: ModuleSource, start: WrittenConfig) -> Self {
        Self { path, start, strict: source.clone(), source, differences: Vec::new(), wrong: None }
    }

    /// Where the module is, by the newest file that could be used.
    pub(super) fn source(&self) -> &ModuleSource {
        &self.source
    }

    /// Reads the file. Only its module may change while the process runs; what else has changed is said once. `serving` is the
    /// digest in the config of what serves.
    pub(super) async fn look(&mut self, serving: Digest) -> Vec<ModuleEvent> {
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || CloudConfig::read(&path)).await;
        let config = match read {
            Ok(Ok(config)) => config,
            Ok(Err(error)) => return self.is_wrong(chain(&error)),
            Err(panic) => return self.is_wrong(chain(&panic)),
        };
        self.wrong = None;
        self.seen(config.source, &config.written, serving)
    }

    fn is_wrong(&mut self, wrong: String) -> Vec<ModuleEvent> {
        if self.wrong.as_ref() != Some(&wrong) {
            warn!("{wrong}; what was read before stays in use");
            self.wrong = Some(wrong);
        }
        Vec::new()
    }

    /// The events that follow from a file that could be used.
    fn seen(&mut self, source: ModuleSource, written: &WrittenConfig, serving: Digest) -> Vec<ModuleEvent> {
        let differences = self.start.differences(written);
        let is_other_module = source != self.source;
        let is_other_rest = differences != self.differences;
        if is_other_rest && !differences.is_empty() {
            warn!(
                "--cloud-config {} has changed in {}: that takes effect at the next start",
                self.path.display(),
                differences.join(", ")
            );
        }
        if !is_other_module && !is_other_rest {
            return Vec::new();
        }
        let digest = source.digest();
        if is_other_module && digest == self.source.digest() && digest == serving {
            warn!("{}", same_module(&self.path));
        }
        self.source = source;
        self.differences = differences;
        if !self.differences.is_empty() {
            let unfit = is_other_module.then(|| ModuleEvent::Unfit(digest, unfit(digest, &self.differences)));
            return unfit.into_iter().collect();
        }
        match loosened(&self.strict, &self.source) {
            Some(loose) if digest != serving => vec![ModuleEvent::Unfit(digest, less_strict(digest, &loose))],
            // Nothing is loaded for that; the next digest is held against what was strict.
            Some(_) => vec![ModuleEvent::Configured(digest)],
            None => {
                self.strict = self.source.clone();
                vec![ModuleEvent::Configured(digest)]
            }
        }
    }
}

/// The sentence about a file that names the module that serves: another image, login or authority, or other keys.
fn same_module(path: &Path) -> String {
    format!(
        "--cloud-config {} has changed in provider.module, but not in its digest: nothing is loaded for that. Other keys, and \
         another place of the module, count from the next load on: at the next start, or with the next digest if they ask for no \
         less",
        path.display()
    )
}

fn unfit(digest: Digest, differences: &[String]) -> String {
    format!(
        "module sha256:{digest} comes with changes in {} of --cloud-config, and only provider.module can change while the \
         process runs: restart to use both, or take back what else has changed",
        differences.join(", ")
    )
}

fn less_strict(digest: Digest, loose: &str) -> String {
    format!(
        "module sha256:{digest} comes with a provider.module that asks for less than the one before: {loose}. Only a restart \
         makes that count: restart to use it, or take it back"
    )
}

#[cfg(test)]
mod tests {
    use sandbox::Source;

    use super::*;

    fn source(nth: u8) -> ModuleSource {
        ModuleSource::Local(Source::File { path: "/acme.wasm".into(), sha256: Digest::of(&[nth]) })
    }

    fn written(settings: &str) -> WrittenConfig {
        WrittenConfig::parse(&format!("{{ provider: {{ settings: {{ region: {settings} }} }} }}"))
    }

    #[test]
    fn only_another_module_is_put_in_place() {
        let serving = Digest::of(&[1]);
        let mut file = ConfigFile::new("/cloud.yaml".into(), source(1), written("a"));
        assert_eq!(file.seen(source(1), &written("a"), serving), []);
        assert_eq!(file.seen(source(2), &written("a"), serving), [ModuleEvent::Configured(Digest::of(&[2]))]);
        assert_eq!(file.seen(source(2), &written("a"), serving), [], "it is told once");
        assert_eq!(file.seen(source(2), &written("b"), serving), [], "that takes effect at the next start");
        let both = file.seen(source(3), &written("b"), serving);
        let [ModuleEvent::Unfit(digest, text)] = both.as_slice() else { panic!("{both:?}") };
        assert_eq!(*digest, Digest::of(&[3]));
        assert!(text.contains("changes in provider.settings") && text.contains("restart to use both"), "{text}");
        assert_eq!(
            file.seen(source(3), &written("a"), serving),
            [ModuleEvent::Configured(Digest::of(&[3]))],
            "it was taken back"
        );
        assert_eq!(file.source(), &source(3));
    }

    #[test]
    fn adv_169_a_module_for_which_signatures_go_is_not_put_in_place() {
        let registry = |nth: u8, signed: bool| {
            ModuleSource::Registry(Box::new(oci::ModuleSettings {
                image: oci::Image::parse("registry.example.com/acme:1").unwrap(),
                digest: Digest::of(&[nth]),
                previous: None,
                login: None,
                token_services: Vec::new(),
                addresses: egress::AllowedAddresses::Public,
                ca_file: None,
                proxy: None,
                signed_by: signed.then(|| oci::SignedBy { keys: vec!["/acme.pub".into()], name: None }),
            }))
        };
        let serving = Digest::of(&[1]);
        let mut file = ConfigFile::new("/cloud.yaml".into(), registry(1, true), written("a"));
        for source in [registry(2, false), source(3)] {
            let digest = source.digest();
            let [ModuleEvent::Unfit(unfit, text)] = &file.seen(source, &written("a"), serving)[..] else {
                panic!("{digest}")
            };
            assert_eq!(*unfit, digest);
            assert!(text.contains("signedBy is gone") && text.contains("restart to use it"), "{text}");
        }
        let same = file.seen(registry(1, false), &written("a"), serving);
        assert_eq!(same, [ModuleEvent::Configured(serving)], "nothing is loaded for that");
        let next = file.seen(registry(4, false), &written("a"), serving);
        assert!(matches!(next[..], [ModuleEvent::Unfit(..)]), "in two steps it would be the same: {next:?}");
        assert_eq!(file.seen(registry(4, true), &written("a"), serving), [ModuleEvent::Configured(Digest::of(&[4]))]);
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_used_changes_nothing() {
        let mut file = ConfigFile::new("/nowhere/cloud.yaml".into(), source(1), written("a"));
        assert_eq!(file.look(Digest::of(&[1])).await, []);
        assert!(file.wrong.as_ref().is_some_and(|it| it.contains("cannot read --cloud-config /nowhere/cloud.yaml")));
        assert_eq!(file.source(), &source(1));
    }
}
