//! Tests of `families:` and `task_keys:` in whole files: what is built, and every problem with its position.

use crate::features::FEATURES;
use headgate_config as config;
use headgate_config::problem::ConfigProblem;
use headgate_config::snapshot::{BuiltSnapshot, CrossSnapshotState, build_loaded, feature_schemas};
use headgate_core::task::TaskSettings;
use std::path::Path;
use std::sync::Arc;

const REST: &str = "
channels: {c: {base_url: 'https://p.example/v1', protocols: [chat], models: {m: n}, family: family-b}}
routes: [{name: r, match: GET /v1/models, request: [authenticate, list_models]}]
callers: [{name: ann, key_sha256: 'f77894fdfa58e447c57e077eaa9708e8e009c84dc6aba2db80461275e9b85be7', models: ['*']}]
";

fn build(text: &str) -> Result<Arc<TaskSettings>, Vec<ConfigProblem>> {
    parsed(&format!("{text}{REST}")).map(|built| built.snapshot.tasks)
}

fn parsed(text: &str) -> Result<BuiltSnapshot, Vec<ConfigProblem>> {
    let path = Path::new("routes.yaml");
    let shared = CrossSnapshotState {
        variables: Arc::new(|_| None),
        ..CrossSnapshotState::new(FEATURES)
    };
    config::parse(path, text, &feature_schemas(FEATURES), &*shared.variables)
        .and_then(|loaded| build_loaded(path, loaded, &shared))
        .map_err(|invalid| invalid.problems)
}

/// Line, column, path and reason of each problem.
fn problems(text: &str) -> Vec<(u32, u32, String, String)> {
    let problems = build(text).err().unwrap_or_default();
    let place =
        |problem: ConfigProblem| (problem.line, problem.column, problem.path, problem.reason);
    problems.into_iter().map(place).collect()
}

#[test]
fn built_in_families_need_no_configuration() {
    let tasks = build("").unwrap();
    let names: Vec<&str> = tasks.families.keys().map(|name| &**name).collect();
    assert_eq!(names, ["family-a", "family-b"]);
    assert!(tasks.keys().is_err());
}

#[test]
fn a_built_in_family_is_built_where_a_channel_or_a_route_names_its_protocol() {
    let channel = REST.replace("protocols: [chat]", "protocols: [video, luma]");
    for (text, expected) in [
        (channel.replace(", family: family-b", ""), "luma"),
        (channel.replace("family-b", "luma"), "luma"),
        (REST.replace("request: ", "protocol: veo, request: "), "veo"),
    ] {
        let built = parsed(&text).unwrap();
        let names: Vec<&str> = built
            .snapshot
            .tasks
            .families
            .keys()
            .map(|it| &**it)
            .collect();
        assert_eq!(names, ["family-a", "family-b", expected], "{text}");
        let channel = built.snapshot.catalog.channel("c").unwrap();
        let family = channel.family.as_ref().map(|family| &*family.name);
        let of_channel = if expected == "luma" {
            "luma"
        } else {
            "family-b"
        };
        assert_eq!(family, Some(of_channel), "{text}");
    }
    let problems = parsed(&channel.replace("family-b", "veo")).err().unwrap();
    let reason = "family `veo` uses the protocol `veo`, not `luma`";
    assert_eq!(problems[0].reason, reason);
}

#[test]
fn a_family_takes_the_sections_that_it_lacks_from_a_shipped_one() {
    let tasks = build(
        "families:
  family-a:
    query: {method: GET, path: '/v2/{id}'}
  mirror:
    extends: family-b
    create: {method: PUT, path: /make}
",
    )
    .unwrap();
    let family_a = &tasks.families["family-a"];
    assert_eq!(family_a.query.call.path("1"), "/v2/1");
    assert_eq!(family_a.create.call.path(""), "/contents/generations/tasks");
    let mirror = &tasks.families["mirror"];
    assert_eq!(
        (&*mirror.name, &*mirror.create.call.path("")),
        ("mirror", "/make")
    );
    assert_eq!(mirror.query.call.path("1"), "/tasks/1");
    assert_eq!(tasks.families["family-b"].create.call.method, "POST");
}

