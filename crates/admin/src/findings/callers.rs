//! Findings about callers that are not used as their source has them.

use crate::AdminApp;
use headgate_config::directory::RefusedCaller;
use headgate_core::finding::{FindingSeverity, LiveFinding};

/// Number of callers that are reported one by one.
const CALLERS_MAX: usize = 10;
const ADVICE: &str = "Correct the caller; a file is read as soon as it changes. `headgate check` reports all of them.";

pub(super) fn findings(app: &AdminApp) -> Vec<LiveFinding> {
    let refused = app.reloader.directory().refused();
    let more = refused.len().saturating_sub(CALLERS_MAX);
    let each = refused.iter().take(CALLERS_MAX).map(describe);
    let more = (more > 0).then(|| warning("others", format!("{more} more callers are refused.")));
    let folder = app.reloader.caller_folder().error();
    let folder = folder.map(|error| {
        let cause = format!(
            "The folder of callers cannot be read, and those that were read stay: {error}."
        );
        warning("folder of callers", cause)
    });
    folder.into_iter().chain(each).chain(more).collect()
}

fn describe(refused: &RefusedCaller) -> LiveFinding {
    let used = match refused.is_partly_used {
        true => "is not used in its last state, and an earlier one stays",
        false => "is not used",
    };
    let hint = refused.hint().map(|hint| format!(" ({hint})"));
    let cause = format!(
        "Caller `{}` {used}: {}{}.",
        refused.name,
        refused.first_error(),
        hint.unwrap_or_default()
    );
    warning(&format!("caller {}", refused.name), cause)
}

fn warning(subject: &str, cause: String) -> LiveFinding {
    LiveFinding {
        severity: FindingSeverity::Warning,
        code: "caller_refused",
        subject: subject.to_owned(),
        cause,
        advice: ADVICE.into(),
    }
}
