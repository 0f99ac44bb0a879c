//! The limits of a caller, ready to be handed to the store: made once, used by every request.

use crate::state::demand::{Limit, Measure};
use std::collections::HashMap;
use std::sync::Arc;

/// What a caller may do at most.
#[derive(Debug, Default)]
pub struct CallerLimits {
    /// Those that hold whatever the model is.
    everywhere: Vec<Limit>,
    /// For each model with limits of its own: those, behind `everywhere`.
    on_model: HashMap<Arc<str>, Vec<Limit>>,
    /// Open client connections.
    pub connections: Option<u32>,
}

/// How much of each measure; no limit where absent.
pub type Amounts = [(Measure, Option<u64>)];

impl CallerLimits {
    /// Limits that hold whatever the model is.
    pub fn new(caller: &Arc<str>, amounts: &Amounts) -> Self {
        Self {
            everywhere: limits(caller, None, amounts).collect(),
            ..Self::default()
        }
    }

    /// Adds limits for one model.
    pub fn add_model(&mut self, caller: &Arc<str>, model: &Arc<str>, amounts: &Amounts) {
        let all = self.everywhere.iter().cloned();
        let all = all.chain(limits(caller, Some(model), amounts)).collect();
        self.on_model.insert(model.clone(), all);
    }

    /// Whether there is none that the store counts.
    pub fn is_empty(&self) -> bool {
        self.everywhere.is_empty() && self.on_model.is_empty()
    }

    /// All that apply to a request for `model`, always in the same order.
    pub fn of(&self, model: Option<&str>) -> &[Limit] {
        model
            .and_then(|model| self.on_model.get(model))
            .unwrap_or(&self.everywhere)
    }
}

fn limits<'a>(
    caller: &'a Arc<str>,
    model: Option<&'a Arc<str>>,
    amounts: &'a Amounts,
) -> impl Iterator<Item = Limit> + 'a {
    amounts.iter().filter_map(move |(measure, most)| {
        Some(Limit {
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
    fn a_model_with_limits_has_those_of_its_caller_too() {
        let ann = Arc::from("ann");
        let mut limits = CallerLimits::new(
            &ann,
            &[
                (Measure::RequestsPerMinute, Some(60)),
                (Measure::Concurrent, None),
            ],
        );
        limits.add_model(&ann, &"large".into(), &[(Measure::Concurrent, Some(2))]);
        let told = |model| {
            let all = limits.of(model).iter();
            all.map(|limit| (limit.measure, limit.model.as_deref(), limit.most))
                .collect::<Vec<_>>()
        };
        let everywhere = (Measure::RequestsPerMinute, None, 60);
        let on_large = (Measure::Concurrent, Some("large"), 2);
        for (model, expected) in [
            (None, &[everywhere][..]),
            (Some("small"), &[everywhere]),
            (Some("large"), &[everywhere, on_large]),
        ] {
            assert_eq!(told(model), expected, "{model:?}");
        }
    }
}
