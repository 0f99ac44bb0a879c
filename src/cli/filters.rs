//! `headgate filters`: lists every filter, its chain and what it does.

use super::CommandError;
use crate::filter::descriptor::ChainSide;
use crate::filter::registry::FILTERS;

pub fn run() -> Result<(), CommandError> {
    let width = FILTERS.iter().map(|kind| kind.name.len()).max();
    let width = width.unwrap_or_default();
    for kind in FILTERS {
        let chain = match kind.side {
            ChainSide::Request => "request",
            ChainSide::Response => "response",
            ChainSide::Either => "either",
        };
        println!("{:width$}  {chain:8}  {}", kind.name, kind.summary);
    }
    Ok(())
}
