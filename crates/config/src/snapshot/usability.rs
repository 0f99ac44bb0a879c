//! Warnings about valid settings that cannot work, such as a model that no channel serves.

use super::ProblemCollector;
use super::base_url_hints::{self, BaseUrlWarning};
use super::router::{Route, Router};
use crate::callers::CallerConfig;
use crate::channels::{ChannelConfig, ProviderCredentialConfig};
use crate::routes::RouteConfig;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::base_url;
use headgate_core::catalog::caller::Callers;
use headgate_core::catalog::channel::Channel;
use headgate_core::filter::RequestBodyNeed;
use headgate_core::filter::descriptor::{FilterDescriptor, FilterProvision};
use headgate_core::pointer::child;
use headgate_core::scalar::model_pattern::ModelPattern;
use headgate_protocol::nearest::nearest;
use headgate_protocol::{Protocol, secret_shape};
use http::Method;
use std::collections::{BTreeMap, HashSet};

const SECRET_NAME: &str = "this name looks like a secret";
const SECRET_NAME_HINT: &str = "names appear in logs, metrics and admin pages; use another name";
/// The maximum number of warnings with a suggested name; in a long file, comparing all names would take minutes.
const SUGGESTIONS_MAX: usize = 100;
/// A configuration that was built without an error.
pub(crate) struct ConfigLinter<'a> {
    pub declared_callers: &'a [CallerConfig],
    pub has_caller_sources: bool,
    pub declared_channels: &'a BTreeMap<String, ChannelConfig>,
    pub declared_routes: &'a [RouteConfig],
    pub callers: &'a Callers,
    pub catalog: &'a Catalog,
    pub router: &'a Router,
}

