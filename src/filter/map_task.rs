//! `map_task`: video tasks, asked for in the caller's words and answered in them, whatever the channel's family.
//!
//! What differs between families is data; this filter only opens and seals ids and applies it.

mod answer;
mod ask;
mod fit;

use super::kind::{FilterKind, InvalidSettings, Side, read_settings, settings_schema};
use super::view::{AnswerView, AttemptView, RequestView};
use super::{AnswerNeed, BodyNeed, Filter, Flow, Step};
use crate::catalog::model::Catalog;
use crate::protocol::Protocol;
use crate::protocol::fault::{Fault, FaultKind};
use crate::task::family::Unsupported;
use crate::task::{NO_KEYS_HINT, Tasks};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "map_task",
    summary: "Creates a video task, or asks how one stands, with the channel's family; ids are sealed, so that only their caller can ask, through any gateway with the same keys.",
    side: Side::Request,
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
        Ok(Arc::new(MapTask {
            ask,
            unsupported: match unsupported {
                UnsupportedSetting::Refuse => Unsupported::Refuse,
                UnsupportedSetting::Ignore => Unsupported::Ignore,
            },
            is_generic: matches!(parts.protocol, Some(Protocol::Video) | None),
            rules: fit::Rules::of(parts)?,
            tasks: parts.tasks.clone(),
            catalog: parts.catalog.clone(),
        }))
    },
};

/// What the route asks of providers.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Ask {
    /// Makes a task.
    Create,
    /// Tells how a task stands.
    Query,
}

/// What becomes of a field that the channel's family cannot do.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum UnsupportedSetting {
    #[default]
    Refuse,
    /// It is left out, and named in the header `x-headgate-ignored`.
    Ignore,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// What the route asks of providers.
    ask: Ask,
    /// What becomes of a field that the channel's family cannot do; `refuse` if absent.
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
    catalog: Arc<Catalog>,
}

impl Filter for MapTask {
    fn body_need(&self) -> BodyNeed {
        match self.ask {
            Ask::Create => BodyNeed::Scanned,
            Ask::Query => BodyNeed::Untouched,
        }
    }

    fn answer_need(&self) -> AnswerNeed {
        AnswerNeed::Replace
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
        match self.ask {
            Ask::Create => Step::next(),
            Ask::Query => Step::from(self.find_task(request)),
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
        match self.ask {
            Ask::Create => Step::from(self.keep_able(request)),
            Ask::Query => Step::next(),
        }
    }

    fn on_attempt<'a>(
        &'a self,
        request: &'a RequestView,
        attempt: &'a mut AttemptView,
    ) -> Step<'a> {
        Step::from(match self.ask {
            Ask::Create => self.ask_create(request, attempt),
            Ask::Query => self.ask_query(request, attempt),
        })
    }

    fn on_held_answer<'a>(
        &'a self,
        answer: &'a mut AnswerView<'_>,
        body: &'a mut Bytes,
    ) -> Step<'a> {
        let mapped = match self.ask {
            Ask::Create => self.tell_created(answer, body),
            Ask::Query => self.tell_status(answer, body),
        };
        Step::Ready(mapped.map(|mapped| {
            *body = mapped;
            Flow::Next
        }))
    }

    fn on_error_body(&self, answer: &mut AnswerView<'_>, body: &mut Bytes) {
        if self.is_generic {
            self.reword(answer, body);
        }
    }
}

/// A channel that speaks no family is none that a task can be mapped for.
fn no_family() -> Fault {
    Fault::new(
        FaultKind::Internal,
        "this model is not set up for video tasks; tell the operator of this gateway",
    )
    .detail("the channel has no `family`")
}
