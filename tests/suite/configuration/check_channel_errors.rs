//! Tests of `headgate check` with rows of `channels.*.errors`.

use super::check::{changed, check};

#[test]
fn a_row_that_cannot_be_meant_is_reported_with_its_place_and_the_next_step() {
    for (row, problems) in [
        (
            "{class: overloaded}",
            &[
                "channels.primary.errors[0]",
                "the row matches every error",
                "add a `status`, a `code` or the beginning of a `message`",
            ][..],
        ),
        (
            "{code: '-', class: overloaded}",
            &[
                "channels.primary.errors[0].code",
                "`code` has no letter or digit",
            ],
        ),
        (
            "{message: '*', class: overloaded}",
            &[
                "channels.primary.errors[0].message",
                "`message` has no letter or digit",
            ],
        ),
        (
            "{status: 400, class: overlodaed}",
            &[
                "channels.primary.errors[0].class",
                "did you mean `overloaded`?",
            ],
        ),
        (
            "{status: 200, class: overloaded}",
            &["channels.primary.errors[0].status", "400"],
        ),
        ("{status: 400}", &["channels.primary.errors[0]", "class"]),
        (
            "{status: 400, mesage: x, class: overloaded}",
            &["channels.primary.errors[0]", "did you mean `message`?"],
        ),
    ] {
        let errors = format!("protocols: [chat]\n    errors: [{row}]");
        let printed = check(&changed("protocols: [chat]", &errors));
        assert!(!printed.success, "{row}");
        for problem in problems {
            assert!(
                printed.stderr.contains(problem),
                "{row}: {problem} in {}",
                printed.stderr
            );
        }
    }
    let good =
        "protocols: [chat]\n    errors: [{status: 409, code: QUEUE_FULL, class: overloaded}]";
    let printed = check(&changed("protocols: [chat]", good));
    assert!(printed.success, "{}", printed.stderr);
}
