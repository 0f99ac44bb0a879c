//! The limits of a caller in the form that the state store takes, built once and shared by all requests.

use super::by_model_name::ByModelName;
use super::model::Model;
use super::run_limits::RunLimits;
use crate::state::admission::{AdmissionLimit, LimitKind};
use std::borrow::Cow;
use std::sync::Arc;

/// The limits of a caller.
#[derive(Clone, Debug, Default)]
pub struct CallerLimits {
    /// Limits of requests for any model.
    everywhere: Vec<AdmissionLimit>,
    /// For each model with limits of its own: `everywhere`, followed by those.
    /// For models that the configuration does not name, by pattern: the same, but all models of the pattern share those.
    on_model: ByModelName<Vec<AdmissionLimit>>,
    /// The maximum number of open client connections.
    pub connections: Option<u32>,
    /// Whether some limit counts money.
    counts_money: bool,
    /// What runs of the caller may use, with what its group sets.
    runs: Option<Arc<RunLimits>>,
    /// The limits that the callers of its group share.
    group: Option<Arc<CallerLimits>>,
}

/// The maximum of each kind; `None` for no limit.
pub type LimitAmounts = [(LimitKind, Option<u64>)];

impl CallerLimits {
    /// Limits of requests for any model.
    pub fn new(caller: &Arc<str>, amounts: &LimitAmounts) -> Self {
        Self {
            everywhere: limits(caller, None, amounts).collect(),
            counts_money: counts_money(amounts),
            ..Self::default()
        }
    }

    /// Adds limits of requests for one model, or together for the models of a pattern that the configuration does not name:
    /// callers choose these names. `cuts_streams` is whether its budgets in money cut streams.
    pub fn add_model(
        &mut self,
        caller: &Arc<str>,
        model: &Arc<str>,
        (amounts, cuts_streams): (&LimitAmounts, bool),
    ) {
        self.counts_money |= counts_money(amounts);
        let own = limits(caller, Some(model), amounts);
        let own = own.map(|limit| limit.with_stream_cuts(cuts_streams));
        let all = self.everywhere.iter().cloned();
        self.on_model.insert(model, all.chain(own).collect());
    }

    /// Sets whether its budgets in money cut streams, before limits for models are added.
    pub fn with_stream_cuts(mut self, cuts_streams: bool) -> Self {
        let everywhere = self.everywhere.into_iter();
        self.everywhere = everywhere
            .map(|it| it.with_stream_cuts(cuts_streams))
            .collect();
        self
    }

    /// Sets what each run of the caller may use.
    pub fn with_runs(mut self, runs: Option<RunLimits>) -> Self {
        self.runs = runs.map(Arc::new);
        self
    }

    /// Adds limits that other callers share. What it sets for runs holds for each run of each caller.
    pub fn with_group(mut self, group: Option<Arc<Self>>) -> Self {
        let of_group = group.as_ref().and_then(|group| group.runs.clone());
        self.runs = match (self.runs, of_group) {
            (Some(own), Some(shared)) => Some(Arc::new(own.tighten(&shared))),
            (own, shared) => own.or(shared),
        };
        self.group = group;
        self
    }

    /// These limits for requests of one key, besides `own` ones, which are counted apart.
    pub fn with_own(&self, own: Self) -> Self {
        Self {
            connections: self.connections,
            ..own.with_group(Some(Arc::new(self.clone())))
        }
    }

    /// The same limits of another caller, which are counted apart; those of its group stay shared.
    pub fn for_caller(&self, caller: &Arc<str>) -> Self {
        let renamed = |limit: &AdmissionLimit| {
            let (model, most) = (limit.counter.model(), limit.most);
            let renamed = AdmissionLimit::new(caller, model, limit.measure(), most);
            renamed.with_stream_cuts(limit.cuts_streams)
        };
        let renamed = |limits: &Vec<AdmissionLimit>| limits.iter().map(renamed).collect::<Vec<_>>();
        Self {
            everywhere: renamed(&self.everywhere),
            on_model: self.on_model.map(renamed),
            connections: self.connections,
            counts_money: self.counts_money,
            runs: self.runs.clone(),
            group: self.group.clone(),
        }
    }

