//! The next page of a list of which the caller owns no entry: without one, the caller could not ask for that page.

use headgate_core::catalog::model::Candidate;
use headgate_core::filter::view::RequestView;
use headgate_core::subrequest::{Subrequest, SubrequestBody, UpstreamRequestIdSlot};
use headgate_core::task::family::path_template::set_in_query;
use headgate_protocol::fault::Fault;
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits};
use headgate_protocol::{Protocol, header_policy};
use http::Method;
use std::time::Duration;

/// Query parameters of a request for entries before another one: its pages are not continued.
const BACKWARDS: [&str; 2] = ["before", "before_id"];
/// The parameter with the last entry of the page before, and that of protocols whose callers name a version.
const AFTER: [&str; 2] = ["after", "after_id"];
/// How long the next page waits while the channel is at its limits.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// The page of a list after `page`, which the provider reports to exist.
pub(super) struct NextPage {
    path: String,
}

impl NextPage {
    /// `None` if `page` is the last one, or the request goes backwards.
    pub fn after(page: &JsonDocument, request: &RequestView) -> Option<Self> {
        let has_more = page.root().get("has_more")?.as_bool() == Some(true);
        let last = page.root().get("data")?.elements().last()?.get("id");
        let last = last.and_then(DocumentNode::as_str).filter(|_| has_more)?;
        let query = request.query.as_deref().unwrap_or_default();
        let mut names = query.split('&').filter_map(|pair| pair.split('=').next());
        if names.any(|name| BACKWARDS.contains(&name)) {
            return None;
        }
        let path = request.upstream_path.as_deref().unwrap_or(&request.path);
        let mut path = header_policy::path_for_provider(path).to_owned();
        let query = header_policy::query_for_provider(query, &request.headers);
        if !query.is_empty() {
            path.push('?');
            path.push_str(&query);
        }
        let [plain, versioned] = AFTER;
        let name = match Protocol::detect_version(&request.headers) {
            Some(_) => versioned,
            None => plain,
        };
        set_in_query(&mut path, name, &last);
        Some(Self { path })
    }

    /// Requests the page; `None` if there is no such list.
    ///
    /// # Errors
    /// The provider did not respond.
    pub async fn fetch(
        self,
        request: &RequestView,
        candidate: &Candidate,
    ) -> Result<Option<JsonDocument>, Fault> {
        // A dry run sends nothing.
        let Some(subrequests) = &request.subrequests else {
            return Ok(None);
        };
        let response = subrequests.send(Subrequest {
            id: request.id.clone(),
            candidate: candidate.clone(),
            method: Method::GET,
            path: self.path,
            other_host: None,
            headers: header_policy::request_headers_for_provider(&request.headers),
            body: SubrequestBody::Whole(bytes::Bytes::new()),
            inline_file: None,
            upstream_request_id: UpstreamRequestIdSlot::default(),
            max_wait: WAIT_MAX,
        });
        let response = response.await?;
        if !response.status.is_success() {
            return Ok(None);
        }
        let page = JsonDocument::parse(response.body, &JsonLimits::default()).ok();
        Ok(page.filter(|page| page.root().get("data").is_some()))
    }
}
