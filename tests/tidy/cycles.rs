//! Forbids cycles between files: no file may need a file that needs it.
//!
//! The file of a module and those of its children may name each other, because children are parts of their module. Any
//! other cycle is an error, also if it goes through such a pair.

use super::tree::{TextFile, assert_none, sources};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};

/// The modules with a file, by their paths, and the modules that each of them names.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// A module of a test case, and the code of its file.
type CodeOfModule = (&'static str, &'static str);

#[test]
fn no_file_is_needed_by_what_it_needs() {
    let mut folders: BTreeMap<String, Vec<TextFile>> = BTreeMap::new();
    for file in sources().into_iter().filter(|file| !file.is_test()) {
        let (folder, _) = file.path.split_once("src/").expect("sources lie in src");
        folders.entry(folder.to_owned()).or_default().push(file);
    }
    let mut offenders = Vec::new();
    for (folder, files) in folders {
        let modules = files
            .iter()
            .map(|file| (module_of(&file.path), code_of(file)));
        let cycles = cycles(&graph(&modules.collect()));
        offenders.extend(
            cycles
                .iter()
                .map(|cycle| format!("{folder}src: {}", cycle.join(", "))),
        );
    }
    assert_none("files name each other in one direction only", &offenders);
}

#[test]
fn a_cycle_is_found_through_any_form_of_a_path_and_parents_and_children_are_none() {
    let cases: &[(&str, &[CodeOfModule], &[&str])] = &[
        (
            "one direction",
            &[("a", "use crate::b::B;"), ("b", "")],
            &[],
        ),
        (
            "two siblings",
            &[
                ("a", "use super::b::B;"),
                ("b", "use crate::{c, a::{A, X}};"),
                ("c", ""),
            ],
            &["a", "b"],
        ),
        (
            "paths in code",
            &[
                ("a", "fn f() { crate::b::f() }"),
                ("b", "fn f() { super::a::f() }"),
            ],
            &["a", "b"],
        ),
        (
            "a parent and its children",
            &[
                ("p", "mod x;"),
                ("p::x", "use super::P;"),
                ("p::y", "use super::{P, x::X};"),
            ],
            &[],
        ),
        (
            "a cycle through a child of one of them",
            &[
                ("p", "mod x;"),
                ("p::x", "use crate::q::Q;"),
                ("q", "use crate::p::P;"),
            ],
            &["p", "p::x", "q"],
        ),
        (
            "a name that a parent hands on from a child is the child's",
            &[
                ("p", "pub use x::X;"),
                ("p::x", ""),
                ("p::y", "use crate::q::Q;"),
                ("q", "use crate::p::X;"),
            ],
            &[],
        ),
        (
            "several lines and other names",
            &[
                ("a", "use super::{\n    b::B as C,\n};"),
                ("b", "pub(crate) use super::a::A as D;"),
            ],
            &["a", "b"],
        ),
    ];
    for (what, modules, expected) in cases {
        let modules = modules
            .iter()
            .map(|(module, code)| ((*module).to_owned(), (*code).to_owned()));
        let found = cycles(&graph(&modules.collect()));
        assert_eq!(found.concat(), *expected, "{what}");
    }
}

/// `a::b` for `src/a/b.rs` and `src/a/b/mod.rs`; empty for the root of a crate.
fn module_of(path: &str) -> String {
    let (_, inside) = path.split_once("src/").expect("sources lie in src");
    let module = inside.trim_end_matches(".rs");
    let module = module.strip_suffix("/mod").unwrap_or(module);
    match module {
        "lib" | "main" => String::new(),
        module => module.replace('/', "::"),
    }
}

/// A file without its comments and its own tests.
fn code_of(file: &TextFile) -> String {
    let tests_from = file.tests_begin();
    let code = file.lines().take_while(|(line, _)| *line < tests_from);
    code.filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(_, line)| format!("{line}\n"))
        .collect()
}

/// The modules that each module names, including its children; the root of a crate is left out.
fn graph(modules: &BTreeMap<String, String>) -> Graph {
    let imports: BTreeMap<&str, Vec<Import>> = modules
        .iter()
        .map(|(module, code)| (module.as_str(), imports(module, code, modules)))
        .collect();
    let handed_on: BTreeMap<(&str, &str), &str> = imports
        .iter()
        .flat_map(|(module, imports)| {
            let public = imports.iter().filter(|import| import.is_public);
            public.map(|import| ((*module, import.name.as_str()), import.path.as_str()))
        })
        .collect();
    let mut graph = Graph::new();
    for (module, imports) in imports.iter().filter(|(module, _)| !module.is_empty()) {
        let named = imports
            .iter()
            .map(|import| defining_module(&import.path, modules, &handed_on, 0));
        let children = modules
            .keys()
            .filter(|child| parent(child) == *module)
            .cloned();
        let edges = named
            .chain(children)
            .filter(|other| other != module && !other.is_empty());
        graph.insert((*module).to_owned(), edges.collect());
    }
    graph
}

/// A path that a file imports from its crate.
struct Import {
    is_public: bool,
    /// From the root of the crate.
    path: String,
    /// Its name in this file.
    name: String,
}

