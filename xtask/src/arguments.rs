//! The command line: the command and its options.
//!
//! Parsed by hand: a handful of words is not worth the time a parser crate takes to compile.

use std::ffi::OsString;

use crate::step::Step;

/// What `cargo xtask help` prints.
pub const USAGE: &str = "\
Usage: cargo xtask <command>

  serve [OPTIONS]         build quickly and run it; the options are the server's own
  build                   build the release: one small and fast binary, the site inside
  test                    run every check and test
       --no-browser       leave out what needs a browser
       --only STEP        run this step alone (may be repeated):
                          fmt, clippy, clippy-wasm, doc, test, licences, browser, release
                          (the last is otherwise only run where CI is set)
  leptos                  install cargo-leptos and wasm-bindgen below the target folder unless
                          they are there, then build, serve and hydrate with them
  pictures                take the screenshots of the README again, into docs/pictures
  bench [WHAT…]           measure, everything but `build` or some of:
                          size (of the download), live-log (cost of a push), load (the server
                          over HTTP, some minutes), store (what keeping costs, some minutes),
                          browser (what a person waits for, some minutes),
                          load:NAME, store:NAME, browser:NAME (scenarios that begin so),
                          build (from a fresh clone, half an hour)
       --keep             keep these figures: later runs are compared with them
  help                    print this text
";

/// A parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    /// Print [`USAGE`] and exit.
    Help,
    /// Build the release binary, which embeds the site.
    Build,
    /// Build quickly and serve, passing these options to the server.
    Serve(Vec<OsString>),
    /// Run the checks that the options select.
    Test(TestOptions),
    /// Build, serve and hydrate with cargo-leptos.
    Leptos,
    /// Take the screenshots of the README.
    Pictures,
    /// Run the benchmarks that the options select.
    Bench(BenchOptions),
}

impl Command {
    /// How many steps are announced, including building the tools.
    pub fn steps(&self) -> usize {
        match self {
            Self::Build | Self::Serve(_) | Self::Pictures => 4,
            _ => 1,
        }
    }

    /// The features of the tools that the command needs.
    pub fn features(&self) -> &'static [&'static str] {
        match self {
            Self::Help | Self::Serve(_) | Self::Leptos | Self::Pictures => &[],
            Self::Build => &["small"],
            Self::Test(_) => &["checks", "small"],
            Self::Bench(_) => &["bench", "small"],
        }
    }
}

/// A benchmark of `cargo xtask bench`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Benchmark {
    /// The download size of a first visit.
    Size,
    /// The cost of a push to a live log.
    LiveLog,
    /// The server under load: all scenarios, or those whose names have this prefix.
    Load(String),
    /// The cost of the store: all scenarios, or those whose names have this prefix.
    Store(String),
    /// What a person waits for in a browser: all scripts, or those whose names have this prefix.
    Browser(String),
    /// The time of first and later builds.
    Build,
}

impl Benchmark {
    /// Looks up its name on the command line.
    fn named(name: &str) -> Option<Self> {
        match name {
            "size" => Some(Self::Size),
            "live-log" => Some(Self::LiveLog),
            "load" => Some(Self::Load(String::new())),
            "store" => Some(Self::Store(String::new())),
            "browser" => Some(Self::Browser(String::new())),
            "build" => Some(Self::Build),
            _ => match name.split_once(':')? {
                ("load", scenario) => Some(Self::Load(scenario.to_owned())),
                ("store", scenario) => Some(Self::Store(scenario.to_owned())),
                ("browser", script) => Some(Self::Browser(script.to_owned())),
                _ => None,
            },
        }
    }
}

/// Which benchmarks `cargo xtask bench` runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct BenchOptions {
    /// The chosen benchmarks; empty means all except the builds.
    pub chosen: Vec<Benchmark>,
    /// Store the figures for later runs.
    pub keep: bool,
}

/// Which steps `cargo xtask test` runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TestOptions {
    /// Skip what needs a browser.
    pub no_browser: bool,
    /// The chosen steps; empty means all.
    pub only: Vec<Step>,
}

/// Parses the arguments after `cargo xtask`. The error is one line for the user.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut arguments = arguments.into_iter();
    let Some(command) = arguments.next() else {
        return Ok(Command::Help);
    };
    match command.to_string_lossy().as_ref() {
        "help" | "--help" | "-h" => Ok(Command::Help),
        "build" => without_options(arguments, Command::Build),
        "bench" => parse_bench(arguments),
        "leptos" => without_options(arguments, Command::Leptos),
        "pictures" => without_options(arguments, Command::Pictures),
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
    let mut options = BenchOptions::default();
    for argument in arguments {
        let argument = argument.to_string_lossy();
        if argument == "--keep" {
            options.keep = true;
            continue;
        }
        let benchmark = Benchmark::named(&argument);
        options.chosen.push(benchmark.ok_or_else(|| format!("unknown benchmark: `{argument}`"))?);
    }
    Ok(Command::Bench(options))
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
    fn serve_needs_none_of_the_large_libraries() {
        let features = |line| parsed(line).expect("a command").features();
        assert_eq!(features("serve --port 9000"), [""; 0]);
        assert_eq!(features("leptos"), [""; 0]);
        assert_eq!(features("build"), ["small"]);
    }

    #[test]
    fn pictures_are_taken_of_the_quick_build_and_have_no_options() {
        assert_eq!(parsed("pictures"), Ok(Command::Pictures));
        assert_eq!(Command::Pictures.features(), [""; 0]);
        assert_eq!(parsed("pictures --dark"), Err("unknown option: `--dark`".to_owned()));
    }

    #[test]
    fn bench_takes_any_number_of_names() {
        let bench = |chosen, keep| Ok(Command::Bench(BenchOptions { chosen, keep }));
        assert_eq!(parsed("bench"), bench(Vec::new(), false));
        let chosen = vec![Benchmark::Size, Benchmark::LiveLog, Benchmark::Load(String::new())];
        assert_eq!(parsed("bench size live-log --keep load"), bench(chosen, true));
        let chosen = vec![
            Benchmark::Load("idle".to_owned()),
            Benchmark::Store(String::new()),
            Benchmark::Store("past".to_owned()),
            Benchmark::Browser("long".to_owned()),
            Benchmark::Build,
        ];
        assert_eq!(
            parsed("bench load:idle store store:past browser:long build"),
            bench(chosen, false)
        );
    }

    #[test]
    fn unknown_words_are_named() {
        assert_eq!(parsed("biuld"), Err("unknown command: `biuld`".to_owned()));
        assert_eq!(parsed("build --fast"), Err("unknown option: `--fast`".to_owned()));
        assert_eq!(parsed("test engine"), Err("unknown option: `engine`".to_owned()));
        assert_eq!(parsed("test --only x"), Err("unknown step: `x`".to_owned()));
        assert_eq!(parsed("bench speed"), Err("unknown benchmark: `speed`".to_owned()));
        assert_eq!(parsed("test --only"), Err("missing the step after `--only`".to_owned()));
    }
}
