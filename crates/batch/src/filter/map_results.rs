//! `map_results`: the results of batches get the platform's names of models, and their usage is settled, as they pass.

use super::check_batch::{no_caller, store_fault};
use crate::batch_record::BatchRecords;
use crate::results::ResultsMapper;
use crate::settlement::UsageSettler;
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite,
};
use headgate_core::filter::fetch::FILE_REQUEST_HEADERS;
use headgate_core::filter::response_pieces::ResponsePieces;
use headgate_core::filter::view::{AttemptView, RequestView, ResponseBodyKind, ResponseView};
use headgate_core::filter::{Filter, FilterAction, HookResult};
use http::{Method, StatusCode, header};
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "map_results",
    summary: "Replaces the channel's names of models in the results of batches by the platform's, and settles the usage of batches whose provider reports it there only.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        after: &["pin", "follow_ids"],
        needs: &[FilterPrerequisite::Caller],
        ..FilterChainRules::ALWAYS
    },
    settings: None,
    bare: true,
    build: |_, context| {
        Ok(Arc::new(MapResultsFilter {
            settler: Arc::new(UsageSettler::new(context)),
        }))
    },
};

/// The path parameter with the id of a batch, or of a file.
const PARAMETER: &str = "id";

struct MapResultsFilter {
    settler: Arc<UsageSettler>,
}

impl Filter for MapResultsFilter {
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        if request.method != Method::GET {
            return HookResult::next();
        }
        HookResult::later(async move {
            let caller = request.caller.as_ref().ok_or_else(no_caller)?;
            let destination = request.destination.as_ref();
            let candidate = destination.and_then(|destination| destination.candidates.first());
            let (Some(id), Some(candidate)) = (request.param(PARAMETER), candidate) else {
                return Ok(FilterAction::Continue);
            };
            let records = BatchRecords {
                state: &*self.settler.state,
                caller: &caller.name,
            };
            let results = records.find_results(id).await.map_err(store_fault)?;
            if let Some(results) = results {
                let channel = candidate.channel.clone();
                let mapper = ResultsMapper::new(self.settler.clone(), channel, results);
                request.state.set(ResponsePieces(Box::new(mapper)));
            }
            Ok(FilterAction::Continue)
        })
    }

    /// A part of the results would begin and end within lines.
    fn on_attempt<'a>(
        &'a self,
        request: &'a RequestView,
        attempt: &'a mut AttemptView,
    ) -> HookResult<'a, ()> {
        if request.state.get::<ResponsePieces>().is_some() {
            for name in FILE_REQUEST_HEADERS {
                attempt.headers.remove(name);
            }
        }
        HookResult::done()
    }

    fn on_response_head<'a>(&'a self, response: &'a mut ResponseView<'_>) -> HookResult<'a, ()> {
        let pieces = response.request.state.take::<ResponsePieces>();
        let is_readable = response.kind != ResponseBodyKind::Foreign;
        if let Some(pieces) = pieces.filter(|_| response.status == StatusCode::OK) {
            match is_readable {
                true => {
                    response.headers.remove(header::CONTENT_LENGTH);
                    response.request.state.set(pieces);
                }
                false => tracing::warn!(
                    id = &*response.request.id,
                    "the results of a batch have a content coding that the gateway cannot read"
                ),
            }
        }
        HookResult::done()
    }
}
