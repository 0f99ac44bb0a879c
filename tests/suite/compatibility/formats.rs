//! What this version writes has the form that an earlier one reads, while both use one store.

use crate::harness::earlier_version::{EarlierState, STORES, StateCopy, requests};
use crate::harness::{Connection, RedisServer, Request, eventually};
use rusqlite::types::Value as SqlValue;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use tokio::time::sleep;

/// The shapes that values of one place have: for each, its members by their paths, with their types.
type Shapes = BTreeMap<String, BTreeSet<BTreeSet<String>>>;

/// Sends the requests that wrote the state of the earlier version, as far as they end.
async fn write_state(written: &EarlierState) -> Vec<Connection> {
    let mut open = Vec::new();
    for request in requests() {
        let name = request["name"].as_str().unwrap();
        let sent = written.request(name);
        let mut connection = written.gateway.connect().await;
        if request["end"] == "stall" {
            connection.send(&sent.bytes()).await.unwrap();
            open.push(connection);
            continue;
        }
        let made = connection.ask(&sent).await;
        let expected = request["status"].as_u64().unwrap_or(200);
        assert_eq!(u64::from(made.status), expected, "{name}: {}", made.text());
        if name == "ended" {
            let id = made.json()["task_id"].as_str().unwrap().to_owned();
            let query = Request::get(&format!("/v1/video/generations/{id}"));
            assert_eq!(written.gateway.ask(&query).await.status, 200);
        }
        if request["calls_back"] == true {
            call_back(written, name).await;
        }
    }
    open
}

/// Calls back as the provider of the last create does; the receiver refuses the event.
async fn call_back(written: &EarlierState, name: &str) {
    let create = written.provider.requests().pop().unwrap();
    let (_, body) = create.split_once("\r\n\r\n").unwrap();
    let url = serde_json::from_str::<Value>(body).unwrap()["callback_url"].clone();
    let (_, path) = url.as_str().unwrap().split_once("/_headgate").unwrap();
    let called = Request::post(&format!("/_headgate{path}"), "{}").without("authorization");
    assert_eq!(written.gateway.ask(&called).await.status, 200);
    let line = format!("POST /{name} ");
    eventually("a refused event", async || {
        let events = written.receiver.0.requests();
        events
            .iter()
            .any(|event| event.starts_with(&line))
            .then_some(())
    })
    .await;
}

/// The members of a value by their paths, each with its type. Elements of arrays share a path.
fn members(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    found.insert(format!("{path} {kind}"));
    match value {
        Value::Array(elements) => {
            for element in elements {
                members(element, &format!("{path}/-"), found);
            }
        }
        Value::Object(object) => {
            for (key, member) in object {
                members(member, &format!("{path}/{key}"), found);
            }
        }
        _ => {}
    }
}

/// The shape of a stored text: of its JSON up to the end of the line, after the number of the format if it has one.
fn shape(text: &str) -> BTreeSet<String> {
    let line = text.lines().next().unwrap_or_default();
    let (format, json) = match line.strip_prefix('\u{1}') {
        Some(json) => ("format 1", json),
        None => ("no format", line),
    };
    let mut found = BTreeSet::from([format.to_owned()]);
    match serde_json::from_str::<Value>(json) {
        Ok(value) => members(&value, "", &mut found),
        Err(_) => drop(found.insert("no JSON".to_owned())),
    }
    found
}

/// Words of a key, such as `headgate:{ann}:made:resp_1`, without those that differ each time.
fn without_ids(key: &str) -> String {
    let is_word = |part: &str| {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || b"_{}\x1f".contains(&byte);
        part.bytes().all(is_plain) && !part.starts_with("evt_")
    };
    let parts = key.split(':').map(|part| match part {
        made if made.ends_with("_of_second") => "*",
        part if is_word(part) || part.starts_with("demo-") => part,
        part if part.starts_with("{task-") => "{task-*}",
        _ => "*",
    });
    parts.collect::<Vec<_>>().join(":")
}