fn imports(module: &str, code: &str, modules: &BTreeMap<String, String>) -> Vec<Import> {
    let declaration = Regex::new(r"(?m)^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);").unwrap();
    let in_code = Regex::new(r"\b(?:crate|super|self)(?:::\w+)+").unwrap();
    let mut imports = Vec::new();
    for found in declaration.captures_iter(code) {
        for tree in unfolded(&found[2]) {
            let (path, alias) = match tree.split_once(" as ") {
                Some((path, alias)) => (path.trim(), Some(alias.trim())),
                None => (tree.trim(), None),
            };
            let last = path.rsplit("::").next().unwrap_or_default();
            imports.extend(from_root(module, path, modules).map(|path| Import {
                is_public: found.get(1).is_some(),
                path,
                name: alias.unwrap_or(last).to_owned(),
            }));
        }
    }
    for found in in_code.find_iter(&declaration.replace_all(code, "")) {
        imports.extend(
            from_root(module, found.as_str(), modules).map(|path| Import {
                is_public: false,
                path,
                name: String::new(),
            }),
        );
    }
    imports
}

/// Expands `a::{b, c::{d}}` to `a::b` and `a::c::d`.
fn unfolded(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((before, rest)) = tree.split_once('{') else {
        return vec![tree.to_owned()];
    };
    let inside = rest.trim_end().strip_suffix('}').unwrap_or(rest);
    let mut depth = 0;
    let parts = inside.split(|character: char| {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0
    });
    parts
        .filter(|part| !part.trim().is_empty())
        .flat_map(unfolded)
        .map(|part| format!("{}{part}", before.trim()))
        .collect()
}

/// A path in `module` as a path from the root of the crate; `None` if it is outside of the crate.
fn from_root(module: &str, path: &str, modules: &BTreeMap<String, String>) -> Option<String> {
    let (first, rest) = path.split_once("::").unwrap_or((path, ""));
    match first {
        "crate" => Some(rest.to_owned()),
        "self" => Some(joined(module, rest)),
        "super" => {
            let (mut base, mut rest) = (parent(module), rest);
            while let Some(further) = rest.strip_prefix("super::") {
                (base, rest) = (parent(base), further);
            }
            Some(joined(base, rest))
        }
        child if modules.contains_key(&joined(module, child)) => Some(joined(module, path)),
        _ => None,
    }
}

/// The deepest module on a path that has a file, with re-exports resolved.
fn defining_module(
    path: &str,
    modules: &BTreeMap<String, String>,
    handed_on: &BTreeMap<(&str, &str), &str>,
    depth: usize,
) -> String {
    let mut module = "";
    let mut end = 0;
    for part in path.split("::") {
        let start = if end == 0 { 0 } else { end + 2 };
        end = start + part.len();
        if modules.contains_key(&path[..end]) {
            module = &path[..end];
            continue;
        }
        return match handed_on.get(&(module, part)) {
            Some(origin) if *origin != path && depth < 8 => {
                let origin = format!("{origin}{}", &path[end..]);
                defining_module(&origin, modules, handed_on, depth + 1)
            }
            _ => module.to_owned(),
        };
    }
    module.to_owned()
}

fn joined(module: &str, path: &str) -> String {
    let both = [module, path];
    let parts = both.iter().filter(|part| !part.is_empty());
    parts.copied().collect::<Vec<_>>().join("::")
}

fn parent(module: &str) -> &str {
    module.rsplit_once("::").map_or("", |(parent, _)| parent)
}

/// The sets of modules that all reach each other, except for a module with its own children.
fn cycles(graph: &Graph) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for together in strongly_connected(graph) {
        let top = together
            .iter()
            .min_by_key(|module| module.matches("::").count())
            .expect("a cycle has members");
        let inside = format!("{top}::");
        let are_its_parts = together
            .iter()
            .all(|module| module == top || module.starts_with(&inside));
        if !are_its_parts {
            found.push(together.into_iter().collect());
            continue;
        }
        // The rest of the cycle if edges from the module to its children are ignored.
        let parts = together.iter().map(|module| {
            let edges = match module == top {
                true => BTreeSet::new(),
                false => graph[module].intersection(&together).cloned().collect(),
            };
            (module.clone(), edges)
        });
        found.extend(cycles(&parts.collect()));
    }
    found
}

/// The strongly connected components with two or more modules.
fn strongly_connected(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = graph
        .keys()
        .map(|from| (from, reached(graph, from)))
        .collect();
    let mut sets: Vec<BTreeSet<String>> = Vec::new();
    for from in graph.keys() {
        if sets.iter().any(|set| set.contains(from)) {
            continue;
        }
        let mutual = reached[from]
            .iter()
            .filter(|to| reached[**to].contains(from));
        let set: BTreeSet<String> = mutual.map(|to| (*to).clone()).collect();
        if set.len() > 1 {
            sets.push(set);
        }
    }
    sets
}

fn reached<'g>(graph: &'g Graph, from: &'g String) -> BTreeSet<&'g String> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        for to in graph.get(module).into_iter().flatten() {
            if graph.contains_key(to) && reached.insert(to) {
                next.push(to);
            }
        }
    }
    reached
}
