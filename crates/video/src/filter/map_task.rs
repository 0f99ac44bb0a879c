//! `map_task`: creates, queries and cancels video tasks of any provider family.
//!
//! The differences between families are data; this filter applies them, and opens and seals task ids.

mod content;
mod delete;
mod examined_file;
mod mapped_create;
mod native;
mod poll;
mod request;
mod response;
mod schema_check;
mod upload;
mod upload_file;
mod upstream_error;

use crate::polls::TaskStatusFetcher;
use bytes::Bytes;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::catalog::public_url::PublicUrl;
use headgate_core::filter::contract::{GatewayResponseContent, RouteApiDescription};
use headgate_core::filter::descriptor::{
    BuildContext, ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite,
    InvalidSettings, read_settings, settings_schema,
};
use headgate_core::filter::view::{AttemptView, RequestView, ResponseView};
use headgate_core::filter::{
    Filter, FilterDeclaration, HookResult, ResponseBodyAccess, no_other_model,
};
use headgate_core::state::StateStore;
use headgate_core::task::family::UnsupportedFieldPolicy;
use headgate_core::task::{NO_KEYS_HINT, TaskSettings};
use headgate_protocol::TaskApiFormat;
use headgate_protocol::fault::{Fault, FaultKind};
use native::NativeRouteCalls;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "map_task",
    summary: "Creates, queries or cancels a video task at a provider of any family; task ids are encrypted, so that every gateway with the same `task_keys` serves them, for their caller only.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        after: &["callbacks", "store_media", "edit_json", "replace"],
        reason: ", which changes the request before it is translated",
        needs: &[
            FilterPrerequisite::Body,
            FilterPrerequisite::Caller,
            FilterPrerequisite::Model,
        ],
        ..FilterChainRules::ANYWHERE
    },
    settings: Some(settings_schema::<MapTaskConfig>),
    bare: false,
    build: |settings, context| {
        let MapTaskConfig {
            operation,
            unsupported,
        } = read_settings(settings)?;
        if context.tasks.keys.is_none() {
            return Err(InvalidSettings::new("`map_task` requires `task_keys`").hint(NO_KEYS_HINT));
        }
        let offers = match operation {
            TaskOperation::Delete | TaskOperation::Unsupported => {
                format(context) == TaskApiFormat::OpenAi
            }
            TaskOperation::Content => format(context) != TaskApiFormat::Generic,
            _ => true,
        };
        if !offers {
            return Err(InvalidSettings::new(
                "`delete` and `unsupported` require a route with `protocol: videos`; `content` requires one, or a route of a vendor's own API",
            )
            .at("/operation")
            .hint("write the protocol in the route, or another operation"));
        }
        let calls = NativeRouteCalls::new(operation, format(context), context)?;
        if operation.is_about_a_task() && !MapTaskFilter::names_task(&calls, context) {
            return Err(
                InvalidSettings::new("the route's path has no parameter for the task id")
                    .at("/operation")
                    .hint("add `{id}` or `{task_id}` to the path of `match`"),
            );
        }
        Ok(Arc::new(MapTaskFilter {
            operation,
            unsupported: match unsupported {
                UnsupportedFieldPolicyConfig::Refuse => UnsupportedFieldPolicy::Refuse,
                UnsupportedFieldPolicyConfig::Ignore => UnsupportedFieldPolicy::Ignore,
            },
            format: format(context),
            rules: schema_check::FamilySchemas::from_context(context)?,
            tasks: context.tasks.clone(),
            calls,
            public_url: context.public_url.cloned(),
            polls: context.features.get(),
            state: context.state.clone(),
            catalog: context.catalog.clone(),
            egress: context.egress.clone(),
        }))
    },
};

