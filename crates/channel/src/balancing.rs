//! How the candidates of one request are balanced, and the share of the load of a channel that affinity may give it.

use headgate_core::catalog::affinity::AffinityKey;
use headgate_core::catalog::model::{Candidate, LoadMeasure, Model};
use headgate_core::filter::affinity_key::affinity_key;
use headgate_core::filter::view::RequestView;
use std::sync::Arc;

/// A channel and a caller with fewer requests in flight are below every share: so few say nothing about load.
const UNBOUNDED_IN_FLIGHT: u64 = 8;

/// How the candidates of a request are balanced.
#[derive(Debug, Default)]
pub struct LoadBalancing {
    /// The affinity of the request; `None` if any candidate is as good as another. Boxed, since few requests have one.
    pub affinity: Option<Box<RequestAffinity>>,
    pub measure: LoadMeasure,
}

/// What binds a request to the channel that served its session before.
#[derive(Debug)]
pub struct RequestAffinity {
    pub key: AffinityKey,
    pub caller: Option<Arc<str>>,
    /// The load of a channel, in percent of its share, up to which it gets the requests of its keys.
    pub balance_factor: u16,
}

/// The requests in flight on several channels, of which each has a share by its weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoadShares {
    pub in_flight: u64,
    pub weight: u64,
    /// The load of a channel, in percent of its share, that is not exceeded.
    pub factor: u16,
}

impl LoadBalancing {
    /// The balancing of a request among `candidates`, by its model.
    pub fn for_request(request: &RequestView, candidates: &[Candidate]) -> Self {
        let Some(model) = request.model() else {
            return Self::default();
        };
        let has_choice = candidates.len() > 1;
        Self {
            affinity: match model.properties.affinity.is_some() && has_choice {
                true => RequestAffinity::for_request(request, model),
                false => None,
            },
            measure: model.properties.balance,
        }
    }
}

impl RequestAffinity {
    /// `None` if the request does not name its session.
    fn for_request(request: &RequestView, model: &Model) -> Option<Box<Self>> {
        let affinity = model.properties.affinity.as_ref()?;
        Some(Box::new(Self {
            key: affinity_key(affinity, &model.name, request)?,
            caller: request.caller.as_ref().map(|caller| caller.name.clone()),
            balance_factor: affinity.balance_factor,
        }))
    }
}

impl LoadShares {
    /// Whether a channel with this load may take one more request. The channels together always have room.
    pub fn admits(&self, in_flight: u64, weight: u64) -> bool {
        let more = u128::from(self.in_flight) + 1;
        let most = more * u128::from(weight) * u128::from(self.factor);
        let most = most.div_ceil(u128::from(self.weight.max(1)) * 100);
        in_flight < UNBOUNDED_IN_FLIGHT || u128::from(in_flight) < most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_takes_its_share_times_the_factor() {
        for (in_flight, weight, factor, most) in [
            // Four equal channels: 40 in flight are 10 for each.
            (39, 1, 100, 10),
            (39, 1, 150, 15),
            (40, 1, 150, 16),
            // A channel of half the weight.
            (39, 2, 150, 30),
            // Few requests are not bounded.
            (0, 1, 100, UNBOUNDED_IN_FLIGHT),
            (10, 1, 100, UNBOUNDED_IN_FLIGHT),
        ] {
            let shares = LoadShares {
                in_flight,
                weight: 4,
                factor,
            };
            assert!(shares.admits(most - 1, weight), "{shares:?}");
            assert!(!shares.admits(most, weight), "{shares:?}");
        }
    }

    #[test]
    fn one_of_the_channels_always_has_room() {
        for in_flight in 0..200_u64 {
            // As uneven as the bound of 100 percent allows it: all but one channel are at it.
            let shares = LoadShares {
                in_flight,
                weight: 3,
                factor: 100,
            };
            let full = (0..=in_flight).find(|load| !shares.admits(*load, 1));
            let rest = full.map_or(0, |full| in_flight.saturating_sub(2 * full));
            assert!(shares.admits(rest, 1), "{in_flight}");
        }
    }
}
