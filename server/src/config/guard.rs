//! Where the settings are, and which files no tool may touch because of that.

use std::path::{Path, PathBuf};

use agents::guarded::Guarded;
use agents::permission::{AlwaysAsk, check_glob};
use agents::provider::KeySource;

use super::file::ConfigFile;
use super::{ConfigError, Settings};

/// The folder of the user's own settings, where this system keeps those.
const FOLDER: &str = "copilot-portal";

/// The user's own configuration file, which need not exist.
pub(super) fn user_file() -> Option<PathBuf> {
    let folder = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let home = |inside: &str| folder("HOME").map(|home| home.join(inside));
    let configuration = if cfg!(windows) {
        folder("APPDATA")
    } else if cfg!(target_os = "macos") {
        folder("XDG_CONFIG_HOME").or_else(|| home("Library/Application Support"))
    } else {
        folder("XDG_CONFIG_HOME").or_else(|| home(".config"))
    };
    Some(configuration?.join(FOLDER).join(super::DEFAULT_FILE))
}

/// The files that control the portal: settings, the entry, keys and stored data.
pub(super) fn guarded(settings: &Settings) -> Guarded {
    let mut paths = settings.origin.files();
    paths.extend(user_file());
    paths.extend(settings.entry.clone());
    paths.extend(settings.data.clone());
    paths.extend(settings.key_files.iter().cloned());
    let keys = settings.providers.iter().map(|provider| &provider.key);
    let own = settings.copilot.iter().filter_map(|copilot| Some(&copilot.provider.as_ref()?.key));
    paths.extend(keys.chain(own).filter_map(|key| match key {
        KeySource::File(path) => Some(path.clone()),
        KeySource::None | KeySource::Given(_) | KeySource::Missing(_) => None,
    }));
    Guarded::new(paths)
}

/// Files that are asked about each time: those that the configuration names, and the user's
/// extensions.
pub(super) fn always_ask(
    file: &ConfigFile,
    extensions: Option<&Path>,
) -> Result<AlwaysAsk, ConfigError> {
    let mut globs = Vec::new();
    for glob in &file.tables.permissions.always_ask {
        check_glob(glob.get_ref()).map_err(|error| file.text.error(glob, error.to_string()))?;
        globs.push(glob.get_ref().clone());
    }
    let folder = extensions.and_then(Path::to_str).filter(|path| path.starts_with('/'));
    globs.extend(folder.map(|folder| format!("{folder}/**")).filter(|g| check_glob(g).is_ok()));
    AlwaysAsk::new(globs).map_err(|error| ConfigError::Arguments(error.to_string()))
}
