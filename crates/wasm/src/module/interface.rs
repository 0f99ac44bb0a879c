//! The interface of a module: what it imports and exports, and what of that does not fit the ABI.

use wasmtime::{ExternType, FuncType, Module, ValType};

use crate::abi::{
    ENV, ENV_FUNCTIONS, HIGRESS_FUNCTIONS, LIBRARY_FUNCTIONS, WASI_FUNCTIONS, WASI_MODULES,
};
use crate::error::PluginModuleError;

/// What is known of a module whose interface fits.
pub(crate) struct ModuleInterface {
    pub abi: &'static str,
    /// Sorted.
    pub callbacks: Vec<String>,
    /// Sorted.
    pub imports: Vec<String>,
}

/// The callbacks that the host calls or knows: name, number of parameters, whether there is a result. All are `i32`.
const CALLBACKS: &[(&str, usize, bool)] = &[
    ("proxy_on_context_create", 2, false),
    ("proxy_on_vm_start", 2, true),
    ("proxy_on_configure", 2, true),
    ("proxy_on_tick", 1, false),
    ("proxy_on_queue_ready", 2, false),
    ("proxy_on_http_call_response", 5, false),
    ("proxy_on_request_headers", 3, true),
    ("proxy_on_request_body", 3, true),
    ("proxy_on_request_trailers", 2, true),
    ("proxy_on_response_headers", 3, true),
    ("proxy_on_response_body", 3, true),
    ("proxy_on_response_trailers", 2, true),
    ("proxy_on_done", 1, true),
    ("proxy_on_log", 1, false),
    ("proxy_on_delete", 1, false),
];

/// The versions of the ABI that are accepted, by the exports that declare them. The last is Higress's, which adds
/// functions to 0.2.1.
const VERSIONS: [(&str, &str); 3] = [
    ("proxy_abi_version_0_2_1", "0.2.1"),
    ("proxy_abi_version_0_2_0", "0.2.0"),
    ("proxy_abi_version_0_2_100", "0.2.100"),
];

/// The allocators of the ABI; one of them is needed.
pub(crate) const ALLOCATORS: [&str; 2] = ["proxy_on_memory_allocate", "malloc"];

impl ModuleInterface {
    /// Checks everything, so that the author of a plugin learns all problems at once.
    pub fn check(module: &Module) -> Result<Self, PluginModuleError> {
        let mut problems = Vec::new();
        check_imports(module, &mut problems);
        let abi = version(module, &mut problems);
        check_exports(module, &mut problems);
        let (Some(abi), true) = (abi, problems.is_empty()) else {
            return Err(PluginModuleError::Interface(problems));
        };
        let mut imports: Vec<String> = module
            .imports()
            .map(|import| format!("{}.{}", import.module(), import.name()))
            .collect();
        imports.sort_unstable();
        let mut callbacks: Vec<String> = module
            .exports()
            .map(|export| export.name().to_owned())
            .filter(|name| name.starts_with("proxy_on_"))
            .filter(|name| !ALLOCATORS.contains(&name.as_str()))
            .collect();
        callbacks.sort_unstable();
        Ok(Self {
            abi,
            callbacks,
            imports,
        })
    }
}

fn check_imports(module: &Module, problems: &mut Vec<String>) {
    for import in module.imports() {
        let (from, name) = (import.module(), import.name());
        let is_known = match from {
            ENV => {
                ENV_FUNCTIONS.contains(&name)
                    || HIGRESS_FUNCTIONS.contains(&name)
                    || LIBRARY_FUNCTIONS.contains(&name)
            }
            from if WASI_MODULES.contains(&from) => WASI_FUNCTIONS.iter().any(|f| f.0 == name),
            _ => false,
        };
        if !is_known {
            problems.push(format!("unknown import `{from}.{name}`"));
        } else if !matches!(import.ty(), ExternType::Func(_)) {
            problems.push(format!("the import `{from}.{name}` must be a function"));
        }
    }
}

fn version(module: &Module, problems: &mut Vec<String>) -> Option<&'static str> {
    for (export, version) in VERSIONS {
        if module.get_export(export).is_some() {
            return Some(version);
        }
    }
    let other = module
        .exports()
        .find(|export| export.name().starts_with("proxy_abi_version_"));
    problems.push(match other {
        Some(export) => format!(
            "the export `{}` is of an ABI that is not supported (0.2.0 and 0.2.1 are)",
            export.name()
        ),
        None => "missing export `proxy_abi_version_0_2_1` or `proxy_abi_version_0_2_0`".to_owned(),
    });
    None
}

fn check_exports(module: &Module, problems: &mut Vec<String>) {
    match module.get_export("memory") {
        Some(ExternType::Memory(memory)) if !memory.is_64() && !memory.is_shared() => {}
        Some(_) => problems.push("the export `memory` must be a 32-bit memory".to_owned()),
        None => problems.push("missing export `memory`".to_owned()),
    }
    if !ALLOCATORS
        .iter()
        .any(|name| module.get_export(name).is_some())
    {
        problems.push("missing export `proxy_on_memory_allocate` or `malloc`".to_owned());
    }
    if module.get_export("proxy_on_context_create").is_none() {
        problems.push("missing export `proxy_on_context_create`".to_owned());
    }
    let allocators = ALLOCATORS.iter().map(|name| (*name, 1, true));
    for (name, parameters, has_result) in CALLBACKS.iter().copied().chain(allocators) {
        let Some(export) = module.get_export(name) else {
            continue;
        };
        if !matches!(&export, ExternType::Func(f) if fits(f, parameters, has_result)) {
            let result = if has_result { " and a result" } else { "" };
            problems.push(format!(
                "the export `{name}` must be a function of {parameters} i32{result}"
            ));
        }
    }
}

fn fits(function: &FuncType, parameters: usize, has_result: bool) -> bool {
    function.params().len() == parameters
        && function.results().len() == usize::from(has_result)
        && function
            .params()
            .chain(function.results())
            .all(|value| matches!(value, ValType::I32))
}
