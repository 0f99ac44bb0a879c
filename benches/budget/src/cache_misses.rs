//! Measures what requests miss in simulated caches, beside a bare Pingora proxy: code and data that are scattered cost time
//! that instructions do not show.

use super::callgrind::{Callgrind, Run, Simulation};
use super::figures::{Figure, Reference, base, with_budget};
use super::programs::{Program, Programs};
use super::provider::Provider;
use super::shorter_run::ShorterRun;
use std::path::Path;
use std::time::Duration;

const HEADING: &str = "\
| a request or event | instructions | not in the first cache for instructions | data not in the first cache | in no cache | mispredicted branches |
|---|---|---|---|---|---|
";

/// A table of the figures that are compared with bare Pingora.
pub fn measure(programs: &Path) -> String {
    let mut figures = with_budget();
    figures.retain(|figure| matches!(figure.reference, Reference::BarePingora));
    let provider = Provider::start();
    let callgrind = Callgrind {
        programs: Programs::new(programs, &provider, None),
        provider: &provider,
        simulation: Simulation::CachesAndBranches,
    };
    let measured = [
        (Program::Headgate, "Headgate"),
        (Program::BarePingora, "bare Pingora"),
    ];
    let rows = measured.map(|(program, name)| count(&callgrind, program, name, &figures));
    let by_figure = (0..figures.len()).flat_map(|at| rows.iter().map(move |rows| &*rows[at]));
    HEADING.to_owned() + &by_figure.collect::<String>()
}

/// A row for each figure.
fn count(
    callgrind: &Callgrind<'_>,
    program: Program,
    name: &str,
    figures: &[Figure],
) -> Vec<String> {
    let shorter = ShorterRun::count(callgrind, program, &base(figures, program));
    let rows = figures.iter().map(|figure| {
        let load = figure.longer(base(figures, program));
        let longer = callgrind.count(program, &load, Duration::ZERO);
        let each = |count: fn(&Run) -> f64| shorter.difference(&longer, figure.count(), count);
        format!(
            "| {}, {name} | {:.0} | {:.0} | {:.0} | {:.1} | {:.0} |\n",
            figure.name,
            each(|run| run.instructions),
            each(|run| run.misses.instructions),
            each(|run| run.misses.data),
            each(|run| run.misses.all_caches),
            each(|run| run.misses.branches),
        )
    });
    rows.collect()
}
