//! `map_task`: video tasks, asked for in the caller's words and answered in them, whatever the channel's family.
//!
//! What differs between families is data; this filter only opens and seals ids and applies it.

mod answer;
mod ask;
mod creates;
mod fit;
mod poll;

use super::kind::{FilterKind, InvalidSettings, Need, Place, Side, read_settings, settings_schema};
use super::view::{AnswerView, AttemptView, RequestView};
use super::{Access, Declaration, Filter, Step};
use crate::catalog::model::Catalog;
use crate::polls::Polls;
use crate::protocol::Protocol;
use crate::protocol::fault::{Fault, FaultKind};
use crate::state::Store;
use crate::task::family::Unsupported;
use crate::task::{NO_KEYS_HINT, Tasks};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "map_task",
    summary: "Creates a video task, queries or cancels one with the channel's family, or says that tasks are not listed; ids are sealed, so that only their caller can ask, through any gateway with the same keys.",
    side: Side::Request,
    place: Place {
        needs: &[Need::Body, Need::Caller, Need::Model],
        ..Place::ANYWHERE
    },
    settings: Some(settings_schema::<Settings>),
    bare: false,
    build: |settings, parts| {
        let Settings { ask, unsupported } = read_settings(settings)?;
        if parts.tasks.keys.is_none() {
            return Err(
                InvalidSettings::new("task ids cannot be sealed without `task_keys`")
                    .hint(NO_KEYS_HINT),
            );
        }
        let is_about_a_task = PARAMETERS.iter().any(|name| (parts.has_parameter)(name));
        if matches!(ask, Ask::Query | Ask::Cancel) && !is_about_a_task {
            return Err(InvalidSettings::new(
                "no filter of this route finds a channel: its path names no task",
            )
            .at("/ask")
            .hint("write `{id}` in the route's path"));
        }
        Ok(Arc::new(MapTask {
            ask,
            unsupported: match unsupported {
                UnsupportedSetting::Refuse => Unsupported::Refuse,
                UnsupportedSetting::Ignore => Unsupported::Ignore,
            },
            is_generic: matches!(parts.protocol, Some(Protocol::Video) | None),
            rules: fit::Rules::of(parts)?,
            tasks: parts.tasks.clone(),
            polls: parts.polls.clone(),
            state: parts.state.clone(),
            catalog: parts.catalog.clone(),
        }))
    },
};

/// The route's parameter that holds a task's id, by either name.
const PARAMETERS: [&str; 2] = ["id", "task_id"];

/// What the route asks of providers.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Ask {
    /// Makes a task.
    Create,
    /// Tells how a task stands.
    Query,
    /// Ends a task before it begins, where that can be done.
    Cancel,
    /// Refuses to list tasks, in the words of the caller's protocol.
    List,
}

/// What becomes of a field that the channel's family cannot do, or the generic protocol does not have.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum UnsupportedSetting {
    #[default]
    Refuse,
    /// The field is left out, and named in the header `x-headgate-ignored`.
    Ignore,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// What the route asks of providers.
    ask: Ask,
    /// What becomes of a field that the channel's family cannot do, and of one that the generic protocol does
    /// not have; `refuse` if absent.
    #[serde(default)]
    unsupported: UnsupportedSetting,
}

struct MapTask {
    ask: Ask,
    unsupported: Unsupported,
    /// Whether callers speak the generic protocol; else the channel's family.
    is_generic: bool,
    rules: fit::Rules,
    tasks: Arc<Tasks>,
    polls: Arc<Polls>,
    state: Arc<dyn Store>,
    catalog: Arc<Catalog>,
}

impl Filter for MapTask {
    fn declare(&self) -> Declaration {
        match self.ask {
            Ask::Create => Declaration {
                response_body: Access::Replace,
                ..Declaration::default()
            },
            Ask::Query | Ask::Cancel | Ask::List => Declaration {
                replies_always: true,
                ignores_body: true,
                ..Declaration::default()
            },
        }
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
        match self.ask {
            Ask::Create => Step::next(),
            Ask::Query | Ask::Cancel => Step::from(self.find_task(request)),
            Ask::List => Step::fail(no_list()),
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
        match self.ask {
            Ask::Create => Step::from(self.keep_able(request)),
            Ask::Query => Step::later(self.query(request)),
            Ask::Cancel => Step::later(self.cancel(request)),
            Ask::List => Step::fail(no_list()),
        }
    }

    fn on_attempt<'a>(
        &'a self,
        request: &'a RequestView,
        attempt: &'a mut AttemptView,
    ) -> Step<'a, ()> {
        Step::from(match self.ask {
            Ask::Create => self.ask_create(request, attempt),
            // Answered by subrequests, which are no attempts.
            Ask::Query | Ask::Cancel => Ok(()),
            Ask::List => Err(no_list()),
        })
    }

    fn on_response_body<'a>(
        &'a self,
        answer: &'a mut AnswerView<'_>,
        body: &'a mut Bytes,
    ) -> Step<'a, ()> {
        if answer.status.is_success() {
            let created = self.tell_created(answer, body);
            return Step::from(created.map(|created| *body = created));
        }
        if self.is_generic {
            self.reword(answer, body);
        }
        Step::done()
    }
}

/// The gateway has no table of tasks, and the provider's list has those of all callers.
fn no_list() -> Fault {
    Fault::new(
        FaultKind::NoRoute,
        "lists of tasks are not offered here; ask for each task by its id",
    )
}

/// A channel that speaks no family is none that a task can be mapped for.
fn no_family() -> Fault {
    Fault::new(
        FaultKind::Internal,
        "this model is not set up for video tasks; tell the operator of this gateway",
    )
    .detail("the channel has no `family`")
}
