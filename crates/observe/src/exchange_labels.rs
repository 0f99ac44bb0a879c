//! The labels by which the series of an exchange are found, without a copy of them.

use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_protocol::ChannelProtocol;
use std::borrow::Borrow;
use std::hash::{Hash, Hasher};

/// The labels of a finished exchange.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExchangeLabels<'l> {
    pub route: &'l str,
    pub channel: &'l str,
    pub model: &'l str,
    pub protocol: Option<ChannelProtocol>,
    /// The first digit of the status.
    pub class: u16,
    pub settlement: ExchangeSettlement,
}

/// The same labels as the key of a map.
pub struct ExchangeSeriesKey {
    route: Box<str>,
    channel: Box<str>,
    model: Box<str>,
    protocol: Option<ChannelProtocol>,
    class: u16,
    settlement: ExchangeSettlement,
}

/// What both are to a map: it is asked with labels, and compares them with its keys.
pub trait HasExchangeLabels {
    fn labels(&self) -> ExchangeLabels<'_>;
}

impl ExchangeLabels<'_> {
    pub fn to_key(self) -> ExchangeSeriesKey {
        ExchangeSeriesKey {
            route: self.route.into(),
            channel: self.channel.into(),
            model: self.model.into(),
            protocol: self.protocol,
            class: self.class,
            settlement: self.settlement,
        }
    }
}

impl HasExchangeLabels for ExchangeLabels<'_> {
    fn labels(&self) -> ExchangeLabels<'_> {
        *self
    }
}

impl HasExchangeLabels for ExchangeSeriesKey {
    fn labels(&self) -> ExchangeLabels<'_> {
        ExchangeLabels {
            route: &self.route,
            channel: &self.channel,
            model: &self.model,
            protocol: self.protocol,
            class: self.class,
            settlement: self.settlement,
        }
    }
}

impl<'l> Borrow<dyn HasExchangeLabels + 'l> for ExchangeSeriesKey {
    fn borrow(&self) -> &(dyn HasExchangeLabels + 'l) {
        self
    }
}

// A key and what it is borrowed as must have one hash.
impl Hash for ExchangeSeriesKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.labels().hash(state);
    }
}

impl Hash for dyn HasExchangeLabels + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.labels().hash(state);
    }
}

impl PartialEq for ExchangeSeriesKey {
    fn eq(&self, other: &Self) -> bool {
        self.labels() == other.labels()
    }
}

impl Eq for ExchangeSeriesKey {}

impl PartialEq for dyn HasExchangeLabels + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.labels() == other.labels()
    }
}

impl Eq for dyn HasExchangeLabels + '_ {}
