//! The metrics of a plugin, over all its instances.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi_status::AbiStatus;

/// Bytes of the name of a metric.
const NAME_MAX: usize = 128;
/// Buckets of a histogram; the largest bound is 4^15.
const BUCKETS: usize = 16;

/// A metric that the plugin defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricSample {
    pub name: String,
    pub kind: MetricKind,
    pub value: MetricValue,
}

/// The kinds of the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// The value of a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricValue {
    Number(u64),
    /// How many values were recorded, their sum, and for each power of four from 1 how many are not above it.
    Histogram {
        count: u64,
        sum: u64,
        buckets: Vec<(u64, u64)>,
    },
}

/// The metrics of a plugin. The id of a metric is its place in the table.
pub(crate) struct MetricTable {
    max: usize,
    metrics: Mutex<Vec<MetricSample>>,
}

impl MetricTable {
    pub fn new(max: usize) -> Self {
        Self {
            max,
            metrics: Mutex::default(),
        }
    }

    /// The id of a metric, which is new unless the name is known.
    pub fn define(&self, name: &str, kind: MetricKind) -> Result<u32, AbiStatus> {
        let mut metrics = self.lock();
        if let Some(place) = metrics.iter().position(|metric| metric.name == name) {
            let same = metrics[place].kind == kind;
            return same.then_some(id(place)).ok_or(AbiStatus::BadArgument);
        }
        let is_name = !name.is_empty() && name.len() <= NAME_MAX;
        if !is_name || name.chars().any(char::is_control) {
            return Err(AbiStatus::BadArgument);
        }
        if metrics.len() >= self.max {
            return Err(AbiStatus::InternalFailure);
        }
        metrics.push(MetricSample {
            name: name.to_owned(),
            kind,
            value: MetricValue::initial(kind),
        });
        Ok(id(metrics.len() - 1))
    }

    pub fn increment(&self, id: u32, offset: i64) -> Result<(), AbiStatus> {
        let mut metrics = self.lock();
        let metric = metrics.get_mut(id as usize).ok_or(AbiStatus::NotFound)?;
        match (metric.kind, &mut metric.value) {
            (MetricKind::Counter, _) if offset < 0 => Err(AbiStatus::BadArgument),
            (MetricKind::Counter | MetricKind::Gauge, MetricValue::Number(value)) => {
                *value = value.saturating_add_signed(offset);
                Ok(())
            }
            _ => Err(AbiStatus::BadArgument),
        }
    }

    pub fn record(&self, id: u32, recorded: u64) -> Result<(), AbiStatus> {
        let mut metrics = self.lock();
        let metric = metrics.get_mut(id as usize).ok_or(AbiStatus::NotFound)?;
        match (metric.kind, &mut metric.value) {
            (MetricKind::Counter, MetricValue::Number(value)) => {
                *value = value.saturating_add(recorded);
            }
            (_, MetricValue::Number(value)) => *value = recorded,
            (
                _,
                MetricValue::Histogram {
                    count,
                    sum,
                    buckets,
                },
            ) => {
                *count = count.saturating_add(1);
                *sum = sum.saturating_add(recorded);
                for (_, below) in buckets.iter_mut().filter(|(bound, _)| recorded <= *bound) {
                    *below = below.saturating_add(1);
                }
            }
        }
        Ok(())
    }

    pub fn get(&self, id: u32) -> Result<u64, AbiStatus> {
        let metrics = self.lock();
        let metric = metrics.get(id as usize).ok_or(AbiStatus::NotFound)?;
        match &metric.value {
            MetricValue::Number(value) => Ok(*value),
            MetricValue::Histogram { .. } => Err(AbiStatus::BadArgument),
        }
    }

    pub fn samples(&self) -> Vec<MetricSample> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<MetricSample>> {
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MetricValue {
    fn initial(kind: MetricKind) -> Self {
        match kind {
            MetricKind::Counter | MetricKind::Gauge => Self::Number(0),
            MetricKind::Histogram => Self::Histogram {
                count: 0,
                sum: 0,
                buckets: (0..BUCKETS).map(|power| (1 << (2 * power), 0)).collect(),
            },
        }
    }
}

fn id(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}
