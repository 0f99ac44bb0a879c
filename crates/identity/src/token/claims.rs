//! The registered claims of a token: for whom it is, and when it is valid.

use super::refusal::TokenRefusal;
use headgate_protocol::json::{DocumentNode, ValueKind};
use std::time::Duration;

/// The most audiences of a token.
const AUDIENCES_MAX: usize = 64;
/// The last second of the year 9999: no later time is one.
const LAST_SECOND: f64 = 253_402_300_799.0;

/// What the registered claims of a token must have.
#[derive(Debug)]
pub(crate) struct ClaimRequirements {
    /// The token must be for one of them.
    pub audiences: Vec<String>,
    /// How far the issuer's clock may be from the gateway's.
    pub clock_skew: Duration,
}

impl ClaimRequirements {
    /// Checks `aud`, `exp`, `nbf` and `iat` at a time in Unix seconds. Returns from when on the token is refused.
    ///
    /// # Errors
    /// The first claim that is missing or not satisfied.
    pub fn check(&self, claims: DocumentNode<'_>, now: f64) -> Result<f64, TokenRefusal> {
        self.check_audience(claims)?;
        let skew = self.clock_skew.as_secs_f64();
        let expiry = time(claims, "exp")?.ok_or(TokenRefusal::MissingClaim("exp"))?;
        if now >= expiry + skew {
            return Err(TokenRefusal::Expired);
        }
        for name in ["nbf", "iat"] {
            if time(claims, name)?.is_some_and(|begin| begin > now + skew) {
                return Err(TokenRefusal::NotYetValid(name));
            }
        }
        Ok(expiry + skew)
    }

    fn check_audience(&self, claims: DocumentNode<'_>) -> Result<(), TokenRefusal> {
        const AUD: &str = "aud";
        let node = claims.get(AUD).ok_or(TokenRefusal::MissingClaim(AUD))?;
        let has = |node: DocumentNode<'_>| {
            let text = node.as_str().ok_or(TokenRefusal::ClaimType(AUD))?;
            Ok(self.audiences.iter().any(|audience| *audience == *text))
        };
        let is_for_us = match node.kind() {
            ValueKind::String => has(node)?,
            ValueKind::Array if node.len() <= AUDIENCES_MAX => {
                let mut is_listed = false;
                for element in node.elements() {
                    is_listed |= has(element)?;
                }
                is_listed
            }
            _ => return Err(TokenRefusal::ClaimType(AUD)),
        };
        match is_for_us {
            true => Ok(()),
            false => Err(TokenRefusal::Audience),
        }
    }
}

/// A claim that is a time, in Unix seconds.
fn time(claims: DocumentNode<'_>, name: &'static str) -> Result<Option<f64>, TokenRefusal> {
    let Some(node) = claims.get(name) else {
        return Ok(None);
    };
    let seconds = match node.kind() {
        ValueKind::Number => node.as_f64(),
        _ => None,
    };
    let seconds = seconds.filter(|seconds| (0.0..=LAST_SECOND).contains(seconds));
    seconds.map(Some).ok_or(TokenRefusal::ClaimType(name))
}
