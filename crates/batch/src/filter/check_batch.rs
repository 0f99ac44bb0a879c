//! `check_batch`: each request of a batch is checked as if it came alone, and its model gets the channel's name.

mod create;
mod keep;
mod list;
mod upload;

use crate::check_queue::CheckQueue;
use crate::checked_batch::CheckedBatch;
use crate::rules::{BatchEndpoint, BatchRules};
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::body_edit::EditedBody;
use headgate_core::filter::descriptor::{
    BuildContext, ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite,
    FilterProvision, InvalidSettings, read_settings, settings_schema,
};
use headgate_core::filter::view::{AttemptView, RequestDestination, RequestView, ResponseView};
use headgate_core::filter::{
    Filter, FilterAction, FilterDeclaration, HookResult, ResponseBodyAccess, no_other_model,
};
use headgate_core::scalar::{ByteSize, HumanDuration};
use headgate_core::state::new_id::find_channel_of_new_id;
use headgate_core::state::{StateStore, StoreUnavailable};
use headgate_protocol::batch::BatchFormat;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::{ChannelProtocol, Protocol};
use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "check_batch",
    summary: "Checks each request of a batch (model, schema, ids), replaces its model by the channel's name, and selects the channel that serves all; replies 400 with the line or entry at fault.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        after: &["follow_ids", "pin"],
        before: &["first_channel", "idempotency", "rate_limit"],
        needs: &[FilterPrerequisite::Caller],
        provides: &[FilterProvision::Channel],
        reason: ", since models depend on the caller, and files on a channel",
        ..FilterChainRules::GUARD
    },
    settings: Some(settings_schema::<CheckBatchConfig>),
    bare: false,
    build: |settings, context| Ok(Arc::new(CheckBatchFilter::build(settings, context)?)),
};

/// Settings of `check_batch`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CheckBatchConfig {
    /// Where the requests of a batch are: `file`, in a file that is uploaded for a batch; `file_id`, in a file that was
    /// checked so, whose id the batch has; `requests`, in the list of a message batch.
    input: BatchInput,
    /// Maximum number of requests of a batch, 1 to 1000000; with `file` or `requests`. Default: 50000 in a file, 100000 in a
    /// list, as providers allow.
    #[schemars(range(min = 1, max = 1_000_000))]
    requests_max: Option<u32>,
    /// Maximum size of one request; with `file` or `requests`. Default: 32MiB.
    request_bytes_max: Option<ByteSize>,
    /// Estimated output tokens of a request that sets no maximum, at least 1; with `file` or `requests`. Set it as
    /// that of `rate_limit`. Default: 1024.
    #[schemars(range(min = 1))]
    default_output_tokens: Option<u64>,
    /// What a token of a batch costs, in percent of a token of a request of its own, 1 to 100: by so much the tokens of a
    /// batch count against limits; with `file` or `requests`. Default: 50, the price of most providers.
    #[schemars(range(min = 1, max = 100))]
    price_percent: Option<u8>,
    /// Maximum number of checks that run at once, 1 to 1024; with `file` or `requests`. Each uses a processor, for a large
    /// batch seconds long. Default: half of the processors, at least 1.
    #[schemars(range(min = 1, max = 1024))]
    checks_max: Option<u16>,
    /// Maximum number of checks that wait for their turn, for at most 30 s, 0 to 10000; with `file` or `requests`. Others get 503
    /// with `Retry-After`. Each holds its batch, a large one in a file. Default: 32.
    #[schemars(range(max = 10_000))]
    waiting_checks_max: Option<u16>,
    /// How often the gateway asks the provider for a batch whose end its caller has not seen, first so long after its
    /// creation, and the more seldom the older it is; with `file_id` or `requests`. Default: 1h.
    poll_every: Option<HumanDuration>,
}

/// Where the requests of a batch are.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum BatchInput {
    /// In a file that is uploaded.
    File,
    /// In a file that was uploaded before.
    FileId,
    /// In the body.
    Requests,
}

impl BatchInput {
    fn format(self) -> BatchFormat {
        match self {
            Self::File | Self::FileId => BatchFormat::File,
            Self::Requests => BatchFormat::List,
        }
    }
}

/// Callers who wait for a batch ask more often.
const POLL_EVERY: HumanDuration = HumanDuration::seconds(60 * 60);

struct CheckBatchFilter {
    state: Arc<dyn StateStore>,
    input: BatchInput,
    rules: Arc<BatchRules>,
    checks: CheckQueue,
    /// How often the gateway asks for a batch itself.
    poll_ms: u64,
}

