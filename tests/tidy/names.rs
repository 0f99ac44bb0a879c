//! What names are: one type for each name, nouns of the field, and no private vocabulary.

use super::tree::{TextFile, assert_none, files_below, sources};
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static DECLARATION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|union|trait) ([A-Z]\w*)"));
/// Comments, strings, characters and lifetimes, so that only names of the code are left as `name`.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?s)//[^\n]*|/\*.*?\*/",
        r##"|b?r".*?"|b?r#".*?"#|b?"(?:\\.|[^"\\])*""##,
        r"|b?'(?:\\.[^']*|[^'\\])'|'\w+|(?<name>[A-Za-z_]\w*)",
    ))
});
/// A word of a name in camel case, snake case or a path.
static WORD: LazyLock<Regex> = LazyLock::new(|| pattern("[A-Z]?[a-z]+|[A-Z]+"));

/// Words that HTTP's RFCs, Envoy, nginx and Prometheus do not use for anything in a proxy, with what to write instead.
const LEFT_OUT: &[(&str, &[&str])] = &[
    (
        "a verb such as report, log, respond or print",
        &["tell", "tells", "told", "say", "says", "said"],
    ),
    ("subrequest", &["errand", "errands"]),
    ("comment", &["pulse", "pulses", "beat", "beats"]),
    ("status", &["standing", "standings"]),
    ("wait or idle timeout", &["silence", "silences"]),
    ("unreachable", &["away"]),
    ("offload, or the verb that is meant", &["aside"]),
    ("store or cache", &["shelf", "shelves"]),
    ("operation", &["deed", "deeds"]),
    ("retry safety", &["lawful"]),
    ("reservation", &["passage", "passages"]),
    ("invalidate", &["doubt", "doubts", "doubtful"]),
    ("drop it, or name the condition", &["perhaps"]),
    ("a verb with re-", &["anew"]),
    (
        "the role that it has",
        &[
            "middleware",
            "handler",
            "handlers",
            "backend",
            "backends",
            "manager",
            "managers",
        ],
    ),
];
/// Past participles that do not end in `ed`.
const IRREGULAR: &[&str] = &[
    "begun", "bound", "built", "chosen", "done", "found", "given", "gone", "held", "kept", "known",
    "left", "lost", "made", "seen", "sent", "shown", "spent", "taken", "written",
];
/// Nouns that only look like participles.
const NOUNS: &[&str] = &["Embed", "Feed", "Need", "Seed", "Speed"];
/// Errors of the standard library's form, which state what happened: `std::time::Elapsed`, `tokio::time::error::Elapsed`.
const CUSTOMARY: &[&str] = &["DeadlineElapsed"];
static FUNCTION: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bfn (\w+)"));
/// Functions with `of` in front or at the end that read as English, with the reason.
const PHRASES: &[(&str, &str)] = &[("is_one_of", "asks whether a value is in a list")];
/// Files of which each build has one.
const ALTERNATIVES: &[[&str; 2]] = &[["src/cli/handover.rs", "src/cli/handover_unsupported.rs"]];

#[test]
fn no_two_types_have_the_same_name() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in sources() {
        for (line, name) in declared_types(&file) {
            let alternative = ALTERNATIVES.iter().any(|[_, second]| *second == file.path);
            if !alternative {
                places
                    .entry(name)
                    .or_default()
                    .push(format!("{}:{line}", file.path));
            }
        }
    }
    let shared = places.into_iter().filter(|(_, places)| places.len() > 1);
    let offenders: Vec<String> = shared
        .map(|(name, places)| format!("{name}: {}", places.join(", ")))
        .collect();
    assert_none("each type of the program has a name of its own", &offenders);
}

#[test]
fn no_type_is_a_bare_participle() {
    let mut offenders = Vec::new();
    for file in sources() {
        for (line, name) in declared_types(&file) {
            if is_participle(&name) {
                offenders.push(format!("{}:{line}: {name}: name the thing", file.path));
            }
        }
    }
    assert_none("a type is called by a noun", &offenders);
}

#[test]
fn no_name_has_a_word_of_the_private_vocabulary() {
    let mut offenders = Vec::new();
    for folder in ["src", "crates", "tests", "benches", "fuzz"] {
        for file in files_below(folder)
            .iter()
            .filter(|file| file.has_extension(&["rs"]))
        {
            let mut found: Vec<_> = identifiers(file)
                .into_iter()
                .filter_map(|(line, name)| Some((name, line, instead_of(name)?)))
                .collect();
            found.sort_unstable();
            found.dedup_by_key(|(name, ..)| *name);
            offenders.extend(found.iter().map(|(name, line, instead)| {
                format!("{}:{line}: {name}: write {instead}", file.path)
            }));
            if let Some(instead) = instead_of(&file.path) {
                offenders.push(format!("{}:1: the file's path: write {instead}", file.path));
            }
        }
    }
    assert_none("names use the words of HTTP, Envoy and nginx", &offenders);
}

