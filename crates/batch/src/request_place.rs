//! Where a request of a batch stands, as errors name it.

use headgate_protocol::batch::{FILE, REQUESTS};
use headgate_protocol::fault::{Fault, FaultKind};
use std::fmt;

/// Where a request of a batch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestPlace {
    /// A line of the file, from 1.
    Line(usize),
    /// An entry of the list `requests`, from 0.
    Entry(usize),
}

impl RequestPlace {
    /// The error for a caller about this request.
    pub fn fault(self, message: impl fmt::Display) -> Fault {
        let fault = Fault::new(FaultKind::Invalid, format!("{self}: {message}"));
        match self {
            Self::Line(_) => fault.param(FILE),
            Self::Entry(index) => fault.param(format!("{REQUESTS}.{index}")),
        }
    }

    /// What holds the body of the request, as a path of fields ends.
    pub fn body(self) -> &'static str {
        match self {
            Self::Line(_) => "body",
            Self::Entry(_) => "params",
        }
    }
}

impl fmt::Display for RequestPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "line {number}"),
            Self::Entry(index) => write!(f, "`{REQUESTS}.{index}`"),
        }
    }
}