    /// Whether the store has nothing to count.
    pub fn is_empty(&self) -> bool {
        let is_empty = self.everywhere.is_empty() && self.on_model.is_empty();
        is_empty && self.runs.is_none() && self.group.as_ref().is_none_or(|group| group.is_empty())
    }

    /// What each run of the caller may use; `None` if its requests belong to no runs.
    pub fn runs(&self) -> Option<&Arc<RunLimits>> {
        self.runs.as_ref()
    }

    /// Whether some limit counts money, or runs do: what a request can cost is then reserved before it is sent.
    pub fn counts_money(&self) -> bool {
        let group = self.group.as_ref();
        self.counts_money || self.runs.is_some() || group.is_some_and(|group| group.counts_money())
    }

    /// The limits that a request for another model reserves when `model` stands in: those of this model, and those of money.
    pub fn for_fallback(&self, model: &Model) -> Cow<'_, [AdmissionLimit]> {
        self.join_group(self.own_for_fallback(model), |group| {
            group.for_fallback(model)
        })
    }

    /// All limits of a request for `model`, always in the same order: those of the caller, then those of its group.
    pub fn for_model(&self, model: Option<&Model>) -> Cow<'_, [AdmissionLimit]> {
        let own = Cow::Borrowed(self.own_for_model(model));
        self.join_group(own, |group| group.for_model(model))
    }

    /// Shows each limit of requests for any model and of each model, and those of the group.
    pub fn for_each(&self, see: &mut impl FnMut(&AdmissionLimit)) {
        let by_model = self.on_model.values().flatten();
        self.everywhere.iter().chain(by_model).for_each(&mut *see);
        if let Some(group) = &self.group {
            group.for_each(see);
        }
    }

    fn join_group<'l>(
        &'l self,
        own: Cow<'l, [AdmissionLimit]>,
        shared: impl FnOnce(&'l Self) -> Cow<'l, [AdmissionLimit]>,
    ) -> Cow<'l, [AdmissionLimit]> {
        let Some(group) = &self.group else {
            return own;
        };
        let shared = shared(group);
        match (own.is_empty(), shared.is_empty()) {
            (true, _) => shared,
            (_, true) => own,
            (false, false) => Cow::Owned(own.iter().chain(shared.iter()).cloned().collect()),
        }
    }

    fn own_for_fallback(&self, model: &Model) -> Cow<'_, [AdmissionLimit]> {
        let all = self.own_for_model(Some(model));
        let (everywhere, alone) = all.split_at(self.everywhere.len());
        if !self.counts_money {
            return Cow::Borrowed(alone);
        }
        let is_of_money = |limit: &&AdmissionLimit| limit.measure().counts_money();
        let of_money = everywhere.iter().filter(is_of_money);
        Cow::Owned(of_money.chain(alone).cloned().collect())
    }

    fn own_for_model(&self, model: Option<&Model>) -> &[AdmissionLimit] {
        let Some(model) = model else {
            return &self.everywhere;
        };
        let of_model = match model.is_by_pattern {
            false => self.on_model.get_literal(&model.name),
            true => self.on_model.find(&model.name),
        };
        of_model.unwrap_or(&self.everywhere)
    }
}

