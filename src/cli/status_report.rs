//! The status of a gateway as text, made from its admin pages.

use super::status_usage;
use super::style::{self, styled};
use chrono::{DateTime, Utc};
use headgate_core::page_value::{list, text};
use serde_json::{Value, json};
use std::fmt;
use std::time::SystemTime;

/// What the admin pages of a gateway contain.
pub struct StatusAdminPages {
    pub is_ready: bool,
    pub config: Value,
    pub channels: Value,
    pub findings: Value,
    /// What was used today; `None` if the gateway does not count that.
    pub usage: Option<Value>,
}

/// The status of a gateway.
pub struct GatewayStatus {
    /// A label and a text for each line; the lines of a channel have an indented label.
    lines: Vec<(String, String)>,
    pages: StatusAdminPages,
}

impl GatewayStatus {
    pub fn new(url: &str, pages: StatusAdminPages, now: SystemTime) -> Self {
        let mut lines = StatusLines(Vec::new());
        lines.add_readiness(url, pages.is_ready);
        lines.add_configuration(&pages.config);
        lines.add_state(&pages.config["state"]);
        lines.add_channels(&pages.channels, now.into());
        lines.add_models(&pages.channels);
        lines
            .0
            .extend(pages.usage.iter().flat_map(status_usage::lines));
        let StatusLines(lines) = lines;
        Self { lines, pages }
    }

    /// Whether the gateway reports nothing that fails requests or may. What an operator decided is no problem.
    pub fn is_fine(&self) -> bool {
        let mut findings = self.findings();
        !findings.any(|finding| ["critical", "warning"].contains(&text(&finding["severity"])))
    }

    /// The same as JSON: the findings, and the pages they are from.
    pub fn json(&self) -> Value {
        json!({
            "status": self.status(),
            "findings": self.pages.findings["findings"],
            "ready": self.pages.is_ready,
            "config": self.pages.config,
            "channels": self.pages.channels["channels"],
            "models": self.pages.channels["models"],
            "usage": self.pages.usage,
        })
    }

    fn status(&self) -> &'static str {
        match self.is_fine() {
            true => "fine",
            false => "degraded",
        }
    }

    fn findings(&self) -> impl Iterator<Item = &Value> {
        list(&self.pages.findings["findings"])
    }
}

/// With colours, which the caller removes if the output is no terminal.
impl fmt::Display for GatewayStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self
            .lines
            .iter()
            .map(|(label, _)| label.chars().count())
            .max();
        let width = width.unwrap_or_default().min(24);
        for (label, text) in &self.lines {
            writeln!(f, "{label:width$}  {text}")?;
        }
        let style = match self.is_fine() {
            true => style::GOOD,
            false => style::WARNING,
        };
        let status = styled(style, self.status());
        writeln!(f, "{:width$}  {status}", "status")?;
        for finding in self.findings() {
            let [severity, cause, advice] =
                ["severity", "cause", "advice"].map(|name| text(&finding[name]));
            let style = match severity {
                "critical" => style::BAD,
                "warning" => style::WARNING,
                _ => style::STRONG,
            };
            let severity = styled(style, format_args!("{severity}:"));
            writeln!(f, "{:width$}  - {severity} {cause}", "")?;
            writeln!(f, "{:width$}    {advice}", "")?;
        }
        Ok(())
    }
}

/// The lines of a status, as far as they are made.
struct StatusLines(Vec<(String, String)>);

impl StatusLines {
    fn add_readiness(&mut self, url: &str, is_ready: bool) {
        let readiness = match is_ready {
            true => "ready",
            false => "not ready",
        };
        self.line("gateway", format!("{url}, {readiness}"));
    }

