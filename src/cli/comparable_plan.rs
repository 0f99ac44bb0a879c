//! What a configuration does with a request, in a form that two configurations can be compared in.

use super::dry_run::{DryRunRequest, DryRunResult, split_query, usual_headers};
use super::offline_config::unknown_source;
use super::request_file::RequestSample;
use bytes::Bytes;
use headgate_config::snapshot::Snapshot;
use headgate_config::snapshot::router::{Route, RouteMatch};
use headgate_core::catalog::caller::Caller;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::FilterAction;
use headgate_core::filter::descriptor::FilterProvision;
use headgate_gateway::preview::{UpstreamRequestPreview, preview};
use headgate_protocol::Protocol;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::request_path::normalised;
use http::{HeaderMap, Method};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// The client of requests whose address is not known.
const UNKNOWN_CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// What earlier requests left behind is not judged: each request is the first one of a gateway without load.
const STATEFUL: &[FilterProvision] = &[FilterProvision::Limits, FilterProvision::CreateRecord];
/// The id of all requests, which filters may put into headers and bodies.
const REQUEST_ID: &str = "req_dry_run";

/// What becomes of a request.
pub struct ComparableRequestPlan {
    /// Name of the route, if one matches.
    pub route: Option<Arc<str>>,
    /// Names of the filters of the request and of the response.
    pub filters: Vec<&'static str>,
    pub outcome: PlannedOutcome,
}

/// How the gateway responds to a request, or where it sends it.
pub enum PlannedOutcome {
    Refusal(ComparedRefusal),
    LocalReply {
        status: u16,
        body: Bytes,
    },
    /// The channels that may be tried, in order, or the subrequests that are made.
    Attempts(Vec<PlannedAttempt>),
    /// Too little is known of the request.
    NotJudged(&'static str),
}

/// An error response of the gateway.
#[derive(PartialEq, Eq)]
pub struct ComparedRefusal {
    pub status: u16,
    pub code: &'static str,
    pub message: String,
}

/// What one channel would receive.
pub struct PlannedAttempt {
    pub channel: Arc<str>,
    pub tier: u8,
    pub weight: u16,
    /// The model by the name that the channel has for it.
    pub model: Option<Arc<str>>,
    /// `None` if the body of the request is not known.
    pub request: Option<Result<UpstreamRequestPreview, ComparedRefusal>>,
}

impl ComparableRequestPlan {
    /// Dry-runs a request; `caller` is the name of the caller of requests without a key.
    pub async fn for_sample(
        snapshot: &Snapshot,
        sample: &RequestSample,
        caller: Option<&str>,
    ) -> Self {
        let (path, query) = split_query(&sample.path);
        let (route, params) = match find_route(snapshot, &sample.method, &path) {
            Ok(found) => found,
            Err(plan) => return plan,
        };
        let mut headers = match sample.has_all_headers {
            true => HeaderMap::new(),
            false => usual_headers(route.protocol, sample.body.is_some()),
        };
        for name in sample.headers.keys() {
            headers.remove(name);
        }
        headers.extend(sample.headers.clone());
        let caller = match Self::caller(snapshot, route, sample.caller.as_deref().or(caller)) {
            Ok(caller) => caller,
            Err(plan) => return plan,
        };
        let request = DryRunRequest {
            method: sample.method.clone(),
            path,
            query,
            headers,
            params,
            peer: SocketAddr::new(sample.client_address.unwrap_or(UNKNOWN_CLIENT), 0),
            caller,
            body: sample.body.clone(),
            id: Some(REQUEST_ID),
            without: STATEFUL,
        };
        let run = DryRunResult::run(snapshot, route, request).await;
        let outcome = outcome(route, run).await;
        Self::on(route, outcome)
    }

    /// A plan with this route.
    pub fn on(route: &Route, outcome: PlannedOutcome) -> Self {
        let filters = [route.request.filters(), route.response.filters()].concat();
        Self {
            route: Some(route.name.clone()),
            filters: filters.iter().map(|named| named.kind.name).collect(),
            outcome,
        }
    }

    /// The caller with this name; `None` if there is no name, or if the route does not ask who calls.
    ///
    /// # Errors
    /// The plan of a request whose caller is unknown.
    pub fn caller(
        snapshot: &Snapshot,
        route: &Route,
        name: Option<&str>,
    ) -> Result<Option<Arc<Caller>>, Self> {
        let Some(name) = name else {
            return Ok(None);
        };
        let caller = snapshot.callers.by_name(Some(name));
        let asks = route
            .request
            .first_with_provision(FilterProvision::Caller)
            .is_some();
        match caller {
            None if asks => {
                let outcome = match unknown_source(snapshot, name) {
                    Some(source) => PlannedOutcome::NotJudged(source),
                    None => {
                        let message = format!("there is no caller `{name}`");
                        PlannedOutcome::refused(FaultKind::Unauthenticated, message)
                    }
                };
                Err(Self::on(route, outcome))
            }
            caller => Ok(caller),
        }
    }
}

/// The route of a request, and the values of its `{parameters}`.
pub type FoundRoute<'s> = (&'s Arc<Route>, Vec<(Arc<str>, String)>);

