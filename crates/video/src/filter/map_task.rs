//! `map_task`: creates, queries and cancels video tasks of any provider family.
//!
//! The differences between families are data; this filter applies them, and opens and seals task ids.

mod mapped_create;
mod poll;
mod request;
mod response;
mod schema_check;
mod upstream_error;

use crate::polls::TaskStatusFetcher;
use bytes::Bytes;
use headgate_core::catalog::model::Catalog;
use headgate_core::filter::contract::{GatewayResponseContent, RouteApiDescription};
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite, InvalidSettings,
    read_settings, settings_schema,
};
use headgate_core::filter::view::{AttemptView, RequestView, ResponseView};
use headgate_core::filter::{Filter, FilterDeclaration, HookResult, ResponseBodyAccess};
use headgate_core::state::StateStore;
use headgate_core::task::family::UnsupportedFieldPolicy;
use headgate_core::task::{NO_KEYS_HINT, TaskSettings};
use headgate_protocol::fault::{Fault, FaultKind};
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
        let is_about_a_task = PARAMETERS.iter().any(|name| (context.has_parameter)(name));
        if matches!(operation, TaskOperation::Query | TaskOperation::Cancel) && !is_about_a_task {
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
            is_generic: context.is_generic_task_route(),
            rules: schema_check::FamilySchemas::from_context(context)?,
            tasks: context.tasks.clone(),
            polls: context.features.get(),
            state: context.state.clone(),
            catalog: context.catalog.clone(),
        }))
    },
};

/// The path parameter that holds a task id; both names are accepted.
const PARAMETERS: [&str; 2] = ["id", "task_id"];

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
    /// Replies 404, since a list of the provider has the tasks of all callers.
    List,
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
    /// Whether callers use the generic protocol, not that of the channel's family.
    is_generic: bool,
    rules: schema_check::FamilySchemas,
    tasks: Arc<TaskSettings>,
    polls: Arc<TaskStatusFetcher>,
    state: Arc<dyn StateStore>,
    catalog: Arc<Catalog>,
}

impl Filter for MapTaskFilter {
    fn add_to_contract(&self, contract: &mut RouteApiDescription) {
        if self.is_generic && self.operation != TaskOperation::List {
            contract.content = Some(GatewayResponseContent::VideoTask);
        }
    }

    fn declare(&self) -> FilterDeclaration {
        match self.operation {
            TaskOperation::Create => FilterDeclaration {
                response_body: ResponseBodyAccess::Replace,
                ..FilterDeclaration::default()
            },
            TaskOperation::Query | TaskOperation::Cancel | TaskOperation::List => {
                FilterDeclaration {
                    replies_always: true,
                    ignores_body: true,
                    ..FilterDeclaration::default()
                }
            }
        }
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.operation {
            TaskOperation::Create => HookResult::next(),
            TaskOperation::Query | TaskOperation::Cancel => {
                HookResult::from(self.find_task(request))
            }
            TaskOperation::List => HookResult::fail(no_list()),
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.operation {
            TaskOperation::Create => HookResult::from(self.retain_capable(request)),
            TaskOperation::Query => HookResult::later(self.query(request)),
            TaskOperation::Cancel => HookResult::later(self.cancel(request)),
            TaskOperation::List => HookResult::fail(no_list()),
        }
    }

    fn on_attempt<'a>(
        &'a self,
        request: &'a RequestView,
        attempt: &'a mut AttemptView,
    ) -> HookResult<'a, ()> {
        HookResult::from(match self.operation {
            TaskOperation::Create => self.prepare_create(request, attempt),
            // Queries and cancels are subrequests, not attempts.
            TaskOperation::Query | TaskOperation::Cancel => Ok(()),
            TaskOperation::List => Err(no_list()),
        })
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        if response.status.is_success() {
            let created = self.created_reply(response, body);
            return HookResult::from(created.map(|created| *body = created));
        }
        self.translate_error(response, body);
        HookResult::done()
    }
}

/// The gateway stores no list of tasks, and the provider's list holds the tasks of all callers.
fn no_list() -> Fault {
    Fault::new(
        FaultKind::NoRoute,
        "lists of tasks are not offered; query each task by its id",
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