/// The shapes of all rows of a state file, by table and kind of record.
fn shapes_of_file(path: &Path) -> Shapes {
    let file = rusqlite::Connection::open(path).unwrap();
    let version: i64 = file
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    let mut shapes = Shapes::new();
    let mut add = |place: String, shape| shapes.entry(place).or_default().insert(shape);
    add("user_version".into(), BTreeSet::from([version.to_string()]));
    for (table, kind) in [
        ("made", "''"),
        ("spent", "measure || model"),
        ("noted", "''"),
        ("records", "kind"),
    ] {
        let columns = format!(
            "SELECT name || ' ' || type || ' ' || \"notnull\" || pk FROM pragma_table_info('{table}')"
        );
        let mut columns = file.prepare(&columns).unwrap();
        let columns = columns
            .query_map([], |row| row.get::<_, String>(0))
            .unwrap();
        add(
            format!("columns of {table}"),
            columns.map(Result::unwrap).collect(),
        );
        let mut rows = file
            .prepare(&format!("SELECT {kind}, * FROM {table}"))
            .unwrap();
        let names: Vec<String> = rows.column_names().map(str::to_owned).collect();
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let mut found = BTreeSet::new();
            for (at, name) in names.iter().enumerate().skip(1) {
                found.extend(match row.get::<_, SqlValue>(at).unwrap() {
                    SqlValue::Blob(value) => {
                        let text = String::from_utf8(value).unwrap();
                        shape(&text)
                            .into_iter()
                            .map(|member| format!("{name} {member}"))
                            .collect()
                    }
                    SqlValue::Null => vec![format!("{name} null")],
                    SqlValue::Integer(_) => vec![format!("{name} number")],
                    _ => vec![format!("{name} text")],
                });
            }
            add(
                format!("{table} {}", row.get::<_, String>(0).unwrap()),
                found,
            );
        }
    }
    shapes
}

/// The shapes of all keys of Redis.
fn shapes_of_redis(redis: &RedisServer) -> Shapes {
    let mut connection = redis::Client::open(redis.url())
        .unwrap()
        .get_connection()
        .unwrap();
    let mut shapes = Shapes::new();
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut connection).unwrap();
    for key in keys {
        let kind: String = redis::cmd("TYPE").arg(&key).query(&mut connection).unwrap();
        let mut ask = |words: &[&str]| -> Vec<String> {
            let mut command = redis::cmd(words[0]);
            command
                .arg(&key)
                .arg(&words[1..])
                .query(&mut connection)
                .unwrap()
        };
        let mut found = match &*kind {
            "hash" => {
                let fields = ask(&["HGETALL"]);
                let fields = fields.chunks(2).flat_map(|pair| {
                    let is_time = pair[0].trim_start_matches('-').parse::<u64>().is_ok();
                    let name = if is_time { "second" } else { &pair[0] };
                    let value = if is_time { "0" } else { &pair[1] };
                    shape(value)
                        .into_iter()
                        .map(move |member| format!("{name} {member}"))
                        .collect::<Vec<_>>()
                });
                fields.collect()
            }
            "zset" => BTreeSet::from([format!("{} members", ask(&["ZRANGE", "0", "0"]).len())]),
            "string" => {
                let text: String = redis::cmd("GET").arg(&key).query(&mut connection).unwrap();
                shape(&text)
            }
            _ => BTreeSet::new(),
        };
        found.insert(kind);
        let expires: i64 = redis::cmd("PTTL").arg(&key).query(&mut connection).unwrap();
        found.insert(format!("expires {}", expires > 0));
        shapes.entry(without_ids(&key)).or_default().insert(found);
    }
    shapes
}

fn shapes(state: &StateCopy) -> Shapes {
    match &state.redis {
        Some(redis) => shapes_of_redis(redis),
        None => shapes_of_file(&state.file()),
    }
}

/// What one version has written and the other one cannot read: shapes of the earlier version that are not among the new
/// ones, and new shapes without all members of an earlier one.
fn differences(earlier: &Shapes, new: &Shapes) -> Vec<String> {
    let mut found = Vec::new();
    let none = BTreeSet::new();
    for (place, known) in earlier {
        let written = new.get(place).unwrap_or(&none);
        for shape in known
            .iter()
            .filter(|shape| !written.iter().any(|new| shape.is_subset(new)))
        {
            found.push(format!("{place}: nothing like {shape:?} among {written:?}"));
        }
        for new in written
            .iter()
            .filter(|new| !known.iter().any(|shape| shape.is_subset(new)))
        {
            found.push(format!("{place}: {new:?} is unlike all of {known:?}"));
        }
    }
    found
}

#[tokio::test]
async fn what_is_written_now_has_the_keys_columns_and_members_that_earlier_versions_read() {
    for store in STORES {
        let earlier = shapes(&StateCopy::new(
            store,
            Some(Duration::ZERO),
            "http://127.0.0.1:9",
        ));
        assert!(earlier.len() > 12, "{earlier:?}");
        let written = EarlierState::empty(store).await;
        let open = write_state(&written).await;
        let mut found = differences(&earlier, &shapes(&written.state));
        for _ in 0..100 {
            if found.is_empty() {
                break;
            }
            sleep(Duration::from_millis(100)).await;
            found = differences(&earlier, &shapes(&written.state));
        }
        assert!(found.is_empty(), "{store:?}\n{}", found.join("\n"));
        drop(open);
    }
}
