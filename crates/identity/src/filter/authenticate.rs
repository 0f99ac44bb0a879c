//! `authenticate`: identifies the caller by its API key or token, before the body is read.

mod certificate;
mod key_place;
mod token_holder;

use crate::issuer::token_issuer::AcceptedIssuers;
use crate::key_usage::{KeyName, KeyUsages};
use certificate::CertificatePrecedence;
use headgate_core::catalog::caller::{Caller, Callers};
use headgate_core::catalog::caller_key::{CallerKey, CallerKeyRefusal};
use headgate_core::catalog::client_address::DownstreamClient;
use headgate_core::filter::contract::RouteApiDescription;
use headgate_core::filter::descriptor::{
    BuildContext, ChainSide, FilterChainRules, FilterDescriptor, FilterProvision,
    read_settings_or_default, settings_schema,
};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, HookResult};
use headgate_protocol::Protocol;
use headgate_protocol::caller_key::{API_KEY, X_API_KEY, X_GOOG_API_KEY};
use headgate_protocol::fault::{Fault, FaultKind};
use http::{HeaderMap, HeaderName};
use key_place::{
    INCORRECT_KEY, authorization_key, describe_misplaced_key, describe_unknown_key, refuse,
    single_value,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use std::time::SystemTime;
use token_holder::may_have_token;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "authenticate",
    summary: "Authenticates the caller by a key or a token in `Authorization: Bearer`, and by a key in `x-api-key` on messages, or headers of other APIs; replies 401 otherwise.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        provides: &[FilterProvision::Caller],
        ..FilterChainRules::ALWAYS
    },
    settings: Some(settings_schema::<AuthenticateConfig>),
    bare: true,
    build: |settings, context| {
        let AuthenticateConfig {
            headers,
            jwt,
            client_certificate,
        } = read_settings_or_default(settings)?;
        Ok(Arc::new(AuthenticateFilter {
            callers: context.callers.clone(),
            usages: context.features.get(),
            route: context.route.into(),
            key_headers: key_headers(context.protocol, &headers),
            schemes: schemes(context),
            tokens: token_holder::accepted_issuers(&jwt, context)?,
            certificates: client_certificate,
        }))
    },
};

/// Settings of `authenticate`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct AuthenticateConfig {
    /// Headers in which callers of the route may send the key, beside `authorization` and the header of the protocol:
    /// `api-key` for SDKs of Azure OpenAI, `x-goog-api-key` for those of Google, `x-api-key` for those of Anthropic. Default:
    /// none.
    headers: Vec<KeyHeaderConfig>,
    /// Issuers of `issuers` whose tokens authenticate callers on the route, as `authorization: Bearer <token>`. What has not
    /// the form of a token is a key. Default: none.
    jwt: Vec<String>,
    /// Whether the client certificate of the connection authenticates the caller whose `keys` have one of its names: `first`,
    /// whatever key is sent, for SDKs that cannot send none, or `last`, if neither a key nor a token is sent. Requires
    /// `server.tls.client_ca`. Default: it does not.
    client_certificate: Option<CertificatePrecedence>,
}

/// A header in which the SDKs of an API send the key.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
enum KeyHeaderConfig {
    #[serde(rename = "api-key")]
    Azure,
    #[serde(rename = "x-api-key")]
    Anthropic,
    #[serde(rename = "x-goog-api-key")]
    Google,
}

struct AuthenticateFilter {
    callers: Arc<Callers>,
    usages: Arc<KeyUsages>,
    route: Box<str>,
    /// Headers that SDKs of the protocol send the key in, beside `Authorization`. Requests for the model list have them, too.
    key_headers: Vec<HeaderName>,
    /// Schemes of `Authorization` besides `Bearer`, which SDKs of a vendor's own API send.
    schemes: Vec<String>,
    /// `None` if the route takes keys only.
    tokens: Option<AcceptedIssuers>,
    certificates: Option<CertificatePrecedence>,
}

fn key_headers(protocol: Option<Protocol>, configured: &[KeyHeaderConfig]) -> Vec<HeaderName> {
    let mut headers: Vec<_> = Protocol::key_headers(protocol).cloned().collect();
    for header in configured.iter().map(|header| header.name()) {
        if !headers.contains(&header) {
            headers.push(header);
        }
    }
    headers
}

fn schemes(context: &BuildContext<'_>) -> Vec<String> {
    let protocol = context.protocol.into_iter();
    let families = protocol.flat_map(|protocol| context.tasks.native_families(protocol));
    let schemes = families.filter_map(|family| family.native_api().key_scheme());
    schemes.map(str::to_owned).collect()
}

impl KeyHeaderConfig {
    fn name(self) -> HeaderName {
        match self {
            Self::Azure => API_KEY,
            Self::Anthropic => X_API_KEY,
            Self::Google => X_GOOG_API_KEY,
        }
    }
}

