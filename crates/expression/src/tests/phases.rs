//! Names and the phase that knows them.

use crate::{DocumentKind, EvaluationPhase, Expression, Variable};

const PHASES: [EvaluationPhase; 6] = [
    EvaluationPhase::Head,
    EvaluationPhase::Body,
    EvaluationPhase::Attempt,
    EvaluationPhase::ResponseHead,
    EvaluationPhase::ResponseBody,
    EvaluationPhase::Event,
];

#[test]
fn a_name_is_known_from_its_phase_on() {
    use EvaluationPhase as P;
    let table: [(&str, EvaluationPhase, &[EvaluationPhase]); 12] = [
        ("request.method", P::Head, &PHASES),
        ("\"a\" in request.headers", P::Head, &PHASES),
        ("caller", P::Head, &PHASES),
        ("true", P::Head, &PHASES),
        ("model", P::Body, &PHASES[1..]),
        ("json(\"/a\")", P::Body, &PHASES[1..]),
        ("attempt", P::Attempt, &PHASES[2..]),
        ("response.status", P::ResponseHead, &PHASES[3..]),
        ("response.headers.via", P::ResponseHead, &PHASES[3..]),
        ("usage.input_tokens", P::ResponseBody, &[P::ResponseBody]),
        (
            "response_json(\"/a\") == model",
            P::ResponseBody,
            &[P::ResponseBody],
        ),
        ("event.type == channel", P::Event, &[P::Event]),
    ];
    for (text, earliest, knowing) in table {
        for phase in PHASES {
            let compiled = Expression::compile(text, phase);
            assert_eq!(
                compiled.is_ok(),
                knowing.contains(&phase),
                "{text} in {phase:?}"
            );
            if let Ok(expression) = compiled {
                assert_eq!(expression.phase(), earliest, "{text} in {phase:?}");
                assert_eq!(expression.text(), text);
            }
        }
    }
}

#[test]
fn a_name_of_a_later_phase_is_refused_with_what_it_waits_for() {
    let table = [
        (
            "model",
            EvaluationPhase::Head,
            "`model` is not known before the request body is read",
            "use it where the request body is known",
        ),
        (
            "true && channel == \"a\"",
            EvaluationPhase::Body,
            "`channel` is not known before a channel is chosen",
            "use it where the channel is known",
        ),
        (
            "response.status",
            EvaluationPhase::Body,
            "`response.status` is not known before the response",
            "use it in a filter of the response chain",
        ),
        (
            "response_json(\"/a\")",
            EvaluationPhase::Event,
            "`response_json` is not known before the whole response body",
            "use it in a filter of the response chain that works on complete responses",
        ),
        (
            "event_json(\"/a\")",
            EvaluationPhase::ResponseBody,
            "`event_json` is not known outside of the events of a stream",
            "use it in a filter that works on the events of a stream",
        ),
    ];
    for (text, available, message, hint) in table {
        let error = Expression::compile(text, available).unwrap_err();
        assert_eq!(
            (&*error.message, error.hint.as_deref()),
            (message, Some(hint)),
            "{text}"
        );
    }
}

#[test]
fn phases_know_their_variables() {
    assert!(EvaluationPhase::Head.knows(Variable::Method));
    assert!(!EvaluationPhase::Head.knows(Variable::Model));
    assert!(EvaluationPhase::ResponseBody.knows(Variable::UsageTotalTokens));
    assert!(!EvaluationPhase::Event.knows(Variable::UsageTotalTokens));
    assert!(!EvaluationPhase::ResponseBody.knows(Variable::EventType));
    assert!(EvaluationPhase::Event.knows(Variable::Status));
}

#[test]
fn an_expression_knows_which_documents_it_reads() {
    use DocumentKind as D;
    let table: [(&str, &[DocumentKind]); 4] = [
        ("model == \"a\"", &[]),
        ("json(\"/a\") == json(\"/b\")", &[D::Request]),
        ("has(json(\"/a\"))", &[D::Request]),
        (
            "[1].all(x, response_json(\"/a\") == json(\"/b\"))",
            &[D::Request, D::Response],
        ),
    ];
    for (text, read) in table {
        let expression = Expression::compile(text, EvaluationPhase::ResponseBody).unwrap();
        for kind in [D::Request, D::Response, D::Event] {
            assert_eq!(
                expression.reads(kind),
                read.contains(&kind),
                "{text} {kind:?}"
            );
        }
    }
}
