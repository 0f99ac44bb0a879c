//! Builds the rules about a provider's callbacks from their definition.

use super::FamilyErrors;
use crate::callback_signature::{
    CallbackKeySource, CallbackSecretForm, CallbackSignatureScheme, SignatureEncoding, SignedPart,
};
use crate::definition::{
    CallbackSignatureConfig, CallbackSignatureKindConfig, ProviderCallbackConfig,
    SignatureEncodingConfig,
};
use crate::family::callback::ProviderCallbackRules;
use http::{HeaderName, Uri};

const AT: &str = "/callback/signature";

/// The scheme of Standard Webhooks.
const STANDARD_WEBHOOKS: [&str; 4] = [
    "webhook-signature",
    "v1,",
    "webhook-timestamp",
    "{webhook-id}.{webhook-timestamp}.{body}",
];

impl FamilyErrors {
    pub(super) fn callback(&mut self, config: &ProviderCallbackConfig) -> ProviderCallbackRules {
        let ProviderCallbackConfig {
            challenge,
            signature,
            task_id,
        } = config;
        if challenge.as_ref().is_some_and(|at| !at.starts_with('/')) {
            let reason = "not a JSON pointer: it must begin with `/`";
            self.add("/callback/challenge", reason, Some("such as /challenge"));
        }
        if task_id.is_some() && signature.is_none() {
            let hint = "add `signature`, or remove `task_id`: a callback that is not verified is only a reason to query the task";
            let reason = "`task_id` requires `signature`";
            self.add("/callback/task_id", reason, Some(hint));
        }
        let sources = task_id.as_ref();
        ProviderCallbackRules {
            challenge: challenge.clone(),
            signature: signature.as_ref().and_then(|one| self.signature(one)),
            task_id: sources.map(|sources| self.required_sources("/callback/task_id", sources)),
        }
    }

    fn signature(&mut self, config: &CallbackSignatureConfig) -> Option<CallbackSignatureScheme> {
        let CallbackSignatureConfig {
            kind,
            header,
            prefix,
            encoding,
            timestamp,
            signed,
            jwks,
        } = config;
        let is_standard = *kind == CallbackSignatureKindConfig::StandardWebhooks;
        let standard = |index: usize| is_standard.then_some(STANDARD_WEBHOOKS[index]);
        let header = header.as_deref().or(standard(0));
        if header.is_none() {
            let hint = "such as x-webhook-signature";
            self.add(AT, "missing required key `header`", Some(hint));
        }
        let header = header.and_then(|name| self.header(&format!("{AT}/header"), name));
        let timestamp = timestamp.as_deref().or(standard(2));
        let timestamp = timestamp.and_then(|name| self.header(&format!("{AT}/timestamp"), name));
        let signed = signed.as_deref().or(standard(3)).unwrap_or("{body}");
        let signed = self.signed(signed)?;
        let is_signed = |name: &HeaderName| signed.contains(&SignedPart::Header(name.clone()));
        if timestamp.as_ref().is_some_and(|name| !is_signed(name)) {
            let hint = "name the header in `signed`: a time that is not signed can be forged";
            let reason = "the header is not part of `signed`";
            self.add(&format!("{AT}/timestamp"), reason, Some(hint));
        }
        let default_encoding = match is_standard {
            true => SignatureEncodingConfig::Base64,
            false => SignatureEncodingConfig::Hex,
        };
        Some(CallbackSignatureScheme {
            keys: self.keys(*kind, jwks.as_deref())?,
            header: header?,
            prefix: prefix.as_deref().or(standard(1)).unwrap_or_default().into(),
            encoding: match encoding.unwrap_or(default_encoding) {
                SignatureEncodingConfig::Hex => SignatureEncoding::Hex,
                SignatureEncodingConfig::Base64 => SignatureEncoding::Base64,
            },
            timestamp,
            signed,
        })
    }

    fn keys(
        &mut self,
        kind: CallbackSignatureKindConfig,
        jwks: Option<&str>,
    ) -> Option<CallbackKeySource> {
        let form = match kind {
            CallbackSignatureKindConfig::StandardWebhooks => CallbackSecretForm::StandardWebhooks,
            CallbackSignatureKindConfig::HmacSha256 => CallbackSecretForm::Text,
            CallbackSignatureKindConfig::Ed25519 => {
                let hint = Some("such as https://vendor.example/.well-known/jwks.json");
                let Some(url) = jwks else {
                    self.add(AT, "missing required key `jwks`", hint);
                    return None;
                };
                let uri = url.parse::<Uri>().ok();
                let scheme = uri.as_ref().and_then(Uri::scheme_str);
                if !matches!(scheme, Some("https" | "http")) {
                    self.add(&format!("{AT}/jwks"), "not a URL", hint);
                }
                return Some(CallbackKeySource::Published(url.into()));
            }
        };
        if jwks.is_some() {
            let hint = "remove it; the secrets are the channel's `callback_secrets`";
            self.add(
                &format!("{AT}/jwks"),
                "only `ed25519` has public keys",
                Some(hint),
            );
        }
        Some(CallbackKeySource::Secrets(form))
    }

    fn header(&mut self, at: &str, name: &str) -> Option<HeaderName> {
        let parsed = name.parse().ok();
        if parsed.is_none() {
            self.add(at, format!("`{name}` is not a header name"), None);
        }
        parsed
    }

    fn signed(&mut self, signed: &str) -> Option<Vec<SignedPart>> {
        let at = format!("{AT}/signed");
        let mut parts = Vec::new();
        let mut rest = signed;
        while let Some((text, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                self.add(&at, "`{` without `}`", None);
                return None;
            };
            if !text.is_empty() {
                parts.push(SignedPart::Text(text.into()));
            }
            parts.push(match name {
                "body" => SignedPart::Body,
                "body_sha256" => SignedPart::BodySha256,
                name => SignedPart::Header(self.header(&at, name)?),
            });
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(SignedPart::Text(rest.into()));
        }
        let is_body = |part: &SignedPart| matches!(part, SignedPart::Body | SignedPart::BodySha256);
        if !parts.iter().any(is_body) {
            let hint = "add `{body}` or `{body_sha256}`: any other body would be accepted";
            self.add(&at, "the body is not signed", Some(hint));
        }
        Some(parts)
    }
}
