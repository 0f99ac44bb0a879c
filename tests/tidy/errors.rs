//! The page on errors has every code, with its status and whether SDKs retry it.

use super::tree::{assert_none, read};
use headgate_protocol::fault::FaultKind;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = "docs/errors.md";

#[test]
fn the_page_on_errors_has_every_code_with_its_statuses_and_no_other() {
    let page = read(PAGE);
    let mut sections: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for section in page.split("\n### `").skip(1) {
        let (code, text) = section.split_once("`\n").expect("a heading is a code");
        sections.entry(code).or_default().push(text.trim_start());
    }
    let mut offenders = Vec::new();
    for (code, kinds) in kinds_by_code() {
        let texts = sections.remove(code).unwrap_or_default();
        let [text] = texts[..] else {
            offenders.push(format!("{PAGE}:1: has no section `{code}`, or several"));
            continue;
        };
        let first = text.split(". ").next().unwrap_or_default();
        let named: BTreeSet<u16> = first
            .split(|letter: char| !letter.is_ascii_digit())
            .filter_map(|word| word.parse().ok())
            .filter(|status| *status != 529)
            .collect();
        let statuses: BTreeSet<u16> = kinds.iter().map(|kind| kind.status()).collect();
        if named != statuses || !first.starts_with("Status ") {
            offenders.push(format!(
                "{PAGE}:1: `{code}` has the statuses {statuses:?}: {first}"
            ));
        }
        let is_sent = !first.contains("log only");
        let may_retry = kinds.iter().all(|kind| kind.is_transient());
        // A create whose outcome is unknown may succeed later, but would be paid twice.
        let retry = match may_retry && code != "outcome_unknown" {
            true => "Retry: yes",
            false => "Retry: no",
        };
        if is_sent && !text.contains(retry) {
            offenders.push(format!("{PAGE}:1: `{code}` should have `{retry}`"));
        }
    }
    let unknown = sections.keys();
    offenders.extend(unknown.map(|code| format!("{PAGE}:1: `{code}` is no code")));
    assert_none("each code of an error has its section", &offenders);
}

/// The kinds of fault of each code.
fn kinds_by_code() -> BTreeMap<&'static str, Vec<FaultKind>> {
    let mut kinds: BTreeMap<&str, Vec<FaultKind>> = BTreeMap::new();
    for kind in FaultKind::ALL {
        kinds.entry(kind.code()).or_default().push(kind);
    }
    kinds
}

/// A kind that is not in the list would be missing on the page, and in the OpenAPI document.
#[test]
fn the_list_of_all_kinds_of_fault_is_complete() {
    let source = read("crates/protocol/src/fault.rs");
    let (_, variants) = source.split_once("pub enum FaultKind {").expect("the enum");
    let (variants, _) = variants.split_once("\n}").expect("its end");
    let names = variants.lines().map(str::trim);
    let names = names.filter(|line| line.starts_with(|letter: char| letter.is_ascii_uppercase()));
    let names: BTreeSet<&str> = names
        .filter_map(|line| line.split(['(', ',']).next())
        .collect();
    let listed: Vec<String> = FaultKind::ALL
        .iter()
        .map(|kind| format!("{kind:?}"))
        .collect();
    let listed: BTreeSet<&str> = listed
        .iter()
        .filter_map(|kind| kind.split('(').next())
        .collect();
    assert_eq!(listed, names);
}
