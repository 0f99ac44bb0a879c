//! What a run has used, and whether it admits a further call. The scripts of Redis do the same.

use super::run::{RunCall, RunCap, RunCaps, RunDemand, RunKey, RunRefusal};
use serde::{Deserialize, Serialize};

/// What a run has used and reserved since its first call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunUsage {
    /// In Unix milliseconds on the store's clock, as the other times.
    pub started_ms: u64,
    /// When the last call was admitted, refused or ended.
    pub used_ms: u64,
    /// The run is forgotten then.
    pub expires_ms: u64,
    pub idle_ms: u64,
    pub calls: u64,
    pub tokens: u64,
    /// In billionths.
    pub cost: u64,
    /// How many of the last calls in a row were the same.
    pub repeats: u64,
    pub fingerprint: String,
    /// The caps that requests have set.
    pub tightened: RunCaps,
}

/// A run as admin pages show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunStatus {
    pub key: RunKey,
    pub usage: RunUsage,
    /// The last ones, the newest first; empty in lists of runs.
    pub calls: Vec<RunCall>,
}

impl RunUsage {
    /// A run that begins.
    pub fn new(now_ms: u64) -> Self {
        Self {
            started_ms: now_ms,
            ..Self::default()
        }
    }

    /// The text in stores.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("numbers and texts have a form in JSON")
    }

    /// What was stored as `text`; `None` for any other text.
    pub fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub fn is_expired(&self, now_ms: u64) -> bool {
        self.expires_ms <= now_ms
    }

    /// The refusal of a call; charges nothing. The run is in use also if it refuses, so that an agent that goes on trying
    /// finds no fresh run after a while.
    pub fn refuse(&mut self, demand: &RunDemand, now_ms: u64) -> Option<RunRefusal> {
        self.idle_ms = demand.idle_ms;
        self.touch(now_ms);
        self.tightened = self.tightened.tighten(&demand.tightened);
        let caps = demand.caps.tighten(&self.tightened);
        RunCap::ALL.into_iter().find_map(|cap| {
            let most = caps.get(cap)?;
            let (used, need) = self.need(cap, demand, now_ms);
            let is_over = need > 0 && used.saturating_add(need) > most;
            is_over.then_some(RunRefusal::Cap {
                cap,
                most,
                used,
                need,
            })
        })
    }

    /// Charges a call that was not refused.
    pub fn charge(&mut self, demand: &RunDemand) {
        if let Some(fingerprint) = &demand.fingerprint {
            if self.fingerprint != *fingerprint {
                self.fingerprint.clone_from(fingerprint);
                self.repeats = 0;
            }
            self.repeats = self.repeats.saturating_add(1);
        }
        self.calls = self.calls.saturating_add(demand.calls);
        self.tokens = self.tokens.saturating_add(demand.tokens);
        self.cost = self.cost.saturating_add(demand.cost.unwrap_or(0));
    }

    /// Takes back a call that was charged and not sent.
    pub fn cancel(&mut self, tokens: u64) {
        self.calls = self.calls.saturating_sub(1);
        self.settle_tokens(tokens, 0);
    }

    /// Corrects what a call has reserved to what it used.
    pub fn settle_tokens(&mut self, reserved: u64, used: u64) {
        self.tokens = self.tokens.saturating_sub(reserved).saturating_add(used);
    }

    /// Corrects what a call that was admitted at `taken_ms` has reserved to its cost; it may be one of an earlier run of this
    /// name.
    pub fn settle_cost(&mut self, taken_ms: u64, reserved: u64, cost: u64) {
        if taken_ms >= self.started_ms {
            self.cost = self.cost.saturating_sub(reserved).saturating_add(cost);
        }
    }

    /// Notes that the run was in use.
    pub fn touch(&mut self, now_ms: u64) {
        self.used_ms = self.used_ms.max(now_ms);
        self.expires_ms = self.used_ms.saturating_add(self.idle_ms);
    }

    /// What is used of a cap, and what the call needs of it.
    fn need(&self, cap: RunCap, demand: &RunDemand, now_ms: u64) -> (u64, u64) {
        match cap {
            RunCap::Calls => (self.calls, demand.calls),
            // A moment more than none.
            RunCap::Time => (now_ms.saturating_sub(self.started_ms), demand.calls),
            RunCap::Repeats => match &demand.fingerprint {
                Some(fingerprint) if self.fingerprint == *fingerprint => (self.repeats, 1),
                Some(_) => (0, 1),
                None => (0, 0),
            },
            RunCap::Tokens => (self.tokens, demand.tokens),
            RunCap::Cost => (self.cost, demand.cost.unwrap_or(u64::MAX)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(caps: &[(RunCap, u64)], fingerprint: &str) -> RunDemand {
        let mut all = RunCaps::default();
        for (cap, most) in caps {
            all.set(*cap, Some(*most));
        }
        RunDemand {
            key: RunKey {
                caller: "ann".into(),
                name: "r".into(),
            },
            caps: all,
            tightened: RunCaps::default(),
            calls: 1,
            fingerprint: Some(fingerprint.into()),
            tokens: 10,
            cost: Some(100),
            idle_ms: 60_000,
            live_max: 1,
        }
    }

    /// The number of calls that a run admits, one each second, and the cap that refuses the next one.
    fn admitted(demand: &RunDemand, most: u64) -> (u64, Option<RunCap>) {
        let mut usage = RunUsage::new(5_000);
        for call in 0..most {
            if let Some(refusal) = usage.refuse(demand, 5_000 + call * 1_000) {
                let RunRefusal::Cap { cap, .. } = refusal else {
                    panic!("{refusal:?}");
                };
                return (call, Some(cap));
            }
            usage.charge(demand);
        }
        (most, None)
    }

    #[test]
    fn each_cap_ends_a_run_and_the_first_in_their_order_is_named() {
        for (caps, expected) in [
            (&[][..], (9, None)),
            (&[(RunCap::Calls, 3)], (3, Some(RunCap::Calls))),
            (&[(RunCap::Time, 3_000)], (3, Some(RunCap::Time))),
            (&[(RunCap::Repeats, 2)], (2, Some(RunCap::Repeats))),
            (&[(RunCap::Tokens, 49)], (4, Some(RunCap::Tokens))),
            (&[(RunCap::Cost, 500)], (5, Some(RunCap::Cost))),
            (
                &[(RunCap::Cost, 200), (RunCap::Calls, 2)],
                (2, Some(RunCap::Calls)),
            ),
            (&[(RunCap::Cost, 99)], (0, Some(RunCap::Cost))),
        ] {
            assert_eq!(admitted(&demand(caps, "a"), 9), expected, "{caps:?}");
        }
    }

    #[test]
    fn a_request_tightens_a_run_for_good_and_widens_nothing() {
        let mut usage = RunUsage::new(0);
        let plain = demand(&[(RunCap::Calls, 5)], "a");
        let with = |most| {
            let mut demand = plain.clone();
            demand.tightened.set(RunCap::Calls, Some(most));
            demand
        };
        for (demand, is_admitted) in [
            (&with(3), true),
            (&with(100), true),
            (&plain, true),
            (&plain, false),
            (&with(100), false),
        ] {
            let refusal = usage.refuse(demand, 1);
            assert_eq!(refusal.is_none(), is_admitted, "{refusal:?}");
            if is_admitted {
                usage.charge(demand);
            }
        }
    }

    #[test]
    fn repeats_count_equal_requests_in_a_row_only() {
        let mut usage = RunUsage::new(0);
        let caps = &[(RunCap::Repeats, 2)][..];
        for (fingerprint, is_admitted) in [
            ("a", true),
            ("a", true),
            ("a", false),
            ("a", false),
            ("b", true),
            ("a", true),
            ("a", true),
            ("a", false),
        ] {
            let demand = demand(caps, fingerprint);
            let refused = usage.refuse(&demand, 1).is_some();
            assert_eq!(!refused, is_admitted, "{fingerprint}");
            if !refused {
                usage.charge(&demand);
            }
        }
    }

    #[test]
    fn what_nothing_limits_passes_no_cap_of_money() {
        let unlimited = |caps| RunDemand {
            cost: None,
            ..demand(caps, "a")
        };
        let most = 1_000_000;
        assert_eq!(admitted(&unlimited(&[]), 3), (3, None));
        let capped = unlimited(&[(RunCap::Cost, most)]);
        assert_eq!(admitted(&capped, 3), (0, Some(RunCap::Cost)));
    }

    #[test]
    fn the_cost_of_an_earlier_run_of_the_name_changes_nothing() {
        let mut usage = RunUsage::new(1_000);
        usage.charge(&demand(&[], "a"));
        usage.settle_cost(999, 70, 0);
        assert_eq!(usage.cost, 100);
        usage.settle_cost(1_000, 70, 20);
        assert_eq!(usage.cost, 50);
        usage.settle_tokens(10, 3);
        assert_eq!((usage.calls, usage.tokens), (1, 3));
        usage.cancel(3);
        assert_eq!((usage.calls, usage.tokens), (0, 0));
    }
}
