//! The table of exit codes in docs/commands.md, compared with the commands.

use super::changed_pair::{config_of, run};
use crate::harness::config::standard;
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use std::collections::BTreeMap;
use std::net::TcpListener;

/// By command: the meanings of 0, 1 and 2; an empty one never occurs.
fn documented() -> BTreeMap<String, [String; 3]> {
    let page = include_str!("../../../docs/commands.md");
    let (_, table) = page.split_once("| command | 0 | 1 | 2 |").unwrap();
    let mut meanings = BTreeMap::new();
    for row in table.lines().skip(2) {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let [_, commands, zero, one, two, _] = cells[..] else {
            break;
        };
        for command in commands.split(", ") {
            let codes = [zero, one, two].map(str::to_owned);
            meanings.insert(command.trim_matches('`').to_owned(), codes);
        }
    }
    meanings
}

fn folder() -> Folder {
    let folder = folder_with_schemas();
    let config = standard("https://provider.test/v1");
    folder.write("routes.yaml", format!("{config:#}"));
    folder.write("invalid.yaml", "routs: []\n");
    let sample = r#"{"path": "/v1/models", "caller": "ann"}"#;
    folder.write("samples.jsonl", sample);
    folder
}

#[test]
fn the_exit_codes_of_commands_are_those_of_the_table() {
    let folder = folder();
    let good = config_of(&folder);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let invalid = at("invalid.yaml");
    let changed = at("changed.yaml");
    let mut config = standard("https://provider.test/v1");
    config["server"]["workers"] = 3.into();
    folder.write("changed.yaml", format!("{config:#}"));
    let samples = at("samples.jsonl");
    let (made, studio) = (at("made"), at("made/studio.yaml"));
    let used = TcpListener::bind("127.0.0.1:0").unwrap();
    let used = used.local_addr().unwrap().to_string();
    let table: Vec<(&str, Vec<&str>, usize)> = vec![
        ("convert", vec!["new-api", "nothing.json"], 2),
        ("run", vec!["--config", &invalid], 1),
        ("run", vec!["--config", &good, "--listen", &used], 1),
        ("run", vec!["--nothing"], 2),
        ("check", vec![&good], 0),
        ("check", vec![&invalid], 1),
        ("check", vec![&good, &good], 2),
        ("explain", vec!["/v1/models", "-c", &good], 0),
        ("explain", vec!["/v1/nothing", "-c", &good], 1),
        ("explain", vec!["/v1/models", "-c", &invalid], 1),
        ("explain", vec![], 2),
        ("diff", vec![&good, &good], 0),
        ("diff", vec![&good, &changed], 1),
        ("diff", vec![&good, &invalid], 2),
        ("replay", vec![&samples, "-c", &good], 0),
        ("replay", vec![&samples, "-c", &invalid], 2),
        ("schema", vec![], 0),
        ("schema openapi", vec![&invalid], 1),
        ("filters", vec![], 0),
        ("filters", vec!["rate_limit"], 0),
        ("filters", vec!["rate_limits"], 1),
        ("protocols", vec![], 0),
        ("protocols", vec!["embeddings"], 0),
        ("protocols", vec!["chat"], 1),
        ("families", vec![], 0),
        ("families", vec!["nothing"], 1),
        ("family new", vec!["studio", "--dir", &made], 0),
        ("family new", vec!["studio", "--dir", &made], 1),
        ("family check", vec!["family-a"], 0),
        ("family check", vec![&invalid], 1),
        ("family test", vec![&studio], 0),
        ("family test", vec!["family-a", &invalid], 1),
        ("key new", vec![], 0),
        ("key new", vec!["--for", "web", "--expires", "90d"], 0),
        ("key new", vec!["--for", "web", "--expires", "90"], 2),
        ("key new", vec!["--expires", "90d"], 2),
        ("status", vec!["--admin", &used, "--key-env", "NOT_SET"], 2),
        ("top", vec!["--admin", "nothing"], 2),
        ("callback list", vec!["--admin", "127.0.0.1:9"], 1),
        ("task settle", vec!["1", "--made", "-c", &good], 1),
        ("completions", vec!["nothing"], 2),
        ("man", vec!["--to", "/nothing"], 1),
    ];
    let documented = documented();
    for (command, args, code) in table {
        let words = [command.split(' ').collect(), args].concat();
        let printed = run(&words);
        assert_eq!(printed.code as usize, code, "{words:?}: {}", printed.stderr);
        assert_ne!(documented[command][code], "", "{words:?}");
    }
}

#[test]
fn the_table_has_every_command() {
    let folder = folder();
    let to = folder.path().join("man");
    std::fs::create_dir(&to).unwrap();
    assert_eq!(run(&["man", "--to", to.to_str().unwrap()]).code, 0);
    let documented = documented();
    let mut count = 0;
    for entry in std::fs::read_dir(&to).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let page = std::fs::read_to_string(&path).unwrap();
        // Commands that only have commands of their own do nothing.
        let Some(command) = name.strip_prefix("headgate-") else {
            continue;
        };
        if command.contains("help") || !page.contains("Exit status") {
            continue;
        }
        count += 1;
        let is_documented = documented
            .keys()
            .any(|documented| documented.replace(' ', "-") == command);
        assert!(is_documented, "{command}");
    }
    assert!(count > 15, "{count}");
}

#[test]
fn a_busy_port_is_reported_with_what_to_do() {
    let folder = folder();
    let used = TcpListener::bind("127.0.0.1:0").unwrap();
    let used = used.local_addr().unwrap().to_string();
    let good = config_of(&folder);
    let table: [(&[&str], &str); 5] = [
        (
            &["run", "--config", &good, "--listen", &used],
            "with `--listen` or `server.listen`; `headgate run --upgrade` takes over from a running gateway",
        ),
        (
            &[
                "run",
                "--config",
                &good,
                "--listen",
                "127.0.0.1:0",
                "--admin",
                &used,
            ],
            "with `--admin` or `server.admin`\n",
        ),
        (&["simulate", "--listen", &used], "with `--listen`\n"),
        (&["demo", "--simulator", &used], "with `--simulator`\n"),
        (&["demo", "--listen", &used], "with `--listen`\n"),
    ];
    for (args, mend) in table {
        let printed = run(args);
        assert_eq!(printed.code, 1);
        let expected = format!("error: cannot listen on {used}: ");
        assert!(printed.stderr.contains(&expected), "{}", printed.stderr);
        let hint = "another process listens there; stop it, or give another address";
        let hint = format!("{hint} {mend}");
        assert!(printed.stderr.contains(&hint), "{}", printed.stderr);
    }
    let printed = run(&["simulate", "--listen", "nonsense"]);
    let hint = "write HOST:PORT, such as 127.0.0.1:8080";
    assert!(printed.stderr.contains(hint), "{}", printed.stderr);
}

#[test]
fn a_digest_is_made_of_a_key_only() {
    let printed = run(&["key", "digest"]);
    assert_eq!(printed.code, 1, "{}", printed.stdout);
    let expected = "error: no key on standard input";
    assert!(printed.stderr.contains(expected), "{}", printed.stderr);
}
