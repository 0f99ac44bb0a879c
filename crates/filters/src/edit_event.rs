//! `edit_event`: edits or drops events of streamed responses, by their type.

use super::edit_list::{EditFailure, EditList, EditListConfig};
use bytes::Bytes;
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, InvalidSettings, read_settings, settings_schema,
};
use headgate_core::filter::expression::{ExchangeValues, FilterExpression};
use headgate_core::filter::response_inputs::ResponseVaryInputs;
use headgate_core::filter::view::{EventAction, EventView};
use headgate_core::filter::{Filter, FilterDeclaration, HookResult, ResponseBodyAccess};
use headgate_expression::{EvaluationError, EvaluationPhase};
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_protocol::sse::SseEvent;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "edit_event",
    summary: "Edits or drops events of streamed responses: `events` lists their types, the edits are those of `edit_json`. Other events pass byte for byte.",
    side: ChainSide::Response,
    placement: FilterChainRules::ANYWHERE,
    settings: Some(settings_schema::<EditEventConfig>),
    bare: false,
    build: |settings, _| Ok(Arc::new(EditEventFilter::build(read_settings(settings)?)?)),
};

/// Selects events of all types.
const ALL: &str = "*";
/// Ends the streams of chat; it is not JSON.
const LAST_CHAT_DATA: &[u8] = b"[DONE]";

/// Settings of `edit_event`. The edits apply in the order of these fields.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditEventConfig {
    /// Types of the events that are edited, as in their `event` lines, such as `content_block_delta`. `*` selects all
    /// events, also those without a type, such as those of chat.
    events: Vec<String>,
    /// Whether the events are dropped: `true`, or `{cel: …}` to decide for each. Default: false.
    #[serde(default)]
    drop: DropConfig,
    /// New keys of members, by their pointers. A member stays if its object has a member with the new key.
    #[serde(default)]
    rename: BTreeMap<String, String>,
    /// Pointers to members and elements that are removed.
    #[serde(default)]
    remove: Vec<String>,
    /// Values that are set, by their pointers. Any part of a value may be `{cel: …}`. Missing objects on the way are
    /// created.
    #[serde(default)]
    set: BTreeMap<String, Value>,
    /// As `set`, but only where there is no value; `null` is a value.
    #[serde(default)]
    default: BTreeMap<String, Value>,
    /// Elements that are added before all others of an array, by the pointer of the array, which is created if there is
    /// none.
    #[serde(default)]
    prepend: BTreeMap<String, Value>,
    /// As `prepend`, but after all others.
    #[serde(default)]
    append: BTreeMap<String, Value>,
}

/// Whether events are dropped, as written.
#[derive(Deserialize)]
#[serde(untagged)]
enum DropConfig {
    Always(bool),
    If(DropConditionConfig),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DropConditionConfig {
    cel: String,
}

impl Default for DropConfig {
    fn default() -> Self {
        Self::Always(false)
    }
}

/// One object that may be a boolean, so that a mistake in a mapping is named.
impl JsonSchema for DropConfig {
    fn schema_name() -> Cow<'static, str> {
        "DropConfig".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["boolean", "object"],
            "properties": {"cel": {"type": "string"}},
            "required": ["cel"],
            "additionalProperties": false
        })
    }
}

struct EditEventFilter {
    selection: EventSelection,
    change: EventChange,
}

/// The events that a filter changes.
enum EventSelection {
    All,
    OfTypes(Vec<String>),
}

enum EventChange {
    Drop,
    DropOrEdit(Option<FilterExpression>, EditList),
}

/// Marks an exchange whose log has a warning of this filter: a stream may have thousands of events of one kind.
struct EditWarningLoggedMarker;

impl Filter for EditEventFilter {
    fn declare(&self) -> FilterDeclaration {
        let mut expressions = self.expressions();
        let reads_body = expressions.any(FilterExpression::reads_request_body);
        FilterDeclaration {
            reads_body,
            reads_body_during_stream: reads_body,
            events: ResponseBodyAccess::Replace,
            ..FilterDeclaration::default()
        }
    }

    fn add_response_inputs(&self, inputs: &mut ResponseVaryInputs) {
        for expression in self.expressions() {
            inputs.add_references(expression.references());
        }
    }

    fn on_event<'a>(&'a self, view: &'a mut EventView<'_>) -> HookResult<'a, ()> {
        let data = view.event.data();
        if data.is_empty() || data == LAST_CHAT_DATA || !self.selection.has(view.event) {
            return HookResult::done();
        }
        match self.action(view) {
            Ok(action) => view.action = action,
            Err((place, error)) => warn_once(view, &place, &error),
        }
        HookResult::done()
    }
}

