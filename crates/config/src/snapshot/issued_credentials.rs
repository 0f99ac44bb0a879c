//! Builds the credentials of channels that a server issues from their configuration. Fetches nothing.

pub(super) mod aws;
pub(super) mod azure;
pub(super) mod gcp;
pub(super) mod oauth2;

use super::CrossSnapshotState;
use super::aws_credentials::aws_profile;
use super::credentials::credential_context::CredentialBuildContext;
use super::credentials::invalid_credential::InvalidCredential;
use crate::channels::{ChannelConfig, ProviderCredentialConfig};
use headgate_core::callout::ServiceEndpoint;
use headgate_core::catalog::base_path::BasePath;
use headgate_core::catalog::base_url;
use headgate_core::catalog::channel::{Channel, HttpVersion, Origin, OriginTls, Timeouts};
use headgate_core::catalog::credential::Credential;
use headgate_core::catalog::credential_secret::CredentialSecret;
use headgate_core::credentials::credential_source::CredentialSource;
use headgate_credentials::CredentialIssuer;
use http::header;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A source, and what is known of the account that uses it.
struct IssuingAccount {
    source: Arc<dyn CredentialSource>,
    /// A hash of all settings that the source depends on, but the proxy.
    settings: u64,
    signs_body: bool,
    /// What stays the same when secrets rotate.
    identity: String,
    secrets: Vec<CredentialSecret>,
}

/// Where a server is that issues credentials.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IssuerPlace {
    /// In a network: with https, through the proxy of the channel.
    Network,
    /// At the machine: its metadata server, which has no TLS.
    Machine,
}

/// The files that the credentials of channels name and that a reload reads.
pub(super) fn files<'a>(
    configs: &'a BTreeMap<String, ChannelConfig>,
    folder: &'a Path,
    shared: &'a CrossSnapshotState,
) -> impl Iterator<Item = PathBuf> + 'a {
    let credentials = configs
        .values()
        .flat_map(|config| config.credential.iter().chain(&config.credentials));
    let files = credentials.filter_map(|credential| match credential {
        ProviderCredentialConfig::Azure(azure) => azure.certificate.clone(),
        ProviderCredentialConfig::Gcp(gcp) => gcp.credentials_file.clone(),
        ProviderCredentialConfig::Jwt(jwt) => jwt.key_file.clone(),
        ProviderCredentialConfig::Aws(aws) if aws.profile.is_some() => {
            aws_profile::file(&shared.variables)
        }
        _ => None,
    });
    files.map(|path| folder.join(path))
}

/// The server at `url`, which is written at `key`.
fn issuer(
    context: CredentialBuildContext<'_>,
    key: &'static str,
    url: &str,
    place: IssuerPlace,
) -> Result<CredentialIssuer, InvalidCredential> {
    let invalid = |reason| InvalidCredential {
        key,
        reason,
        hint: None,
    };
    let base = base_url::parse(url).map_err(invalid)?;
    if !base.tls && place == IssuerPlace::Network && !is_this_machine(&base.host) {
        return Err(InvalidCredential {
            key,
            reason: "a token endpoint must be a URL with https".into(),
            hint: Some("http is for servers at this machine alone, since secrets are sent there"),
        });
    }
    let path = match &*base.path {
        "" => "/",
        path => path,
    };
    let path = path.to_owned();
    let tls = base.tls.then(|| OriginTls {
        server_name: (*base.host).to_owned(),
        authorities: None,
        identity: None,
    });
    let proxy = match place {
        IssuerPlace::Network if base.tls => context.proxy.cloned(),
        IssuerPlace::Network | IssuerPlace::Machine => None,
    };
    let fingerprint = hash((url, &proxy));
    let origin = Origin {
        host: base.host,
        port: base.port,
        base_path: BasePath::default(),
        authority: base.authority,
        http: HttpVersion::Http1,
        tls,
        proxy,
    };
    // The timeout of each request replaces these.
    let timeouts = Timeouts::default();
    let name = "credentials".into();
    let server = Channel::for_server(name, origin, timeouts, Vec::new(), fingerprint);
    Ok(CredentialIssuer::new(ServiceEndpoint { server, path }))
}

impl IssuingAccount {
    /// The credential of a channel that uses the account.
    fn credential(self, context: CredentialBuildContext<'_>) -> Credential {
        let Self {
            source,
            settings,
            signs_body,
            identity,
            secrets,
        } = self;
        let fingerprint = context.fingerprint(&header::AUTHORIZATION, &identity);
        let state = context
            .registry
            .get_or_add(hash((settings, context.proxy)), source);
        Credential::refreshed(state, signs_body, &identity, secrets, fingerprint)
    }
}

fn hash(settings: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    settings.hash(&mut hasher);
    hasher.finish()
}

fn is_this_machine(host: &str) -> bool {
    let address: Option<IpAddr> = host.parse().ok();
    host.eq_ignore_ascii_case("localhost") || address.is_some_and(|address| address.is_loopback())
}
