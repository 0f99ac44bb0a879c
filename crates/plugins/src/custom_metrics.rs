//! The metrics that plugins define, in Prometheus' text format under a prefix of their own.

use super::running::PluginWithSettings;
use headgate_wasm::{MetricKind, MetricSample, MetricValue};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// Before the name that the plugin gives, so that no plugin can define a metric of the gateway.
const PREFIX: &str = "headgate_plugin_custom_";
const HELP: &str = "Defined by plugins.";

/// The metrics of one name: all have its kind. By plugin.
struct CustomMetricFamily {
    kind: MetricKind,
    values: BTreeMap<String, MetricValue>,
}

/// The metrics of these plugins. A plugin that runs with several configurations has their sums. Of metrics whose names are
/// equal in Prometheus' alphabet, those of the first plugin's kind are there. How many a plugin may define is limited where it
/// defines them.
pub(super) fn render(plugins: &[Arc<PluginWithSettings>]) -> String {
    let mut plugins: Vec<_> = plugins.iter().collect();
    plugins.sort_by_key(|plugin| plugin.name());
    let named = plugins.into_iter().flat_map(|plugin| {
        plugin
            .metrics()
            .into_iter()
            .map(|sample| (plugin.name(), sample))
    });
    render_samples(named)
}

fn render_samples<'a>(samples: impl Iterator<Item = (&'a str, MetricSample)>) -> String {
    let mut metrics = BTreeMap::<String, CustomMetricFamily>::new();
    for (plugin, sample) in samples {
        let metric = metrics
            .entry(metric_name(&sample.name, sample.kind))
            .or_insert_with(|| CustomMetricFamily {
                kind: sample.kind,
                values: BTreeMap::new(),
            });
        if metric.kind != sample.kind {
            continue;
        }
        match metric.values.get_mut(plugin) {
            Some(value) => add(value, &sample.value),
            None => {
                metric.values.insert(plugin.to_owned(), sample.value);
            }
        }
    }
    let mut text = String::new();
    for (name, metric) in &metrics {
        write_metric(&mut text, name, metric).expect("writing to memory does not fail");
    }
    text
}

/// The name in Prometheus' alphabet. Those of counters end in `_total`.
fn metric_name(given: &str, kind: MetricKind) -> String {
    let given: String = given
        .chars()
        .map(|character| match character {
            character if character.is_ascii_alphanumeric() => character,
            _ => '_',
        })
        .collect();
    let suffix = match kind {
        MetricKind::Counter => "_total",
        MetricKind::Gauge => "",
        // The names of its series end in `_bucket`, `_sum` and `_count`.
        MetricKind::Histogram => "_histogram",
    };
    let bare = match kind {
        MetricKind::Counter => given.strip_suffix(suffix).unwrap_or(&given),
        _ => &given,
    };
    format!("{PREFIX}{bare}{suffix}")
}

fn add(sum: &mut MetricValue, value: &MetricValue) {
    match (sum, value) {
        (MetricValue::Number(sum), MetricValue::Number(value)) => *sum = sum.saturating_add(*value),
        (
            MetricValue::Histogram {
                count,
                sum,
                buckets,
            },
            MetricValue::Histogram {
                count: more,
                sum: more_sum,
                buckets: more_buckets,
            },
        ) => {
            *count = count.saturating_add(*more);
            *sum = sum.saturating_add(*more_sum);
            for ((_, below), (_, more)) in buckets.iter_mut().zip(more_buckets) {
                *below = below.saturating_add(*more);
            }
        }
        _ => {}
    }
}

fn write_metric(text: &mut String, name: &str, metric: &CustomMetricFamily) -> std::fmt::Result {
    let kind = match metric.kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Histogram => "histogram",
    };
    write!(text, "# HELP {name} {HELP}\n# TYPE {name} {kind}\n")?;
    for (plugin, value) in &metric.values {
        let plugin = escaped(plugin);
        match value {
            MetricValue::Number(value) => writeln!(text, "{name}{{plugin=\"{plugin}\"}} {value}")?,
            MetricValue::Histogram {
                count,
                sum,
                buckets,
            } => {
                for (bound, below) in buckets {
                    writeln!(
                        text,
                        "{name}_bucket{{plugin=\"{plugin}\",le=\"{bound}\"}} {below}"
                    )?;
                }
                writeln!(
                    text,
                    "{name}_bucket{{plugin=\"{plugin}\",le=\"+Inf\"}} {count}"
                )?;
                writeln!(text, "{name}_sum{{plugin=\"{plugin}\"}} {sum}")?;
                writeln!(text, "{name}_count{{plugin=\"{plugin}\"}} {count}")?;
            }
        }
    }
    Ok(())
}

/// The value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(name: &str, kind: MetricKind, value: u64) -> MetricSample {
        MetricSample {
            name: name.to_owned(),
            kind,
            value: MetricValue::Number(value),
        }
    }

    #[test]
    fn metrics_of_plugins_are_valid_and_cannot_be_taken_for_those_of_the_gateway() {
        let histogram = MetricSample {
            name: "sizes".to_owned(),
            kind: MetricKind::Histogram,
            value: MetricValue::Histogram {
                count: 2,
                sum: 5,
                buckets: vec![(1, 1), (4, 2)],
            },
        };
        let samples = [
            (
                "a",
                number("envoy.wasm.seen-requests", MetricKind::Counter, 3),
            ),
            ("a", number("up", MetricKind::Gauge, 1)),
            ("a", number("made_total", MetricKind::Counter, 7)),
            ("a", histogram),
            // The same plugin with another configuration, and another plugin.
            (
                "a",
                number("envoy.wasm.seen-requests", MetricKind::Counter, 2),
            ),
            (
                "b\"",
                number("envoy_wasm_seen_requests", MetricKind::Counter, 1),
            ),
            ("b\"", number("made_total", MetricKind::Gauge, 9)),
        ];
        let text = render_samples(samples.into_iter());
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            lines,
            [
                r#"headgate_plugin_custom_envoy_wasm_seen_requests_total{plugin="a"} 5"#,
                r#"headgate_plugin_custom_envoy_wasm_seen_requests_total{plugin="b\""} 1"#,
                r#"headgate_plugin_custom_made_total{plugin="a"} 7"#,
                r#"headgate_plugin_custom_sizes_histogram_bucket{plugin="a",le="1"} 1"#,
                r#"headgate_plugin_custom_sizes_histogram_bucket{plugin="a",le="4"} 2"#,
                r#"headgate_plugin_custom_sizes_histogram_bucket{plugin="a",le="+Inf"} 2"#,
                r#"headgate_plugin_custom_sizes_histogram_sum{plugin="a"} 5"#,
                r#"headgate_plugin_custom_sizes_histogram_count{plugin="a"} 2"#,
                r#"headgate_plugin_custom_up{plugin="a"} 1"#,
            ]
        );
        let types = text.lines().filter(|line| line.starts_with("# TYPE"));
        assert_eq!(types.count(), 4, "{text}");
    }
}
