//! Builds the keys that verify callbacks of a channel's provider from its secrets.

use super::ProblemCollector;
use headgate_core::scalar::Secret;
use headgate_core::task::callback_signature::{CallbackKeySource, CallbackVerificationKey};
use headgate_core::task::family::VideoFamily;

/// The keys of the channel at `at`; those that are none are reported.
pub(super) fn build(
    secrets: &[Secret],
    family: Option<&VideoFamily>,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) -> Vec<CallbackVerificationKey> {
    let signature = family.and_then(|family| family.callback.signature.as_ref());
    let form = match signature.map(|signature| &signature.keys) {
        Some(CallbackKeySource::Secrets(form)) => *form,
        Some(CallbackKeySource::Published(_)) | None => {
            if !secrets.is_empty() {
                let reason = "callbacks of the channel's family are not signed with secrets";
                let hint =
                    "remove it, or describe the signature in `callback.signature` of the family";
                problems.error(&format!("{at}/callback_secrets"), reason, Some(hint));
            }
            return Vec::new();
        }
    };
    let mut keys = Vec::new();
    for (index, secret) in secrets.iter().enumerate() {
        match CallbackVerificationKey::from_secret(secret.expose(), form) {
            Ok(key) => keys.push(key),
            Err(invalid) => {
                let hint = "copy the signing secret from the provider's account";
                let at = format!("{at}/callback_secrets/{index}");
                problems.error(&at, invalid.to_string(), Some(hint));
            }
        }
    }
    keys
}