impl Filter for AuthenticateFilter {
    fn add_to_contract(&self, contract: &mut RouteApiDescription) {
        contract.key_headers = self.key_headers.clone();
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.identify_by_certificate(request) {
            Ok(None) => {}
            Ok(Some(caller)) => {
                request.caller = Some(caller);
                return HookResult::next();
            }
            Err(fault) => return HookResult::fail(fault),
        }
        if let Some(tokens) = self.tokens.as_ref().filter(|_| may_have_token(request)) {
            return self.identify_token_holder(tokens, request);
        }
        let query = request.query.as_deref();
        let caller = self.identify_caller(&request.headers, query, request.client.as_ref());
        HookResult::from(caller.map(|caller| {
            request.caller = Some(caller);
        }))
    }
}

impl AuthenticateFilter {
    fn identify_caller(
        &self,
        headers: &HeaderMap,
        query: Option<&str>,
        client: Option<&DownstreamClient>,
    ) -> Result<Arc<Caller>, Fault> {
        let key = self.key(headers, query)?;
        let caller = self.callers.find_by_key(key);
        let caller = caller.ok_or_else(|| refuse(describe_unknown_key(key)))?;
        if let Some(key) = &caller.key {
            self.check_key(key, &caller, client)?;
        }
        Ok(caller)
    }

    /// Checks what the key is restricted to, and counts its use.
    fn check_key(
        &self,
        key: &CallerKey,
        caller: &Caller,
        client: Option<&DownstreamClient>,
    ) -> Result<(), Fault> {
        let checked = key.check(SystemTime::now, &self.route, client);
        checked.map_err(|refusal| key_refused(key, caller, refusal))?;
        self.usages.count(&KeyName {
            caller: caller.name.clone(),
            label: key.label.clone(),
        });
        Ok(())
    }

    fn key<'h>(&self, headers: &'h HeaderMap, query: Option<&str>) -> Result<&'h [u8], Fault> {
        let mut key = authorization_key(headers, &self.schemes)?;
        for name in &self.key_headers {
            match (key, single_value(headers, name)?) {
                (Some(one), Some(other)) if one != other => {
                    return Err(refuse(format!(
                        "`authorization` and `{name}` carry different keys; send one of the two headers"
                    )));
                }
                (known, sent) => key = known.or(sent),
            }
        }
        key.ok_or_else(|| {
            let sent =
                describe_misplaced_key(headers, query).unwrap_or("no API key provided".into());
            let others = self.key_headers.iter();
            let others: String = others.map(|name| format!(" or `{name}: <key>`")).collect();
            refuse(format!(
                "{sent}; send `authorization: Bearer <key>`{others}"
            ))
        })
    }
}

