//! The next page of a list of which the caller owns no entry: without one, the caller could not ask for that page.

use headgate_core::catalog::model::Candidate;
use headgate_core::filter::view::RequestView;
use headgate_core::subrequest::{
    Subrequest, SubrequestBody, SubrequestClient, UpstreamRequestIdSlot,
};
use headgate_core::task::family::path_template::set_in_query;
use headgate_protocol::fault::{Fault, FaultKind};
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

/// How often a page is requested that the provider fails to give.
const TRIES: usize = 2;

/// What comes after a page of a list.
pub(super) enum RestOfList {
    /// Nothing: it is the last page.
    End,
    /// Another page, which the provider reports to exist.
    Page(NextPage),
    /// More, to which the gateway finds no way.
    Unreachable,
}

/// The page of a list after another one.
pub(super) struct NextPage {
    path: String,
}

impl RestOfList {
    pub fn after(page: &JsonDocument, request: &RequestView) -> Self {
        let has_more = page.root().get("has_more").and_then(DocumentNode::as_bool);
        let last = page.root().get("data").map(DocumentNode::elements);
        // A page with nothing at all is the provider's last one, whatever it reports.
        let last = last
            .and_then(Iterator::last)
            .filter(|_| has_more == Some(true));
        let Some(last) = last else {
            return Self::End;
        };
        let query = request.query.as_deref().unwrap_or_default();
        let mut names = query.split('&').filter_map(|pair| pair.split('=').next());
        let is_backwards = names.any(|name| BACKWARDS.contains(&name));
        match last.get("id").and_then(DocumentNode::as_str) {
            Some(last) if !is_backwards => Self::Page(NextPage::after(&last, query, request)),
            _ => Self::Unreachable,
        }
    }
}

impl NextPage {
    fn after(last: &str, query: &str, request: &RequestView) -> Self {
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
        set_in_query(&mut path, name, last);
        Self { path }
    }

    /// Requests the page; `None` in a dry run, which sends nothing.
    ///
    /// # Errors
    /// The provider did not give the page.
    pub async fn fetch(
        self,
        request: &RequestView,
        candidate: &Candidate,
    ) -> Result<Option<JsonDocument>, Fault> {
        let Some(subrequests) = &request.subrequests else {
            return Ok(None);
        };
        let mut failure = None;
        for _ in 0..TRIES {
            match self.send(subrequests, request, candidate).await {
                Ok(page) => return Ok(Some(page)),
                Err(fault) => failure = Some(fault),
            }
        }
        let failure = failure.unwrap_or_else(|| Fault::new(FaultKind::Upstream, ""));
        let message = "the list has entries beyond those that could be read, of which none is of this API key: the provider did not give its next page; try again";
        let detail = failure.message.clone();
        Err(Fault::new(failure.kind, message).detail(detail))
    }

    async fn send(
        &self,
        subrequests: &SubrequestClient,
        request: &RequestView,
        candidate: &Candidate,
    ) -> Result<JsonDocument, Fault> {
        let response = subrequests.send(Subrequest {
            id: request.id.clone(),
            candidate: candidate.clone(),
            method: Method::GET,
            path: self.path.clone(),
            other_host: None,
            headers: header_policy::request_headers_for_provider(&request.headers),
            body: SubrequestBody::Whole(bytes::Bytes::new()),
            inline_file: None,
            upstream_request_id: UpstreamRequestIdSlot::default(),
            max_wait: WAIT_MAX,
        });
        let response = response.await?;
        let failed = |reason: String| Fault::new(FaultKind::Upstream, reason);
        if !response.status.is_success() {
            return Err(failed(format!("status {}", response.status.as_u16())));
        }
        let page = JsonDocument::parse(response.body, &JsonLimits::default());
        let page = page.map_err(|error| failed(error.to_string()))?;
        match page.root().get("data") {
            Some(_) => Ok(page),
            None => Err(failed("the page has no `data`".to_owned())),
        }
    }
}
