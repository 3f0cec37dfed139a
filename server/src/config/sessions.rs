//! What is decided about the sessions that users open.

use serde::Deserialize;
use toml::Spanned;

use super::ConfigError;
use super::command_line::CommandLine;
use super::text::FileText;

/// `[sessions]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SessionsTable {
    pub(super) fallback: Option<Vec<Spanned<String>>>,
}

/// The models that continue failed turns. Whether they exist is not known before they are needed:
/// providers list their models later, and may be unavailable now.
pub(super) fn settle_fallback(
    line: &CommandLine,
    table: &SessionsTable,
    file: &FileText,
) -> Result<Vec<String>, ConfigError> {
    const PROBLEM: &str = "a fallback model needs an id";
    if let Some(models) = &line.fallback {
        if models.iter().any(|model| model.trim().is_empty()) {
            return Err(ConfigError::Arguments(format!("--fallback: {PROBLEM}")));
        }
        return Ok(models.clone());
    }
    let models = table.fallback.iter().flatten();
    let checked = models.map(|model| match model.get_ref().trim() {
        "" => Err(file.error(model, PROBLEM.to_owned())),
        _ => Ok(model.get_ref().clone()),
    });
    checked.collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{folder_with, message, planted, run};

    #[test]
    fn fallback_models_come_from_the_command_line_or_else_from_the_file() {
        let folder = folder_with("[sessions]\nfallback = ['a', 'p/b']\n");
        let fallback = |arguments: &[&str]| run(arguments, folder.path()).expect("valid").fallback;
        assert_eq!(fallback(&[]), ["a", "p/b"]);
        assert_eq!(fallback(&["--fallback", "c", "--fallback", "d,e"]), ["c", "d", "e"]);
        let empty = tempfile::tempdir().expect("temporary folder");
        assert!(run(&[], empty.path()).expect("defaults").fallback.is_empty());
    }

    #[test]
    fn a_model_without_an_id_is_a_mistake() {
        let folder = folder_with("[sessions]\nfallback = ['a', ' ']\n");
        let error = message(&[], folder.path());
        assert!(error.contains("portal.toml:2: a fallback model needs an id"), "{error}");
        let error = message(&["--fallback", ""], folder.path());
        assert!(error.starts_with("--fallback: a fallback model needs an id"), "{error}");
    }

    #[test]
    fn a_file_in_the_working_directory_sends_no_conversation_elsewhere() {
        let folder = folder_with("[sessions]\nfallback = ['a']\n");
        let settings = planted(&["--fallback", "b"], folder.path());
        assert_eq!(settings.fallback, ["b"]);
        let [notice] = &*settings.notices else { panic!("{:?}", settings.notices) };
        assert!(notice.contains("sessions.fallback"), "{notice}");
    }
}
