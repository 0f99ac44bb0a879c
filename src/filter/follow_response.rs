//! `follow_response`: a request about an earlier response goes to the channel that made it.

use super::kind::{FilterKind, Side};
use super::view::{Destination, RequestView};
use super::{BodyNeed, Filter, Flow, Step};
use crate::catalog::channel::Channel;
use crate::catalog::model::{Candidate, Catalog};
use crate::protocol::fault::{Fault, FaultKind};
use crate::state::{Store, Unavailable};
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "follow_response",
    summary: "Sends a request to the channel that made the response it names, by `{id}` in the path or `previous_response_id` in the body; 404 for ids that this caller did not get here.",
    side: Side::Request,
    settings: None,
    bare: true,
    build: |_, parts| {
        Ok(Arc::new(FollowResponse {
            state: parts.state.clone(),
            catalog: parts.catalog.clone(),
        }))
    },
};

/// The route's parameter that holds a response's id.
const PARAMETER: &str = "id";
const FIELD: &str = "previous_response_id";

struct FollowResponse {
    state: Arc<dyn Store>,
    catalog: Arc<Catalog>,
}

impl Filter for FollowResponse {
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
        let Some(id) = request.param(PARAMETER).map(String::from) else {
            return Step::next();
        };
        Step::later(async move {
            let channel = self.channel_of(request, &id).await?;
            request.destination = Some(Destination {
                model: None,
                candidates: [Candidate::bound_to(channel)].into(),
            });
            Ok(Flow::Next)
        })
    }

    fn body_need(&self) -> BodyNeed {
        BodyNeed::Untouched
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
        let previous = request
            .body
            .as_ref()
            .and_then(|body| body.root().get(FIELD));
        let Some(id) = previous
            .as_ref()
            .and_then(|id| id.as_str())
            .map(|id| id.into_owned())
        else {
            return Step::next();
        };
        Step::later(async move {
            let channel = self
                .channel_of(request, &id)
                .await
                .map_err(|fault| fault.param(FIELD))?;
            keep_to(&channel, request)?;
            Ok(Flow::Next)
        })
    }
}

impl FollowResponse {
    async fn channel_of(&self, request: &RequestView, id: &str) -> Result<Arc<Channel>, Fault> {
        let unknown = || {
            Fault::new(
                FaultKind::UnknownResponse,
                "no response with this id was made for this key here; check the id, or start anew without it",
            )
        };
        let caller = request.caller.as_ref().ok_or_else(unknown)?;
        let name = self
            .state
            .channel_of(&caller.name, id)
            .get()
            .await
            .map_err(away)?
            .ok_or_else(unknown)?;
        self.catalog.channel(&name).cloned().ok_or_else(|| {
            unknown().detail(format!(
                "channel `{name}` that made the response is no longer configured"
            ))
        })
    }
}

/// Leaves `channel` as the only one that the request may go to.
fn keep_to(channel: &Channel, request: &mut RequestView) -> Result<(), Fault> {
    let Some(destination) = &mut request.destination else {
        return Err(
            Fault::new(FaultKind::Internal, "the gateway's chain is out of order")
                .detail("`follow_response` must stand behind `route_model`"),
        );
    };
    destination.keep(channel);
    match destination.candidates.is_empty() {
        true => Err(Fault::new(
            FaultKind::Invalid,
            "the earlier response was made where this model is not offered; name the model that made it",
        )
        .param("model")),
        false => Ok(()),
    }
}

/// Another channel would know nothing of the id: better no answer than a wrong one.
fn away(unavailable: Unavailable) -> Fault {
    Fault::new(
        FaultKind::Overloaded,
        "the gateway cannot look up the id now; try again",
    )
    .source(unavailable)
}