#[test]
fn every_mistake_has_its_line_and_column() {
    let cases = [
        (
            "families:\n  family-b:\n    create: {method: POST, path: tasks}\n    status: {at: [/a, b], map: {x: succeeded}}\n",
            vec![
                (3, 34, "families.family-b.create.path", "not a path"),
                (
                    4,
                    23,
                    "families.family-b.status.at[1]",
                    "not a JSON pointer: it must begin with `/`",
                ),
            ],
        ),
        (
            "families:\n  mirror:\n    extends: family-c\n",
            vec![(
                3,
                14,
                "families.mirror.extends",
                "unknown built-in family `family-c`",
            )],
        ),
        (
            "families:\n  studio:\n    create: {method: POST, path: /tasks}\n",
            vec![
                (2, 3, "families.studio", "missing required key `query`"),
                (2, 3, "families.studio", "missing required key `request`"),
                (2, 3, "families.studio", "missing required key `task_id`"),
                (2, 3, "families.studio", "missing required key `status`"),
                (2, 3, "families.studio", "missing required key `response`"),
            ],
        ),
        (
            "families:\n  family-a:\n    status: {at: /s, map: {done: suceeded}}\n    times: 1\n",
            vec![
                (
                    3,
                    34,
                    "families.family-a.status.map.done",
                    "unknown value `suceeded`",
                ),
                (4, 5, "families.family-a.times", "unknown key `times`"),
            ],
        ),
        (
            "families:\n  family-a:\n    request: {model: {to: /m, vale: x}, prompt: [/p]}\n",
            vec![
                (
                    3,
                    31,
                    "families.family-a.request.model.vale",
                    "unknown key `vale`",
                ),
                (3, 41, "families.family-a.request.prompt", "expected"),
            ],
        ),
    ];
    for (text, expected) in cases {
        let mut found = problems(text);
        found.sort_by_key(|(line, column, ..)| (*line, *column));
        assert_eq!(found.len(), expected.len(), "{text}: {found:?}");
        for ((line, column, path, reason), wanted) in found.iter().zip(expected) {
            assert_eq!(
                (*line, *column, &**path),
                (wanted.0, wanted.1, wanted.2),
                "{reason}"
            );
            assert!(reason.contains(wanted.3), "{reason}");
        }
    }
}

#[test]
fn a_channel_with_an_unknown_family_is_refused() {
    let channel = |family: &str| {
        let channel = format!(
            "base_url: 'http://p.example', protocols: [chat], models: {{m: n}}, family: {family}"
        );
        let rest = REST.split_once("routes:").unwrap().1;
        format!("channels: {{c: {{{channel}}}}}\nroutes:{rest}")
    };
    let found = |text: &str| {
        let problems = parsed(text).err().unwrap_or_default();
        let place = |problem: ConfigProblem| (problem.path, problem.reason, problem.hint);
        problems.into_iter().map(place).collect::<Vec<_>>()
    };
    let built = parsed(&channel("family-a")).unwrap();
    let channels: Vec<_> = built.snapshot.catalog.channels().collect();
    let family = channels[0].family.as_ref().unwrap();
    assert_eq!(&*family.name, "family-a");
    let unknown = found(&channel("famly-b"));
    let expected = (
        "channels.c.family".to_string(),
        "unknown family `famly-b`".to_string(),
        Some("did you mean `family-b` or `family-a`?".to_string()),
    );
    assert_eq!(unknown, [expected]);
    // A family that is declared and broken is reported once.
    let broken = found(&format!(
        "families: {{studio: {{extends: family-x}}}}\n{}",
        channel("studio")
    ));
    assert_eq!(broken.len(), 1, "{broken:?}");
}

