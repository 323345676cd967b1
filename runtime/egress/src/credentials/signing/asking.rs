//! How keys are asked for, whatever the kind: limits, files, and failures in words.

use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use super::super::error::CredentialError;
use super::super::secret_file::SecretFile;
use super::super::shown::Shown;
use super::no_keys::NoKeys;
use crate::endpoint::EndpointLimits;
use crate::outcome::AnswerFailure;

/// How fast a service that gives keys has to be.
pub(crate) fn limits() -> EndpointLimits {
    let second = Duration::from_secs(1);
    EndpointLimits { total: 10 * second, first_byte: 8 * second, response_bytes: 64 << 10, ..EndpointLimits::default() }
}

/// Why there was no answer, as a sentence without its full stop.
pub(crate) fn without_answer(failure: AnswerFailure) -> String {
    match failure {
        AnswerFailure::Denied(denied) => denied.to_string(),
        AnswerFailure::Paused(after) => format!("STS wants to be left alone for {after:?}"),
        AnswerFailure::Unreachable(because) | AnswerFailure::Interrupted(because) => because,
    }
}

/// Reads a file of `credential` where that keeps nobody waiting.
pub(crate) async fn read_file<S: Send + Sync + 'static, T: Send + 'static>(
    credential: &str,
    source: &Arc<S>,
    read: impl FnOnce(&S) -> Result<T, CredentialError> + Send + 'static,
) -> Result<T, NoKeys> {
    let source = source.clone();
    match tokio::task::spawn_blocking(move || read(&source)).await {
        Ok(Ok(read)) => Ok(read),
        Ok(Err(error)) => {
            let cause = std::error::Error::source(&error).map(|it| format!(": {it}")).unwrap_or_default();
            // Each names the credential, and so does whoever says it.
            let text = format!("{error}{cause}");
            let own = format!("credential {credential}: ");
            Err(NoKeys::Failed(text.strip_prefix(&own).unwrap_or(&text).to_owned()))
        }
        Err(error) => Err(NoKeys::Failed(format!("reading failed: {error}"))),
    }
}

/// The token in a file that the kubelet projects.
pub(crate) fn read_token(file: SecretFile<'_>, shown: &Shown) -> Result<Zeroizing<String>, CredentialError> {
    let text = file.read_line(", and so no token")?;
    if text.is_empty() || !text.iter().all(u8::is_ascii_graphic) {
        let because =
            "holds no token: it is empty, or holds what is not visible ASCII; look at the pod's projected volume";
        return Err(file.unusable(because));
    }
    let token: Zeroizing<String> = Zeroizing::new(text.iter().copied().map(char::from).collect());
    shown.add(&token);
    Ok(token)
}
