//! `follow_response`: a request about an earlier response goes to the channel that made it.

use super::kind::{FilterKind, Side};
use super::view::{Destination, RequestView};
use super::{BodyNeed, Filter, Step};
use crate::catalog::channel::Channel;
use crate::catalog::model::{Candidate, Catalog};
use crate::protocol::fault::{Fault, FaultKind};
use crate::state::affinity::Affinity;
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "follow_response",
    summary: "Sends a request to the channel that made the response it names, by `{id}` in the path or `previous_response_id` in the body; 404 for ids that this caller did not get here.",
    side: Side::Request,
    settings: None,
    bare: true,
    build: |_, parts| {
        Ok(Arc::new(FollowResponse {
            affinity: parts.affinity.clone(),
            catalog: parts.catalog.clone(),
        }))
    },
};

/// The route's parameter that holds a response's id.
const PARAMETER: &str = "id";
const FIELD: &str = "previous_response_id";

struct FollowResponse {
    affinity: Arc<Affinity>,
    catalog: Arc<Catalog>,
}

impl Filter for FollowResponse {
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
        let Some(id) = request.param(PARAMETER) else {
            return Step::next();
        };
        Step::from(self.channel_of(request, id).map(|channel| {
            request.destination = Some(Destination {
                model: None,
                candidates: vec![Candidate::bound_to(channel)],
            });
        }))
    }

    fn body_need(&self) -> BodyNeed {
        BodyNeed::Untouched
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
        Step::from(self.follow_body(request))
    }
}

impl FollowResponse {
    fn follow_body(&self, request: &mut RequestView) -> Result<(), Fault> {
        let previous = request
            .body
            .as_ref()
            .and_then(|body| body.root().get(FIELD));
        let Some(id) = previous.as_ref().and_then(|id| id.as_str()) else {
            return Ok(());
        };
        let channel = self
            .channel_of(request, &id)
            .map_err(|fault| fault.param(FIELD))?;
        let Some(destination) = &mut request.destination else {
            return Err(
                Fault::new(FaultKind::Internal, "the gateway's chain is out of order")
                    .detail("`follow_response` must stand behind `route_model`"),
            );
        };
        destination
            .candidates
            .retain(|candidate| candidate.channel.name == channel.name);
        if destination.candidates.is_empty() {
            return Err(Fault::new(
                FaultKind::Invalid,
                "the earlier response was made where this model is not offered; name the model that made it",
            )
            .param("model"));
        }
        Ok(())
    }

    fn channel_of(&self, request: &RequestView, id: &str) -> Result<Arc<Channel>, Fault> {
        let unknown = || {
            Fault::new(
                FaultKind::UnknownResponse,
                "no response with this id was made for this key here; check the id, or start anew without it",
            )
        };
        let caller = request.caller.as_ref().ok_or_else(unknown)?;
        let name = self
            .affinity
            .channel_of(&caller.name, id)
            .ok_or_else(unknown)?;
        self.catalog.channel(&name).cloned().ok_or_else(|| {
            unknown().detail(format!(
                "channel `{name}` that made the response is no longer configured"
            ))
        })
    }
}
