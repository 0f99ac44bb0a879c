//! Names of Redis keys. All keys of a caller share a hash tag, and so do those of a group.

use headgate_core::state::admission::CounterKey;
use headgate_core::state::records::RecordKind;
use headgate_core::state::run::RunKey;
use std::fmt::Write;

/// Builds the names of keys.
pub struct RedisKeys {
    prefix: String,
}

impl RedisKeys {
    pub fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_string(),
        }
    }

    /// The key of the channel that created `id` for `caller`.
    pub fn affinity(&self, caller: &str, id: &str) -> String {
        let mut key = self.key(caller, "made");
        key.push(':');
        key.push_str(id);
        key
    }

    /// The key of the caller that `id` of `channel` belongs to.
    pub fn owner(&self, id: &str, channel: &str) -> String {
        let mut key = self.key(id, "owner");
        key.push(':');
        key.push_str(channel);
        key
    }

    /// The key of a limit's counter.
    pub fn limit(&self, counter: &CounterKey) -> String {
        let mut key = self.key(counter.caller(), counter.measure().name());
        if let Some(model) = counter.model() {
            key.push(':');
            key.push_str(model);
        }
        key
    }

    /// The key under which an admission of `caller` is noted; `lease` is the name of its lease.
    pub fn admission(&self, caller: &str, lease: &str) -> String {
        let mut key = self.key(caller, "admitted");
        key.push(':');
        key.push_str(lease);
        key
    }

    /// The key of what a request of `caller` has reserved of budgets in money.
    pub fn reservation(&self, caller: &str, id: &str) -> String {
        let mut key = self.key(caller, "reserved");
        key.push(':');
        key.push_str(id);
        key
    }

    /// The key of a caller's runs, by the time when they are forgotten.
    pub fn live_runs(&self, caller: &str) -> String {
        self.key(caller, "runs")
    }

    /// The key of what a run has used. That of its calls begins with it.
    pub fn run(&self, run: &RunKey) -> String {
        let mut key = self.live_runs(&run.caller);
        key.push(':');
        key.push_str(&run.name);
        key
    }

    /// The key of the callers with runs.
    pub fn callers_with_runs(&self) -> String {
        self.key("callers", "with_runs")
    }

    /// What stands before and after the name of a caller in the key of its runs.
    pub fn around_live_runs(&self) -> [String; 2] {
        [format!("{}:{{", self.prefix), "}:runs".to_owned()]
    }

    /// The key of the uses in the last second.
    pub fn per_second(&self, budget_key: &str) -> String {
        self.key(budget_key, "pace")
    }

    /// The key of a note.
    pub fn note(&self, key: &str) -> String {
        self.key(key, "note")
    }

    /// The beginning of the keys of one kind of records.
    pub fn records(&self, kind: RecordKind) -> String {
        self.key(kind.name(), "records")
    }

    fn key(&self, caller: &str, what: &str) -> String {
        let mut key = String::with_capacity(self.prefix.len() + caller.len() + what.len() + 64);
        key.push_str(&self.prefix);
        key.push_str(":{");
        for character in caller.chars() {
            match character {
                // A brace would end the hash tag, and Redis ignores an empty tag.
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
    use headgate_core::state::admission::LimitKind;

    #[test]
    fn keys_of_a_caller_share_one_tag() {
        let keys = RedisKeys::new("headgate");
        assert_eq!(keys.affinity("ann", "resp_1"), "headgate:{ann}:made:resp_1");
        assert_eq!(keys.affinity("}{%", "r"), "headgate:{%7d%7b%25}:made:r");
        assert_eq!(keys.owner("r", "primary"), "headgate:{r}:owner:primary");
        let limit = |model: Option<&str>| {
            let model = model.map(Into::into);
            CounterKey::new("ann".into(), model, LimitKind::TokensPerMinute)
        };
        assert_eq!(
            keys.reservation("ann", "7-1"),
            "headgate:{ann}:reserved:7-1"
        );
        let run = RunKey {
            caller: "ann}".into(),
            name: "job".into(),
        };
        assert_eq!(keys.run(&run), "headgate:{ann%7d}:runs:job");
        let [before, after] = keys.around_live_runs();
        assert_eq!(keys.live_runs("ann"), format!("{before}ann{after}"));
        assert_eq!(keys.limit(&limit(None)), "headgate:{ann}:tokens_per_minute");
        assert_eq!(
            keys.limit(&limit(Some("large"))),
            "headgate:{ann}:tokens_per_minute:large"
        );
    }
}
