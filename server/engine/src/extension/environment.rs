//! Which variables of our environment extensions see.

/// The portal's own.
const OWN: &str = "COPILOT_PORTAL_";
/// Parts of a name, between underscores, that say that its value is a secret.
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
/// How such a part ends: `GITHUBTOKEN` is one, too.
const ENDINGS: [&str; 4] = ["TOKEN", "SECRET", "PASSWORD", "APIKEY"];

/// Whether a variable is kept from extensions: it is one of `secrets`, the portal's own, or named
/// like a secret.
pub(super) fn is_secret(name: &str, secrets: &[String]) -> bool {
    let upper = name.to_ascii_uppercase();
    // The working directory.
    if matches!(&*upper, "PWD" | "OLDPWD") {
        return false;
    }
    upper.starts_with(OWN)
        || secrets.iter().any(|secret| secret.eq_ignore_ascii_case(name))
        || upper.split('_').any(|part| {
            PARTS.contains(&part) || ENDINGS.iter().any(|ending| part.ends_with(ending))
        })
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
}
