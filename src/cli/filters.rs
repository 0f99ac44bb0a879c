//! `headgate filters`: every filter there is, its chain and what it does.

use super::Failure;
use crate::filter::kind::Side;
use crate::filter::registry::FILTERS;

pub fn run() -> Result<(), Failure> {
    let width = FILTERS.iter().map(|kind| kind.name.len()).max();
    let width = width.unwrap_or_default();
    for kind in FILTERS {
        let chain = match kind.side {
            Side::Request => "request",
            Side::Response => "response",
            Side::Either => "either",
        };
        println!("{:width$}  {chain:8}  {}", kind.name, kind.summary);
    }
    Ok(())
}
