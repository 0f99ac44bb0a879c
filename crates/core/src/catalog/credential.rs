//! Credentials for providers: the secrets of an account, and the signer that makes a request authentic with them.

use super::jwt_minter::JwtMinter;
use crate::state::calendar::unix_ms;
use headgate_protocol::json::edit::BodySegments;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use sha2::{Digest, Sha256};
use std::fmt;

/// What authenticates the gateway to a provider.
#[derive(Debug)]
pub struct Credential {
    pub signer: RequestSigner,
    /// What stays the same when the keys of the account rotate, if the provider has such a thing: the secret without the
    /// `Bearer` scheme, or the access key of minted tokens. Ids of tasks and connections are bound to it.
    pub identity: CredentialSecret,
    /// All that no response, log line or error may reveal, the identity included.
    pub secrets: Vec<CredentialSecret>,
    /// A hash of the channel and the identity, for pooled connections and the credential's health.
    pub fingerprint: u64,
}

/// Makes requests authentic: called last, over each request as it is sent. A kind of credential is a variant.
#[derive(Debug)]
pub enum RequestSigner {
    /// A header with a value that is marked sensitive and never printed.
    Header(HeaderName, HeaderValue),
    /// `Authorization: Bearer` with a token that the gateway mints.
    Jwt(JwtMinter),
}

/// A request as it is about to be sent: after all filters, with the gateway's and the channel's headers.
pub struct SignableRequest<'r> {
    pub method: &'r Method,
    /// Path and query; the host is in the header `host`.
    pub target: &'r Uri,
    pub headers: &'r mut HeaderMap,
    pub body: SignableBody<'r>,
}

/// The body of a request that is to be signed.
#[derive(Clone, Copy)]
pub enum SignableBody<'r> {
    Absent,
    Whole(&'r BodySegments),
    /// The body arrives while it is sent, so that no signature can cover it.
    Streamed,
}

/// A secret that cannot be printed.
#[derive(Clone)]
pub struct CredentialSecret(Box<str>);

impl Credential {
    /// A credential that is the value of a header; `secret` is the part of it that is the account's.
    pub fn header(
        name: HeaderName,
        mut value: HeaderValue,
        secret: &str,
        fingerprint: u64,
    ) -> Self {
        value.set_sensitive(true);
        Self {
            signer: RequestSigner::Header(name, value),
            identity: CredentialSecret::new(secret),
            secrets: vec![CredentialSecret::new(secret)],
            fingerprint,
        }
    }

    /// A pair of keys, with which tokens are minted. The access key is the account's, and the identity.
    pub fn jwt(minter: JwtMinter, fingerprint: u64) -> Self {
        let (issuer, beginning) = (minter.issuer(), minter.common_beginning());
        let secrets = [issuer, minter.secret(), &beginning].map(CredentialSecret::new);
        Self {
            identity: CredentialSecret::new(issuer),
            secrets: secrets.into(),
            signer: RequestSigner::Jwt(minter),
            fingerprint,
        }
    }
}

impl RequestSigner {
    /// Adds to a request what makes it authentic. A request that is sent again later is signed again.
    pub fn sign(&self, request: SignableRequest<'_>) {
        match self {
            Self::Header(name, value) => request.headers.insert(name, value.clone()),
            Self::Jwt(minter) => {
                let authorization = minter.authorization(unix_ms());
                request.headers.insert(header::AUTHORIZATION, authorization)
            }
        };
    }

    /// The header that carries the credential.
    pub fn header_name(&self) -> &HeaderName {
        match self {
            Self::Header(name, _) => name,
            Self::Jwt(_) => &header::AUTHORIZATION,
        }
    }
}

impl SignableBody<'_> {
    /// The SHA-256 of the body; `None` for one that is not known yet.
    pub fn sha256(self) -> Option<[u8; 32]> {
        let mut hasher = Sha256::new();
        match self {
            Self::Absent => {}
            Self::Whole(segments) => segments.iter().for_each(|segment| hasher.update(segment)),
            Self::Streamed => return None,
        }
        Some(hasher.finalize().into())
    }
}

impl CredentialSecret {
    pub fn new(secret: &str) -> Self {
        Self(secret.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for CredentialSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::time::Duration;

    fn signed(credential: &Credential) -> HeaderMap {
        // A header of this name that a filter set does not stay.
        let earlier = HeaderValue::from_static("earlier");
        let mut headers = HeaderMap::from_iter([(header::AUTHORIZATION, earlier)]);
        credential.signer.sign(SignableRequest {
            method: &Method::GET,
            target: &Uri::from_static("/v1/tasks/1?x=1"),
            headers: &mut headers,
            body: SignableBody::Absent,
        });
        headers
    }

    #[test]
    fn the_header_of_a_credential_replaces_all_of_its_name() {
        let value = HeaderValue::from_static("Bearer secret-1");
        let fixed = Credential::header(header::AUTHORIZATION, value.clone(), "secret-1", 1);
        let minter = JwtMinter::new("access-1", "secret-1", Duration::from_secs(60));
        let minted = Credential::jwt(minter, 1);
        for credential in [&fixed, &minted] {
            let headers = signed(credential);
            let values: Vec<_> = headers
                .get_all(credential.signer.header_name())
                .iter()
                .collect();
            assert_eq!(values.len(), 1);
            assert!(values[0].is_sensitive() && values[0] != "earlier");
        }
        assert_eq!(signed(&fixed)[header::AUTHORIZATION], value);
    }

    #[test]
    fn the_identity_of_minted_tokens_is_not_what_signs_them_and_both_are_secrets() {
        let minter = |secret| JwtMinter::new("access-1", secret, Duration::from_secs(60));
        let (before, after) = (
            Credential::jwt(minter("one"), 1),
            Credential::jwt(minter("two"), 1),
        );
        assert_eq!(before.identity.expose(), after.identity.expose());
        let secrets: Vec<_> = before
            .secrets
            .iter()
            .map(CredentialSecret::expose)
            .collect();
        assert!(secrets.contains(&"access-1") && secrets.contains(&"one"));
        let sent = signed(&before);
        let sent = sent[header::AUTHORIZATION].to_str().unwrap();
        assert!(secrets.iter().any(|secret| sent.contains(secret)), "{sent}");
        assert!(!format!("{before:?}").contains("one"), "{before:?}");
    }

    #[test]
    fn the_digest_of_a_body_is_that_of_all_its_segments() {
        let digest = |text: &[u8]| Some(Sha256::digest(text).into());
        let body = BodySegments::from(Bytes::from_static(b"{\"a\":1}"));
        assert_eq!(SignableBody::Whole(&body).sha256(), digest(b"{\"a\":1}"));
        assert_eq!(SignableBody::Absent.sha256(), digest(b""));
        assert_eq!(SignableBody::Streamed.sha256(), None);
    }
}
