//! Finds personal data in text.
//!
//! The built-in kinds are found by scanners instead of regular expressions: they are faster, and they check what a
//! regular expression cannot (the check digits of cards and of bank accounts).

mod bank_account;
mod email;
mod number;

use regex_lite::Regex;
use serde::Deserialize;
use std::cmp::Reverse;
use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Email,
    Phone,
    Card,
    Iban,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Email, Self::Phone, Self::Card, Self::Iban];

    /// The name in the placeholder.
    pub fn name(self) -> &'static str {
        match self {
            Self::Email => "EMAIL",
            Self::Phone => "PHONE",
            Self::Card => "CARD",
            Self::Iban => "IBAN",
        }
    }
}

/// Where personal data is, and its kind's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding<'a> {
    pub range: Range<usize>,
    pub name: &'a str,
}

#[derive(Debug, Default)]
pub struct Detector {
    pub kinds: Vec<Kind>,
    pub patterns: Vec<(String, Regex)>,
}

impl Detector {
    /// All personal data of a text, in order and without overlaps. Of two that overlap the one that begins first is
    /// found, of two that begin together the longer one.
    pub fn find(&self, text: &str) -> Vec<Finding<'_>> {
        let mut findings = Vec::new();
        for (name, regex) in &self.patterns {
            findings.extend(regex.find_iter(text).map(|found| Finding {
                range: found.range(),
                name,
            }));
        }
        for kind in &self.kinds {
            let ranges = match kind {
                Kind::Email => email::find(text),
                Kind::Phone => number::find_phones(text),
                Kind::Card => number::find_cards(text),
                Kind::Iban => bank_account::find(text),
            };
            let name = kind.name();
            findings.extend(ranges.into_iter().map(|range| Finding { range, name }));
        }
        findings.sort_by_key(|finding| (finding.range.start, Reverse(finding.range.end)));
        let mut end = 0;
        findings.retain(|finding| {
            let is_free = finding.range.start >= end;
            if is_free {
                end = finding.range.end;
            }
            is_free
        });
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::{Detector, Kind};
    use regex_lite::Regex;

    fn found(text: &str) -> Vec<(&str, String)> {
        let detector = Detector {
            kinds: Kind::ALL.to_vec(),
            patterns: Vec::new(),
        };
        let findings = detector.find(text);
        let name = |name: &str| {
            Kind::ALL
                .map(Kind::name)
                .into_iter()
                .find(|known| *known == name)
                .unwrap()
        };
        findings
            .into_iter()
            .map(|finding| (name(finding.name), text[finding.range].to_owned()))
            .collect()
    }

    #[test]
    fn each_kind_is_found_in_a_sentence() {
        let text = "Mail ann@example.com or call +49 30 1234567; card 4111 1111 1111 1111, \
                    account DE89 3704 0044 0532 0130 00.";
        assert_eq!(
            found(text),
            [
                ("EMAIL", "ann@example.com".to_owned()),
                ("PHONE", "+49 30 1234567".to_owned()),
                ("CARD", "4111 1111 1111 1111".to_owned()),
                ("IBAN", "DE89 3704 0044 0532 0130 00".to_owned()),
            ]
        );
    }

    #[test]
    fn the_first_of_two_that_overlap_is_found() {
        let detector = Detector {
            kinds: vec![Kind::Email],
            patterns: vec![("USER".to_owned(), Regex::new("[a-z]+@[a-z]+").unwrap())],
        };
        let findings = detector.find("x ann@example.com");
        assert_eq!(findings.len(), 1);
        assert_eq!(
            (findings[0].name, findings[0].range.clone()),
            ("EMAIL", 2..17)
        );
    }
}
