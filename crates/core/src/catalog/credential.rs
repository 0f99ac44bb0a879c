//! Credentials for providers: the secrets of an account, and the signer that makes a request authentic with them.

use super::aws_signer::AwsSigner;
use super::credential_secret::CredentialSecret;
use super::jwt_key::InvalidJwtKey;
use super::jwt_minter::JwtMinter;
use crate::credentials::refreshed_credential::RefreshedCredential;
use crate::credentials::temporary_credential::{CredentialProof, CredentialSourceError};
use crate::state::calendar::{unix_ms, whole_ms};
use crate::state::clock::steady_ms;
use headgate_protocol::json::edit::BodySegments;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;

/// What authenticates the gateway to a provider.
#[derive(Debug)]
pub struct Credential {
    pub signer: RequestSigner,
    /// What stays the same when the keys of the account rotate, if the provider has such a thing: the secret without the
    /// `Bearer` scheme, or the access key of minted tokens and of AWS. Ids of tasks and connections are bound to it.
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
    /// The headers of a signature of AWS over the request with its body.
    Aws(Box<AwsSigner>),
    /// A token or a temporary access key of AWS, which is issued anew before it expires.
    Refreshed {
        credential: Arc<RefreshedCredential>,
        signs_body: bool,
    },
}

/// Why a request cannot be signed, and so is not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SigningError {
    #[error("the signature covers the body, which arrives while it is sent")]
    StreamedBody,
    #[error("the credential of the channel cannot be had: {0}")]
    Unavailable(#[from] CredentialSourceError),
    #[error("{0}")]
    Unsignable(String),
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
        let secrets = [Some(issuer), minter.secret(), Some(&beginning)];
        let secrets = secrets.into_iter().flatten();
        Self {
            identity: CredentialSecret::new(issuer),
            secrets: secrets.map(CredentialSecret::new).collect(),
            signer: RequestSigner::Jwt(minter),
            fingerprint,
        }
    }

    /// An access key of AWS, whose id is the identity.
    pub fn aws(signer: AwsSigner, fingerprint: u64) -> Self {
        let key = signer.access_key();
        let secrets = [&key.id, &key.secret].into_iter();
        let secrets = secrets.chain(&key.session_token);
        Self {
            identity: CredentialSecret::new(&key.id),
            secrets: secrets
                .map(|secret| CredentialSecret::new(secret))
                .collect(),
            signer: RequestSigner::Aws(Box::new(signer)),
            fingerprint,
        }
    }

    /// A credential that a server issues; `identity` and `secrets` are of the account that asks for it.
    pub fn refreshed(
        credential: Arc<RefreshedCredential>,
        signs_body: bool,
        identity: &str,
        secrets: Vec<CredentialSecret>,
        fingerprint: u64,
    ) -> Self {
        Self {
            signer: RequestSigner::Refreshed {
                credential,
                signs_body,
            },
            identity: CredentialSecret::new(identity),
            secrets,
            fingerprint,
        }
    }

    /// The state of a credential that a server issues.
    pub fn refresh_state(&self) -> Option<&Arc<RefreshedCredential>> {
        match &self.signer {
            RequestSigner::Refreshed { credential, .. } => Some(credential),
            RequestSigner::Header(..) | RequestSigner::Jwt(_) | RequestSigner::Aws(_) => None,
        }
    }
}

impl RequestSigner {
    /// Adds to a request what makes it authentic, in place of what an earlier call added. A request that is sent again later
    /// is signed again.
    ///
    /// # Errors
    /// The signature covers a body that is not known yet, or there is no credential now.
    pub fn sign(&self, request: SignableRequest<'_>) -> Result<(), SigningError> {
        match self {
            Self::Header(name, value) => {
                request.headers.insert(name, value.clone());
            }
            Self::Jwt(minter) => {
                let authorization = minter.authorization(unix_ms())?;
                request.headers.insert(header::AUTHORIZATION, authorization);
            }
            Self::Aws(signer) => sign_for_aws(signer, request)?,
            Self::Refreshed { credential, .. } => match &credential.issued(steady_ms())?.proof {
                CredentialProof::Bearer(value) => {
                    request.headers.insert(header::AUTHORIZATION, value.clone());
                }
                CredentialProof::Aws(signer) => sign_for_aws(signer, request)?,
            },
        }
        Ok(())
    }

    /// Learns from an error response to a request that was signed at most `age` ago. Returns whether the next request is signed
    /// otherwise: at the provider's time, or if the credential `is_refused`, with another one that was issued or is being fetched.
    pub fn renew(&self, headers: &HeaderMap, body: &[u8], is_refused: bool, age: Duration) -> bool {
        match self {
            Self::Header(..) | Self::Jwt(_) => false,
            Self::Aws(signer) => signer.learn_clock(headers, body, unix_ms()),
            Self::Refreshed { credential, .. } => {
                let now_ms = steady_ms();
                let issued = credential.issued(now_ms);
                let is_learned = issued.is_ok_and(|issued| match &issued.proof {
                    CredentialProof::Bearer(_) => false,
                    CredentialProof::Aws(signer) => signer.learn_clock(headers, body, unix_ms()),
                });
                let signed_ms = now_ms.saturating_sub(whole_ms(age));
                is_learned || is_refused && credential.refuse(signed_ms, now_ms)
            }
        }
    }

