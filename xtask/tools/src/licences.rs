//! Checks the licences of all dependencies.

use anyhow::{Context, bail};
use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};

use crate::workspace::Workspace;

/// Lists the accepted licences, for `cargo deny` as well.
const RULES: &str = include_str!("../../../deny.toml");

/// Checks every crate in the dependency tree; the error lists those with other licences.
pub(crate) fn check(workspace: &Workspace) -> anyhow::Result<()> {
    let metadata = workspace.dependencies()?;
    let packages = metadata["packages"].as_array().context("cargo knows no packages")?;
    let accepted = accepted();
    let objections: Vec<String> =
        packages.iter().filter_map(|package| objection(package, &accepted)).collect();
    if objections.is_empty() {
        println!("{} crates, all under licences we accept", packages.len());
        return Ok(());
    }
    bail!("licences we do not accept:\n  {}", objections.join("\n  "))
}

/// The licences in the list `allow`, one per line.
fn accepted() -> Vec<Licensee> {
    let lines = RULES.lines().skip_while(|line| *line != "allow = [").skip(1);
    let names =
        lines.take_while(|line| *line != "]").map(|line| line.trim().trim_matches([',', '"']));
    names.map(|name| Licensee::parse(name).expect("the list holds known licences only")).collect()
}

/// Why a crate must not be used, if so.
fn objection(package: &Value, accepted: &[Licensee]) -> Option<String> {
    let name = package["name"].as_str().unwrap_or("?");
    let version = package["version"].as_str().unwrap_or("?");
    let Some(licence) = package["license"].as_str() else {
        return Some(format!("{name} {version}: names no licence"));
    };
    (!is_accepted(licence, accepted)).then(|| format!("{name} {version}: {licence}"))
}

/// Whether accepted licences satisfy an expression such as `(MIT OR GPL-3.0) AND Zlib`.
fn is_accepted(expression: &str, accepted: &[Licensee]) -> bool {
    // Lax, because old crates still write `MIT/Apache-2.0`.
    Expression::parse_mode(expression, ParseMode::LAX).is_ok_and(|expression| {
        expression.evaluate(|wanted| accepted.iter().any(|licence| licence.satisfies(wanted)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn expressions_are_met_by_what_we_accept() {
        let accepted = accepted();
        for (expression, expected) in [
            ("MIT", true),
            ("MIT/Apache-2.0", true),
            ("GPL-3.0-only", false),
            ("MIT OR GPL-3.0-only", true),
            ("MIT AND GPL-3.0-only", false),
            ("(MIT OR GPL-3.0-only) AND Zlib", true),
            ("MIT OR Apache-2.0 OR LGPL-2.1-or-later", true),
            ("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("GPL-2.0-only WITH Classpath-exception-2.0", false),
            ("no such licence", false),
        ] {
            assert_eq!(is_accepted(expression, &accepted), expected, "{expression}");
        }
    }

    #[test]
    fn a_crate_without_a_licence_is_named() {
        let package = json!({ "name": "secret", "version": "1.2.3", "license": null });
        let text = objection(&package, &accepted());
        assert_eq!(text.as_deref(), Some("secret 1.2.3: names no licence"));
    }
}
