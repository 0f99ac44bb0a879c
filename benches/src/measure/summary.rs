//! The table that says it all: the gateway beside bare Pingora and nginx, a line for each figure.

use super::median;
use super::targets::PROXIES;

/// A line of the table.
pub struct SummaryRow {
    figure: String,
    decimals: usize,
    /// The values of all rounds, and what the cell shows behind them, for each of [`PROXIES`] that was measured.
    columns: Vec<(Vec<f64>, String)>,
}

impl SummaryRow {
    pub fn new(figure: impl Into<String>, decimals: usize) -> Self {
        Self {
            figure: figure.into(),
            decimals,
            columns: Vec::new(),
        }
    }

    /// Adds the next column with a value of each round.
    pub fn push(&mut self, rounds: Vec<f64>) {
        self.push_with(rounds, String::new());
    }

    /// The same with a remark behind the median.
    pub fn push_with(&mut self, rounds: Vec<f64>, remark: String) {
        self.columns.push((rounds, remark));
    }

    fn line(&self) -> String {
        let mut cells = vec![self.figure.clone()];
        cells.extend((0..PROXIES.len()).map(|column| self.value(column)));
        cells.extend((1..PROXIES.len()).map(|column| self.ratio(column)));
        format!("| {} |\n", cells.join(" | "))
    }

    fn value(&self, column: usize) -> String {
        self.columns
            .get(column)
            .map_or("-".to_owned(), |(rounds, remark)| {
                format!("{:.*}{remark}", self.decimals, median(&mut rounds.clone()))
            })
    }

    /// The median of the rounds' ratios, with the lowest and the highest, since rounds alternate between the targets.
    fn ratio(&self, column: usize) -> String {
        let Some((others, _)) = self.columns.get(column) else {
            return "-".to_owned();
        };
        let pairs = self.columns[0].0.iter().zip(others);
        let mut ratios: Vec<f64> = pairs.map(|(ours, other)| ours / other).collect();
        let ratio = median(&mut ratios);
        match &*ratios {
            [lowest, .., highest] => format!("**{ratio:.2}** ({lowest:.2} to {highest:.2})"),
            _ => format!("**{ratio:.2}**"),
        }
    }
}

/// The section with all lines.
pub fn table(rows: &[SummaryRow]) -> String {
    let names = PROXIES.map(|target| target.name()).join(" | ");
    let lines: String = rows.iter().map(SummaryRow::line).collect();
    format!(
        "| figure | {names} | ratio to bare Pingora | ratio to nginx |\n|---|---|---|---|---|---|\n{lines}"
    )
}
