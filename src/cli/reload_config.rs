//! `headgate reload`: a running gateway reads its configuration again.

use super::CommandError;
use super::admin_pages::AdminConnectionArgs;
use serde_json::Value;
use std::time::Duration;

/// A configuration with large plugins takes many seconds to build.
const RELOAD_WAIT: Duration = Duration::from_secs(120);
/// What the admin page responds with if the configuration is rejected.
const REJECTED: u16 = 422;

/// Reloads, and prints the revision in use, or why the new one was rejected.
pub fn run(pages: &AdminConnectionArgs) -> Result<(), CommandError> {
    let page = pages.json_within("POST", "/reload", RELOAD_WAIT, |response| {
        (response.status == REJECTED).then(|| {
            let report = String::from_utf8_lossy(&response.body);
            let report = report.trim_end();
            CommandError::new(format!(
                "{report}\n\nthe configuration is rejected; the one before stays in use"
            ))
        })
    })?;
    let text = |name: &str| page[name].as_str().unwrap_or_default().to_owned();
    println!("{} {}", text("revision"), text("result"));
    let settings = page["settings_needing_restart"].as_array();
    let settings: Vec<&str> = settings
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !settings.is_empty() {
        eprintln!("restart the gateway to apply {}", settings.join(", "));
    }
    Ok(())
}
