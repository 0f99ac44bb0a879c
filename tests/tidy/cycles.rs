//! Forbids cycles between files: no file may need a file that needs it.
//!
//! The file of a module and those of its children may name each other, because children are parts of their module. Any
//! other cycle is an error, also if it goes through such a pair. A name that a parent hands on from a child is the
//! parent's: whoever needs less than the whole module needs a module of its own.

use super::tree::{TextFile, assert_none, files_below, sources};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

static DECLARATION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+([^;]+);").unwrap());
static IN_CODE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?-u:\b)(?:crate|super|self)(?:::\w+)+").unwrap());

/// The modules with a file, by their paths, and the modules that each of them names.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// A module of a test case, and the code of its file.
type CodeOfModule = (&'static str, &'static str);

#[test]
fn no_file_is_needed_by_what_it_needs() {
    let mut folders: BTreeMap<String, Vec<TextFile>> = BTreeMap::new();
    let is_source = |file: &TextFile| file.has_extension(&["rs"]) && file.path.contains("/src/");
    let plugins = files_below("plugins").into_iter().filter(is_source);
    let all = sources().into_iter().chain(plugins);
    for file in all.filter(|file| !file.is_test()) {
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
            "a name that a parent hands on from a child is the parent's",
            &[
                ("p", "pub use x::X;"),
                ("p::x", ""),
                ("p::y", "use crate::q::Q;"),
                ("q", "use crate::p::X;"),
            ],
            &["p", "p::y", "q"],
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
    let mut graph = Graph::new();
    for (module, code) in modules.iter().filter(|(module, _)| !module.is_empty()) {
        let paths = paths(module, code, modules);
        let named = paths.iter().map(|path| deepest_module(path, modules));
        let children = modules.keys().map(String::as_str);
        let children = children.filter(|child| parent(child) == module);
        let edges = named
            .chain(children)
            .filter(|other| *other != module.as_str() && !other.is_empty());
        graph.insert(module.clone(), edges.map(str::to_owned).collect());
    }
    graph
}

/// The paths of its crate that a file names, from the root of the crate.
fn paths(module: &str, code: &str, modules: &BTreeMap<String, String>) -> Vec<String> {
    let imported = DECLARATION
        .captures_iter(code)
        .flat_map(|found| unfolded(&found[1]));
    let rest = DECLARATION.replace_all(code, "");
    let named = IN_CODE
        .find_iter(&rest)
        .map(|found| found.as_str().to_owned());
    imported
        .chain(named)
        .filter_map(|path| {
            let without_alias = path.split(" as ").next().unwrap_or_default();
            from_root(module, without_alias.trim(), modules)
        })
        .collect()
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

/// The deepest module with a file on a path; empty for a name of the root.
fn deepest_module<'p>(path: &'p str, modules: &BTreeMap<String, String>) -> &'p str {
    let ends = path.match_indices("::").map(|(end, _)| end);
    let ends = ends.chain([path.len()]);
    ends.map(|end| &path[..end])
        .take_while(|module| modules.contains_key(*module))
        .last()
        .unwrap_or_default()
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

/// The strongly connected components with two or more modules, by Kosaraju's algorithm.
fn strongly_connected(graph: &Graph) -> Vec<BTreeSet<String>> {
    let mut forward: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut backward: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, edges) in graph {
        for to in edges.iter().filter(|to| graph.contains_key(*to)) {
            forward.entry(from).or_default().push(to);
            backward.entry(to).or_default().push(from);
        }
    }
    let (mut seen, mut order) = (BTreeSet::new(), Vec::new());
    for module in graph.keys() {
        visit(module, &forward, &mut seen, &mut order);
    }
    let (mut seen, mut sets) = (BTreeSet::new(), Vec::new());
    for module in order.into_iter().rev() {
        let mut set = Vec::new();
        visit(module, &backward, &mut seen, &mut set);
        if set.len() > 1 {
            sets.push(set.into_iter().map(str::to_owned).collect());
        }
    }
    sets
}

/// Adds a module and all that it reaches and that was not seen, each after what it reaches.
fn visit<'g>(
    module: &'g str,
    edges: &BTreeMap<&'g str, Vec<&'g str>>,
    seen: &mut BTreeSet<&'g str>,
    order: &mut Vec<&'g str>,
) {
    if !seen.insert(module) {
        return;
    }
    for to in edges.get(module).into_iter().flatten() {
        visit(to, edges, seen, order);
    }
    order.push(module);
}
