//! Tests of the outcomes of cases, with an invented family.

use super::*;
use crate::cli::family::case_file;
use headgate_config::family_file;
use std::path::Path;

const FAMILY: &str = r#"
vendor: Studio
create: {method: POST, path: "/{model}/tasks", headers: {x-version: "2", x-key: "k-{uuid}"}}
query: {method: GET, path: "{+id}"}
cancel: {method: DELETE, path: "{+id}"}
result: {method: GET, path: "/files/{/file}"}
request:
  model: /model
  prompt: /text
  medias: {first_frame: {to: /images/-, value: {url: "{}"}}}
  duration: {to: /seconds, allowed: [5, 10]}
  seed: {ignore: takes no seed}
task_id: ["{create_path}/{/id}", /url]
status: {at: /state, map: {new: queued, busy: running, done: succeeded, bad: failed}}
response: {video_url: /result/url, video_duration: /seconds, progress: /share}
errors: {code: [/code, /result/code], message: [/text, /result/text], statuses: {"7": 429, "8": 400}}
"#;

/// The place of each difference, with what was received.
fn mismatches(case: &str) -> Vec<(String, String)> {
    let family = family_file::parse(Path::new("studio.yaml"), FAMILY, None, &|_| None);
    let family = family.unwrap_or_else(|invalid| panic!("{invalid}"));
    let cases = case_file::read(&format!("- {{name: a, model: m, {case}}}\n"));
    let case = &cases.unwrap_or_else(|error| panic!("{error}"))[0];
    let found = VideoFamilyCaseOutcome::new(&family, case).mismatches(case);
    let found = found.0.into_iter();
    found.map(|found| (found.place, found.received)).collect()
}

#[test]
fn what_is_as_expected_passes() {
    for case in [
        "create: {prompt: a, seed: 1}, expect: {method: POST, path: /m/tasks, body: {model: m, text: a}, ignored: [seed]}",
        "create: {prompt: a}, expect: {headers: {x-version: '2', x-key: 'k-{uuid}'}}",
        "create: {duration: 7}, expect: {refused: duration, message: the nearest is 5}",
        "create: {prompts: a}, expect: {refused: prompts, message: did you mean `prompt`}",
        "created: {id: 9}, expect: {task: /m/tasks/9, query: GET /m/tasks/9, cancel: DELETE /m/tasks/9}",
        "base_url: 'https://a.example/v1', created: {url: 'https://a.example/v1/tasks/9?x=1'}, expect: {task: /tasks/9}",
        "created: {url: 'https://b.example/v1/tasks/9'}, expect: {error: 502, message: not below}",
        "created: {code: 7, text: slow down}, expect: {error: 429, code: '7', message: slow}",
        "created: {code: 9, text: broken}, expect: {error: 502, code: '9', message: broken}",
        "created: {}, expect: {error: 502, message: no task id}",
        "created: {status: 503, body: <html>}, expect: {error: 503}",
        "created: <html>, expect: {error: 502, message: no JSON}",
        "polled: {id: 9, state: busy, share: 0.25}, expect: {status: running, progress: 25}",
        "polled: {state: odd}, expect: {status: running, upstream_status: odd}",
        "polled: {state: bad, code: 1, text: a long reason}, expect: {status: failed, error_code: '1', error_message: reason}",
        "polled: {status: 404, body: {}}, expect: {status: running, upstream_status: not_found}",
        "polled: {status: 500, body: {text: broken}}, expect: {error: 500, message: broken}",
        "polled: {code: 7}, expect: {error: 429, code: '7'}",
        "polled: {}, expect: {error: 502, message: no status}",
        "polled: {state: done, file: 3, seconds: 5}, result: {url: u}, expect: {status: succeeded, video_url: u, duration: 5, result: GET /files/3}",
        "polled: {state: done, file: 3}, result: {status: 400, body: {code: 8, text: not allowed}}, expect: {status: failed, error_code: '8', error_message: allowed}",
        "polled: {state: done, file: 3}, result: {code: 7}, expect: {error: 429, code: '7'}",
        "polled: {state: done, file: 3}, result: {status: 503, body: {}}, expect: {error: 503}",
        "polled: {state: done, file: 3}, result: <html>, expect: {error: 502, message: result is no JSON}",
        "polled: {state: done}, expect: {status: failed, error_code: invalid_upstream_response}",
    ] {
        assert_eq!(mismatches(case), [], "{case}");
    }
}

#[test]
fn what_is_not_as_expected_is_named_with_its_place() {
    for (case, expected) in [
        (
            "create: {prompt: a, duration: 5}, expect: {path: /x, body: {model: m, text: b, more: 1}}",
            vec![
                ("body.more", "nothing"),
                ("body.text", r#""a""#),
                ("body.seconds", "5"),
                ("path", r#""/m/tasks""#),
            ],
        ),
        (
            "create: {medias: [{role: first_frame, url: u}]}, expect: {body: {model: m, images: [{url: v}, {url: w}]}}",
            vec![
                ("body.images[0].url", r#""u""#),
                ("body.images[1]", "nothing"),
            ],
        ),
        (
            "create: {duration: 7}, expect: {path: /m/tasks, body: {}}",
            vec![("refused", r#""duration""#)],
        ),
        (
            "create: {prompt: a}, expect: {refused: prompt}",
            vec![("refused", "nothing")],
        ),
        (
            "create: {duration: 7}, expect: {refused: duration, message: the nearest is 10}",
            vec![(
                "message",
                r#""`duration` of model `m` must be one of 5, 10; the nearest is 5""#,
            )],
        ),
        (
            "created: {code: 7}, expect: {task: '1'}",
            vec![("error", "429")],
        ),
        (
            "created: {id: 1}, expect: {error: 429}",
            vec![("error", "nothing")],
        ),
        (
            "polled: {state: odd}, expect: {status: running}",
            vec![("upstream_status", r#""odd""#)],
        ),
        (
            "polled: {state: busy}, expect: {status: queued}",
            vec![("status", r#""running""#)],
        ),
        (
            "polled: {state: busy}, result: {url: u}, expect: {status: running}",
            vec![("result", "none is sent")],
        ),
        (
            "polled: {state: done, file: 3}, expect: {status: succeeded}",
            vec![("status", "nothing")],
        ),
        (
            "task: '8', polled: {url: '9', state: busy}, expect: {status: running}",
            vec![("error", "502")],
        ),
    ] {
        let found = mismatches(case);
        let found: Vec<_> = found.iter().map(|(a, b)| (&**a, &**b)).collect();
        assert_eq!(found, expected, "{case}");
    }
}