/// Operation of the route.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum TaskOperation {
    /// Creates a task.
    Create,
    /// Queries the status of a task.
    Query,
    /// Cancels a task, in the statuses in which its family supports it.
    Cancel,
    /// Deletes a task, on routes with `protocol: videos`: cancels one that its family can cancel, and replies 404 to later
    /// requests for it.
    Delete,
    /// Replies with the video of a task, on routes with `protocol: videos` or of a vendor's own API: passes the provider's
    /// file on, or the requested range of it.
    Content,
    /// Replies with the result of a task, on routes of a vendor's own API that has one apart from the status.
    Result,
    /// The call about a task that the request is in the vendor's own API: query, cancel, result or content.
    Native,
    /// Replies 404, since a list of the provider has the tasks of all callers.
    List,
    /// Replies 404, on routes with `protocol: videos`, to what OpenAI's API offered and no model does here: remixes, edits,
    /// extensions and characters. The error says what to do instead.
    Unsupported,
}

impl TaskOperation {
    /// Whether the path names a task.
    fn is_about_a_task(self) -> bool {
        match self {
            Self::Query
            | Self::Cancel
            | Self::Delete
            | Self::Content
            | Self::Result
            | Self::Native => true,
            Self::Create | Self::List | Self::Unsupported => false,
        }
    }
}

/// What happens to a field that the family does not support or the generic protocol does not define.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum UnsupportedFieldPolicyConfig {
    /// The request gets 400.
    #[default]
    Refuse,
    /// The field is dropped, and named in the header `x-headgate-ignored`.
    Ignore,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MapTaskConfig {
    /// Operation of the route.
    operation: TaskOperation,
    /// What happens to a field that the generic protocol does not define or the family does not support.
    /// Default: refuse.
    #[serde(default)]
    unsupported: UnsupportedFieldPolicyConfig,
}

struct MapTaskFilter {
    operation: TaskOperation,
    unsupported: UnsupportedFieldPolicy,
    /// The format of the callers' requests and responses.
    format: TaskApiFormat,
    rules: schema_check::FamilySchemas,
    tasks: Arc<TaskSettings>,
    /// The calls of the vendor's API that the route serves; none for other formats.
    calls: NativeRouteCalls,
    /// By which others reach this gateway, if that is configured.
    public_url: Option<PublicUrl>,
    polls: Arc<TaskStatusFetcher>,
    state: Arc<dyn StateStore>,
    catalog: Arc<Catalog>,
    /// Where files of videos may be.
    egress: Arc<EgressPolicy>,
}

impl Filter for MapTaskFilter {
    fn add_to_contract(&self, contract: &mut RouteApiDescription) {
        contract.content = match (self.format, self.operation) {
            (_, TaskOperation::List | TaskOperation::Unsupported) => {
                contract.is_refused = true;
                return;
            }
            (TaskApiFormat::Native, _) => return,
            (_, TaskOperation::Delete) => Some(GatewayResponseContent::DeletedVideo),
            (_, TaskOperation::Content) => Some(GatewayResponseContent::VideoFile),
            (TaskApiFormat::OpenAi, _) => Some(GatewayResponseContent::OpenAiVideo),
            (TaskApiFormat::Generic, _) => Some(GatewayResponseContent::VideoTask),
        };
    }

