//! Tests of the test command: a test that failed once is never silently counted as passed.

use super::tree::root;
use std::fs;
use std::process::{Command, Output};

const FAILED_TWICE: &str = "\
test crowds::a ... FAILED
test crowds::b ... ok
test crowds::c ... FAILED
test result: FAILED. 40 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out
test result: ok. 7 passed; 0 failed; 0 ignored
";

#[test]
fn tests_that_passed_only_alone_are_listed_before_the_count() {
    let printed = verdict(42, 0, &["crowds::a", "crowds::c"]);
    let expected = "second chances: 2 passed only when run alone: crowds::a crowds::c\n\
                    42 passed, 0 failed\n";
    assert_eq!(
        (text(&printed).as_str(), printed.status.code()),
        (expected, Some(0))
    );
    let printed = verdict(42, 0, &[]);
    let expected = "second chances: 0\n42 passed, 0 failed\n";
    assert_eq!(
        (text(&printed).as_str(), printed.status.code()),
        (expected, Some(0))
    );
    let printed = verdict(42, 1, &["crowds::a"]);
    assert!(
        text(&printed).ends_with("\n42 passed, 1 failed\n"),
        "{}",
        text(&printed)
    );
    assert_eq!(printed.status.code(), Some(1));
}

#[test]
fn more_than_three_second_chances_fail_the_run() {
    let printed = verdict(42, 0, &["a::a", "b::b", "c::c", "d::d"]);
    let expected = "second chances: 4, more than the 3 allowed, which fails the run: a::a b::b c::c d::d\n\
                    38 passed, 4 failed\n";
    assert_eq!(
        (text(&printed).as_str(), printed.status.code()),
        (expected, Some(1))
    );
    let three = verdict(42, 0, &["a::a", "b::b", "c::c"]);
    assert_eq!(three.status.code(), Some(0), "{}", text(&three));
}

#[test]
fn a_log_is_counted_line_by_line() {
    let counted = |log: &str| text(&with_file("count_cargo", log)).trim().to_owned();
    assert_eq!(counted(FAILED_TWICE), "47 2");
    let alone = format!("{FAILED_TWICE}passed alone: 2\n");
    assert_eq!(counted(&alone), "49 0");
    assert_eq!(counted("error: could not compile\n"), "0 0");
}

#[test]
fn only_a_few_tests_of_real_processes_may_be_tried_again() {
    let failed = |names: &[&str]| {
        let lines = names.iter().map(|name| format!("test {name} ... FAILED\n"));
        with_file("may_try_again", &lines.collect::<String>())
    };
    for (names, is_allowed) in [
        (&["crowds::a", "crowds::c"][..], true),
        (&["a::a", "b::b", "c::c"], true),
        (&["a::a", "b::b", "c::c", "d::d"], false),
        // A name without a module is not one of the suite's.
        (&["crowds::a", "a_rule_of_the_house"], false),
        (&[], false),
    ] {
        let printed = failed(names);
        assert_eq!(printed.status.success(), is_allowed, "{names:?}");
        if is_allowed {
            assert_eq!(text(&printed).split_whitespace().collect::<Vec<_>>(), names);
        }
    }
}

fn verdict(passed: u32, failed: u32, names: &[&str]) -> Output {
    let lines: String = names.iter().map(|name| format!("{name}\n")).collect();
    with_file(&format!("verdict {passed} {failed}"), &lines)
}

/// Calls a function of tests/counting.sh with a file that has this content as its last argument.
fn with_file(function: &str, content: &str) -> Output {
    let name = format!(
        "headgate-tidy-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    );
    let file = std::env::temp_dir().join(name);
    fs::write(&file, content).expect("a file can be written there");
    let printed = Command::new("bash")
        .arg("-c")
        .arg(format!(". tests/counting.sh; {function} \"$1\""))
        .args(["counting"])
        .arg(&file)
        .current_dir(root())
        .output()
        .expect("bash runs");
    fs::remove_file(&file).expect("what was written can be removed");
    printed
}

fn text(printed: &Output) -> String {
    String::from_utf8_lossy(&printed.stdout).into_owned()
}
