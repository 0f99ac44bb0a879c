//! The page on expressions is true and complete.

use crate::names::NAMES;
use crate::{EvaluationPhase, Expression};

const PAGE: &str = include_str!("../../../../docs/expressions.md");

#[test]
fn the_page_has_a_row_for_every_name() {
    let rows: Vec<&str> = rows("## Names").collect();
    for (name, _, _) in NAMES {
        let is_row = |row: &&str| *row == *name || row.starts_with(&format!("{name}["));
        assert!(rows.iter().any(is_row), "{name}");
    }
    assert_eq!(rows.len(), NAMES.len() + 3, "names and documents");
}

#[test]
fn the_examples_of_the_page_compile() {
    let blocks = PAGE.split("```cel\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split_once("\n```"));
    let examples: Vec<String> = rows("## Examples")
        .chain(blocks.map(|(block, _)| block))
        .map(|example| example.replace("\\|", "|"))
        .collect();
    assert!(examples.len() > 10);
    for example in examples {
        let compiled = Expression::compile(&example, EvaluationPhase::ResponseBody);
        assert!(compiled.is_ok(), "{example}: {compiled:?}");
    }
}

/// The code at the beginning of each row of a section's tables.
fn rows(heading: &str) -> impl Iterator<Item = &'static str> {
    let section = PAGE.split_once(heading).unwrap().1;
    let section = section.split("\n## ").next().unwrap();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `"));
    cells.map(|cell| cell.split_once("` |").unwrap().0)
}
