//! `headgate plugin new`: a folder with a plugin to start from.

use super::CommandError;
use crate::cli::new_name::parse_name;
use std::path::Path;

#[derive(clap::Args)]
pub struct PluginNewArgs {
    /// Name of the plugin and its new folder: lower-case letters, digits, `_` and `-`, from a letter on.
    #[arg(value_parser = parse_name)]
    name: String,
    /// Language of the source.
    #[arg(long, value_enum, default_value = "rust")]
    language: PluginLanguage,
}

/// A language with a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum PluginLanguage {
    Rust,
    #[value(name = "assemblyscript")]
    AssemblyScript,
    C,
}

/// Files by their paths in the new folder.
type TemplateFiles = &'static [(&'static str, &'static str)];

const RUST: TemplateFiles = &[
    (
        "Cargo.toml",
        include_str!("templates/rust/Cargo.toml.template"),
    ),
    ("src/lib.rs", include_str!("templates/rust/lib.rs.template")),
    ("build.sh", include_str!("templates/rust/build.sh.template")),
    (".gitignore", "/target\n/*.wasm\n"),
    ("cases.yaml", CASES),
];
const ASSEMBLY_SCRIPT: TemplateFiles = &[
    (
        "package.json",
        include_str!("templates/assemblyscript/package.json.template"),
    ),
    (
        "asconfig.json",
        include_str!("templates/assemblyscript/asconfig.json.template"),
    ),
    (
        "assembly/index.ts",
        include_str!("templates/assemblyscript/index.ts.template"),
    ),
    (
        "assembly/tsconfig.json",
        include_str!("../../../plugins/annotate/assembly/tsconfig.json"),
    ),
    (
        "build.sh",
        include_str!("templates/assemblyscript/build.sh.template"),
    ),
    (".gitignore", "/node_modules\n/*.wasm\n"),
    ("cases.yaml", CASES),
];
const C: TemplateFiles = &[
    (
        "plugin.c",
        include_str!("../../../plugins/minimal/minimal.c"),
    ),
    ("build.sh", include_str!("templates/c/build.sh.template")),
    (".gitignore", "/*.wasm\n"),
    (
        "cases.yaml",
        include_str!("../../../plugins/minimal/cases.yaml"),
    ),
];
const CASES: &str = include_str!("templates/cases.yaml.template");
const README: &str = include_str!("templates/README.md.template");
/// How the plugin in C is built in the repository.
const BUILD_IN_REPOSITORY: &str = "plugins/build.sh minimal";

pub fn run(args: &PluginNewArgs) -> Result<(), CommandError> {
    let name = &args.name;
    let folder = Path::new(name);
    std::fs::create_dir(folder).map_err(|error| {
        CommandError::new(format!(
            "error: the folder {name} cannot be created: {error}"
        ))
    })?;
    for (path, content) in files(name, args.language) {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, content).map_err(|error| {
            CommandError::new(format!(
                "error: {} cannot be written: {error}",
                path.display()
            ))
        })?;
    }
    print!("{}", next_commands(name, args.language));
    Ok(())
}

/// The files of the new folder.
fn files(name: &str, language: PluginLanguage) -> Vec<(&'static str, String)> {
    let page = README
        .replace("NEEDS", language.needs())
        .replace("DEFAULT", language.default_value(name));
    let templates = language.templates().iter();
    templates
        .map(|(path, content)| (*path, (*content).to_owned()))
        .chain([("README.md", page)])
        .map(|(path, content)| {
            let content = content
                .replace(BUILD_IN_REPOSITORY, "build.sh")
                .replace("NAME", name)
                .replace("MODULE", &name.replace('-', "_"));
            (path, content)
        })
        .collect()
}

fn next_commands(name: &str, language: PluginLanguage) -> String {
    let needs = language.needs();
    format!(
        "created the folder {name}. The build needs {needs}. Next:

  cd {name}
  sh build.sh
  headgate plugin check {name}.wasm
  headgate plugin test {name}.wasm cases.yaml
  headgate plugin run {name}.wasm
"
    )
}

impl PluginLanguage {
    fn templates(self) -> TemplateFiles {
        match self {
            Self::Rust => RUST,
            Self::AssemblyScript => ASSEMBLY_SCRIPT,
            Self::C => C,
        }
    }

    /// What the build needs.
    fn needs(self) -> &'static str {
        match self {
            Self::Rust => {
                "Rust with its target for modules: `rustup target add wasm32-unknown-unknown`"
            }
            Self::AssemblyScript => "node with npm, which installs the compiler and the SDK",
            Self::C => {
                "clang with the target wasm32, and wasm-ld: Debian's packages `clang` and `lld`"
            }
        }
    }

    /// The value of the header without a configuration.
    fn default_value(self, name: &str) -> &str {
        match self {
            Self::Rust | Self::AssemblyScript => name,
            Self::C => "minimal",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::plugin::case_file::PluginTestFile;

    #[test]
    fn every_language_has_a_source_a_build_script_cases_and_a_page() {
        let table = [
            (PluginLanguage::Rust, "src/lib.rs"),
            (PluginLanguage::AssemblyScript, "assembly/index.ts"),
            (PluginLanguage::C, "plugin.c"),
        ];
        for (language, source) in table {
            let files = files("my-plugin", language);
            for expected in [source, "build.sh", "cases.yaml", "README.md", ".gitignore"] {
                let file = files.iter().find(|(path, _)| *path == expected);
                assert!(file.is_some(), "{language:?} has no {expected}");
            }
            for (path, content) in &files {
                for placeholder in ["NAME", "MODULE", "NEEDS", "DEFAULT", "plugins/build.sh"] {
                    assert!(
                        !content.contains(placeholder),
                        "{language:?} {path}: {placeholder}"
                    );
                }
            }
            let (_, cases) = files
                .iter()
                .find(|(path, _)| *path == "cases.yaml")
                .unwrap();
            PluginTestFile::read(cases).unwrap_or_else(|error| panic!("{language:?}: {error}"));
        }
    }

    #[test]
    fn the_build_script_names_the_module_as_the_compiler_does() {
        let files = files("my-plugin", PluginLanguage::Rust);
        let (_, script) = files.iter().find(|(path, _)| *path == "build.sh").unwrap();
        assert!(
            script.contains("release/my_plugin.wasm my-plugin.wasm"),
            "{script}"
        );
    }
}