fn counts_money(amounts: &LimitAmounts) -> bool {
    let mut amounts = amounts.iter();
    amounts.any(|(measure, most)| measure.counts_money() && most.is_some())
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
    use crate::state::counter_key::EVERY_CALLER;

    #[test]
    fn limits_of_a_group_follow_those_of_its_caller() {
        let amounts = |most| [(LimitKind::RequestsPerMinute, Some(most))];
        let team: Arc<str> = "group:team".into();
        let group = Arc::new(CallerLimits::new(&team, &amounts(9)));
        let shown = |limits: &CallerLimits| {
            let all = limits.for_model(None);
            let all = all
                .iter()
                .map(|limit| (limit.counter.group().map(str::to_owned), limit.most));
            all.collect::<Vec<_>>()
        };
        let shared = (Some("team".to_owned()), 9);
        let own = CallerLimits::new(&"ann".into(), &amounts(5)).with_group(Some(group.clone()));
        assert_eq!(shown(&own), [(None, 5), shared.clone()]);
        let none = CallerLimits::default().with_group(Some(group));
        assert_eq!(shown(&none), [shared]);
        assert!(!none.is_empty() && !none.counts_money());
        let empty = CallerLimits::default().with_group(Some(Arc::default()));
        assert!(empty.is_empty());
    }

    #[test]
    fn limits_of_a_key_precede_those_of_its_caller_and_of_all_callers() {
        let budget = |most| [(LimitKind::CostPerDay, Some(most))];
        let mut everyone = CallerLimits::default();
        everyone.add_model(&EVERY_CALLER.into(), &"large".into(), (&budget(3), false));
        let ann = CallerLimits::new(&"ann".into(), &budget(2)).with_group(Some(Arc::new(everyone)));
        let key = ann.with_own(CallerLimits::new(&"key:ann/laptop".into(), &budget(1)));
        let model = Model::new("large", Arc::default(), Vec::new());
        let shown = |limits: Cow<'_, [AdmissionLimit]>| {
            let all = limits.iter().map(|limit| {
                let counter = &limit.counter;
                (
                    counter.key().map(str::to_owned),
                    counter.is_every_callers(),
                    limit.most,
                )
            });
            all.collect::<Vec<_>>()
        };
        let expected = [
            (Some("laptop".to_owned()), false, 1),
            (None, false, 2),
            (None, true, 3),
        ];
        assert_eq!(shown(key.for_model(Some(&model))), expected);
        assert_eq!(shown(key.for_fallback(&model)), expected);
        assert_eq!(shown(key.for_model(None)), expected[..2]);
        let mut seen = 0;
        key.for_each(&mut |_| seen += 1);
        assert!(key.counts_money() && seen == 3);
    }

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
        let concurrent = |most| [(LimitKind::Concurrent, Some(most))];
        limits.add_model(&ann, &"large".into(), (&concurrent(2), false));
        limits.add_model(&ann, &"gpt-*".into(), (&concurrent(3), false));
        limits.add_model(&ann, &"gpt-*-mini".into(), (&concurrent(4), false));
        let reported = |name: Option<(&str, bool)>| {
            let model = name.map(|(name, is_by_pattern)| {
                let model = Model::new(name, Arc::default(), Vec::new());
                if is_by_pattern {
                    model.by_pattern()
                } else {
                    model
                }
            });
            let all = limits.for_model(model.as_ref());
            let all = all.iter().map(|limit| {
                (
                    limit.measure(),
                    limit.counter.model().map(|model| model.to_string()),
                    limit.most,
                )
            });
            all.collect::<Vec<_>>()
        };
        let everywhere = (LimitKind::RequestsPerMinute, None, 60);
        let on = |model: &str, most| (LimitKind::Concurrent, Some(model.to_owned()), most);
        for (model, expected) in [
            (None, None),
            (Some(("small", false)), None),
            (Some(("large", false)), Some(on("large", 2))),
            (Some(("gpt-4o", true)), Some(on("gpt-*", 3))),
            (Some(("gpt-4o-mini", true)), Some(on("gpt-*-mini", 4))),
            (Some(("gpt-4o", false)), None),
        ] {
            let expected: Vec<_> = [everywhere.clone()].into_iter().chain(expected).collect();
            assert_eq!(reported(model), expected, "{model:?}");
        }
    }
}
