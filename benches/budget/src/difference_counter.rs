//! Counts figures: the longer run of each, and for each program the shorter run that it is compared with.

use super::callgrind::Callgrind;
use super::figures::{Figure, base};
use super::programs::Program;
use super::shorter_run::ShorterRun;
use std::collections::HashMap;
use std::time::Duration;

pub struct DifferenceCounter<'a> {
    callgrind: Callgrind<'a>,
    figures: &'a [Figure],
    shorter_runs: HashMap<Program, ShorterRun>,
}

impl<'a> DifferenceCounter<'a> {
    pub fn new(callgrind: Callgrind<'a>, figures: &'a [Figure]) -> Self {
        Self {
            callgrind,
            figures,
            shorter_runs: HashMap::new(),
        }
    }

    /// Instructions of one more request or event of a figure. All figures of a program share its shorter run.
    pub fn count(&mut self, program: Program, figure: &Figure) -> f64 {
        let base = base(self.figures, program);
        let callgrind = &self.callgrind;
        let shorter = *self
            .shorter_runs
            .entry(program)
            .or_insert_with(|| ShorterRun::count(callgrind, program, &base));
        let longer = callgrind.count(program, &figure.longer(base), Duration::ZERO);
        shorter.difference(&longer, figure.count(), |run| run.instructions)
    }

    /// As [`Self::count`], with a shorter run of its own: that one may be what had to wait.
    pub fn recount(&mut self, program: Program, figure: &Figure) -> f64 {
        self.shorter_runs.remove(&program);
        self.count(program, figure)
    }
}