impl CheckBatchFilter {
    fn build(
        settings: &serde_json::Value,
        context: &BuildContext<'_>,
    ) -> Result<Self, InvalidSettings> {
        let config: CheckBatchConfig = read_settings(settings)?;
        config.check_use()?;
        let (endpoints, requests_max) = match config.input {
            BatchInput::File => (BatchEndpoint::with_routes(context), 50_000),
            BatchInput::FileId => (Vec::new(), 0),
            BatchInput::Requests => {
                let messages = Protocol::find_versioned();
                let endpoint = messages.and_then(|it| BatchEndpoint::new(it, context));
                (endpoint.into_iter().collect(), 100_000)
            }
        };
        let format = config.input.format();
        let protocol = context.protocol.map(|protocol| protocol.descriptor());
        let is_of_format = protocol.is_some_and(|protocol| protocol.batch == Some(format));
        if config.input != BatchInput::File && !is_of_format {
            return Err(InvalidSettings::new(
                "`check_batch` requires a route with a protocol of such batches, unless its input is `file`",
            )
            .hint("add `protocol: batches` or `protocol: message_batches` to the route"));
        }
        Ok(Self {
            state: context.state.clone(),
            input: config.input,
            checks: CheckQueue::new(
                config
                    .checks_max
                    .map_or_else(default_checks_max, usize::from),
                config.waiting_checks_max.unwrap_or(32).into(),
            ),
            poll_ms: whole_ms(config.poll_every.unwrap_or(POLL_EVERY)),
            rules: Arc::new(BatchRules {
                catalog: context.catalog.clone(),
                endpoints,
                format,
                requests_max: config
                    .requests_max
                    .map_or(requests_max, |most| most as usize),
                request_bytes_max: config
                    .request_bytes_max
                    .map_or(32 << 20, |most| most.bytes()),
                default_output_tokens: config.default_output_tokens.unwrap_or(1024),
                price_percent: config.price_percent.unwrap_or(50),
            }),
        })
    }

    /// What a batch counts against the limits of its caller, in tokens.
    fn counted_tokens(&self, batch: &CheckedBatch) -> u64 {
        let share = batch.tokens.saturating_mul(self.rules.price_percent.into());
        share.div_ceil(100)
    }

    /// Sets the destination of a checked batch, and keeps the batch for the attempts.
    async fn accept(
        &self,
        request: &mut RequestView,
        batch: CheckedBatch,
    ) -> Result<FilterAction, Fault> {
        let channels = self.find_channels(request, &batch).await?;
        let protocol = request.protocol.map(ChannelProtocol::for_caller);
        let candidates = channels.into_iter().map(|channel| Candidate {
            is_bound: false,
            ..Candidate::bound_to(channel, protocol)
        });
        request.destination = Some(RequestDestination {
            model: None,
            candidates: candidates.collect(),
        });
        request.state.set(batch);
        Ok(FilterAction::Continue)
    }

    /// The channels of all models on which all ids of the requests are, and to which the request is bound otherwise.
    async fn find_channels(
        &self,
        request: &RequestView,
        batch: &CheckedBatch,
    ) -> Result<Vec<Arc<Channel>>, Fault> {
        let mut channels = batch.channels.clone();
        for placed in &batch.ids {
            let caller = request.caller.as_ref();
            let owner = match caller {
                Some(caller) => {
                    find_channel_of_new_id(&*self.state, &caller.name, &placed.id.id).await
                }
                None => return Err(no_caller()),
            };
            let owner = owner.map_err(store_fault)?;
            let kind = placed.id.kind.name();
            let at = format!("{}.{}", placed.place.body(), placed.id.at);
            let owner = owner.ok_or_else(|| {
                placed.place.fault(format_args!(
                    "no {kind} with the id in `{at}` exists for this API key; check the id"
                ))
            })?;
            channels.retain(|channel| channel.name == owner);
            if channels.is_empty() {
                return Err(placed.place.fault(format_args!(
                    "the {kind} in `{at}` is on a provider account that does not serve all models and ids of the batch; put the request into another batch"
                )));
            }
        }
        let bound = request.destination.as_ref();
        let bound = bound.and_then(|destination| destination.candidates.first());
        let bound = bound.map(|one| &one.channel).or(request.pinned.as_ref());
        if let Some(bound) = bound {
            channels.retain(|channel| channel.name == bound.name);
        }
        match channels.is_empty() {
            false => Ok(channels),
            true => Err(Fault::new(
                FaultKind::Invalid,
                "the provider account that this request is bound to does not serve all models of the batch; use its models, or ask the operator of this gateway",
            )),
        }
    }
}

