//! Faults that tests plant one at a time, and what each surface of the gateway shows then.

use super::status::run;
use crate::harness::{Gateway, eventually};
use serde_json::Value;

/// Name, labels, and the least value of a sample.
type SampleSign = (&'static str, &'static [(&'static str, &'static str)], f64);

/// What the surfaces show while a fault is there.
pub struct FaultSigns {
    /// The heading of its section in `docs/runbook.md`.
    pub name: &'static str,
    pub code: &'static str,
    pub severity: &'static str,
    /// Parts of the sentence that names the cause.
    pub cause: &'static [&'static str],
    /// Parts of `/overview`, which the dashboard draws, besides the finding.
    pub overview: &'static [&'static str],
    /// Parts of the output of `headgate top`, besides the finding.
    pub top: &'static [&'static str],
    /// Parts of the output of `headgate status`, besides the finding.
    pub status: &'static [&'static str],
    pub exit_code: i32,
    /// Samples with their labels and the least value, or the value if it is 0.
    pub metrics: &'static [SampleSign],
    /// The message in the process log besides that of the finding, with fields.
    pub log: Option<(&'static str, &'static [(&'static str, &'static str)])>,
    /// Fields of a line of the access log.
    pub access_log: &'static [(&'static str, &'static str)],
}

impl FaultSigns {
    /// Asserts that all surfaces of `gateway` show the fault and name its cause.
    pub async fn assert_shown(&self, gateway: &Gateway) {
        let finding = eventually(self.name, async || {
            let overview = gateway.page("GET", "/overview").await.json();
            self.finding_in(&overview)
        })
        .await;
        println!("{}: {}", self.name, finding["cause"].as_str().unwrap());
        assert_eq!(finding["severity"], self.severity, "{finding}");
        assert!(!finding["advice"].as_str().unwrap().is_empty());
        // The request that met the fault is counted after its response was sent.
        eventually(&self.in_surface("the overview"), async || {
            let overview = gateway.page("GET", "/overview").await.text();
            has_all(&overview, self.overview).then_some(())
        })
        .await;
        self.assert_commands(gateway).await;
        self.assert_metrics(gateway).await;
        self.assert_logs(gateway).await;
    }

    fn finding_in(&self, overview: &Value) -> Option<Value> {
        let findings = overview["findings"].as_array().unwrap();
        let is_meant = |finding: &&Value| {
            let cause = finding["cause"].as_str().unwrap();
            finding["code"] == self.code && self.cause.iter().all(|part| cause.contains(part))
        };
        findings.iter().find(is_meant).cloned()
    }

    fn in_surface(&self, surface: &str) -> String {
        format!("{}: {surface} has the fault", self.name)
    }

    async fn assert_commands(&self, gateway: &Gateway) {
        let url = format!("http://{}", gateway.admin);
        let mut shown = String::new();
        let top = eventually(&self.in_surface("top"), async || {
            let (code, top, errors) = run(&["top", "--once", "--admin", &url], &[]);
            assert_eq!((code, &*errors), (0, ""), "{}", self.name);
            // The lines of a finding are wrapped.
            let top = top.split_whitespace().collect::<Vec<_>>().join(" ");
            if shown != top {
                println!("{}: top: {top}", self.name);
                shown.clone_from(&top);
            }
            has_all(&top, self.top).then_some(top)
        })
        .await;
        self.assert_has("top", &top, self.cause);
        let (code, status, errors) = run(&["status", "--admin", &url], &[]);
        assert_eq!(
            (code, &*errors),
            (self.exit_code, ""),
            "{}: {status}",
            self.name
        );
        self.assert_has("status", &status, self.cause);
        self.assert_has("status", &status, self.status);
    }

    async fn assert_metrics(&self, gateway: &Gateway) {
        for (name, labels, least) in self.metrics {
            let what = format!("{}: {name} {labels:?} {least}", self.name);
            eventually(&what, async || {
                let metrics = gateway.metrics().await;
                let has_labels = |sample: &&crate::harness::gateway::Sample| {
                    let mut labels = labels.iter();
                    labels.all(|(key, value)| sample.labels.get(*key).is_some_and(|is| is == value))
                };
                let samples = metrics.samples.iter();
                let mut samples = samples.filter(|sample| sample.name == *name);
                let found = samples.find(has_labels)?.value;
                let is_shown = if *least == 0.0 {
                    found == 0.0
                } else {
                    found >= *least
                };
                is_shown.then_some(())
            })
            .await;
        }
    }

    async fn assert_logs(&self, gateway: &Gateway) {
        let finding = [("code", self.code), ("severity", self.severity)];
        let messages = [Some(("finding", &finding[..])), self.log];
        for (message, fields) in messages.into_iter().flatten() {
            let what = format!("{}: {message} {fields:?}", self.name);
            eventually(&what, async || {
                let lines = gateway.process.stderr.json();
                let is_meant = |line: &Value| {
                    let is_message = line["message"]
                        .as_str()
                        .unwrap_or_default()
                        .starts_with(message);
                    is_message && has_fields(line, fields)
                };
                lines.into_iter().find(is_meant)
            })
            .await;
        }
        if !self.access_log.is_empty() {
            gateway
                .log_line(|line| has_fields(line, self.access_log))
                .await;
        }
    }

    /// Asserts that the runbook describes the fault as it is shown.
    pub fn assert_described(&self, runbook: &str) {
        let heading = format!("\n## {}\n", self.name);
        let (_, section) = runbook
            .split_once(&heading)
            .unwrap_or_else(|| panic!("docs/runbook.md has no section `{}`", self.name));
        let section = section.split("\n## ").next().unwrap();
        let section = section.split_whitespace().collect::<Vec<_>>().join(" ");
        let code = format!("`{}`", self.code);
        let metrics = self.metrics.iter();
        let metrics = metrics.map(|(name, ..)| name.trim_end_matches("_sum"));
        let log = self.log.iter().map(|(message, _)| *message);
        let words: Vec<&str> = [&*code, self.severity]
            .into_iter()
            .chain(metrics)
            .chain(log)
            .collect();
        self.assert_has("the runbook", &section, &words);
        for part in self.cause {
            // Names and numbers differ.
            let words = part
                .split(['`', ' '])
                .filter(|word| word.chars().all(char::is_alphabetic));
            for word in words {
                self.assert_has("the runbook", &section, &[word]);
            }
        }
    }

    fn assert_has(&self, what: &str, text: &str, parts: &[&str]) {
        for part in parts {
            assert!(
                text.contains(part),
                "{}: {what} has no `{part}`: {text}",
                self.name
            );
        }
    }
}

fn has_all(text: &str, parts: &[&str]) -> bool {
    parts.iter().all(|part| text.contains(part))
}

fn has_fields(line: &Value, fields: &[(&str, &str)]) -> bool {
    fields.iter().all(|(name, value)| match &line[*name] {
        Value::String(text) => text.contains(value),
        other => serde_json::from_str::<Value>(value).is_ok_and(|value| value == *other),
    })
}
