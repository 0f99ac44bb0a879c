//! Names of keys. All of one caller share a hash tag, so that one node of a cluster holds what one script needs.

use crate::state::demand::Limit;
use std::fmt::Write;

/// Makes the names of keys.
pub struct Keys {
    prefix: String,
}

impl Keys {
    pub fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_string(),
        }
    }

    /// Where the channel stands that made `id` for `caller`.
    pub fn made(&self, caller: &str, id: &str) -> String {
        let mut key = self.of(caller, "made");
        key.push(':');
        key.push_str(id);
        key
    }

    /// Where a limit is counted.
    pub fn limit(&self, limit: &Limit) -> String {
        let mut key = self.of(&limit.caller, limit.measure.name());
        if let Some(model) = &limit.model {
            key.push(':');
            key.push_str(model);
        }
        key
    }

    /// Where the uses of this second are counted.
    pub fn pace(&self, whose: &str) -> String {
        self.of(whose, "pace")
    }

    /// Where a note stands.
    pub fn note(&self, key: &str) -> String {
        self.of(key, "note")
    }

    fn of(&self, caller: &str, what: &str) -> String {
        let mut key = String::with_capacity(self.prefix.len() + caller.len() + what.len() + 64);
        key.push_str(&self.prefix);
        key.push_str(":{");
        for character in caller.chars() {
            match character {
                // Braces would end the tag, and an empty tag is none.
                '{' | '}' | '%' => write!(key, "%{:02x}", u32::from(character))
                    .expect("writing to a String does not fail"),
                _ => key.push(character),
            }
        }
        key.push_str("}:");
        key.push_str(what);
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::demand::Measure;

    #[test]
    fn keys_of_a_caller_share_one_tag() {
        let keys = Keys::new("headgate");
        assert_eq!(keys.made("ann", "resp_1"), "headgate:{ann}:made:resp_1");
        assert_eq!(keys.made("}{%", "r"), "headgate:{%7d%7b%25}:made:r");
        let limit = |model: Option<&str>| Limit {
            caller: "ann".into(),
            model: model.map(Into::into),
            measure: Measure::TokensPerMinute,
            most: 1,
        };
        assert_eq!(keys.limit(&limit(None)), "headgate:{ann}:tokens_per_minute");
        assert_eq!(
            keys.limit(&limit(Some("large"))),
            "headgate:{ann}:tokens_per_minute:large"
        );
    }
}