    fn add_configuration(&mut self, config: &Value) {
        let (in_use, on_disk) = (
            text(&config["revision"]["in_use"]),
            text(&config["revision"]["on_disk"]),
        );
        let rejection = &config["last_rejection"];
        let on_disk = match on_disk {
            "" => "the file cannot be read".to_owned(),
            on_disk if on_disk == in_use => "the same on disk".to_owned(),
            on_disk => format!("on disk {on_disk}"),
        };
        let loaded = text(&config["loaded_at"]);
        self.line(
            "revision",
            format!("{in_use} in use, loaded {loaded}; {on_disk}"),
        );
        if rejection.is_object() {
            let at = text(&rejection["at"]);
            let file = text(&config["file"]);
            self.line("rejected", format!("{file} at {at}; {in_use} stays in use"));
            for line in text(&rejection["report"]).lines() {
                self.line("", line.to_owned());
            }
        }
        let settings = names(&config["settings_needing_restart"]);
        if !settings.is_empty() {
            self.line(
                "restart",
                format!("needed to apply {}", settings.join(", ")),
            );
        }
    }

    fn add_state(&mut self, state: &Value) {
        let store = text(&state["store"]);
        if state["up"] != false {
            return self.line("state", format!("{store}, up"));
        }
        let since = text(&state["since"]);
        self.line("state", format!("{store}, unreachable since {since}"));
    }

    fn add_channels(&mut self, page: &Value, now: DateTime<Utc>) {
        let channels: Vec<&Value> = list(&page["channels"]).collect();
        let usable = channels.iter().filter(|channel| channel["usable"] == true);
        let (usable, count) = (usable.count(), channels.len());
        self.line("channels", format!("{usable} of {count} usable"));
        for channel in channels {
            let name = text(&channel["name"]);
            let mut states = Vec::new();
            match (&channel["usable"], &channel["drained"]) {
                (_, Value::Bool(true)) => states.push("drained by an operator".to_owned()),
                (Value::Bool(true), _) => states.push("usable".to_owned()),
                _ => states.push("not usable".to_owned()),
            }
            states.extend(health(channel, now).map(|health| format!("channel {health}")));
            for model in list(&channel["models"]) {
                let model_name = text(&model["name"]);
                states.extend(
                    health(model, now).map(|health| format!("model {model_name} {health}")),
                );
            }
            for credential in list(&channel["credentials"]) {
                let index = &credential["index"];
                let Some(health) = health(credential, now) else {
                    continue;
                };
                states.push(format!("credential {index} {health}"));
            }
            let limits = names(&channel["limits_reached"]);
            if !limits.is_empty() {
                states.push(format!("at its limits {}", limits.join(", ")));
            }
            let in_flight = channel["in_flight"].as_u64().unwrap_or_default();
            states.push(format!("{in_flight} in flight"));
            self.line(&format!("  {name}"), states.join("; "));
        }
    }

    fn add_models(&mut self, page: &Value) {
        let count = list(&page["models"]).count();
        let available = list(&page["models"]).filter(|model| model["available"] != false);
        let available = available.count();
        self.line("models", format!("{available} of {count} available"));
    }

    fn line(&mut self, label: &str, text: String) {
        self.0.push((label.to_owned(), text));
    }
}

/// What is wrong with the health in an entry of `/channels`; `None` if it is healthy.
fn health(entry: &Value, now: DateTime<Utc>) -> Option<String> {
    let status = text(&entry["status"]);
    if status == "healthy" {
        return None;
    }
    let reason = text(&entry["reason"]);
    let words = match status {
        "cooling_down" => "in cool-down",
        "half_open" => "half open",
        _ => "unhealthy",
    };
    let until = text(&entry["until"]).parse::<DateTime<Utc>>();
    let left = until.map_or_else(
        |_| String::new(),
        |until| {
            // A part of a second counts as one, as in the findings.
            let seconds = ((until - now).num_milliseconds() + 999).max(0) / 1000;
            format!(", {} left", duration(seconds))
        },
    );
    let last = &entry["last_error"]["id"];
    let last = last
        .as_str()
        .map_or_else(String::new, |id| format!(", last error {id}"));
    Some(format!("{words} ({reason}){left}{last}"))
}

fn duration(seconds: i64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

fn names(value: &Value) -> Vec<&str> {
    list(value).map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn a_duration_has_its_two_largest_units() {
        for (seconds, expected) in [
            (0, "0 s"),
            (59, "59 s"),
            (250, "4 min 10 s"),
            (3_600, "1 h 0 min"),
            (36_061, "10 h 1 min"),
        ] {
            assert_eq!(duration(seconds), expected);
        }
    }
}
