//! The limits of a caller, ready to be handed to the store: made once, used by every request.

use crate::state::admission::{CallerLimit, LimitKind};
use std::collections::HashMap;
use std::sync::Arc;

/// What a caller may do at most.
#[derive(Debug, Default)]
pub struct CallerLimits {
    /// Those that hold whatever the model is.
    everywhere: Vec<CallerLimit>,
    /// For each model with limits of its own: those, behind `everywhere`.
    on_model: HashMap<Arc<str>, Vec<CallerLimit>>,
    /// Open client connections.
    pub connections: Option<u32>,
}

/// How much of each measure; no limit where absent.
pub type LimitAmounts = [(LimitKind, Option<u64>)];

impl CallerLimits {
    /// Limits that hold whatever the model is.
    pub fn new(caller: &Arc<str>, amounts: &LimitAmounts) -> Self {
        Self {
            everywhere: limits(caller, None, amounts).collect(),
            ..Self::default()
        }
    }

    /// Adds limits for one model.
    pub fn add_model(&mut self, caller: &Arc<str>, model: &Arc<str>, amounts: &LimitAmounts) {
        let all = self.everywhere.iter().cloned();
        let all = all.chain(limits(caller, Some(model), amounts)).collect();
        self.on_model.insert(model.clone(), all);
    }

    /// Whether there is none that the store counts.
    pub fn is_empty(&self) -> bool {
        self.everywhere.is_empty() && self.on_model.is_empty()
    }

    /// All that apply to a request for `model`, always in the same order.
    pub fn of(&self, model: Option<&str>) -> &[CallerLimit] {
        model
            .and_then(|model| self.on_model.get(model))
            .unwrap_or(&self.everywhere)
    }
}

fn limits<'a>(
    caller: &'a Arc<str>,
    model: Option<&'a Arc<str>>,
    amounts: &'a LimitAmounts,
) -> impl Iterator<Item = CallerLimit> + 'a {
    amounts.iter().filter_map(move |(measure, most)| {
        Some(CallerLimit {
            caller: caller.clone(),
            model: model.cloned(),
            measure: *measure,
            most: (*most)?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_a_model_apply_besides_those_of_the_caller() {
        let ann = Arc::from("ann");
        let mut limits = CallerLimits::new(
            &ann,
            &[
                (LimitKind::RequestsPerMinute, Some(60)),
                (LimitKind::Concurrent, None),
            ],
        );
        limits.add_model(&ann, &"large".into(), &[(LimitKind::Concurrent, Some(2))]);
        let told = |model| {
            let all = limits.of(model).iter();
            all.map(|limit| (limit.measure, limit.model.as_deref(), limit.most))
                .collect::<Vec<_>>()
        };
        let everywhere = (LimitKind::RequestsPerMinute, None, 60);
        let on_large = (LimitKind::Concurrent, Some("large"), 2);
        for (model, expected) in [
            (None, &[everywhere][..]),
            (Some("small"), &[everywhere]),
            (Some("large"), &[everywhere, on_large]),
        ] {
            assert_eq!(told(model), expected, "{model:?}");
        }
    }
}
