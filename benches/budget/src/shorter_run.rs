//! The difference between a longer and a shorter run: the start and the end of the program, and what it does by the clock,
//! cancel out.

use super::callgrind::{Callgrind, Run};
use super::load::Load;
use super::programs::Program;
use std::time::Duration;

/// The time without load in which the work by the clock is counted.
const IDLE: Duration = Duration::from_secs(5);

/// The run of a program that the others are longer than.
#[derive(Clone, Copy)]
pub struct ShorterRun {
    run: Run,
    /// The same with nothing to do for [`IDLE`] after it.
    idle: Run,
}

impl ShorterRun {
    pub fn count(callgrind: &Callgrind<'_>, program: Program, load: &Load) -> Self {
        Self {
            run: callgrind.count(program, load, Duration::ZERO),
            idle: callgrind.count(program, load, IDLE),
        }
    }

    /// What one of `more` requests or events takes, by which `longer` is longer; `count` reads what is counted of a run.
    pub fn difference(&self, longer: &Run, more: usize, count: impl Fn(&Run) -> f64) -> f64 {
        let Self { run, idle } = self;
        let idle_rate = (count(idle) - count(run)).max(0.0) / IDLE.as_secs_f64();
        let by_the_clock = idle_rate * (longer.seconds - run.seconds);
        (count(longer) - count(run) - by_the_clock) / more as f64
    }
}
