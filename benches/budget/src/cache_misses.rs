//! Measures what requests miss in simulated caches, beside a bare Pingora proxy: code and data that are scattered cost time
//! that instructions do not show.

use super::callgrind::{Callgrind, Misses, Simulation};
use super::figures::{Figure, Reference, base, with_budget};
use super::programs::{Program, Programs};
use super::provider::Provider;
use std::path::Path;
use std::time::Duration;

const HEADING: &str = "\
| misses of a request or event | instructions, first cache | data, first cache | all caches | mispredicted branches |
|---|---|---|---|---|
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
    let run = |load| callgrind.count(program, &load, Duration::ZERO).misses;
    let shorter = run(base(figures, program));
    let rows = figures.iter().map(|figure| {
        let longer = run(figure.longer(base(figures, program)));
        let each =
            |count: fn(&Misses) -> f64| (count(&longer) - count(&shorter)) / figure.count() as f64;
        format!(
            "| {}, {name} | {:.0} | {:.0} | {:.1} | {:.0} |\n",
            figure.name,
            each(|misses| misses.instructions),
            each(|misses| misses.data),
            each(|misses| misses.all_caches),
            each(|misses| misses.branches),
        )
    });
    rows.collect()
}