impl EditEventFilter {
    fn build(config: EditEventConfig) -> Result<Self, InvalidSettings> {
        let selection = EventSelection::build(config.events)?;
        let edits = EditListConfig {
            rename: config.rename,
            remove: config.remove,
            set: config.set,
            default: config.default,
            prepend: config.prepend,
            append: config.append,
        };
        let edits = edits.build(EvaluationPhase::Event)?;
        let change = match config.drop {
            DropConfig::Always(true) if !edits.is_empty() => {
                return Err(
                    InvalidSettings::new("events that are dropped cannot be edited")
                        .at("/drop")
                        .hint("use one step for each"),
                );
            }
            DropConfig::Always(true) if matches!(selection, EventSelection::All) => {
                return Err(
                    InvalidSettings::new("all events of the stream would be dropped")
                        .at("/drop")
                        .hint("list the types of events in `events`, or write `drop: {cel: …}`"),
                );
            }
            DropConfig::Always(true) => EventChange::Drop,
            DropConfig::Always(false) if edits.is_empty() => {
                let hint =
                    "add `drop`, `set`, `default`, `remove`, `rename`, `prepend` or `append`";
                return Err(InvalidSettings::new("changes nothing").hint(hint));
            }
            DropConfig::Always(false) => EventChange::DropOrEdit(None, edits),
            DropConfig::If(DropConditionConfig { cel }) => {
                let condition = FilterExpression::compile_condition(&cel, EvaluationPhase::Event);
                let condition = condition.map_err(|invalid| invalid.at("/drop/cel"))?;
                EventChange::DropOrEdit(Some(condition), edits)
            }
        };
        Ok(Self { selection, change })
    }

    fn expressions(&self) -> impl Iterator<Item = &FilterExpression> {
        let (condition, edits) = match &self.change {
            EventChange::Drop => (None, None),
            EventChange::DropOrEdit(condition, edits) => (condition.as_ref(), Some(edits)),
        };
        let edits = edits.into_iter().flat_map(EditList::expressions);
        condition.into_iter().chain(edits)
    }

    /// What happens to the event, or the setting that cannot be computed.
    fn action(&self, view: &EventView<'_>) -> Result<EventAction, (String, EvaluationError)> {
        let EventChange::DropOrEdit(condition, list) = &self.change else {
            return Ok(EventAction::Drop);
        };
        let data = Bytes::copy_from_slice(view.event.data());
        let document = JsonDocument::parse(data, &JsonLimits::default()).ok();
        let values = ExchangeValues::for_event(view, document.as_ref());
        if let Some(condition) = condition {
            let drops = condition.is_true(values);
            if drops.map_err(|error| ("`drop`".to_owned(), error))? {
                return Ok(EventAction::Drop);
            }
        }
        let Some(document) = &document else {
            return Ok(EventAction::Pass);
        };
        let mut edits = JsonEdits::default();
        // An event without a place for an edit is of another kind.
        match list.apply_where_possible(document, &mut edits, values) {
            Ok(_) if edits.is_empty() => Ok(EventAction::Pass),
            Ok(_) | Err(EditFailure::Unsuitable(_)) => {
                let data = edits.apply(document.body()).to_bytes();
                Ok(EventAction::Replace(view.event.with_data(&data)))
            }
            Err(EditFailure::Computation(pointer, error)) => Err((pointer, error)),
        }
    }
}

impl EventSelection {
    fn build(types: Vec<String>) -> Result<Self, InvalidSettings> {
        if types.is_empty() {
            let hint = "list types of events, or `*` for all";
            let invalid = InvalidSettings::new("must not be empty");
            return Err(invalid.at("/events").hint(hint));
        }
        Ok(match types.iter().any(|one| one == ALL) {
            true => Self::All,
            false => Self::OfTypes(types),
        })
    }

    fn has(&self, event: &SseEvent) -> bool {
        match self {
            Self::All => true,
            Self::OfTypes(types) => {
                let name = event.name().unwrap_or_default();
                types.iter().any(|known| known.as_bytes() == name)
            }
        }
    }
}

