//! Which environment variables are passed to programs that agents start: commands and extensions
//! get none that is named like a secret, the Copilot CLI gets none of the portal's own.

/// Prefix of the portal's own variables.
const OWN: &str = "COPILOT_PORTAL_";
/// Parts of a name, between underscores, that mark its value as a secret.
const PARTS: [&str; 11] = [
    "KEY",
    "KEYS",
    "PAT",
    "TOKENS",
    "SECRETS",
    "PASSWORDS",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "PWD",
];
/// Endings of such a part: `GITHUBTOKEN` is a secret, too.
const ENDINGS: [&str; 4] = ["TOKEN", "SECRET", "PASSWORD", "APIKEY"];

/// Whether a variable is hidden from commands and extensions: it is one of `secrets`, the portal's
/// own, or named like a secret.
pub fn is_secret(name: &str, secrets: &[String]) -> bool {
    let upper = name.to_ascii_uppercase();
    // The working directory, not a password.
    if matches!(&*upper, "PWD" | "OLDPWD") {
        return false;
    }
    is_ours(name, secrets)
        || upper.split('_').any(|part| {
            PARTS.contains(&part) || ENDINGS.iter().any(|ending| part.ends_with(ending))
        })
}

/// Whether a variable is hidden even from the Copilot CLI, which logs in with variables such as
/// `GITHUB_TOKEN`: it is one of `secrets`, or the portal's own.
pub fn is_ours(name: &str, secrets: &[String]) -> bool {
    name.get(..OWN.len()).is_some_and(|start| start.eq_ignore_ascii_case(OWN))
        || secrets.iter().any(|secret| secret.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_told_from_others() {
        let secrets = ["MY_PROVIDER".to_owned()];
        for name in [
            "COPILOT_PORTAL_PORT",
            "my_provider",
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "GH_PAT",
            "githubToken",
            "DB_PASSWORD",
            "PGPASSWORD",
            "AWS_SECRET_ACCESS_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "MYSQL_PWD",
        ] {
            assert!(is_secret(name, &secrets), "{name}");
        }
        for name in
            ["PATH", "HOME", "PWD", "OLDPWD", "SSH_AUTH_SOCK", "KEYBOARD", "LANG", "TOKENIZERS"]
        {
            assert!(!is_secret(name, &secrets), "{name}");
        }
    }

    #[test]
    fn the_cli_keeps_what_it_logs_in_with() {
        let secrets = ["OPENAI_API_KEY".to_owned()];
        for name in ["COPILOT_PORTAL_ACCESS_KEY", "copilot_portal_x", "OPENAI_API_KEY"] {
            assert!(is_ours(name, &secrets), "{name}");
        }
        for name in
            ["GITHUB_TOKEN", "COPILOT_PORTAL", "OPENAI_API_KEYS", "MY_COPILOT_PORTAL_X", "ü"]
        {
            assert!(!is_ours(name, &secrets), "{name}");
        }
    }
}
