//! The caller of a request with a token: found at once if the token was verified before.

use super::AuthenticateFilter;
use super::key_place::INCORRECT_KEY;
use super::key_place::refuse;
use crate::issuer::token_issuer::{AcceptedIssuers, TokenIssuers, UnverifiedToken};
use crate::token::refusal::TokenRefusal;
use crate::token::signed_token::has_token_form;
use headgate_core::catalog::caller::Caller;
use headgate_core::filter::descriptor::{BuildContext, InvalidSettings};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{FilterAction, HookResult};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::nearest::nearest;
use http::header;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// When to send a request again whose token cannot be verified now.
const RETRY_AFTER: Duration = Duration::from_secs(15);

/// The issuers with these names; `None` without any.
pub(super) fn accepted_issuers(
    names: &[String],
    context: &BuildContext<'_>,
) -> Result<Option<AcceptedIssuers>, InvalidSettings> {
    if names.is_empty() {
        return Ok(None);
    }
    let known = context.features.get::<TokenIssuers>();
    let issuers = names.iter().enumerate().map(|(index, name)| {
        let issuer = known.by_name.get(name).ok_or_else(|| {
            let close = nearest(name, known.by_name.keys().map(String::as_str), 1);
            let hint = close
                .first()
                .map(|close| format!("did you mean `{close}`?"));
            let hint = hint.unwrap_or_else(|| "add it to `issuers`".to_owned());
            InvalidSettings::new(format!("unknown issuer `{name}`"))
                .at(format!("/jwt/{index}"))
                .hint(hint)
        })?;
        issuer.is_used.store(true, Ordering::Relaxed);
        Ok(issuer.clone())
    });
    Ok(Some(AcceptedIssuers {
        issuers: issuers.collect::<Result<_, InvalidSettings>>()?,
        cache: known.cache.clone(),
        callers: context.callers.clone(),
    }))
}

/// Whether the credential of a request may be a token: it is in the only header that tokens are read from, and has their form.
pub(super) fn may_have_token(request: &RequestView) -> bool {
    let sent = request.headers.get(header::AUTHORIZATION);
    sent.is_some_and(|sent| has_token_form(sent.as_bytes()))
}

impl AuthenticateFilter {
    /// Identifies the caller by its token, or by its key if that is no token of an issuer of the route.
    pub(super) fn identify_token_holder<'a>(
        &'a self,
        tokens: &'a AcceptedIssuers,
        request: &'a mut RequestView,
    ) -> HookResult<'a> {
        let token = match self.key(&request.headers, request.query.as_deref()) {
            Ok(token) => token,
            Err(fault) => return HookResult::fail(fault),
        };
        if let Some(caller) = tokens.find_verified(token) {
            request.caller = Some(caller);
            return HookResult::next();
        }
        let token: Box<[u8]> = token.into();
        HookResult::later(async move {
            let caller = match tokens.verify(&token).await {
                Ok(caller) => caller,
                Err(UnverifiedToken::Refused {
                    issuer: None,
                    reason,
                }) => self.find_key_holder(request, &reason)?,
                Err(unverified) => return Err(fault(unverified)),
            };
            request.caller = Some(caller);
            Ok(FilterAction::Continue)
        })
    }

    /// The caller of a key with dots. `reason` is why it is no token.
    fn find_key_holder(
        &self,
        request: &RequestView,
        reason: &TokenRefusal,
    ) -> Result<Arc<Caller>, Fault> {
        let query = request.query.as_deref();
        let caller = self.identify_caller(&request.headers, query, request.client.as_ref());
        caller.map_err(|fault| match fault.detail {
            Some(_) => fault,
            None => fault.detail(format!("token: {reason}")),
        })
    }
}

/// The error for a token that authenticates nobody. Why is only for the log.
fn fault(unverified: UnverifiedToken) -> Fault {
    match unverified {
        UnverifiedToken::NoKeys(issuer) => {
            let message = "tokens cannot be verified now; send the request again later";
            let fault = Fault::new(FaultKind::CheckUnavailable, message).retry_after(RETRY_AFTER);
            fault.detail(format!("there are no usable keys of issuer `{issuer}`"))
        }
        UnverifiedToken::Refused { issuer, reason } => {
            let fault = match reason {
                TokenRefusal::NotAdmitted => Fault::new(
                    FaultKind::Forbidden,
                    "the token is valid, and gives no access here; ask the operator of this gateway",
                ),
                _ => refuse(INCORRECT_KEY),
            };
            let issuer = issuer.as_deref().unwrap_or_default();
            fault.detail(format!("token of issuer `{issuer}`: {reason}"))
        }
    }
}
