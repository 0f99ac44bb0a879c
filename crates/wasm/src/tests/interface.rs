//! Modules that fit the ABI or do not, and the cache of compiled code.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::fixture::{END_OF_IMPORTS, HOST, wat};
use crate::{PluginModule, PluginModuleError, PluginModuleSettings};

#[test]
fn a_module_that_does_not_fit_is_refused_with_all_reasons() {
    let abi = r#"(func (export "proxy_abi_version_0_2_1"))"#;
    let rest = r#"(memory (export "memory") 1)
        (func (export "malloc") (param i32) (result i32) (i32.const 0))
        (func (export "proxy_on_context_create") (param i32 i32))"#;
    let cases: &[(String, &[&str])] = &[
        (
            String::new(),
            &[
                "missing export `proxy_abi_version_0_2_1` or `proxy_abi_version_0_2_0`",
                "missing export `memory`",
                "missing export `proxy_on_memory_allocate` or `malloc`",
                "missing export `proxy_on_context_create`",
            ],
        ),
        (
            format!(r#"(func (export "proxy_abi_version_0_1_0")) {rest}"#),
            &["`proxy_abi_version_0_1_0` is of an ABI that is not supported"],
        ),
        (
            format!(
                r#"(import "env" "proxy_teleport" (func)) (import "gateway" "open" (func))
                (import "env" "memory_base" (global i32)) {abi} {rest}"#
            ),
            &[
                "unknown import `env.proxy_teleport`",
                "unknown import `gateway.open`",
                "unknown import `env.memory_base`",
            ],
        ),
        (
            format!(r#"(import "env" "proxy_log" (global i32)) {abi} {rest}"#),
            &["the import `env.proxy_log` must be a function"],
        ),
        (
            format!(r#"(import "env" "proxy_log" (func (param i64))) {abi} {rest}"#),
            &["proxy_log"],
        ),
        (
            format!(r#"(func (export "proxy_on_tick") (param i64)) {abi} {rest}"#),
            &["the export `proxy_on_tick` must be a function of 1 i32"],
        ),
        (
            format!(r#"(func (export "proxy_on_done") (param i32)) {abi} {rest}"#),
            &["the export `proxy_on_done` must be a function of 1 i32 and a result"],
        ),
    ];
    for (text, expected) in cases {
        let bytes = wat::parse_str(format!("(module {text})")).unwrap();
        let result = PluginModule::from_bytes(&HOST, &bytes, &PluginModuleSettings::default());
        let PluginModuleError::Interface(problems) = result.unwrap_err() else {
            panic!("{text}");
        };
        assert_eq!(problems.len(), expected.len(), "{problems:?}");
        for (problem, expected) in problems.iter().zip(*expected) {
            assert!(problem.contains(expected), "{problem}");
        }
    }
}

#[test]
fn what_is_not_webassembly_is_refused() {
    for bytes in [
        &b""[..],
        b"(module)",
        b"\0asm",
        b"\0asm\x01\0\0\0\xff",
        b"\x7fELF",
    ] {
        let result = PluginModule::from_bytes(&HOST, bytes, &PluginModuleSettings::default());
        let error = result.unwrap_err().to_string();
        assert!(error.starts_with("not a WebAssembly module"), "{error}");
    }
}

#[test]
fn a_module_describes_itself() {
    let module = super::fixture::module(r#"(func (export "proxy_on_tick") (param i32))"#);
    assert_eq!(module.abi(), "0.2.1");
    assert_eq!(
        module.callbacks(),
        ["proxy_on_context_create", "proxy_on_tick"]
    );
    assert!(module.imports().contains(&"env.proxy_log".to_owned()));
    assert_eq!(module.sha256().len(), 64);
    for (export, abi) in [("0_2_0", "0.2.0"), ("0_2_100", "0.2.100")] {
        let version = format!("proxy_abi_version_{export}");
        let text = wat("").replace("proxy_abi_version_0_2_1", &version);
        let bytes = wat::parse_str(text).unwrap();
        let module = PluginModule::from_bytes(&HOST, &bytes, &PluginModuleSettings::default());
        assert_eq!(module.unwrap().abi(), abi);
    }
}

#[test]
fn what_compilers_import_beside_the_abi_is_there() {
    let imports = r#"
        (import "env" "emscripten_notify_memory_growth" (func (param i32)))
        (import "env" "pthread_equal" (func (param i32 i32) (result i32)))"#;
    let text = wat(&format!("{imports}{END_OF_IMPORTS}\n"));
    let bytes = wat::parse_str(text).unwrap();
    let module = PluginModule::from_bytes(&HOST, &bytes, &PluginModuleSettings::default());
    let imports = module.unwrap();
    let imports = imports.imports();
    assert!(imports.contains(&"env.emscripten_notify_memory_growth".to_owned()));
}

#[test]
fn a_module_must_have_the_pinned_hash() {
    let bytes = wat::parse_str(wat("")).unwrap();
    let load = |pin: &str| {
        let settings = PluginModuleSettings {
            sha256: Some(pin.to_owned()),
            ..PluginModuleSettings::default()
        };
        PluginModule::from_bytes(&HOST, &bytes, &settings)
    };
    let found = super::fixture::module("").sha256().to_owned();
    assert!(load(&found.to_uppercase()).is_ok());
    let other = "0".repeat(64);
    let error = load(&other).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("the module has the SHA-256 {found}, and not the SHA-256 {other}")
    );
    assert!(matches!(load("abc"), Err(PluginModuleError::Pin(_))));
}

#[test]
fn compiled_code_is_taken_from_the_cache_only_if_this_machine_signed_it() {
    let folder = Scratch::new("cache");
    let load = || {
        let settings = PluginModuleSettings {
            sha256: None,
            cache: Some(folder.0.join("modules")),
        };
        let bytes = wat::parse_str(wat("")).unwrap();
        PluginModule::from_bytes(&HOST, &bytes, &settings).unwrap()
    };
    let cached = |expected: bool, case: &str| {
        let module = load();
        assert_eq!(
            module.is_cached(),
            expected,
            "{case}: {:?}",
            module.cache_problem()
        );
    };
    cached(false, "an empty folder");
    cached(true, "the second load");
    let entry = folder.entry("code");
    let good = fs::read(&entry).unwrap();
    assert_eq!(
        fs::metadata(&entry).unwrap().permissions().mode() & 0o777,
        0o600
    );

    let mut changed = good.clone();
    *changed.last_mut().unwrap() ^= 1;
    let cases = [
        ("a changed byte", changed),
        ("half an entry", good[..good.len() / 2].to_vec()),
        ("no signature", good[32..].to_vec()),
        ("nothing", Vec::new()),
    ];
    for (case, bytes) in cases {
        fs::write(&entry, bytes).unwrap();
        cached(false, case);
        cached(true, "after a repair");
    }

    let key = folder.0.join("modules/key");
    assert_eq!(
        fs::metadata(&key).unwrap().permissions().mode() & 0o777,
        0o600
    );
    fs::write(&key, [7; 32]).unwrap();
    cached(false, "another key");
    cached(true, "signed with the other key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let module = load();
    assert!(!module.is_cached());
    let problem = module.cache_problem().unwrap();
    assert!(problem.contains("must have mode 0600"), "{problem}");
}

#[test]
fn a_cache_that_cannot_be_used_does_not_stop_a_plugin() {
    let folder = Scratch::new("no-cache");
    fs::write(folder.0.join("file"), "").unwrap();
    let settings = PluginModuleSettings {
        sha256: None,
        cache: Some(folder.0.join("file")),
    };
    let bytes = wat::parse_str(wat("")).unwrap();
    let module = PluginModule::from_bytes(&HOST, &bytes, &settings).unwrap();
    assert!(module.cache_problem().is_some());
}

/// A folder that is removed at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("headgate-wasm-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn entry(&self, extension: &str) -> PathBuf {
        let entries = fs::read_dir(self.0.join("modules")).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        paths
            .find(|path| path.extension().is_some_and(|found| found == extension))
            .unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}