#[test]
fn no_function_is_only_of_something() {
    let mut offenders = Vec::new();
    for folder in ["src", "crates", "plugins", "benches", "fuzz"] {
        for file in files_below(folder)
            .iter()
            .filter(|file| file.has_extension(&["rs"]))
        {
            for (line, code) in file.lines() {
                let names = FUNCTION
                    .captures_iter(code)
                    .map(|found| found[1].to_owned());
                let vague = names.filter(|name| is_only_of(name));
                offenders.extend(vague.map(|name| format!("{}:{line}: {name}", file.path)));
            }
        }
    }
    let rule = "a function is a verb, a noun phrase, or a constructor `from_x`, `for_x` or `new`";
    assert_none(rule, &offenders);
}

#[test]
fn the_rules_find_what_they_are_for() {
    for (name, is_bad) in [
        ("of", true),
        ("caller_of", true),
        ("of_headers", true),
        ("is_one_of", false),
        ("offset", false),
        ("of_two_refused_channels_the_last_is_tried", false),
    ] {
        assert_eq!(is_only_of(name), is_bad, "{name}");
    }
    for (name, is_bad) in [
        ("Held", true),
        ("PerhapsTaken", true),
        ("Answered", true),
        ("FailedAttempt", false),
        ("RequestFeed", false),
    ] {
        assert_eq!(is_participle(name), is_bad, "{name}");
    }
    for (name, is_bad) in [
        ("tell_attempts", true),
        ("TaskDeed", true),
        ("set_aside", true),
        ("outstanding", false),
        ("CallerLimits", false),
    ] {
        assert_eq!(instead_of(name).is_some(), is_bad, "{name}");
    }
    let file = TextFile {
        path: "x.rs".to_owned(),
        text: "// told\nstruct Shelf(&'static str); const X: &str = r#\"said\"#; const Y: char = '\"';\nfn deed() {}".to_owned(),
    };
    let names: Vec<_> = identifiers(&file)
        .into_iter()
        .filter(|(_, name)| instead_of(name).is_some())
        .collect();
    assert_eq!(names, [(2, "Shelf"), (3, "deed")]);
    assert_eq!(declared_types(&file), [(2, "Shelf".to_owned())]);
}

/// The types that a file declares, those of its tests among them, with their lines.
fn declared_types(file: &TextFile) -> Vec<(usize, String)> {
    let name =
        |(line, code): (usize, &str)| Some((line, DECLARATION.captures(code)?[1].to_owned()));
    file.lines().filter_map(name).collect()
}

/// The identifiers of a file with their lines; comments, strings and lifetimes are left out.
fn identifiers(file: &TextFile) -> Vec<(usize, &str)> {
    let (mut line, mut read) = (1, 0);
    let mut names = Vec::new();
    for found in TOKEN.captures_iter(&file.text) {
        if let Some(name) = found.name("name") {
            line += file.text[read..name.start()].matches('\n').count();
            read = name.start();
            names.push((line, name.as_str()));
        }
    }
    names
}

fn is_participle(name: &str) -> bool {
    let last = words(name).pop().unwrap_or_default();
    let ends_so = last.ends_with("ed") || IRREGULAR.contains(&&*last.to_lowercase());
    ends_so && !NOUNS.contains(&last) && !CUSTOMARY.contains(&name)
}

/// Whether a function is named by nothing but what it belongs to. Names of more than five words are sentences of tests.
fn is_only_of(name: &str) -> bool {
    let words: Vec<&str> = name.split('_').collect();
    let is_vague = words.first() == Some(&"of") || words.last() == Some(&"of");
    is_vague && words.len() <= 5 && PHRASES.iter().all(|(phrase, _)| *phrase != name)
}

/// What to write instead of a name or path that has a word of the private vocabulary.
fn instead_of(name: &str) -> Option<&'static str> {
    let words = words(name);
    let has = |left_out: &&[&str]| {
        words
            .iter()
            .any(|word| left_out.contains(&&*word.to_lowercase()))
    };
    LEFT_OUT
        .iter()
        .find(|(_, left_out)| has(left_out))
        .map(|(instead, _)| *instead)
}

fn words(name: &str) -> Vec<&str> {
    WORD.find_iter(name).map(|word| word.as_str()).collect()
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of this file is valid")
}
