//! Findings about plugins.

use crate::SharedPluginState;
use headgate_core::feature::FeatureTypeMap;
use headgate_core::feature::findings::{FeatureFindingDefinitions, FindingDetector};
use headgate_core::finding::code::FindingCode;
use headgate_core::finding::counter_rule::{CounterFindingRule, MINUTE, all};
use headgate_core::finding::{FindingArea, FindingSeverity, LiveFinding};

pub(crate) const FINDINGS: FeatureFindingDefinitions = FeatureFindingDefinitions {
    sources: &[FindingDetector {
        area: FAILING.area,
        alert: FAILING.alert,
        code: FindingCode::new(FAILING.code, FAILING.severity),
        find: disabled_plugins,
    }],
    rules: &[FAILING],
    refusing: &[FAILING.code],
};

const FAILING: CounterFindingRule = CounterFindingRule {
    alert: "HeadgatePluginFailing",
    area: FindingArea::Services,
    code: "plugin_failing",
    severity: FindingSeverity::Warning,
    labels: &["plugin"],
    faults: &[all("headgate_plugin_failures_total", "reason")],
    of: None,
    least: 1.0,
    window: MINUTE,
    subject: "plugin {0}",
    cause: "Plugin `{0}` failed within the last {within} (failures: {n}), mostly with `{most}`.",
    advice: "The lines `plugin failed` of the process log have the error. `on_failure` of the filter decides whether requests continue or are refused; go back to the previous module if it is new.",
};

fn disabled_plugins(values: &FeatureTypeMap) -> Vec<LiveFinding> {
    let plugins = values.get::<SharedPluginState>().in_use().into_iter();
    let disabled = plugins.filter_map(|plugin| {
        let left = plugin.status().disabled_for?;
        Some(LiveFinding {
            severity: FindingSeverity::Warning,
            code: FAILING.code,
            subject: format!("plugin {}", plugin.name()),
            cause: format!(
                "Plugin `{}` is disabled for another {} s after repeated failures.",
                plugin.name(),
                left.as_secs() + 1
            ),
            advice: "The lines `plugin failed` of the process log have the error. `on_failure` of the filter decides whether requests continue or are refused meanwhile.".into(),
        })
    });
    disabled.collect()
}
