//! Counts the system calls of a request with strace.

use super::cost::{CONCURRENT, run};
use super::targets::{Target, Targets};
use headgate_budget::request::chat_request;
use std::fmt::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::time::sleep;

const REQUESTS: usize = 2_000;
const ATTACH: Duration = Duration::from_secs(1);
/// Calls that are made less often are summed up as "others".
const SHOWN_MIN: f64 = 0.05;

/// A table of the calls of a 1 KB chat. Nothing if strace is not installed or may not attach.
pub async fn measure(targets: &Targets) -> Option<String> {
    let mut text = "| | system calls of a 1 KB chat | of which |\n|---|---|---|\n".to_owned();
    for target in [Target::BarePingora, Target::Headgate] {
        let calls = count(targets, target).await?;
        let total: f64 = calls.iter().map(|(_, count)| count).sum();
        let shown: Vec<_> = calls
            .iter()
            .filter(|(_, count)| *count >= SHOWN_MIN)
            .map(|(call, count)| format!("`{call}` {count:.1}"))
            .collect();
        let line = writeln!(
            text,
            "| {} | {total:.1} | {} |",
            target.name(),
            shown.join(", ")
        );
        line.expect("a string takes all");
    }
    Some(text)
}

/// The name and number of each system call for one request.
async fn count(targets: &Targets, target: Target) -> Option<Vec<(String, f64)>> {
    let strace = start(targets.program(target).id())?;
    sleep(ATTACH).await;
    let request = chat_request(1 << 10, false, "");
    run(targets, target, request, REQUESTS, CONCURRENT).await;
    // SAFETY: the call takes two numbers; the process is a child that was not waited for yet.
    unsafe { libc::kill(strace.id() as libc::pid_t, libc::SIGINT) };
    let output = strace.wait_with_output().ok()?;
    let report = String::from_utf8_lossy(&output.stderr);
    let calls: Vec<_> = report.lines().filter_map(call).collect();
    (!calls.is_empty()).then_some(calls)
}

fn start(process: u32) -> Option<Child> {
    let mut command = Command::new("strace");
    command.args(["-f", "-c", "-p", &process.to_string()]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().ok()
}

/// A line of strace's summary: share, seconds, microseconds a call, calls, errors if any, name.
fn call(line: &str) -> Option<(String, f64)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let count: f64 = fields.get(3)?.parse().ok()?;
    let name = *fields.last()?;
    (name != "total").then(|| (name.to_owned(), count / REQUESTS as f64))
}
