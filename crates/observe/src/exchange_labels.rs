//! The labels by which the series of an exchange are found, without a copy of them.

use hashbrown::Equivalent;
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_protocol::ChannelProtocol;

/// The labels of a finished exchange: borrowed, to find its series, or owned, as the key of a map. Both have one hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExchangeLabels<S> {
    pub route: S,
    pub channel: S,
    pub model: S,
    pub protocol: Option<ChannelProtocol>,
    /// The first digit of the status.
    pub class: u16,
    pub settlement: ExchangeSettlement,
}

/// The labels as the key of a map.
pub type ExchangeSeriesKey = ExchangeLabels<Box<str>>;

impl ExchangeLabels<&str> {
    pub fn to_key(self) -> ExchangeSeriesKey {
        ExchangeLabels {
            route: self.route.into(),
            channel: self.channel.into(),
            model: self.model.into(),
            protocol: self.protocol,
            class: self.class,
            settlement: self.settlement,
        }
    }
}

impl Equivalent<ExchangeSeriesKey> for ExchangeLabels<&str> {
    fn equivalent(&self, key: &ExchangeSeriesKey) -> bool {
        let ExchangeLabels {
            route,
            channel,
            model,
            protocol,
            class,
            settlement,
        } = key;
        let names = [self.route, self.channel, self.model];
        names == [&**route, &**channel, &**model]
            && (self.protocol, self.class, self.settlement) == (*protocol, *class, *settlement)
    }
}
