//! What an extension runs on: Node, and the package `@github/copilot-sdk`.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use wire::ExtensionState;

use super::ExtensionSettings;

const OLDEST_NODE: u32 = 20;
const PATIENCE: Duration = Duration::from_secs(10);
/// The package's name, and the folder of its modules.
const PACKAGE: &str = "@github/copilot-sdk";
const BUILT: &str = "dist";

/// What extensions are started with.
#[derive(Clone, Debug)]
pub(super) struct Runtime {
    pub(super) node: PathBuf,
    /// The folder with the package's `index.js` and `extension.js`.
    pub(super) sdk: PathBuf,
}

/// Why no extension can be started, as text for people.
#[derive(Clone, Debug)]
pub(super) struct Missing {
    pub(super) state: ExtensionState,
    pub(super) reason: String,
}

impl Runtime {
    /// Searches for Node and the package.
    pub(super) async fn find(settings: &ExtensionSettings) -> Result<Self, Missing> {
        let node = settings.node.clone().unwrap_or_else(|| "node".into());
        check_node(&node)
            .await
            .map_err(|reason| Missing { state: ExtensionState::NeedsNode, reason })?;
        let sdk = match &settings.sdk_path {
            Some(path) => modules(path).ok_or_else(|| {
                format!("the package {PACKAGE} is not in this folder: `{}`", path.display())
            }),
            None => search(&node).ok_or_else(|| {
                format!(
                    "the package {PACKAGE} was not found: install it by `npm install --global \
                     {PACKAGE}`, or set `extensions.sdkPath`"
                )
            }),
        };
        let sdk = sdk.map_err(|reason| Missing { state: ExtensionState::NeedsSdk, reason })?;
        Ok(Self { node, sdk })
    }
}

async fn check_node(node: &Path) -> Result<(), String> {
    let needed = format!("Node {OLDEST_NODE} or newer is needed");
    let mut command = Command::new(node);
    command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = match tokio::time::timeout(PATIENCE, command.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(_)) => return Err(format!("{needed}, but not found: `{}`", node.display())),
        Err(_) => return Err(format!("{needed}, but does not answer: `{}`", node.display())),
    };
    let version = String::from_utf8_lossy(&output.stdout);
    let version = version.trim();
    let major = version.strip_prefix('v').and_then(|version| version.split('.').next());
    match major.and_then(|major| major.parse::<u32>().ok()) {
        Some(major) if major >= OLDEST_NODE => Ok(()),
        _ => Err(format!("{needed}, this is another one: `{version}`")),
    }
}

/// The folder of modules, given either that folder or the package's.
fn modules(path: &Path) -> Option<PathBuf> {
    let both =
        |folder: &Path| ["index.js", "extension.js"].iter().all(|f| folder.join(f).is_file());
    [path.to_owned(), path.join(BUILT)].into_iter().find(|folder| both(folder))
}

/// Searches the places where npm and the Copilot CLI install it.
fn search(node: &Path) -> Option<PathBuf> {
    let home = std::env::home_dir();
    let below_home = |path: &str| home.as_ref().map(|home| home.join(path));
    let prefixes = [
        node_prefix(node),
        std::env::var_os("npm_config_prefix").map(PathBuf::from),
        below_home(".npm-global"),
        Some("/usr/local".into()),
        Some("/usr".into()),
    ];
    let global = prefixes.into_iter().flatten();
    let global = global.map(|prefix| prefix.join("lib/node_modules").join(PACKAGE));
    let caches = [
        std::env::var_os("COPILOT_CACHE_HOME").map(PathBuf::from),
        std::env::var_os("XDG_CACHE_HOME").map(|cache| PathBuf::from(cache).join("copilot")),
        below_home(".cache/copilot"),
    ];
    let unpacked = caches.into_iter().flatten().flat_map(|cache| unpacked(&cache));
    global.chain(unpacked).find_map(|folder| modules(&folder))
}

/// The installation prefix: `/usr` of `/usr/bin/node`.
fn node_prefix(node: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(node));
    let found = found.find_map(|candidate| candidate.canonicalize().ok())?;
    Some(found.parent()?.parent()?.to_owned())
}

/// The versions that the Copilot CLI has unpacked, the newest first:
/// `pkg/SYSTEM/VERSION/copilot-sdk`.
fn unpacked(cache: &Path) -> Vec<PathBuf> {
    let list = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let versions = list(cache.join("pkg")).flat_map(|system| list(system.path()));
    let mut versions: Vec<PathBuf> = versions.map(|version| version.path()).collect();
    versions.sort_by_key(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let numbers = name.unwrap_or_default();
        let numbers: Vec<u32> = numbers.split(['.', '-']).filter_map(|n| n.parse().ok()).collect();
        std::cmp::Reverse(numbers)
    });
    versions.into_iter().map(|version| version.join("copilot-sdk")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_unpacked_version_comes_first() {
        let cache = tempfile::tempdir().expect("a folder");
        for version in ["1.0.9", "1.0.102", "0.9.200"] {
            let folder = cache.path().join("pkg/linux-x64").join(version).join("copilot-sdk");
            std::fs::create_dir_all(&folder).expect("a folder");
            for module in ["index.js", "extension.js"] {
                std::fs::write(folder.join(module), "").expect("a file");
            }
        }
        let found = unpacked(cache.path());
        assert!(found[0].ends_with("1.0.102/copilot-sdk"), "{found:?}");
        assert_eq!(modules(&found[0]), Some(found[0].clone()));
        assert_eq!(modules(cache.path()), None);
    }

    #[tokio::test]
    async fn without_node_or_the_package_it_is_said_what_to_install() {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = ExtensionSettings {
            node: Some("/no/such/node".into()),
            ..ExtensionSettings::default()
        };
        let missing = Runtime::find(&settings).await.expect_err("no Node");
        assert_eq!(missing.state, ExtensionState::NeedsNode);
        assert_eq!(missing.reason, "Node 20 or newer is needed, but not found: `/no/such/node`");
        let settings = ExtensionSettings {
            sdk_path: Some(folder.path().to_owned()),
            ..ExtensionSettings::default()
        };
        let missing = Runtime::find(&settings).await.expect_err("no package");
        assert_eq!(missing.state, ExtensionState::NeedsSdk);
        assert!(missing.reason.contains("@github/copilot-sdk"), "{missing:?}");
    }
}
