//! A module: compiled, and its interface checked.

mod code_cache;
pub(crate) mod interface;

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use wasmtime::{InstancePre, Module};

use crate::error::PluginModuleError;
use crate::guest_state::GuestState;
use crate::host::PluginHost;
use crate::settings::PluginModuleSettings;
use code_cache::CodeCache;
use interface::ModuleInterface;

/// Compiled code of a plugin. Cheap to clone.
#[derive(Clone)]
pub struct PluginModule(Arc<CheckedModule>);

struct CheckedModule {
    host: PluginHost,
    instance: InstancePre<GuestState>,
    interface: ModuleInterface,
    sha256: String,
    is_cached: bool,
    cache_problem: Option<String>,
}

impl PluginModule {
    /// Compiles a module on this thread: 0.6 s per megabyte, unless its code is in the cache.
    ///
    /// # Errors
    /// The module is not the pinned one, not WebAssembly, or not a Proxy-Wasm plugin.
    pub fn from_bytes(
        host: &PluginHost,
        bytes: &[u8],
        settings: &PluginModuleSettings,
    ) -> Result<Self, PluginModuleError> {
        let sha256 = hex(&Sha256::digest(bytes));
        check_pin(&sha256, settings.sha256.as_deref())?;
        // Without this, wasmtime would take a text or an ELF file of its own.
        if !bytes.starts_with(b"\0asm") {
            let reason = "the file does not begin with `\\0asm`".to_owned();
            return Err(PluginModuleError::Invalid(reason));
        }
        let mut cache_problem = None;
        let cache = settings.cache.as_deref().and_then(|folder| {
            CodeCache::open(folder)
                .map_err(|e| cache_problem = Some(e.to_string()))
                .ok()
        });
        let cached = cache.as_ref().and_then(|cache| cache.load(host, &sha256));
        let is_cached = cached.is_some();
        let module = match cached {
            Some(module) => module,
            None => Module::from_binary(host.engine(), bytes)
                .map_err(|e| PluginModuleError::Invalid(format!("{e:#}")))?,
        };
        let interface = ModuleInterface::check(&module)?;
        let instance = host
            .linker()
            .instantiate_pre(&module)
            .map_err(|e| PluginModuleError::Interface(vec![format!("{e:#}")]))?;
        if let (Some(cache), false) = (cache, is_cached) {
            let stored = cache.store(host, &sha256, &module);
            cache_problem = stored.err().map(|e| e.to_string());
        }
        Ok(Self(Arc::new(CheckedModule {
            host: host.clone(),
            instance,
            interface,
            sha256,
            is_cached,
            cache_problem,
        })))
    }

    /// The SHA-256 of the module, as hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.0.sha256
    }

    /// The version of the ABI: `0.2.0`, `0.2.1`, or `0.2.100`, which is Higress's superset of 0.2.1.
    pub fn abi(&self) -> &'static str {
        self.0.interface.abi
    }

    /// The callbacks that the module exports, by their names, sorted.
    pub fn callbacks(&self) -> &[String] {
        &self.0.interface.callbacks
    }

    /// The functions that the module imports, as `env.proxy_log`, sorted.
    pub fn imports(&self) -> &[String] {
        &self.0.interface.imports
    }

    /// Whether the compiled code was taken from the cache.
    pub fn is_cached(&self) -> bool {
        self.0.is_cached
    }

    /// Why the cache could not be used, if there is one. The module works without it.
    pub fn cache_problem(&self) -> Option<&str> {
        self.0.cache_problem.as_deref()
    }

    pub(crate) fn host(&self) -> &PluginHost {
        &self.0.host
    }

    pub(crate) fn instance(&self) -> &InstancePre<GuestState> {
        &self.0.instance
    }
}

impl fmt::Debug for PluginModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginModule")
            .field("sha256", &self.0.sha256)
            .field("abi", &self.0.interface.abi)
            .finish_non_exhaustive()
    }
}

fn check_pin(found: &str, pin: Option<&str>) -> Result<(), PluginModuleError> {
    let Some(pin) = pin else {
        return Ok(());
    };
    if pin.len() != 64 || !pin.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(PluginModuleError::Pin(pin.to_owned()));
    }
    if !pin.eq_ignore_ascii_case(found) {
        return Err(PluginModuleError::Hash {
            expected: pin.to_owned(),
            found: found.to_owned(),
        });
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
