//! Paths of providers whose API has the model in them: each endpoint of the protocol has one of its own.

use super::model_member::MODEL;
use super::path_model::{check_name, split_at_model};
use headgate_core::filter::descriptor::{BuildContext, InvalidSettings};
use headgate_core::filter::view::RequestView;
use headgate_core::task::family::path_template::PathTemplate;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::percent_encoding::decoded;
use headgate_protocol::{ChannelProtocol, Protocol, header_policy};
use headgate_translate::path_with_model;

/// Parameters that every API of Google takes, as its page of system parameters lists them, and that change what a response has.
const SYSTEM_PARAMETERS: [&str; 6] = [
    "callback",
    "fields",
    "httpMethod",
    "uploadType",
    "upload_protocol",
    "x-goog-fieldmask",
];

/// The paths at the provider, with the channel's name of the model in them.
pub struct ProviderPath {
    protocol: Protocol,
    /// That of whole responses first.
    endpoints: Vec<EndpointPath>,
}

/// The path of one endpoint.
struct EndpointPath {
    template: PathTemplate,
    /// What follows the model, without the query.
    end: String,
    /// The member of the query without which the provider sends something else.
    query: Option<String>,
}

impl ProviderPath {
    /// The paths of a protocol whose API has the model in them; `None` if the model is in the body.
    pub fn for_protocol(protocol: Protocol) -> Option<Self> {
        let paths = protocol.descriptor().paths_with_model();
        let endpoints: Vec<EndpointPath> = paths.filter_map(EndpointPath::new).collect();
        (!endpoints.is_empty()).then_some(Self {
            protocol,
            endpoints,
        })
    }

    /// As [`Self::for_protocol`], for a route.
    ///
    /// # Errors
    /// A path of the route does not name the model, or names nothing else, or is that of no endpoint of the protocol.
    pub fn for_route(
        protocol: Protocol,
        context: &BuildContext<'_>,
    ) -> Result<Option<Self>, InvalidSettings> {
        let Some(path) = Self::for_protocol(protocol) else {
            return Ok(None);
        };
        if !(context.has_parameter)(MODEL) {
            return Err(InvalidSettings::new(format!(
                "requests of `{}` have the model in their path, as `path` of the protocol has it, and a path of the route has no `{{model}}`",
                protocol.name()
            ))
            .hint("add `{model}` or `{+model}` to the path of `match`"));
        }
        for route_path in context.paths {
            if let Some((_, end)) = split_at_model(&route_path.path)? {
                path.check_end(&route_path.path, end)?;
            }
        }
        Ok(Some(path))
    }

    /// # Errors
    /// The protocol has several endpoints, and a path of the route ends as none of them.
    fn check_end(&self, path: &str, end: &str) -> Result<(), InvalidSettings> {
        let [_, _, ..] = self.endpoints.as_slice() else {
            return Ok(());
        };
        if self.endpoints.iter().any(|endpoint| endpoint.end == end) {
            return Ok(());
        }
        let ends = self.endpoints.iter().map(|it| format!("`{}`", it.end));
        let ends = ends.collect::<Vec<_>>().join(", ");
        let name = self.protocol.name();
        Err(InvalidSettings::new(format!(
            "`{path}` is the path of no endpoint of `{name}`: what follows the model is one of {ends}"
        ))
        .hint("end the path as clients of this protocol do"))
    }

    /// The endpoint of a request: that whose path ends as the caller's.
    fn endpoint(&self, request: &RequestView) -> &EndpointPath {
        let mut endpoints = self.endpoints.iter();
        let found = endpoints.find(|endpoint| request.path.ends_with(&endpoint.end));
        found.unwrap_or(&self.endpoints[0])
    }

    /// Makes the path of the protocol, without a model, that by which the endpoint is recognised.
    ///
    /// # Errors
    /// The query asks for a response in another format than those of the protocol.
    pub fn set_endpoint(&self, request: &mut RequestView) -> Result<(), Fault> {
        let endpoint = self.endpoint(request);
        let query = request.query.as_deref().unwrap_or_default();
        if self.protocol.descriptor().translation.is_some() {
            check_members(query)?;
        }
        endpoint.check_query(query)?;
        request.upstream_path = Some(endpoint.template.text().to_owned());
        Ok(())
    }

