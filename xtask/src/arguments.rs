//! The command line: which command, with which options.
//!
//! Parsed by hand: a handful of words is not worth the time a parser crate takes to compile.

use std::ffi::OsString;

use crate::bench::Benchmark;
use crate::checks::Step;

/// What `cargo xtask help` prints.
pub(crate) const USAGE: &str = "\
Usage: cargo xtask <command>

  build                   build the release binary, the site inside
  serve [OPTIONS]         build it and run it; the options are the server's own
  test                    run every check and test
       --no-browser       leave out what needs a browser
       --only STEP        run this step alone (may be repeated):
                          fmt, clippy, clippy-wasm, doc, test, licences, build, browser, leptos
  check-leptos            build, serve and hydrate with cargo-leptos (`test --only leptos`)
  bench [WHAT…]           build and measure, everything or some of:
                          size (of the download), live-log (cost of a push), load (the server
                          over HTTP, some minutes), load:NAME (scenarios that begin so)
  help                    print this text
";

/// A parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Build,
    Serve(Vec<OsString>),
    Test(TestOptions),
    Bench(Vec<Benchmark>),
}

/// Which steps `cargo xtask test` runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestOptions {
    /// Leave out what needs a browser.
    pub(crate) no_browser: bool,
    /// The chosen steps; empty means all.
    pub(crate) only: Vec<Step>,
}

/// Reads the arguments after `cargo xtask`. The error is one line for the user.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut arguments = arguments.into_iter();
    let Some(command) = arguments.next() else {
        return Ok(Command::Help);
    };
    match command.to_string_lossy().as_ref() {
        "help" | "--help" | "-h" => Ok(Command::Help),
        "build" => without_options(arguments, Command::Build),
        "bench" => parse_bench(arguments),
        "check-leptos" => {
            let only = vec![Step::Leptos];
            without_options(arguments, Command::Test(TestOptions { no_browser: false, only }))
        }
        "serve" => {
            let mut options: Vec<OsString> = arguments.collect();
            if options.first().is_some_and(|first| first == "--") {
                options.remove(0);
            }
            Ok(Command::Serve(options))
        }
        "test" => parse_test(arguments),
        other => Err(format!("unknown command: `{other}`")),
    }
}

fn without_options(
    mut arguments: impl Iterator<Item = OsString>,
    command: Command,
) -> Result<Command, String> {
    match arguments.next() {
        None => Ok(command),
        Some(extra) => Err(unknown_option(&extra.to_string_lossy())),
    }
}

fn parse_bench(arguments: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let named = |name: OsString| {
        let name = name.to_string_lossy();
        Benchmark::named(&name).ok_or_else(|| format!("unknown benchmark: `{name}`"))
    };
    arguments.map(named).collect::<Result<_, _>>().map(Command::Bench)
}

fn parse_test(mut arguments: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let mut options = TestOptions::default();
    while let Some(argument) = arguments.next() {
        let argument = argument.to_string_lossy();
        let step = match argument.as_ref() {
            "--no-browser" => {
                options.no_browser = true;
                continue;
            }
            "--only" => {
                let name = arguments.next().ok_or("missing the step after `--only`")?;
                name.to_string_lossy().into_owned()
            }
            other => match other.strip_prefix("--only=") {
                Some(name) => name.to_owned(),
                None => return Err(unknown_option(other)),
            },
        };
        options.only.push(Step::named(&step).ok_or_else(|| format!("unknown step: `{step}`"))?);
    }
    Ok(Command::Test(options))
}

fn unknown_option(option: &str) -> String {
    format!("unknown option: `{option}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn no_command_asks_for_help() {
        assert_eq!(parsed(""), Ok(Command::Help));
        assert_eq!(parsed("help"), Ok(Command::Help));
    }

    #[test]
    fn serve_passes_its_options_on_with_or_without_the_dashes() {
        let expected = Ok(Command::Serve(vec!["--port".into(), "9000".into()]));
        assert_eq!(parsed("serve --port 9000"), expected);
        assert_eq!(parsed("serve -- --port 9000"), expected);
    }

    #[test]
    fn test_takes_steps_in_both_spellings() {
        let only = vec![Step::Format, Step::Browser];
        let expected = Ok(Command::Test(TestOptions { no_browser: true, only }));
        assert_eq!(parsed("test --only fmt --no-browser --only=browser"), expected);
    }

    #[test]
    fn check_leptos_is_one_step_of_test() {
        let only = vec![Step::Leptos];
        let expected = Ok(Command::Test(TestOptions { no_browser: false, only }));
        assert_eq!(parsed("check-leptos"), expected);
    }

    #[test]
    fn bench_takes_any_number_of_names() {
        assert_eq!(parsed("bench"), Ok(Command::Bench(Vec::new())));
        let chosen = vec![Benchmark::Size, Benchmark::LiveLog, Benchmark::Load(String::new())];
        assert_eq!(parsed("bench size live-log load"), Ok(Command::Bench(chosen)));
        let chosen = vec![Benchmark::Load("idle".to_owned())];
        assert_eq!(parsed("bench load:idle"), Ok(Command::Bench(chosen)));
    }

    #[test]
    fn unknown_words_are_named() {
        assert_eq!(parsed("biuld"), Err("unknown command: `biuld`".to_owned()));
        assert_eq!(parsed("build --fast"), Err("unknown option: `--fast`".to_owned()));
        assert_eq!(parsed("test engine"), Err("unknown option: `engine`".to_owned()));
        assert_eq!(parsed("test --only x"), Err("unknown step: `x`".to_owned()));
        assert_eq!(parsed("bench speed"), Err("unknown benchmark: `speed`".to_owned()));
        assert_eq!(parsed("bench load:x"), Err("unknown benchmark: `load:x`".to_owned()));
        assert_eq!(parsed("test --only"), Err("missing the step after `--only`".to_owned()));
    }
}