impl ConfigLinter<'_> {
    pub fn check(&self, problems: &mut ProblemCollector<'_>) {
        // A channel that could not be built is missing here, and so are its models.
        if problems.errors() > 0 {
            return;
        }
        let mut needing = self.routes_with(FilterProvision::Caller);
        if self.declared_callers.is_empty()
            && !self.has_caller_sources
            && let Some((_, filter)) = needing.next()
        {
            problems.warning(
                "/callers",
                format!(
                    "`callers` is empty: routes with `{}` refuse every request",
                    filter.name
                ),
                Some("add a caller; `headgate key new` prints a key and its `key_sha256`"),
            );
        }
        for (section, is_empty) in [
            ("channels", self.declared_channels.is_empty()),
            ("routes", self.declared_routes.is_empty()),
        ] {
            if is_empty {
                let reason = format!("`{section}` is empty: every request is refused");
                problems.warning(&format!("/{section}"), reason, None);
            }
        }
        self.check_names(problems);
        let mut suggestions = SUGGESTIONS_MAX;
        for (index, caller) in self.declared_callers.iter().enumerate() {
            self.check_caller(caller, index, &mut suggestions, problems);
        }
        for (name, channel) in self.declared_channels {
            self.check_channel(name, channel, problems);
        }
        self.check_routes(problems);
        self.check_signed_bodies(problems);
    }

    /// Names appear in logs, metrics and admin pages, so that they must not be secrets.
    fn check_names(&self, problems: &mut ProblemCollector<'_>) {
        let callers = self.declared_callers.iter().enumerate();
        let callers =
            callers.map(|(index, caller)| (format!("/callers/{index}/name"), &caller.name));
        let routes = self.declared_routes.iter().enumerate();
        let routes = routes.map(|(index, route)| (format!("/routes/{index}/name"), &route.name));
        let values = callers.chain(routes);
        for (at, _) in values.filter(|(_, name)| secret_shape::is_in(name)) {
            problems.warning(&at, SECRET_NAME, Some(SECRET_NAME_HINT));
        }
        for (name, channel) in self.declared_channels {
            let at = child("/channels", name);
            let models = channel
                .models
                .keys()
                .map(|model| (child(&format!("{at}/models"), model), model));
            let keys = std::iter::once((at.clone(), name)).chain(models);
            for (at, _) in keys.filter(|(_, name)| secret_shape::is_in(name)) {
                problems.key_warning(&at, SECRET_NAME, Some(SECRET_NAME_HINT));
            }
        }
    }

    fn check_caller(
        &self,
        caller: &CallerConfig,
        index: usize,
        suggestions: &mut usize,
        problems: &mut ProblemCollector<'_>,
    ) {
        let at = format!("/callers/{index}/models");
        if caller.models.is_empty() {
            problems.warning(
                &at,
                format!("caller `{}` has no `models`", caller.name),
                Some("list its models, or `[\"*\"]` for all"),
            );
        }
        let mut names = HashSet::new();
        for (position, name) in caller.models.iter().enumerate() {
            let at = child(&at, position);
            if !names.insert(name) {
                let reason = format!("caller `{}` has duplicate model `{name}`", caller.name);
                problems.warning(&at, reason, Some("keep one of the two"));
            } else if !self.is_served(name) {
                let hint = self.meant_model(name, suggestions);
                problems.warning(
                    &at,
                    format!("no channel serves model `{name}`"),
                    Some(&hint),
                );
            }
        }
    }

    fn is_served(&self, name: &str) -> bool {
        let pattern = ModelPattern::new(name);
        match pattern.has_star() {
            true => self.catalog.may_serve(&pattern),
            false => self.catalog.get(name).is_some(),
        }
    }

    /// The hint for a model that no channel serves.
    fn meant_model(&self, name: &str, suggestions: &mut usize) -> String {
        let otherwise = "add it to a channel's `models`, or remove it here";
        if *suggestions == 0 {
            return otherwise.into();
        }
        *suggestions -= 1;
        let known = self.catalog.models().map(|model| &*model.name);
        match nearest(name, known, 1).first() {
            Some(known) => format!("did you mean `{known}`?"),
            None => otherwise.into(),
        }
    }

    fn check_channel(
        &self,
        name: &str,
        channel: &ChannelConfig,
        problems: &mut ProblemCollector<'_>,
    ) {
        let at = child("/channels", name);
        self.check_base_url(&at, channel, problems);
        check_credentials(&at, channel, problems);
        let routes = self.router.routes();
        let is_translated = |protocol: &Protocol| {
            let mut models = self.catalog.models();
            models.any(|model| {
                let translation = &model.properties.translation;
                let protocols = translation.protocols.as_deref().unwrap_or_default();
                let mut candidates = model.all_candidates.iter();
                protocols.contains(protocol) && candidates.any(|one| *one.channel.name == *name)
            })
        };
        let is_routed = |protocol: &Protocol| {
            let mut routes = routes.iter();
            routes.any(|route| {
                route
                    .protocol
                    .is_none_or(|spoken| spoken.on_channels() == *protocol)
                    || route.translated_protocols().contains(protocol)
            }) || is_translated(protocol)
        };
        let built = self.catalog.channel(name);
        if let Some(channel) = built {
            self.check_modelless_routes(channel, &at, problems);
        }
        let mut protocols = built.into_iter().flat_map(|built| &built.protocols);
        if !channel.retired && !routes.is_empty() && !protocols.any(is_routed) {
            problems.warning(
                &format!("{at}/protocols"),
                format!("channel `{name}` is unreachable: no route has one of its `protocols`"),
                Some("add a route with this `protocol`, or remove the channel"),
            );
        }
    }

    /// Warns of routes whose requests have no model, but an id of a channel that needs a model in its path.
    fn check_modelless_routes(
        &self,
        channel: &Channel,
        at: &str,
        problems: &mut ProblemCollector<'_>,
    ) {
        if !channel.origin.base_path.names_model() {
            return;
        }
        let routes = self.routes_with(FilterProvision::ChannelOf("id"));
        let mut refused = routes.map(|(route, _)| route).filter(|route| {
            let has_model = route.request.first_with_provision(FilterProvision::Model);
            let spoken = route.protocol.map(Protocol::on_channels);
            has_model.is_none() && spoken.is_some_and(|spoken| channel.protocols.contains(&spoken))
        });
        if let Some(route) = refused.next() {
            problems.warning(
                &format!("{at}/base_url"),
                format!(
                    "`{{model}}` in `base_url`: requests without a model are refused, such as those of route `{}` for an id of channel `{}`",
                    route.name, channel.name
                ),
                Some("take the protocol out of `protocols`, or use a `base_url` without `{model}`"),
            );
        }
    }

    fn check_base_url(
        &self,
        at: &str,
        channel: &ChannelConfig,
        problems: &mut ProblemCollector<'_>,
    ) {
        let Ok((base, _)) = base_url::parse_with_query(&channel.base_url) else {
            return;
        };
        if let Some(BaseUrlWarning { reason, hint }) = base_url_hints::warning(&base) {
            problems.warning(&format!("{at}/base_url"), reason, Some(&hint));
        }
    }

    /// Warns of routes that need a model if no caller may use any model of their protocol.
    fn check_routes(&self, problems: &mut ProblemCollector<'_>) {
        let may_use_any = |name: &str| self.callers.iter().any(|caller| caller.may_use_model(name));
        // A pattern serves models whose names are not known here. If no caller may use any model, each caller already has
        // a warning.
        if !self.catalog.by_pattern().patterns().is_empty() {
            return;
        }
        if !self.catalog.models().any(|model| may_use_any(&model.name)) {
            return;
        }
        let mut names = HashSet::new();
        let routes = self
            .routes_with(FilterProvision::Model)
            .filter(|(route, _)| {
                route
                    .request
                    .first_with_provision(FilterProvision::Caller)
                    .is_some()
            });
        for (route, _) in routes {
            let Some(protocol) = route.protocol.filter(|_| names.insert(&route.name)) else {
                continue;
            };
            let models = self.catalog.models();
            let spoken: Vec<_> = models.filter(|model| model.supports(protocol)).collect();
            if spoken.is_empty() || spoken.iter().any(|model| may_use_any(&model.name)) {
                continue;
            }
            problems.warning(
                &self.route_pointer(route),
                format!(
                    "no caller can use route `{}`: no caller has a model that a channel serves over {}",
                    route.name,
                    protocol.name()
                ),
                Some("add such a model to a caller's `models`"),
            );
        }
    }

    /// Where a route is written.
    fn route_pointer(&self, route: &Route) -> String {
        let mut declared = self.declared_routes.iter();
        let index = declared.position(|declared| *declared.name == *route.name);
        child("/routes", index.unwrap_or_default())
    }

    /// Warns of routes whose bodies would be streamed, but for a channel that signs them.
    fn check_signed_bodies(&self, problems: &mut ProblemCollector<'_>) {
        for route in self.router.routes() {
            let protocol = route.protocol.map(Protocol::on_channels);
            let Some(channel) = self.catalog.body_signing_channel(protocol) else {
                continue;
            };
            let has_body = [Method::POST, Method::PUT, Method::PATCH];
            let has_body = has_body
                .iter()
                .any(|method| route.pattern.methods.contains(method));
            if !has_body || route.request.body_need() != RequestBodyNeed::Untouched {
                continue;
            }
            problems.warning(
                &self.route_pointer(route),
                format!(
                    "bodies of route `{}` are read whole before they are sent, since channel `{}` signs them",
                    route.name, channel.name
                ),
                Some("above `server.spool.threshold` they are in files; another channel or protocol for this route would stream them"),
            );
        }
    }

    /// Routes whose request chain has this provision, each with the filter that provides it.
    fn routes_with(
        &self,
        provision: FilterProvision,
    ) -> impl Iterator<Item = (&Route, &'static FilterDescriptor)> {
        let routes = self.router.routes().iter().map(|route| &**route);
        routes
            .filter_map(move |route| Some((route, route.request.first_with_provision(provision)?)))
    }
}

