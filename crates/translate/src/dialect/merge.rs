//! What a dialect has of the one that it is based on.

use super::config::DialectConfig;
use super::invalid::InvalidDialect;
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Dialects between one and the last that it is based on, at most.
const BASES_MAX: usize = 8;
/// Tables that are not merged: members of a request that belong together.
const WHOLE: [&str; 2] = ["on", "off"];

impl DialectConfig {
    /// The dialect with what it has of those that it is based on, which `find` finds by their names.
    ///
    /// # Errors
    /// `find` gives a hint in place of one of them, or they are based on each other.
    pub fn with_bases<'b>(
        &self,
        mut find: impl FnMut(&str) -> Result<&'b DialectConfig, Option<String>>,
    ) -> Result<Self, InvalidDialect> {
        let mut whole = self.clone();
        for _ in 0..BASES_MAX {
            let Some(name) = whole.based_on.take() else {
                return Ok(whole);
            };
            let base = find(&name).map_err(|hint| InvalidDialect {
                pointer: "/based_on".into(),
                reason: format!("there is no dialect `{name}`"),
                hint,
            })?;
            whole = whole.over(base);
        }
        Err(InvalidDialect {
            pointer: "/based_on".into(),
            reason: "circular reference: the dialects are based on each other".into(),
            hint: None,
        })
    }

    /// The protocols that the dialect has something for, without those that it is based on.
    pub fn formats(&self) -> Vec<ProviderFormat> {
        let models = || self.models.iter().flatten();
        let has = |format: &ConversationFormat| match format {
            ConversationFormat::Chat => self.chat.is_some() || models().any(|it| it.chat.is_some()),
            ConversationFormat::Messages => {
                self.messages.is_some() || models().any(|it| it.messages.is_some())
            }
            ConversationFormat::Responses => {
                self.responses.is_some() || models().any(|it| it.responses.is_some())
            }
        };
        let formats = ConversationFormat::ALL.into_iter().filter(has);
        let formats = formats.map(ConversationFormat::provider_format);
        let has_converse = self.converse.is_some() || models().any(|it| it.converse.is_some());
        let converse = has_converse.then_some(ProviderFormat::Converse);
        formats.chain(converse).collect()
    }

    /// The settings of this dialect, and those of `base` where it has none.
    fn over(&self, base: &Self) -> Self {
        let mut merged = merge(self, base);
        let own = self.models.iter().flatten();
        let models = own.chain(base.models.iter().flatten());
        merged.models = Some(models.cloned().collect());
        merged.based_on.clone_from(&base.based_on);
        merged
    }
}

/// The members of `own`, and those of `base` that it does not have. Tables are merged by their keys.
///
/// # Panics
/// Never: both are of one type, which is read as it is written.
pub(super) fn merge<C: Serialize + DeserializeOwned>(own: &C, base: &C) -> C {
    let write = |config: &C| serde_json::to_value(config).expect("a dialect is JSON");
    let merged = merged(write(own), write(base));
    serde_json::from_value(merged).expect("a merged dialect is a dialect")
}

fn merged(own: Value, base: Value) -> Value {
    match (own, base) {
        (Value::Object(mut own), Value::Object(base)) => {
            for (name, value) in base {
                let mine = own.remove(&name).unwrap_or(Value::Null);
                let is_whole = WHOLE.contains(&name.as_str()) && !mine.is_null();
                own.insert(name, if is_whole { mine } else { merged(mine, value) });
            }
            own.into()
        }
        (Value::Null, base) => base,
        (own, _) => own,
    }
}
