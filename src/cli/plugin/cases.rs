//! `headgate plugin test`: runs test cases and prints what came of each.

use super::case_file::{PluginTestCase, PluginTestFile};
use super::host_services::CaseHostServices;
use super::rules::CaseMessageRules;
use super::{CommandError, compile, exchange};
use crate::cli::case_report::CaseMismatches;
use crate::cli::input_file::{read, read_text};
use bytes::Bytes;
use headgate_wasm::PluginModule;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

#[derive(clap::Args)]
pub struct PluginTestArgs {
    /// Path of the module, a file of WebAssembly.
    module: PathBuf,
    /// Path of the file with the test cases.
    #[arg(default_value = "cases.yaml")]
    cases: PathBuf,
}

pub fn run(args: &PluginTestArgs) -> Result<(), CommandError> {
    let bytes = read(&args.module)?;
    let path = args.cases.display();
    let file = PluginTestFile::read(&read_text(&args.cases)?)
        .map_err(|error| CommandError::new(format!("error: {path}: {error}")))?;
    let module = compile(&args.module, &bytes)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let count = file.cases.len();
    let failed = runtime
        .block_on(run_cases(&module, file))
        .map_err(|error| CommandError::new(format!("error: {path}: {error}")))?;
    println!("{} passed, {failed} failed", count - failed);
    match failed {
        0 => Ok(()),
        _ => Err(CommandError::new(format!(
            "error: {failed} of {count} cases of {path} failed"
        ))),
    }
}

/// Runs the cases one after the other; the number of those that failed.
///
/// # Errors
/// The file has a grant that there is not.
async fn run_cases(module: &PluginModule, file: PluginTestFile) -> Result<usize, String> {
    let mut failed = 0;
    for case in file.cases {
        let rules = CaseMessageRules::new(case.rules.unwrap_or(file.rules), &file.grants)?;
        let time = case.time.or(file.time).map(|time| time.0);
        let configuration = case.configuration.as_ref().or(file.configuration.as_ref());
        let configuration = configuration.map(|value| value.to_configuration());
        let name = case.name.clone();
        let configuration = configuration.unwrap_or_default();
        let report = run_case(module, case, configuration, &rules, time).await;
        match report {
            None => println!("ok      {name}"),
            Some(report) => {
                failed += 1;
                println!("FAILED  {name}\n{report}");
            }
        }
    }
    Ok(failed)
}

/// Runs a case; the report of what is not as expected.
async fn run_case(
    module: &PluginModule,
    case: PluginTestCase,
    configuration: Bytes,
    rules: &CaseMessageRules,
    time: Option<SystemTime>,
) -> Option<String> {
    let environment = Arc::new(CaseHostServices::new(case.calls.clone(), time));
    let outcome = exchange::run(module, &case, configuration, rules, &environment).await;
    let mut mismatches = CaseMismatches::default();
    case.expect.compare(&outcome, &mut mismatches);
    for problem in environment.call_problems() {
        mismatches.add("calls", "one call for each entry of `calls`", problem);
    }
    if mismatches.0.is_empty() {
        return None;
    }
    let mut report = mismatches.to_string();
    for (number, line) in outcome.log.iter().enumerate() {
        let title = if number == 0 { "log" } else { "" };
        report.push_str(&format!("        {title:<10}{line}\n"));
    }
    Some(report)
}
