//! An issuer of tokens, and the issuers that a route accepts: from the text of a token to its caller.

use super::admission::TokenAdmissionPolicy;
use super::issuer_keys::IssuerKeys;
use super::token_cache::{TokenCache, VerifiedToken};
use crate::token::algorithm::SignatureAlgorithm;
use crate::token::claims::ClaimRequirements;
use crate::token::key_set::TokenKeySet;
use crate::token::refusal::TokenRefusal;
use crate::token::signed_token::SignedToken;
use headgate_core::catalog::caller::{Caller, Callers};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// An issuer of tokens.
pub(crate) struct TokenIssuer {
    pub name: Arc<str>,
    /// The claim `iss` of its tokens.
    pub claimed: Box<str>,
    pub algorithms: Vec<SignatureAlgorithm>,
    pub requirements: ClaimRequirements,
    pub keys: Arc<IssuerKeys>,
    pub admission: TokenAdmissionPolicy,
    /// Whether a route accepts its tokens.
    pub is_used: AtomicBool,
    pub counts: Arc<IssuerTokenCounts>,
}

/// How many tokens of an issuer were looked at. Outlives snapshots.
#[derive(Default)]
pub(crate) struct IssuerTokenCounts {
    pub accepted: AtomicU64,
    pub refused: AtomicU64,
    pub without_keys: AtomicU64,
}

/// The issuers of a configuration, and their tokens.
#[derive(Default)]
pub(crate) struct TokenIssuers {
    pub by_name: BTreeMap<String, Arc<TokenIssuer>>,
    pub cache: Arc<TokenCache>,
}

/// The issuers that a route accepts.
pub(crate) struct AcceptedIssuers {
    pub issuers: Vec<Arc<TokenIssuer>>,
    pub cache: Arc<TokenCache>,
    pub callers: Arc<Callers>,
}

/// Why a token authenticates nobody.
#[derive(Debug)]
pub(crate) enum UnverifiedToken {
    Refused {
        /// `None` if it is that of no issuer.
        issuer: Option<Arc<str>>,
        reason: TokenRefusal,
    },
    /// The keys of this issuer are not available.
    NoKeys(Arc<str>),
}

impl AcceptedIssuers {
    /// The caller of a token that was verified before, and still is valid.
    pub fn find_verified(&self, token: &[u8]) -> Option<Arc<Caller>> {
        let found = self.cache.find(token)?;
        let mut issuers = self.issuers.iter();
        let issuer = issuers.find(|issuer| issuer.name == found.issuer)?;
        let keys = issuer.keys.usable()?;
        if !Arc::ptr_eq(&keys, &found.keys) || now() >= found.expiry {
            return None;
        }
        issuer.counts.accepted.fetch_add(1, Ordering::Relaxed);
        Some(found.caller)
    }

    /// Verifies a token, and finds its caller.
    ///
    /// # Errors
    /// It is refused, or cannot be verified.
    pub async fn verify(&self, text: &[u8]) -> Result<Arc<Caller>, UnverifiedToken> {
        let refused = |issuer: Option<&Arc<TokenIssuer>>| {
            let issuer = issuer.map(|issuer| issuer.name.clone());
            move |reason| UnverifiedToken::Refused { issuer, reason }
        };
        let token = SignedToken::parse(text).map_err(refused(None))?;
        let claimed = token.issuer().unwrap_or_default();
        let mut issuers = self.issuers.iter();
        let issuer = issuers.find(|issuer| *issuer.claimed == *claimed);
        let issuer = issuer.ok_or(TokenRefusal::Issuer).map_err(refused(None))?;
        let verified = issuer.verify(&token, &self.callers).await;
        let count = match &verified {
            Ok(_) => &issuer.counts.accepted,
            Err(None) => &issuer.counts.without_keys,
            Err(Some(_)) => &issuer.counts.refused,
        };
        count.fetch_add(1, Ordering::Relaxed);
        match verified {
            Ok((caller, keys, expiry)) => {
                let verified = VerifiedToken {
                    caller: caller.clone(),
                    issuer: issuer.name.clone(),
                    keys,
                    expiry,
                };
                self.cache.add(text, verified);
                Ok(caller)
            }
            Err(None) => Err(UnverifiedToken::NoKeys(issuer.name.clone())),
            Err(Some(reason)) => Err(refused(Some(issuer))(reason)),
        }
    }
}

/// The caller of a token, the keys that have verified it, and from when on it is refused.
type VerifiedCaller = (Arc<Caller>, Arc<TokenKeySet>, f64);

impl TokenIssuer {
    /// Verifies a token of this issuer.
    ///
    /// # Errors
    /// Why it is refused; `None` if the keys are not available.
    async fn verify(
        &self,
        token: &SignedToken<'_>,
        callers: &Callers,
    ) -> Result<VerifiedCaller, Option<TokenRefusal>> {
        if !self.algorithms.contains(&token.algorithm) {
            return Err(Some(TokenRefusal::UnlistedAlgorithm));
        }
        // Nothing is fetched for a token that would be refused anyway.
        let expiry = self.requirements.check(token.claims.root(), now())?;
        let keys = self.verify_signature(token).await?;
        let key_id = token.key_id.as_deref();
        let caller = self.admission.admit(token.claims.root(), key_id, callers)?;
        Ok((Arc::new(caller), keys, expiry))
    }

    async fn verify_signature(
        &self,
        token: &SignedToken<'_>,
    ) -> Result<Arc<TokenKeySet>, Option<TokenRefusal>> {
        let keys = self.keys.usable_soon().await.ok_or(None)?;
        match keys.verify(token) {
            Ok(()) => Ok(keys),
            // Without an id, another signature is the only sign of another key.
            Err(reason)
                if reason == TokenRefusal::UnknownKey
                    || (reason == TokenRefusal::Signature && token.key_id.is_none()) =>
            {
                let newer = self.keys.newer(&keys).await;
                let newer = newer.ok_or(Some(reason))?;
                newer.verify(token)?;
                Ok(newer)
            }
            Err(reason) => Err(Some(reason)),
        }
    }
}

/// The time in Unix seconds.
fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}
