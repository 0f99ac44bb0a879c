//! What a feature adds to the findings of the gateway.

use super::FeatureTypeMap;
use crate::finding::code::FindingCode;
use crate::finding::counter_rule::CounterFindingRule;
use crate::finding::{FindingArea, LiveFinding};

/// The findings of a feature.
#[derive(Clone, Copy)]
pub struct FeatureFindingDefinitions {
    /// Those that its own state shows.
    pub sources: &'static [FindingDetector],
    /// Those that counters show.
    pub rules: &'static [CounterFindingRule],
    /// The codes of faults because of which the gateway refuses requests: a finding about refused requests names them.
    pub refusing: &'static [&'static str],
}

/// What finds a kind of fault.
#[derive(Clone, Copy)]
pub struct FindingDetector {
    pub area: FindingArea,
    /// The alert of `deploy/prometheus` about the same fault.
    pub alert: &'static str,
    pub code: FindingCode,
    /// The findings, from the values of the snapshot in use. Called on a thread that may wait for locks, but not for I/O.
    pub find: fn(&FeatureTypeMap) -> Vec<LiveFinding>,
}

impl FeatureFindingDefinitions {
    /// No findings.
    pub const NONE: Self = Self {
        sources: &[],
        rules: &[],
        refusing: &[],
    };
}
