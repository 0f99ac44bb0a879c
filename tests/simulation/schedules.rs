//! A thousand schedules, and the determinism that makes a seed worth printing.

use super::counts::ScheduleCounts;
use super::process_copy::ProcessCopy;
use super::schedule::{PreparedSchedule, ScheduleReport};
use headgate_core::state::lock::lock;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Mutex;
use std::thread;

/// Schedules of a usual run.
const SCHEDULES: u64 = 1_000;
/// Failed schedules that are printed.
const PRINTED_MAX: usize = 3;

/// Held by a test that copies the process: a copy must find no lock of another thread.
static COPYING: Mutex<()> = Mutex::new(());

#[test]
fn a_thousand_schedules_of_faults_violate_no_invariant() {
    let seed = variable("HEADGATE_SCHEDULE_SEED");
    let (first, count) = match seed {
        Some(seed) => (seed, 1),
        None => (1, variable("HEADGATE_SCHEDULES").unwrap_or(SCHEDULES)),
    };
    let _copying = lock(&COPYING);
    let prepared = PreparedSchedule::build();
    let (mut counts, mut failed) = (ScheduleCounts::default(), Vec::new());
    run_all(&prepared, first..first + count, |report| {
        counts += report.counts;
        if seed.is_some() {
            print(&report);
        }
        if !report.violations.is_empty() {
            failed.push(report);
        }
    });
    println!("{count} schedules: {counts:?}");
    for report in failed.iter().take(PRINTED_MAX) {
        print(report);
    }
    let seeds: Vec<u64> = failed.iter().map(|report| report.seed).collect();
    assert!(
        failed.is_empty(),
        "{} of {count} schedules failed, seeds {seeds:?}",
        failed.len()
    );
}

#[test]
fn a_seed_determines_its_schedule_to_the_last_event() {
    let _copying = lock(&COPYING);
    let prepared = PreparedSchedule::build();
    let (mut once, mut again) = (Vec::new(), Vec::new());
    run_all(&prepared, 1..21, |report| once.push(report));
    run_all(&prepared, 1..21, |report| again.push(report));
    for (once, again) in once.iter().zip(&again) {
        assert!(!once.trace.is_empty());
        let mut pairs = once.trace.iter().zip(&again.trace);
        let different = pairs.find(|(one, other)| one != other);
        assert_eq!(different, None, "seed {}", once.seed);
        assert_eq!(once, again);
    }
}

/// Runs schedules, as many at a time as there are processors; calls `take` with each report, in the order of the seeds.
fn run_all(prepared: &PreparedSchedule, seeds: Range<u64>, mut take: impl FnMut(ScheduleReport)) {
    let at_once = thread::available_parallelism().map_or(1, usize::from);
    let mut running: VecDeque<(u64, ProcessCopy)> = VecDeque::new();
    let mut finish = |running: &mut VecDeque<(u64, ProcessCopy)>, most: usize| {
        while running.len() > most
            && let Some((seed, copy)) = running.pop_front()
        {
            take(report(seed, copy));
        }
    };
    for seed in seeds {
        finish(&mut running, at_once - 1);
        running.push_back((seed, prepared.start(seed)));
    }
    finish(&mut running, 0);
}

fn report(seed: u64, copy: ProcessCopy) -> ScheduleReport {
    match copy.finish() {
        Some(report) => serde_json::from_slice(&report).unwrap(),
        None => ScheduleReport {
            seed,
            violations: vec!["the process of the schedule died".to_owned()],
            ..ScheduleReport::default()
        },
    }
}

fn print(report: &ScheduleReport) {
    let ScheduleReport {
        seed,
        violations,
        trace,
        ..
    } = report;
    println!("\nschedule {seed}:");
    for line in trace {
        println!("{line}");
    }
    for violation in violations {
        println!("violated: {violation}");
    }
    println!(
        "again: HEADGATE_SCHEDULE_SEED={seed} cargo test --test simulation thousand -- --nocapture"
    );
}

fn variable(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().expect("a number"))
}
