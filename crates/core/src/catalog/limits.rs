//! The limits of a caller in the form that the state store takes, built once and shared by all requests.

use crate::state::admission::{AdmissionLimit, LimitKind};
use std::collections::HashMap;
use std::sync::Arc;

/// The limits of a caller.
#[derive(Debug, Default)]
pub struct CallerLimits {
    /// Limits of requests for any model.
    everywhere: Vec<AdmissionLimit>,
    /// For each model with limits of its own: `everywhere`, followed by those.
    on_model: HashMap<Arc<str>, Vec<AdmissionLimit>>,
    /// The maximum number of open client connections.
    pub connections: Option<u32>,
}

/// The maximum of each kind; `None` for no limit.
pub type LimitAmounts = [(LimitKind, Option<u64>)];

impl CallerLimits {
    /// Limits of requests for any model.
    pub fn new(caller: &Arc<str>, amounts: &LimitAmounts) -> Self {
        Self {
            everywhere: limits(caller, None, amounts).collect(),
            ..Self::default()
        }
    }

    /// Adds limits of requests for one model.
    pub fn add_model(&mut self, caller: &Arc<str>, model: &Arc<str>, amounts: &LimitAmounts) {
        let all = self.everywhere.iter().cloned();
        let all = all.chain(limits(caller, Some(model), amounts)).collect();
        self.on_model.insert(model.clone(), all);
    }

    /// Whether the store has nothing to count.
    pub fn is_empty(&self) -> bool {
        self.everywhere.is_empty() && self.on_model.is_empty()
    }

    /// All limits of a request for `model`, always in the same order.
    pub fn for_model(&self, model: Option<&str>) -> &[AdmissionLimit] {
        model
            .and_then(|model| self.on_model.get(model))
            .unwrap_or(&self.everywhere)
    }
}

fn limits<'a>(
    caller: &'a Arc<str>,
    model: Option<&'a Arc<str>>,
    amounts: &'a LimitAmounts,
) -> impl Iterator<Item = AdmissionLimit> + 'a {
    amounts.iter().filter_map(move |(measure, most)| {
        Some(AdmissionLimit::new(caller, model, *measure, (*most)?))
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
        let reported = |model| {
            let all = limits.for_model(model).iter();
            all.map(|limit| {
                (
                    limit.measure(),
                    limit.counter.model().map(|model| &**model),
                    limit.most,
                )
            })
            .collect::<Vec<_>>()
        };
        let everywhere = (LimitKind::RequestsPerMinute, None, 60);
        let on_large = (LimitKind::Concurrent, Some("large"), 2);
        for (model, expected) in [
            (None, &[everywhere][..]),
            (Some("small"), &[everywhere]),
            (Some("large"), &[everywhere, on_large]),
        ] {
            assert_eq!(reported(model), expected, "{model:?}");
        }
    }
}