    /// Whether the body of a request must be known before it is sent.
    pub fn signs_body(&self) -> bool {
        match self {
            Self::Header(..) | Self::Jwt(_) => false,
            Self::Aws(_) => true,
            Self::Refreshed { signs_body, .. } => *signs_body,
        }
    }

    /// The header that carries the credential.
    pub fn header_name(&self) -> &HeaderName {
        match self {
            Self::Header(name, _) => name,
            Self::Jwt(_) | Self::Aws(_) | Self::Refreshed { .. } => &header::AUTHORIZATION,
        }
    }
}

impl From<InvalidJwtKey> for SigningError {
    fn from(invalid: InvalidJwtKey) -> Self {
        Self::Unsignable(invalid.to_string())
    }
}

fn sign_for_aws(signer: &AwsSigner, request: SignableRequest<'_>) -> Result<(), SigningError> {
    let digest = request.body.sha256().ok_or(SigningError::StreamedBody)?;
    signer.sign(
        request.method,
        request.target,
        request.headers,
        digest,
        unix_ms(),
    );
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::aws_signer::AwsAccessKey;
    use crate::catalog::jwt_key::JwtKey;
    use crate::catalog::jwt_minter::JwtClaims;
    use bytes::Bytes;

    fn signed(credential: &Credential) -> HeaderMap {
        // A header of this name that a filter set does not stay.
        let earlier = HeaderValue::from_static("earlier");
        let mut headers = HeaderMap::from_iter([(header::AUTHORIZATION, earlier)]);
        let request = SignableRequest {
            method: &Method::GET,
            target: &Uri::from_static("/v1/tasks/1?x=1"),
            headers: &mut headers,
            body: SignableBody::Absent,
        };
        credential.signer.sign(request).unwrap();
        headers
    }

    fn minter(secret: &str) -> JwtMinter {
        let claims = JwtClaims {
            issuer: "access-1".into(),
            subject: None,
            audience: None,
            key_id: None,
        };
        JwtMinter::new(
            claims,
            JwtKey::Secret(secret.into()),
            Duration::from_secs(60),
        )
    }

    fn aws(secret: &str, session_token: Option<&str>) -> Credential {
        let access_key = AwsAccessKey {
            id: "AKIDEXAMPLE".into(),
            secret: secret.into(),
            session_token: session_token.map(Into::into),
        };
        Credential::aws(AwsSigner::new(access_key, "eu-west-1", "bedrock"), 1)
    }

    #[test]
    fn the_header_of_a_credential_replaces_all_of_its_name() {
        let value = HeaderValue::from_static("Bearer secret-1");
        let fixed = Credential::header(header::AUTHORIZATION, value.clone(), "secret-1", 1);
        let minted = Credential::jwt(minter("secret-1"), 1);
        for credential in [&fixed, &minted, &aws("secret-1", None)] {
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
    fn the_identity_of_an_access_key_is_its_id_and_all_its_parts_are_secrets() {
        let (before, after) = (aws("one", None), aws("two", Some("session-1")));
        assert_eq!(before.identity.expose(), "AKIDEXAMPLE");
        assert_eq!(before.identity.expose(), after.identity.expose());
        let secrets = after.secrets.iter().map(CredentialSecret::expose);
        let secrets: Vec<_> = secrets.collect();
        assert_eq!(secrets, ["AKIDEXAMPLE", "two", "session-1"]);
        let shown = format!("{after:?} {:?}", signed(&after));
        for secret in secrets {
            assert!(!shown.contains(secret), "{shown}");
        }
    }

    #[test]
    fn a_body_that_is_not_known_is_signed_by_no_key_of_aws() {
        let value = HeaderValue::from_static("Bearer secret-1");
        let fixed = Credential::header(header::AUTHORIZATION, value, "secret-1", 1);
        for (credential, expected) in [
            (fixed, Ok(())),
            (aws("one", None), Err(SigningError::StreamedBody)),
        ] {
            let mut headers = HeaderMap::new();
            let request = SignableRequest {
                method: &Method::POST,
                target: &Uri::from_static("/"),
                headers: &mut headers,
                body: SignableBody::Streamed,
            };
            assert_eq!(credential.signer.sign(request), expected);
            assert_eq!(credential.signer.signs_body(), expected.is_err());
            assert_eq!(headers.is_empty(), expected.is_err());
        }
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
