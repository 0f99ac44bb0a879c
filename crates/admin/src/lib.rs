//! The admin pages on their own listener: metrics, health checks, channels, the configuration in use, and actions.

pub mod access;
mod audit;
mod callers_page;
mod captures_page;
mod channel_actions;
mod channels_page;
mod config_page;
mod dashboard;
pub mod event_streams;
mod failed_keys;
pub mod findings;
mod log_filter_page;
mod login;
mod metrics_page;
pub mod openapi;
pub mod openapi_page;
mod origin;
mod overview;
mod page;
mod prompt_cache_page;
mod refusal;
mod reload_page;
mod requests_page;
pub mod router;
mod session;
mod traffic_page;

use access::{AdminAuthenticator, AdminUser};
use audit::ActionAuditGuard;
use bytes::Bytes;
use event_streams::EventStreamQuota;
use findings::history::StatefulFindingSources;
use headgate_channel::live::ChannelStates;
use headgate_config::reload::SnapshotReloader;
use headgate_config::snapshot::admin::AdminAccessRules;
use headgate_core::catalog::caller::KeyDigest;
use headgate_core::feature::FeatureList;
use headgate_core::serve::{AppClientConnection, AppResponse, HttpApp};
use headgate_issuance::issuance::Issuance;
use headgate_observe::access_log::AccessLog;
use headgate_observe::log_filter::LogFilterControl;
use headgate_observe::metrics::Metrics;
use headgate_protocol::credential_names::{decoded, member_names_credential};
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Request, StatusCode, Uri, header};
use page::AdminRequest;
use refusal::{AdminRefusal, TEXT};
use router::AdminPages;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How keys begin that `headgate key new` makes, and those of most providers.
const KEY_PREFIX: &[u8] = b"sk-";
/// Headers of every response: no page is cached, framed, or read by pages of another origin.
const PROTECTIVE_HEADERS: [(HeaderName, &str); 5] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// The admin pages.
#[derive(Clone)]
pub struct AdminApp {
    pub features: FeatureList,
    pub pages: Arc<AdminPages>,
    pub reloader: Arc<SnapshotReloader>,
    pub channels: Arc<ChannelStates>,
    /// Callers of the state store.
    pub issuance: Arc<Issuance>,
    pub metrics: Arc<Metrics>,
    pub access_log: Arc<AccessLog>,
    /// False once the process is told to stop, so that load balancers send no new traffic here.
    pub ready: Arc<AtomicBool>,
    pub access: Arc<AdminAuthenticator>,
    pub event_streams: EventStreamQuota,
    pub log_filter: LogFilterControl,
    pub findings: Arc<StatefulFindingSources>,
}

impl HttpApp for AdminApp {
    async fn respond(&self, request: Request<Bytes>, client: AppClientConnection) -> AppResponse {
        let response = self.checked_response(request, client).await;
        let mut response = response.unwrap_or_else(|refusal| refusal.response());
        for (name, value) in PROTECTIVE_HEADERS {
            let headers = response.headers.entry(name);
            headers.or_insert(HeaderValue::from_static(value));
        }
        response
    }
}

impl AdminApp {
    async fn checked_response(
        &self,
        http: Request<Bytes>,
        client: AppClientConnection,
    ) -> Result<AppResponse, AdminRefusal> {
        let snapshot = self.reloader.current();
        let rules = &snapshot.admin;
        let page = self.pages.find(http.method(), http.uri().path());
        if has_key(http.uri(), rules) {
            return Err(AdminRefusal::KeyInUrl);
        }
        if !page
            .as_ref()
            .is_ok_and(|page| page.access.accepts_any_host())
        {
            origin::check_host(&http, self.access.listener, rules)?;
            origin::check_origin(&http, &client)?;
        }
        let page = match page {
            Ok(page) => page,
            Err(response) => return Ok(*response),
        };
        let user = match page.access.is_open(rules) {
            true => AdminUser::Unknown,
            false => self.access.user(http.headers(), &client, rules)?,
        };
        let request = AdminRequest {
            subject: page.named_subject(http.uri().path()),
            http,
            client,
            user,
        };
        let request = Arc::new(request);
        let permitted = page.access.check(&request.user, rules);
        let (Some((action, _)), false) = (page.access.action(), request.user.is_unknown()) else {
            permitted?;
            return Ok(page.respond(self, &request).await);
        };
        let record = ActionAuditGuard::begin(action, &request);
        let response = match permitted {
            Ok(()) => page.respond(self, &request).await,
            Err(refusal) => refusal.response(),
        };
        record.end(response.status);
        Ok(response)
    }

    fn readiness(&self) -> AppResponse {
        match self.ready.load(Ordering::Relaxed) {
            true => AppResponse::full(StatusCode::OK, TEXT, "ready\n"),
            false => AppResponse::full(StatusCode::SERVICE_UNAVAILABLE, TEXT, "draining\n"),
        }
    }
}

fn is_key(value: &[u8], rules: &AdminAccessRules) -> bool {
    value.starts_with(KEY_PREFIX) || rules.key(&KeyDigest::from_key(value)).is_some()
}

/// Whether a URL contains a key, or a parameter for one. URLs appear in logs of proxies and in histories of browsers.
///
/// Members of the query end at `&` or `;`, also at an encoded one, and a path may have parameters after `;`.
fn has_key(url: &Uri, rules: &AdminAccessRules) -> bool {
    let text = url.path_and_query().map_or("", PathAndQuery::as_str);
    let decoded_text: Vec<u8> = decoded(text.as_bytes()).collect();
    let decoded_text = String::from_utf8_lossy(&decoded_text);
    let mut folded = Vec::new();
    [text, &decoded_text].into_iter().any(|text| {
        text.split(['/', '?', '&', ';', '#']).any(|member| {
            let mut values = member.split('=').map(|value| decoded(value.as_bytes()));
            let name = member.split_once('=').map_or("", |(name, _)| name);
            member_names_credential(name, &mut folded)
                || values.any(|value| is_key(&value.collect::<Vec<u8>>(), rules))
        })
    })
}