/// Warns of a credential that looks like a variable without its braces: it would be sent as it is.
fn check_credentials(at: &str, channel: &ChannelConfig, problems: &mut ProblemCollector<'_>) {
    let single = channel.credential.iter().map(|one| (None, one));
    let several = channel.credentials.iter().enumerate();
    for (index, credential) in single.chain(several.map(|(index, one)| (Some(index), one))) {
        let (key, secret) = match credential {
            ProviderCredentialConfig::Bearer(secret) => ("bearer", secret),
            ProviderCredentialConfig::ApiKey(secret) => ("api_key", secret),
            ProviderCredentialConfig::Header(header) => ("header/value", &header.value),
            ProviderCredentialConfig::Jwt(jwt) => match &jwt.secret {
                Some(secret) => ("jwt/secret", secret),
                None => continue,
            },
            ProviderCredentialConfig::Aws(aws) => match &aws.secret_access_key {
                Some(secret) => ("aws/secret_access_key", secret),
                None => continue,
            },
            ProviderCredentialConfig::OAuth2(oauth2) => {
                ("oauth2/client_secret", &oauth2.client_secret)
            }
            ProviderCredentialConfig::Azure(azure) => match &azure.client_secret {
                Some(secret) => ("azure/client_secret", secret),
                None => continue,
            },
            ProviderCredentialConfig::Gcp(_) => continue,
        };
        let name = secret.expose().strip_prefix('$').unwrap_or_default();
        let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            continue;
        }
        let at = match index {
            None => format!("{at}/credential/{key}"),
            Some(index) => format!("{at}/credentials/{index}/{key}"),
        };
        problems.warning(
            &at,
            "sent literally: a variable needs braces",
            Some("write `\"${NAME}\"`"),
        );
    }
}