/// The route of a request.
///
/// # Errors
/// The plan of a request without a route.
pub fn find_route<'s>(
    snapshot: &'s Snapshot,
    method: &Method,
    path: &str,
) -> Result<FoundRoute<'s>, ComparableRequestPlan> {
    let refused = |kind, message: String| ComparableRequestPlan {
        route: None,
        filters: Vec::new(),
        outcome: PlannedOutcome::refused(kind, message),
    };
    let path =
        normalised(path).map_err(|unusable| refused(FaultKind::BadHead, unusable.to_string()))?;
    match snapshot.router.find(method, &path) {
        RouteMatch::Route(route, params) => Ok((route, params)),
        RouteMatch::OtherMethods(methods) => {
            let methods: Vec<&str> = methods.iter().map(Method::as_str).collect();
            let message = format!("the path accepts {}", methods.join(", "));
            Err(refused(FaultKind::MethodNotAllowed, message))
        }
        RouteMatch::Nothing => Err(refused(FaultKind::NoRoute, "no route matches".into())),
    }
}

impl PlannedOutcome {
    pub fn refused(kind: FaultKind, message: String) -> Self {
        Self::Refusal(ComparedRefusal {
            status: kind.status(),
            code: kind.code(),
            message,
        })
    }

    /// The outcome in a few words, equal for requests of one kind.
    pub fn class(&self) -> String {
        match self {
            Self::Refusal(refusal) => format!("refused with {} {}", refusal.status, refusal.code),
            Self::LocalReply { status, .. } => format!("local reply with {status}"),
            Self::Attempts(_) => "accepted".into(),
            Self::NotJudged(_) => "not judged".into(),
        }
    }
}

impl PlannedAttempt {
    pub fn new(candidate: &Candidate) -> Self {
        Self {
            model: candidate.model.as_ref().map(|model| model.name.clone()),
            ..Self::on(&candidate.channel)
        }
    }

    fn on(channel: &Channel) -> Self {
        Self {
            channel: channel.name.clone(),
            tier: channel.tier,
            weight: channel.weight,
            model: None,
            request: None,
        }
    }
}

impl ComparedRefusal {
    fn from_fault(protocol: Option<Protocol>, fault: &Fault) -> Self {
        Self {
            status: Protocol::descriptor_for(protocol).errors.status(fault),
            code: fault.kind.code(),
            message: fault.message.clone(),
        }
    }
}

async fn outcome(route: &Route, run: DryRunResult) -> PlannedOutcome {
    let DryRunResult {
        request,
        verdict,
        subrequests,
        // The ids of a new trace would differ from run to run.
        trace: _,
    } = run;
    let protocol = request.protocol;
    if !subrequests.is_empty() {
        let attempts = subrequests
            .into_iter()
            .map(|(channel, sent)| PlannedAttempt {
                request: Some(sent.map_err(|fault| ComparedRefusal::from_fault(protocol, &fault))),
                ..PlannedAttempt::on(&channel)
            });
        return PlannedOutcome::Attempts(attempts.collect());
    }
    match verdict {
        Err(fault) => {
            return PlannedOutcome::Refusal(ComparedRefusal::from_fault(protocol, &fault));
        }
        Ok(FilterAction::LocalReply(reply)) => {
            return PlannedOutcome::LocalReply {
                status: reply.status.as_u16(),
                body: reply.body,
            };
        }
        Ok(FilterAction::StreamedReply(reply)) => {
            return PlannedOutcome::LocalReply {
                status: reply.status.as_u16(),
                body: Bytes::new(),
            };
        }
        Ok(FilterAction::Continue) => {}
    }
    let candidates = request.destination.as_ref();
    let candidates = candidates.map_or_else(|| Arc::from([]), |to| to.candidates.clone());
    let mut attempts = Vec::new();
    for candidate in candidates.iter() {
        let sent = preview(route, &request, candidate, None).await;
        let sent = sent.and_then(|attempt| attempt.request);
        attempts.push(PlannedAttempt {
            request: Some(sent.map_err(|fault| ComparedRefusal::from_fault(protocol, &fault))),
            ..PlannedAttempt::new(candidate)
        });
    }
    PlannedOutcome::Attempts(attempts)
}
