//! Tests of every case in `tests/fixtures/families`: an input, and the expected output.

use super::*;
use crate::generic::GenericVideoRequest;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_request_is_mapped_as_in_its_fixture() {
    for (name, family) in families() {
        for FamilyTestCase { path, incoming } in cases(&name, "requests", "caller") {
            let document = JsonDocument::parse(incoming.into(), &JsonLimits::default()).unwrap();
            let mapped = GenericVideoRequest::read(&document).and_then(|request| {
                family.request(&request, "provider-model", UnsupportedFieldPolicy::Refuse)
            });
            match (mapped, outgoing(&path, "refused")) {
                (Ok(mapped), None) => {
                    let sent: Value = serde_json::from_slice(&mapped.body).unwrap();
                    assert_eq!(mapped.ignored, [], "{}", path.display());
                    assert_eq!(
                        Some(sent),
                        encode_json(&path, "provider"),
                        "{}",
                        path.display()
                    );
                }
                (Err(refused), Some(_)) => {
                    let expected = encode_json(&path, "refused").unwrap();
                    assert_eq!(expected["param"], *refused.param, "{}", path.display());
                    let words = expected["message"].as_str().unwrap();
                    assert!(refused.message.contains(words), "{refused}: {words}");
                    assert!(refused.message.contains(&*refused.param), "{refused}");
                    let is_of_media = refused.param.starts_with("medias");
                    assert!(
                        is_of_media || refused.message.contains("model `demo`"),
                        "{refused}"
                    );
                }
                (mapped, _) => panic!("{}: {mapped:?}", path.display()),
            }
        }
    }
}

#[test]
fn every_response_is_mapped_as_in_its_fixture() {
    for (name, family) in families() {
        for FamilyTestCase { path, incoming } in cases(&name, "answers", "provider") {
            let response = JsonDocument::parse(incoming.into(), &JsonLimits::default()).unwrap();
            let task = task(&name);
            let status = family.status(&response, &task, now_ms()).unwrap();
            let reported: Value = serde_json::from_slice(&status.render("task_1", &task)).unwrap();
            assert_eq!(
                Some(reported),
                encode_json(&path, "caller"),
                "{}",
                path.display()
            );
        }
    }
}

#[test]
fn every_answer_in_the_familys_own_shape_keeps_all_bytes_but_those_of_its_fixture() {
    for (name, family) in families() {
        for (kind, is_query) in [("native/create", false), ("native/query", true)] {
            for FamilyTestCase { path, incoming } in cases(&name, kind, "provider") {
                let response =
                    JsonDocument::parse(incoming.into(), &JsonLimits::default()).unwrap();
                let task = task(&name);
                let status = is_query.then(|| family.status(&response, &task, now_ms()).unwrap());
                let seal = |upstream: &str| format!("task_of_{upstream}");
                let view = NativeTaskView {
                    task: &task,
                    id: "task_1",
                    file_id: "task1",
                    status: status.as_ref(),
                    seal: &seal,
                    base_url: None,
                    is_allowed: &|_| true,
                };
                let reported = family.native(&response, view).body;
                let reported = String::from_utf8(reported.to_vec()).unwrap();
                assert_eq!(
                    Some(reported),
                    outgoing(&path, "caller"),
                    "{}",
                    path.display()
                );
            }
        }
    }
}

/// An input, and the path that its files share without their last two extensions.
struct FamilyTestCase {
    path: PathBuf,
    incoming: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/families")
}

/// All families: each folder is a built-in family, or a family with a definition beside its cases.
fn families() -> Vec<(String, VideoFamily)> {
    let families: Vec<_> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir() && !path.ends_with("cases"))
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let family = match fs::read_to_string(path.join("definition.yaml")) {
                Ok(definition) => VideoFamily::new(&name, &config(&definition)).unwrap(),
                Err(_) => family(&name),
            };
            (name, family)
        })
        .collect();
    assert!(families.len() >= 3, "the fixtures are not all there");
    families
}

/// The cases of a family, by their input files; a family may have no cases of a kind.
fn cases(family: &str, kind: &str, incoming: &str) -> Vec<FamilyTestCase> {
    let ending = format!(".{incoming}.json");
    let Ok(entries) = fs::read_dir(folder().join(family).join(kind)) else {
        return Vec::new();
    };
    let files = entries.map(|entry| entry.unwrap().path());
    let cases = files.filter_map(|file| {
        let path = file.to_str().unwrap().strip_suffix(&ending)?.into();
        let incoming = fs::read_to_string(&file).unwrap().trim_end().to_owned();
        Some(FamilyTestCase { path, incoming })
    });
    cases.collect()
}

fn outgoing(case: &Path, side: &str) -> Option<String> {
    let file = format!("{}.{side}.json", case.display());
    let text = fs::read_to_string(file).ok()?;
    Some(text.trim_end().to_owned())
}

fn encode_json(case: &Path, side: &str) -> Option<Value> {
    let text = outgoing(case, side)?;
    Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", case.display())))
}