impl CheckBatchConfig {
    /// Refuses settings that would have no effect.
    fn check_use(&self) -> Result<(), InvalidSettings> {
        let set = [
            ("requests_max", self.requests_max.is_some()),
            ("request_bytes_max", self.request_bytes_max.is_some()),
            (
                "default_output_tokens",
                self.default_output_tokens.is_some(),
            ),
            ("price_percent", self.price_percent.is_some()),
            ("checks_max", self.checks_max.is_some()),
            ("waiting_checks_max", self.waiting_checks_max.is_some()),
        ];
        if self.input == BatchInput::File && self.poll_every.is_some() {
            let reason = "`poll_every` has no effect with `input: file`";
            let invalid = InvalidSettings::new(reason).at("/poll_every");
            return Err(invalid.hint("set it at the create of the batch, with `input: file_id`"));
        }
        match set.into_iter().find(|(_, is_set)| *is_set) {
            Some((name, _)) if self.input == BatchInput::FileId => Err(InvalidSettings::new(
                format!("`{name}` has no effect with `input: file_id`"),
            )
            .at(format!("/{name}"))
            .hint("set it at the upload of the file, with `input: file`")),
            _ => Ok(()),
        }
    }
}

impl Filter for CheckBatchFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            reads_body: true,
            // The id is known to the caller when the record of its file or its batch is stored.
            response_body: ResponseBodyAccess::Replace,
            ..FilterDeclaration::default()
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        if request.method != Method::POST {
            return HookResult::next();
        }
        match self.input {
            BatchInput::File if upload::is_for_batch(request) => {
                HookResult::later(self.check_upload(request))
            }
            BatchInput::File => HookResult::next(),
            BatchInput::FileId => HookResult::later(self.check_create(request)),
            BatchInput::Requests => HookResult::later(self.check_list(request)),
        }
    }

    fn check_edited_body(
        &self,
        request: &RequestView,
        edited: EditedBody<'_>,
    ) -> Result<(), Fault> {
        let is_same = match self.input {
            BatchInput::FileId => create::is_of_same_file(request, edited.document),
            BatchInput::File | BatchInput::Requests => {
                request.state.get::<CheckedBatch>().is_none()
            }
        };
        match is_same {
            true => Ok(()),
            false => Err(Fault::new(
                FaultKind::Internal,
                "the edit changes a batch whose requests are already checked",
            )),
        }
    }

    fn on_attempt<'a>(
        &'a self,
        request: &'a RequestView,
        attempt: &'a mut AttemptView,
    ) -> HookResult<'a, ()> {
        if let Some(batch) = request.state.get::<CheckedBatch>() {
            batch.rename_models(&attempt.candidate.channel, &mut attempt.edits);
        }
        HookResult::done()
    }

    fn on_fallback<'a>(&'a self, _request: &'a mut RequestView) -> HookResult<'a, ()> {
        HookResult::fail(no_other_model())
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut bytes::Bytes,
    ) -> HookResult<'a, ()> {
        if !response.status.is_success() {
            return HookResult::done();
        }
        match self.input {
            BatchInput::File => self.keep_file(response.request, response.candidate, body),
            BatchInput::FileId | BatchInput::Requests => {
                self.keep_batch(response.request, response.candidate, body)
            }
        }
    }
}

fn whole_ms(duration: HumanDuration) -> u64 {
    u64::try_from(duration.duration().as_millis()).unwrap_or(u64::MAX / 2)
}

/// The other half of the processors is for all other requests.
fn default_checks_max() -> usize {
    let processors = std::thread::available_parallelism();
    processors.map_or(1, |count| count.get().div_ceil(2))
}

/// `authenticate` is required before this filter.
pub(super) fn no_caller() -> Fault {
    Fault::new(
        FaultKind::Internal,
        "internal error: the caller is not known",
    )
}

/// The request fails: nothing may be sent whose ids and file are not known.
pub(super) fn store_fault(unavailable: StoreUnavailable) -> Fault {
    Fault::new(
        FaultKind::Overloaded,
        "the gateway cannot look up the batch: its state store is unreachable; try again",
    )
    .source(unavailable)
}