/// Logs why an event passes unchanged, once for each stream.
fn warn_once(view: &mut EventView<'_>, place: &str, error: &EvaluationError) {
    if view
        .request
        .state
        .get::<EditWarningLoggedMarker>()
        .is_none()
    {
        view.request.state.set(EditWarningLoggedMarker);
        let (id, at, error) = (&*view.request.id, place, &*error.message);
        tracing::warn!(id, at, error, "event passes unedited");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::filter::view::RequestView;
    use headgate_protocol::sse::decode_events;
    use http::{HeaderMap, Method};
    use serde_json::json;

    fn filter(config: serde_json::Value) -> Result<EditEventFilter, InvalidSettings> {
        EditEventFilter::build(serde_json::from_value(config).unwrap())
    }

    fn action(config: serde_json::Value, raw: &'static str) -> EventAction {
        let filter = filter(config).unwrap_or_else(|invalid| panic!("{}", invalid.reason));
        let (method, headers) = (Method::POST, HeaderMap::new());
        let mut request =
            RequestView::new("id".into(), method, "/".into(), None, headers, vec![], None);
        let [event] = &decode_events(&Bytes::from_static(raw.as_bytes()), usize::MAX)[..] else {
            panic!("{raw:?} is no single event");
        };
        let mut view = EventView {
            request: &mut request,
            candidate: None,
            event,
            action: EventAction::Pass,
        };
        assert!(matches!(
            filter.on_event(&mut view),
            HookResult::Ready(Ok(()))
        ));
        view.action
    }

    #[test]
    fn only_the_data_of_selected_events_changes() {
        let replaced =
            |text: &'static str| EventAction::Replace(Bytes::from_static(text.as_bytes()));
        let set = json!({"events": ["delta"], "set": {"/a": 2}});
        let all = json!({"events": ["*"], "remove": ["/a"]});
        let computed = json!({"events": ["*"], "set": {"/a": {"cel": "event_json(\"/a\") + 1"}}});
        let drop = json!({"events": ["ping"], "drop": true});
        let drop_if = json!({"events": ["*"], "drop": {"cel": "event_json(\"/a\") == 1"}});
        for (config, raw, expected) in [
            (
                &set,
                ": c\r\nid: 7\r\nevent: delta\r\ndata:{ \"a\" : 1 }\r\n\r\n",
                replaced(": c\r\nid: 7\r\nevent: delta\r\ndata:{ \"a\" : 2 }\r\n\r\n"),
            ),
            (&set, "event: other\ndata: {\"a\":1}\n\n", EventAction::Pass),
            (&set, "data: {\"a\":1}\n\n", EventAction::Pass),
            (
                &all,
                "data: {\"a\":1,\"b\":2}\n\n",
                replaced("data: {\"b\":2}\n\n"),
            ),
            (&all, "data: {\"b\":2}\n\n", EventAction::Pass),
            (&all, "data: [DONE]\n\n", EventAction::Pass),
            (&all, "data: no json\n\n", EventAction::Pass),
            (&all, ": keep-alive\n\n", EventAction::Pass),
            (
                &computed,
                "data: {\"a\":1}\n\n",
                replaced("data: {\"a\":2}\n\n"),
            ),
            (&computed, "data: {\"a\":\"x\"}\n\n", EventAction::Pass),
            (&drop, "event: ping\ndata: {}\n\n", EventAction::Drop),
            (&drop, "data: {}\n\n", EventAction::Pass),
            (&drop_if, "data: {\"a\":1}\n\n", EventAction::Drop),
            (&drop_if, "data: {\"a\":2}\n\n", EventAction::Pass),
            (&drop_if, "data: [DONE]\n\n", EventAction::Pass),
        ] {
            assert_eq!(action(config.clone(), raw), expected, "{config} {raw:?}");
        }
    }

    #[test]
    fn settings_without_effect_are_refused() {
        for (config, at) in [
            (json!({"events": [], "remove": ["/a"]}), "/events"),
            (json!({"events": ["*"]}), ""),
            (json!({"events": ["*"], "drop": true}), "/drop"),
            (
                json!({"events": ["a"], "drop": true, "remove": ["/a"]}),
                "/drop",
            ),
            (json!({"events": ["a"], "drop": {"cel": "("}}), "/drop/cel"),
            (
                json!({"events": ["a"], "set": {"/a": {"cel": "response_json(\"/a\")"}}}),
                "/set/~1a/cel",
            ),
        ] {
            let invalid = filter(config.clone()).err();
            assert_eq!(
                invalid.map(|invalid| invalid.pointer).as_deref(),
                Some(at),
                "{config}"
            );
        }
    }
}