    fn declare(&self) -> FilterDeclaration {
        match self.operation {
            TaskOperation::Create => FilterDeclaration {
                response_body: ResponseBodyAccess::Replace,
                ..FilterDeclaration::default()
            },
            TaskOperation::Query
            | TaskOperation::Cancel
            | TaskOperation::Delete
            | TaskOperation::Content
            | TaskOperation::Result
            | TaskOperation::Native
            | TaskOperation::List
            | TaskOperation::Unsupported => FilterDeclaration {
                replies_always: true,
                ignores_body: true,
                ..FilterDeclaration::default()
            },
        }
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.operation {
            TaskOperation::Create => HookResult::next(),
            TaskOperation::Query
            | TaskOperation::Cancel
            | TaskOperation::Delete
            | TaskOperation::Content
            | TaskOperation::Result
            | TaskOperation::Native => HookResult::from(self.find_task(request)),
            TaskOperation::List => HookResult::fail(no_list()),
            TaskOperation::Unsupported => HookResult::fail(unsupported()),
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.operation(request) {
            TaskOperation::Create => HookResult::from(self.retain_capable(request)),
            TaskOperation::Query | TaskOperation::Native => HookResult::later(self.query(request)),
            TaskOperation::Cancel => HookResult::later(self.cancel(request)),
            TaskOperation::Delete => HookResult::later(self.delete(request)),
            TaskOperation::Content => HookResult::later(self.content(request)),
            TaskOperation::Result => HookResult::later(self.result(request)),
            TaskOperation::List => HookResult::fail(no_list()),
            TaskOperation::Unsupported => HookResult::fail(unsupported()),
        }
    }

    /// What this filter prepared is for the channels of the model that the request names.
    fn on_fallback<'a>(&'a self, _request: &'a mut RequestView) -> HookResult<'a, ()> {
        HookResult::fail(no_other_model())
    }

    fn on_attempt<'a>(
        &'a self,
        request: &'a RequestView,
        attempt: &'a mut AttemptView,
    ) -> HookResult<'a, ()> {
        HookResult::from(match self.operation {
            TaskOperation::Create => match self.prepare_create(request, attempt) {
                Ok(()) if self.has_uploads(request, attempt) => {
                    return HookResult::later(self.upload_media(request, attempt));
                }
                prepared => prepared,
            },
            // Queries and cancels are subrequests, not attempts.
            TaskOperation::Query
            | TaskOperation::Cancel
            | TaskOperation::Delete
            | TaskOperation::Content
            | TaskOperation::Result
            | TaskOperation::Native => Ok(()),
            TaskOperation::List => Err(no_list()),
            TaskOperation::Unsupported => Err(unsupported()),
        })
    }

    fn on_response_head<'a>(&'a self, response: &'a mut ResponseView<'_>) -> HookResult<'a, ()> {
        let candidate = response.candidate.filter(|_| !self.is_generic());
        if let Some(family) = candidate.and_then(|it| it.channel.family.as_ref()) {
            family.remove_url_headers(response.headers);
        }
        HookResult::done()
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        if response.status.is_success() {
            let (created, cost) = match self.created_reply(response, body) {
                Ok(created) => created,
                Err(fault) => return HookResult::fail(fault),
            };
            *body = created;
            let Some(cost) = cost else {
                return HookResult::done();
            };
            return HookResult::later(async move {
                cost.reserve(&*self.state).await;
                Ok(())
            });
        }
        self.translate_error(response, body);
        HookResult::done()
    }
}

impl MapTaskFilter {
    /// Whether creates come in the generic format, not in that of the channel's family.
    fn is_generic(&self) -> bool {
        self.format.is_generic()
    }
}

/// The format of the route's callers.
fn format(context: &BuildContext<'_>) -> TaskApiFormat {
    match context.protocol {
        None => TaskApiFormat::Generic,
        Some(protocol) => protocol.descriptor().tasks.unwrap_or(TaskApiFormat::Native),
    }
}

/// The gateway stores no list of tasks, and the provider's list holds the tasks of all callers.
fn no_list() -> Fault {
    Fault::new(
        FaultKind::NoRoute,
        "lists of tasks are not offered; query each task by its id",
    )
}

/// No family can change a video of another task, and vendors have no characters in common.
fn unsupported() -> Fault {
    Fault::new(
        FaultKind::NoRoute,
        "remixes, edits, extensions and characters of videos are not offered; create a new video, with an image in `input_reference`, or with videos and several images in `medias` of POST /v1/video/generations",
    )
}

/// A task cannot be mapped for a channel without a family.
fn no_family() -> Fault {
    Fault::new(
        FaultKind::Internal,
        "no video family is configured for this model; tell the operator of this gateway",
    )
    .detail("the channel has no `family`")
}