/// The error for a key that is known and does not serve. That it was valid once is only for the log.
fn key_refused(key: &CallerKey, caller: &Caller, refusal: CallerKeyRefusal) -> Fault {
    let fault = match refusal {
        CallerKeyRefusal::NotYetValid(_) | CallerKeyRefusal::Expired(_) => refuse(INCORRECT_KEY),
        CallerKeyRefusal::Route => Fault::new(
            FaultKind::Forbidden,
            "this API key may not be used on this path; use another one, or ask the operator of this gateway",
        ),
        CallerKeyRefusal::Network => Fault::new(
            FaultKind::Forbidden,
            "this API key may not be used from your IP address; ask the operator of this gateway",
        ),
    };
    let (label, name) = (&key.label, &caller.name);
    fault.detail(format!("key `{label}` of caller `{name}`: {refusal}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::catalog::caller::KeyDigest;

    fn outcome(protocol: Option<Protocol>, sent: &[(&str, &str)]) -> Result<String, String> {
        outcome_with(&[], protocol, sent)
    }

    fn outcome_with(
        configured: &[KeyHeaderConfig],
        protocol: Option<Protocol>,
        sent: &[(&str, &str)],
    ) -> Result<String, String> {
        let mut callers = Callers::default();
        for name in ["ann", "bob"] {
            let key = format!("sk-{name}");
            callers.insert(
                KeyDigest::from_key(key.as_bytes()),
                Arc::new(Caller::new(name, &[])),
            );
        }
        let filter = AuthenticateFilter {
            callers: Arc::new(callers),
            usages: Arc::default(),
            route: "chat".into(),
            key_headers: key_headers(protocol, configured),
            tokens: None,
            certificates: None,
            schemes: match protocol {
                Some(Protocol::FamilyA) => vec!["Key".to_owned()],
                _ => Vec::new(),
            },
        };
        let headers: HeaderMap = sent
            .iter()
            .map(|(name, value)| {
                let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
                (name, value.parse().unwrap())
            })
            .fold(HeaderMap::new(), |mut headers, (name, value)| {
                headers.append(name, value);
                headers
            });
        filter
            .identify_caller(&headers, None, None)
            .map(|caller| caller.name.to_string())
            .map_err(|fault| fault.message.clone())
    }

    #[test]
    fn the_bearer_of_a_key_is_found_everywhere() {
        for protocol in [Some(Protocol::Messages), Some(Protocol::Chat), None] {
            for value in ["Bearer sk-ann", "bearer sk-ann", "BEARER  sk-ann "] {
                assert_eq!(
                    outcome(protocol, &[("authorization", value)]).unwrap(),
                    "ann"
                );
            }
        }
    }

    #[test]
    fn a_vendors_scheme_is_one_where_its_api_is_served() {
        let key = [("authorization", "Key sk-ann")];
        assert_eq!(outcome(Some(Protocol::FamilyA), &key).unwrap(), "ann");
        let message = outcome(Some(Protocol::Chat), &key).unwrap_err();
        assert!(!message.contains("Key <key>"), "{message}");
        let other = [("authorization", "Token sk-ann")];
        let message = outcome(Some(Protocol::FamilyA), &other).unwrap_err();
        assert!(
            message.contains("`Bearer <key>` or `Key <key>`"),
            "{message}"
        );
    }

    #[test]
    fn an_api_key_counts_only_where_the_protocol_knows_it() {
        assert_eq!(
            outcome(Some(Protocol::Messages), &[("x-api-key", "sk-bob")]).unwrap(),
            "bob"
        );
        assert!(outcome(Some(Protocol::Chat), &[("x-api-key", "sk-bob")]).is_err());
    }

    #[test]
    fn a_configured_header_counts_on_its_route_and_must_agree_with_the_others() {
        use KeyHeaderConfig::{Anthropic, Azure, Google};
        let all = [Azure, Anthropic, Google];
        for (configured, sent, expected) in [
            (&all[..1], &[("api-key", "sk-bob")][..], Some("bob")),
            (&all, &[("x-api-key", "sk-bob")], Some("bob")),
            (&all, &[("x-goog-api-key", "sk-bob")], Some("bob")),
            (
                &all,
                &[("api-key", "sk-bob"), ("authorization", "Bearer sk-bob")],
                Some("bob"),
            ),
            (
                &all,
                &[("api-key", "sk-bob"), ("authorization", "Bearer sk-ann")],
                None,
            ),
            (
                &all,
                &[("api-key", "sk-bob"), ("x-goog-api-key", "sk-ann")],
                None,
            ),
            (&all, &[("api-key", "sk-bob"), ("api-key", "sk-bob")], None),
            (&all, &[("api-key", "")], None),
            (&all[..1], &[("x-goog-api-key", "sk-bob")], None),
            (&[], &[("api-key", "sk-bob")], None),
        ] {
            let found = outcome_with(configured, Some(Protocol::Chat), sent);
            assert_eq!(found.as_deref().ok(), expected, "{sent:?}: {found:?}");
        }
    }

    #[test]
    fn two_headers_with_keys_must_agree() {
        let both = |one, other| {
            outcome(
                Some(Protocol::Messages),
                &[("authorization", one), ("x-api-key", other)],
            )
        };
        assert_eq!(both("Bearer sk-ann", "sk-ann").unwrap(), "ann");
        assert!(
            both("Bearer sk-ann", "sk-bob")
                .unwrap_err()
                .contains("different keys")
        );
    }

    #[test]
    fn a_key_where_none_is_looked_for_is_named_by_its_place() {
        let (chat, messages) = (Some(Protocol::Chat), Some(Protocol::Messages));
        for (protocol, name, wanted) in [
            (chat, "x-api-key", "`x-api-key`"),
            (chat, "api-key", "`api-key`"),
            (messages, "x-goog-api-key", "`x-goog-api-key`"),
            (messages, "cookie", "no API key provided"),
            (messages, "content-type", "no API key provided"),
        ] {
            let message = outcome(protocol, &[(name, "sk-ann")]).unwrap_err();
            assert!(message.contains(wanted), "{message}");
            assert!(
                message.contains("send `authorization: Bearer <key>`"),
                "{message}"
            );
            assert!(!message.contains("sk-ann"), "{message}");
        }
    }

    #[test]
    fn requests_without_a_valid_key_are_refused() {
        for sent in [
            &[][..],
            &[("authorization", "Bearer sk-eve")],
            &[("authorization", "Bearer ")],
            &[("authorization", "Basic c2stYW5u")],
            &[("authorization", "sk-ann")],
            &[
                ("authorization", "Bearer sk-ann"),
                ("authorization", "Bearer sk-ann"),
            ],
            &[("authorization", "Basic x"), ("x-api-key", "sk-ann")],
        ] {
            assert!(outcome(Some(Protocol::Messages), sent).is_err(), "{sent:?}");
        }
    }
}