#[test]
fn a_channel_without_a_family_speaks_that_of_its_protocol_and_none_against_it() {
    let with = |channel: &str| {
        let rest = REST.split_once("routes:").unwrap().1;
        parsed(&format!(
            "channels: {{c: {{base_url: 'http://p.example', {channel}}}}}\nroutes:{rest}"
        ))
    };
    let family = |channel: &str| {
        let built = with(channel).unwrap();
        let family = built.snapshot.catalog.channel("c").unwrap().family.clone();
        family.map(|family| family.name.to_string())
    };
    for (channel, expected) in [
        (
            "models: {m: n}, protocols: [family_a, video]",
            Some("family-a"),
        ),
        ("models: {m: n}, protocols: [family_b]", Some("family-b")),
        ("models: {m: n}, protocols: [family_a, family_b]", None),
        ("models: {m: n}, protocols: [chat, video]", None),
        ("retired: true, protocols: [family_b]", Some("family-b")),
    ] {
        assert_eq!(family(channel).as_deref(), expected, "{channel}");
    }
    for (channel, path, reason) in [
        (
            "models: {m: n}, protocols: [video, family_a], family: family-b",
            "channels.c.protocols",
            "family `family-b` uses the protocol `family_b`, not `family_a`",
        ),
        (
            "protocols: [chat]",
            "channels.c",
            "the channel has no `models`",
        ),
    ] {
        let problems = with(channel).err().unwrap();
        let found: Vec<_> = problems
            .iter()
            .map(|found| (&*found.path, &*found.reason))
            .collect();
        assert_eq!(found, [(path, reason)], "{channel}");
    }
}

#[test]
fn task_keys_are_long_and_different_and_never_shown() {
    let (first, second) = ("k".repeat(32), "s".repeat(40));
    assert!(
        build(&format!("task_keys: [{first}, {second}]\n"))
            .unwrap()
            .keys()
            .is_ok()
    );
    let found = problems(&format!(
        "task_keys:\n  - {first}\n  - {first}\n  - short-secret\n"
    ));
    let reasons: Vec<&str> = found.iter().map(|(.., reason)| &**reason).collect();
    let expected = [
        "duplicate task key",
        "a task key must have at least 32 characters; `headgate key task` prints one",
    ];
    assert_eq!(reasons, expected);
    assert_eq!(
        (found[1].0, found[1].1, &*found[1].2),
        (4, 5, "task_keys[2]")
    );
    let text = format!("{:?}", build("task_keys: [short-secret]\n").err());
    assert!(
        text.contains("headgate key task") && !text.contains("short-secret"),
        "{text}"
    );
}

#[test]
fn a_route_of_a_vendors_own_api_has_the_path_of_a_call() {
    let with = |pattern: &str, request: &str| {
        parsed(&format!(
            "task_keys: ['0123456789abcdef0123456789abcdef']
families: {{studio: {{extends: replicate, protocol: family_a}}}}
channels:
  c:
    {{base_url: 'https://p.example/v1', protocols: [video, family_a], family: studio, models: {{own/m: o/n}}}}
routes: [{{name: r, match: '{pattern}', protocol: family_a, request: {request}}}]
callers: []
"
        ))
    };
    const CREATE: &str =
        "[authenticate, route_model, idempotency, {map_task: {operation: create}}]";
    const TASK: &str = "[authenticate, {map_task: {operation: native}}]";
    for (pattern, request) in [
        ("POST /own/models/{+model}/predictions", CREATE),
        ("POST /models/{+model}/predictions", CREATE),
        ("GET /own/predictions/{id}", TASK),
        ("POST /own/predictions/{id}/cancel", TASK),
    ] {
        let problems = with(pattern, request).err().unwrap_or_default();
        assert!(problems.is_empty(), "{pattern}: {problems:?}");
    }
    for (pattern, request, reason) in [
        (
            "POST /own/predictions",
            CREATE,
            "has the model in its paths",
        ),
        (
            "POST /own/{+model}/predictions",
            CREATE,
            "is no call of the vendor's API",
        ),
        (
            "GET /own/predictions/{task_id}",
            TASK,
            "is no call of the vendor's API",
        ),
        (
            "DELETE /own/predictions/{id}",
            TASK,
            "is no call of the vendor's API",
        ),
        (
            "GET /own/{x}/predictions/{id}",
            TASK,
            "is no call of the vendor's API",
        ),
        (
            "POST /own/models/{+model}/predictions",
            TASK,
            "is no call of the vendor's API",
        ),
    ] {
        let problems = with(pattern, request).err().unwrap();
        let found = problems
            .iter()
            .any(|problem| problem.reason.contains(reason));
        assert!(found, "{pattern}: {problems:?}");
    }
}
