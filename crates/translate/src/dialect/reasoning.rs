//! How a provider of chat is asked for thoughts, and how it gets them back.

use crate::json_writer::JsonWriter;
use crate::superset::ReasoningEffort;

/// How thoughts are asked for in chat requests, and how they go back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatReasoning {
    /// Members of a request that asks for thoughts.
    pub on: MemberTemplate,
    /// Members of a request that wants none; `None` if the provider has no way to say that.
    pub off: Option<MemberTemplate>,
    /// Where the effort stands, if anywhere.
    pub effort: Option<MemberPlace>,
    pub efforts: EffortTable<Box<str>>,
    /// Where a budget of tokens stands, if anywhere.
    pub budget: Option<MemberPlace>,
    pub budgets: EffortTable<u64>,
    pub member: ReasoningMember,
    pub history: ReasoningHistory,
    /// Whether a message with calls gets empty thoughts if its own are not there.
    pub is_empty_if_missing: bool,
}

/// Members of a request, with their JSON text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberTemplate(pub Vec<(Box<str>, TemplateValue)>);

/// The value of a member of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateValue {
    Json(Box<str>),
    /// An object, to which members may be added.
    Object(Vec<(Box<str>, Box<str>)>),
}

/// A member of a request, or of an object in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberPlace {
    pub member: Box<str>,
    pub within: Option<Box<str>>,
}

/// Values by effort; where one is missing, the effort has none of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffortTable<T>(pub [Option<T>; 7]);

/// Where a message of the assistant has its thoughts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReasoningMember {
    #[default]
    ReasoningContent,
    Reasoning,
    /// A list with the provider's proofs; `reasoning` for thoughts without any.
    ReasoningDetails,
    /// Parts of the content.
    Content,
}

/// Which thoughts of earlier turns go back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReasoningHistory {
    #[default]
    All,
    /// Those of messages with calls.
    Calls,
    None,
}

impl MemberTemplate {
    /// Writes the members, with more values in their places.
    pub(crate) fn write(&self, added: &[(&MemberPlace, &str)], json: &mut JsonWriter) {
        for (name, value) in &self.0 {
            match value {
                TemplateValue::Json(text) => {
                    let place = added.iter().find(|(place, _)| place.is_member(name));
                    json.key(name).raw(place.map_or(&**text, |(_, text)| text));
                }
                TemplateValue::Object(members) => write_object(name, members, added, json),
            }
        }
        for (position, (place, text)) in added.iter().enumerate() {
            let in_template = self.0.iter().any(|(name, _)| *name == place.member);
            let mut before = added[..position].iter();
            if in_template || before.any(|(other, _)| other.member == place.member) {
                continue;
            }
            match place.within {
                None => {
                    json.key(&place.member).raw(text);
                }
                Some(_) => write_object(&place.member, &[], added, json),
            }
        }
    }
}

/// Writes an object with the added values that stand in it.
fn write_object(
    name: &str,
    members: &[(Box<str>, Box<str>)],
    added: &[(&MemberPlace, &str)],
    json: &mut JsonWriter,
) {
    let mut within: Vec<(&str, &str)> = Vec::with_capacity(added.len());
    for (place, text) in added {
        if *place.member == *name
            && let Some(inner) = &place.within
        {
            within.push((inner, text));
        }
    }
    json.key(name).begin_object();
    for (inner, text) in members {
        if !within.iter().any(|(added, _)| *added == &**inner) {
            json.key(inner).raw(text.as_bytes());
        }
    }
    for (inner, text) in within {
        json.key(inner).raw(text);
    }
    json.end_object();
}

impl ChatReasoning {
    /// Writes values in their places, without the members of a request that asks for thoughts.
    pub(crate) fn write_alone(&self, added: &[(&MemberPlace, &str)], json: &mut JsonWriter) {
        MemberTemplate::default().write(added, json);
    }
}

impl MemberPlace {
    fn is_member(&self, name: &str) -> bool {
        self.within.is_none() && *self.member == *name
    }
}

impl<T> EffortTable<T> {
    pub fn get(&self, effort: ReasoningEffort) -> Option<&T> {
        self.0[effort as usize].as_ref()
    }
}

impl EffortTable<Box<str>> {
    /// The provider's word for an effort.
    pub fn word(&self, effort: ReasoningEffort) -> &str {
        match self.get(effort) {
            Some(word) => word,
            None => effort.name(),
        }
    }
}

impl<T> Default for EffortTable<T> {
    fn default() -> Self {
        Self([const { None }; 7])
    }
}

impl Default for ChatReasoning {
    fn default() -> Self {
        Self {
            on: MemberTemplate::default(),
            off: None,
            effort: Some(MemberPlace {
                member: "reasoning_effort".into(),
                within: None,
            }),
            efforts: EffortTable::default(),
            budget: None,
            budgets: EffortTable::default(),
            member: ReasoningMember::default(),
            history: ReasoningHistory::default(),
            is_empty_if_missing: false,
        }
    }
}
