//! The filter of the process log, which operators can change while the process runs.

use crate::log_target::OWN_TARGET;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
/// Maximum length of a filter in bytes.
const FILTER_BYTES_MAX: usize = 256;

/// Applies directives to the process log.
type ApplyDirectives = Box<dyn Fn(&str) + Send + Sync>;

/// The filter of the process log; clones share it.
#[derive(Clone)]
pub struct LogFilterControl(Arc<LogFilterControlInner>);

struct LogFilterControlInner {
    /// The directives that apply unless an operator changes them.
    usual: String,
    apply: ApplyDirectives,
    changed: Mutex<LogFilterState>,
}

#[derive(Default)]
struct LogFilterState {
    /// Number of changes so far, by which the end of an earlier one is recognised.
    changes: u64,
    current: Option<LogFilterChange>,
}

/// A change of the filter that is in effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilterChange {
    pub filter: String,
    pub at: SystemTime,
    /// When the usual filter comes back; `None` if only another change or the end of the process ends it.
    pub until: Option<SystemTime>,
    number: u64,
}

impl LogFilterControl {
    pub(super) fn new(usual: String, apply: ApplyDirectives) -> Self {
        Self(Arc::new(LogFilterControlInner {
            usual,
            apply,
            changed: Mutex::default(),
        }))
    }

    /// The directives that apply unless an operator changes them.
    pub fn usual(&self) -> &str {
        &self.0.usual
    }

    /// The change in effect, if there is one.
    pub fn change(&self) -> Option<LogFilterChange> {
        self.lock().current.clone()
    }

    /// Changes the filter, for a time if one is given.
    ///
    /// # Errors
    /// A sentence that says why the filter cannot be used.
    pub fn set(&self, filter: &str, duration: Option<Duration>) -> Result<LogFilterChange, String> {
        let directives = expand_directives(filter)?;
        let mut state = self.lock();
        state.changes += 1;
        let at = SystemTime::now();
        let change = LogFilterChange {
            filter: filter.to_owned(),
            at,
            until: duration.map(|duration| at + duration),
            number: state.changes,
        };
        (self.0.apply)(&directives);
        state.current = Some(change.clone());
        Ok(change)
    }

    /// Ends a change, unless another one has replaced it.
    pub fn end(&self, change: &LogFilterChange) {
        let state = self.lock();
        let is_current = state.current.as_ref();
        if is_current.is_some_and(|current| current.number == change.number) {
            self.restore(state);
        }
    }

    /// Ends the change in effect.
    pub fn reset(&self) {
        self.restore(self.lock());
    }

    fn restore(&self, mut state: MutexGuard<'_, LogFilterState>) {
        (self.0.apply)(&self.0.usual);
        state.current = None;
    }

    fn lock(&self) -> MutexGuard<'_, LogFilterState> {
        self.0
            .changed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The directives of a filter: a level alone applies to the gateway's own events.
fn expand_directives(filter: &str) -> Result<String, String> {
    let expected = format!(
        "expected a level ({}), or targets with levels such as `{OWN_TARGET}::gateway=debug,{OWN_TARGET}=info`",
        LEVELS.join(", ")
    );
    if filter.len() > FILTER_BYTES_MAX {
        return Err(format!("{expected}, of at most {FILTER_BYTES_MAX} bytes"));
    }
    let is_level = |word: &str| LEVELS.contains(&word);
    let directives = filter.split(',').map(str::trim).map(|directive| {
        let (target, level) = directive.split_once('=').unwrap_or((OWN_TARGET, directive));
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':');
        let rest = target.strip_prefix(OWN_TARGET);
        let is_own = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
        if !is_level(level) || !target.bytes().all(is_word) {
            return Err(expected.clone());
        }
        if !is_own {
            return Err(format!(
                "libraries are logged at level `error` only, since their events contain credentials; {expected}"
            ));
        }
        Ok(format!("{target}={level}"))
    });
    let directives = directives.collect::<Result<Vec<_>, _>>()?;
    Ok(format!("error,{}", directives.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A filter that records what it applies.
    fn filter() -> (LogFilterControl, Arc<Mutex<Vec<String>>>) {
        let applied = Arc::<Mutex<Vec<String>>>::default();
        let seen = applied.clone();
        let apply = move |directives: &str| seen.lock().unwrap().push(directives.to_owned());
        (
            LogFilterControl::new("usual".into(), Box::new(apply)),
            applied,
        )
    }

    #[test]
    fn a_filter_is_a_level_or_targets_of_the_gateway() {
        for (filter, expected) in [
            ("debug", Some("error,headgate=debug")),
            ("off", Some("error,headgate=off")),
            (
                "headgate::gateway=trace, headgate=warn",
                Some("error,headgate::gateway=trace,headgate=warn"),
            ),
            ("", None),
            ("verbose", None),
            ("DEBUG", None),
            ("headgate::gateway", None),
            ("headgate[span]=debug", None),
            ("headgates=debug", None),
            ("h2=debug", None),
            ("debug,", None),
        ] {
            let directives = expand_directives(filter);
            assert_eq!(directives.ok().as_deref(), expected, "{filter}");
        }
        let refused = expand_directives("h2=debug").expect_err("an error");
        assert!(refused.contains("contain credentials"), "{refused}");
        let long = expand_directives(&"debug,".repeat(50)).expect_err("an error");
        assert!(long.contains("256 bytes"), "{long}");
    }

    #[test]
    fn the_end_of_a_change_does_not_end_a_later_one() {
        let (filter, applied) = filter();
        let first = filter.set("debug", Some(Duration::from_secs(1))).unwrap();
        let second = filter.set("warn", None).unwrap();
        filter.end(&first);
        assert_eq!(filter.change(), Some(second.clone()));
        filter.end(&second);
        assert_eq!(filter.change(), None);
        assert!(filter.set("nonsense", None).is_err());
        assert_eq!(filter.change(), None);
        filter.reset();
        let applied = applied.lock().unwrap();
        assert_eq!(
            *applied,
            [
                "error,headgate=debug",
                "error,headgate=warn",
                "usual",
                "usual"
            ]
        );
    }
}
