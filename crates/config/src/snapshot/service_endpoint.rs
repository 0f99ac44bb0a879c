//! Builds the endpoint of a server that the operator names by its URL and that is no provider. Connects nowhere.

use super::{ProblemCollector, channels, upstream_tls};
use crate::channels::UpstreamTlsConfig;
use headgate_core::callout::ServiceEndpoint;
use headgate_core::catalog::base_path::BasePath;
use headgate_core::catalog::base_url;
use headgate_core::catalog::channel::{Channel, HttpVersion, Origin, Timeouts};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

/// The part of a configuration that names a server.
pub(super) struct EndpointSection<'c, H> {
    /// The name of the server in the log.
    pub name: &'c str,
    /// Where the section is.
    pub at: &'c str,
    /// The key of the URL in the section, with its article in messages.
    pub url_key: (&'static str, &'static str),
    pub url: &'c str,
    /// Names and values of the headers of each request.
    pub headers: H,
    pub tls: &'c UpstreamTlsConfig,
    /// The path if the URL has none.
    pub default_path: &'static str,
}

/// The endpoint of a section; `None` if it has problems.
pub(super) fn build<'c, H>(
    section: EndpointSection<'c, H>,
    folder: &Path,
    problems: &mut ProblemCollector<'_>,
) -> Option<ServiceEndpoint>
where
    H: IntoIterator<Item = (&'c String, &'c str)>,
{
    let EndpointSection {
        name,
        at,
        url_key: (article, key),
        url,
        headers,
        tls,
        default_path,
    } = section;
    let base = base_url::parse(url)
        .map_err(|reason| problems.error(&format!("{at}/{key}"), reason, None))
        .ok();
    let before = problems.errors();
    let headers = channels::build_headers(headers, at, problems);
    let base = base?;
    if *tls != UpstreamTlsConfig::default() && !base.tls {
        let reason = format!("`tls` requires {article} `{key}` with https");
        problems.error(&format!("{at}/tls"), reason, None);
    }
    let tls = match base.tls {
        true => Some(upstream_tls::build(tls, &base, folder, at, problems)?),
        false => None,
    };
    if problems.errors() > before {
        return None;
    }
    let path = match &*base.path {
        "" => default_path,
        path => path,
    };
    let path = path.to_owned();
    let mut hasher = DefaultHasher::new();
    (at, url, &tls, &headers).hash(&mut hasher);
    let origin = Origin {
        host: base.host,
        port: base.port,
        base_path: BasePath::default(),
        proxy: None,
        authority: base.authority,
        // Any thread may use a pooled connection.
        http: HttpVersion::Http1,
        tls,
    };
    // The timeout of each call replaces these.
    let timeouts = Timeouts::default();
    let server = Channel::for_server(name.into(), origin, timeouts, headers, hasher.finish());
    Some(ServiceEndpoint { server, path })
}
