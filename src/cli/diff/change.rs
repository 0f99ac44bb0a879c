//! A difference between two configurations, and what it is about.

/// A difference between two configurations.
pub struct SettingChange {
    pub group: SettingGroup,
    pub text: String,
}

/// What a difference is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingGroup {
    Callers,
    Limits,
    Models,
    Channels,
    Routes,
    Filters,
    Schemas,
    Server,
    Other,
}

impl SettingGroup {
    pub const ALL: [Self; 9] = [
        Self::Callers,
        Self::Limits,
        Self::Models,
        Self::Channels,
        Self::Routes,
        Self::Filters,
        Self::Schemas,
        Self::Server,
        Self::Other,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Self::Callers => "callers",
            Self::Limits => "limits",
            Self::Models => "models",
            Self::Channels => "channels",
            Self::Routes => "routes",
            Self::Filters => "filters",
            Self::Schemas => "schemas",
            Self::Server => "server",
            Self::Other => "other settings",
        }
    }

    /// The group of the setting `path` in a section.
    pub fn for_setting(section: &str, path: &str) -> Self {
        let key = path.split('.').next().unwrap_or_default();
        match (section, key) {
            ("callers" | "channels" | "groups", "limits") => Self::Limits,
            ("callers" | "groups", _) => Self::Callers,
            ("channels", "models" | "prices") | ("models" | "prices", _) => Self::Models,
            ("channels", _) => Self::Channels,
            ("routes", "request" | "response") | ("chains", _) => Self::Filters,
            ("routes", _) => Self::Routes,
            ("server" | "state", _) => Self::Server,
            _ => Self::Other,
        }
    }
}