    /// The path and query below the base URL of a channel whose name of the model is `name`.
    ///
    /// # Errors
    /// The name could lead to another path of the provider.
    pub fn fill(&self, request: &RequestView, name: &str) -> Result<String, Fault> {
        check_name(name)?;
        let template = &self.endpoint(request).template;
        let path = match self.protocol.descriptor().translation {
            // As requests that are translated.
            Some(_) => {
                let channel = ChannelProtocol::for_caller(self.protocol);
                path_with_model(channel, template.text_without_query(), name)
            }
            None => template.fill_task("", name).unwrap_or_default(),
        };
        let mut path = header_policy::path_for_provider(&path).to_owned();
        let query = request.query.as_deref().unwrap_or_default();
        let query = header_policy::query_for_provider(query, &request.headers);
        if !query.is_empty() {
            path.push('?');
            path.push_str(&query);
        }
        Ok(path)
    }
}

impl EndpointPath {
    /// `None` if no path can be made of it.
    fn new(path: &str) -> Option<Self> {
        let template = PathTemplate::parse(path).ok()?;
        let (_, end) = template.text_without_query().rsplit_once('}')?;
        Some(Self {
            end: end.to_owned(),
            query: path.split_once('?').map(|(_, query)| query.to_owned()),
            template,
        })
    }

    /// # Errors
    /// The query lacks the member that the endpoint needs, or has another value of it.
    fn check_query(&self, query: &str) -> Result<(), Fault> {
        let Some(needed) = &self.query else {
            return Ok(());
        };
        let name = needed.split('=').next().unwrap_or_default();
        // Google reads `$alt`, too, and either with escapes.
        let named = query.split('&').filter(|member| {
            let found = decoded(member.split('=').next().unwrap_or_default());
            found.trim_start_matches('$') == name
        });
        let (mut has_it, mut has_other) = (false, false);
        for member in named {
            match member == needed {
                true => has_it = true,
                false => has_other = true,
            }
        }
        match has_it && !has_other {
            true => Ok(()),
            false => Err(Fault::new(
                FaultKind::Invalid,
                format!("streams are sent as server-sent events only; add `?{needed}` to the URL"),
            )
            .param(name)),
        }
    }
}

/// # Errors
/// The query has a member by which a server of Google sends a part of a response, which may lack the usage, or reads another
/// method.
fn check_members(query: &str) -> Result<(), Fault> {
    let mut members = query.split(['&', ';']);
    let refused = members.find_map(|member| {
        let name = decoded(member.split('=').next().unwrap_or_default());
        let name = name.trim().trim_start_matches('$').to_owned();
        let mut refused = SYSTEM_PARAMETERS.into_iter();
        refused.find(|one| one.eq_ignore_ascii_case(&name))
    });
    match refused {
        None => Ok(()),
        Some(name) => Err(Fault::new(
            FaultKind::Invalid,
            format!("`{name}` of the query cannot be used here; remove it"),
        )
        .param(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_member_of_a_query_leaves_out_the_usage() {
        for (query, is_accepted) in [
            ("", true),
            ("alt=sse&key=k&prettyPrint=false", true),
            ("myfields=a", true),
            ("fields=candidates", false),
            ("alt=sse&$fields=candidates", false),
            ("%24fields=candidates", false),
            ("a=b;fields=candidates", false),
            ("$.xgafv=1&Callback=f", false),
        ] {
            assert_eq!(check_members(query).is_ok(), is_accepted, "{query}");
        }
    }

    #[test]
    fn a_stream_needs_the_member_of_the_query_that_makes_it_one() {
        let path = "/v1/models/{model}:streamGenerateContent?alt=sse";
        let endpoint = EndpointPath::new(path).unwrap();
        assert_eq!(endpoint.end, ":streamGenerateContent");
        for (query, is_accepted) in [
            ("alt=sse", true),
            ("a=1&alt=sse&b", true),
            ("", false),
            ("alt=json", false),
            ("alt", false),
            ("alt=sse&alt=json", false),
            ("alt=sse&$alt=json", false),
            ("alt=sse&al%74=json", false),
            ("alt=sse&%24alt=json", false),
            ("salt=sse", false),
        ] {
            let checked = endpoint.check_query(query);
            assert_eq!(checked.is_ok(), is_accepted, "{query}");
            if let Err(fault) = checked {
                assert!(fault.message.contains("add `?alt=sse`"), "{fault}");
            }
        }
        let whole = EndpointPath::new("/v1/models/{model}:generateContent").unwrap();
        assert!(whole.check_query("alt=json").is_ok());
    }
}
