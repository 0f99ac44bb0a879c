//! Tests of the test command: a test that failed once is never silently counted as passed.

use super::tree::root;
use std::fs;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

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

#[test]
fn failed_stages_and_those_that_were_not_run_count_as_failed() {
    let printed = output(
        "good() { stage a count_one true; stage tests count_suite echo '7 passed, 0 failed'; }
         bad() { stage b count_one sh -c 'echo its reason; exit 3'; after bad b && stage c count_one true; }
         lane good good
         lane bad bad
         report_stages
         summary a tests b c",
    );
    let shown = text(&printed);
    assert_eq!(printed.status.code(), Some(1), "{shown}");
    for line in ["failed: b", "failed: c was not run", "    its reason"] {
        assert!(shown.lines().any(|is| is == line), "{line}: {shown}");
    }
    let expected = "\nsecond chances: 0\n8 passed, 2 failed\n";
    assert!(shown.ends_with(expected), "{shown}");
}

#[test]
fn lanes_run_beside_one_another_and_wait_for_stages_of_others() {
    // Each stage ends only once the other has begun; the third begins after the first.
    let printed = output(
        "meet() { : >\"$FOLDER/$1\"; for _ in $(seq 300); do [ -e \"$FOLDER/$2\" ] && return; sleep 0.1; done; false; }
         one() { stage a count_one meet here there; }
         two() { stage b count_one meet there here; after one a && stage c count_one true; }
         lane one one
         lane two two
         report_stages
         summary a b c",
    );
    let shown = text(&printed);
    assert!(shown.ends_with("\n3 passed, 0 failed\n"), "{shown}");
    assert_eq!(printed.status.code(), Some(0), "{shown}");
}

#[test]
fn a_run_that_is_stopped_leaves_no_process() {
    let mut run = lanes(
        "forever() { sh -c 'echo $$; exec sleep 600'; }
         one() { stage a count_one forever; }
         lane one one
         until grep . \"$FOLDER/a.log\" 2>/dev/null; do sleep 0.1; done
         report_stages",
    );
    let mut run = run.stdout(Stdio::piped()).spawn().expect("bash runs");
    let mut process = String::new();
    let stdout = run.stdout.take().expect("it is a pipe");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut process)
        .expect("it prints the process of the stage");
    let kill = |arguments: &[&str]| {
        let kill = Command::new("kill")
            .args(arguments)
            .stderr(Stdio::null())
            .status();
        kill.expect("kill runs").success()
    };
    let process = process.trim();
    assert!(kill(&["-0", process]));
    assert!(kill(&["-TERM", &run.id().to_string()]));
    assert_eq!(run.wait().expect("it ends").code(), Some(143));
    // The stage has no parent any more, and is gone once the system has noticed.
    let is_gone = (0..300).any(|_| {
        sleep(Duration::from_millis(10));
        !kill(&["-0", process])
    });
    assert!(is_gone, "{process}");
}

fn output(script: &str) -> Output {
    lanes(script).output().expect("bash runs")
}

/// A script that runs stages of its own.
fn lanes(script: &str) -> Command {
    let mut command = Command::new("bash");
    let script = format!("set -uo pipefail; . tests/counting.sh; . tests/stages.sh\n{script}");
    command.arg("-c").arg(script).current_dir(root());
    command
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
