//! The bodies of JSONTestSuite (github.com/nst/JSONTestSuite), which is not in this repository: HEADGATE_JSON_TEST_SUITE names its
//! folder `test_parsing`.

use super::super::JsonErrorKind as Reason;
use super::parse;
use std::fs;
use std::path::PathBuf;

/// Bodies that RFC 8259 allows and the gateway refuses: parsers disagree on which of two equal keys counts.
const REFUSED: [&str; 2] = [
    "y_object_duplicated_key.json",
    "y_object_duplicated_key_and_value.json",
];
/// Bodies that RFC 8259 leaves open and the gateway accepts: a provider receives the number as it is written.
const ACCEPTED: [&str; 10] = [
    "i_number_double_huge_neg_exp.json",
    "i_number_huge_exp.json",
    "i_number_neg_int_huge_exp.json",
    "i_number_pos_double_huge_exp.json",
    "i_number_real_neg_overflow.json",
    "i_number_real_pos_overflow.json",
    "i_number_real_underflow.json",
    "i_number_too_big_neg_int.json",
    "i_number_too_big_pos_int.json",
    "i_number_very_big_negative_int.json",
];

#[test]
fn the_bodies_of_json_test_suite_are_accepted_or_refused_as_listed() {
    let Some(folder) = std::env::var_os("HEADGATE_JSON_TEST_SUITE") else {
        println!("not run: HEADGATE_JSON_TEST_SUITE names no folder");
        return;
    };
    let (mut accepted, mut refused, mut wrong) = (0, 0, Vec::new());
    for entry in fs::read_dir(PathBuf::from(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if !name.ends_with(".json") {
            continue;
        }
        let body = fs::read(entry.path()).unwrap();
        let expected = match &name[..2] {
            "y_" => !REFUSED.contains(&&*name),
            "i_" => ACCEPTED.contains(&&*name),
            _ => false,
        };
        let is_right = match parse(&body) {
            Ok(document) => {
                accepted += 1;
                expected && document.body() == &body
            }
            Err(error) => {
                refused += 1;
                let is_duplicate = matches!(error.reason, Reason::DuplicateKey(_));
                !expected && (is_duplicate || !name.starts_with("y_"))
            }
        };
        if !is_right {
            wrong.push(name);
        }
    }
    println!("{accepted} bodies accepted, {refused} refused");
    assert!(accepted + refused >= 318, "the folder has too few bodies");
    assert!(wrong.is_empty(), "{wrong:?}");
}
