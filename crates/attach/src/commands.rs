//! Commands of the operating system, and what they say when they fail.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// A command that did not do what it was to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// It is not installed, or cannot be started.
    #[error("cannot run {command}: {source} (is {package} installed?)")]
    Start {
        /// The command.
        command: String,
        /// What usually has it.
        package: &'static str,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// It failed.
    #[error("{command} failed: {said}")]
    Failed {
        /// The command, with its arguments.
        command: String,
        /// What it said, in a line; its status if it said nothing.
        said: String,
    },
}

/// Where commands are that belong to root, and that others' search paths lack.
const PATH: &str = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin";

/// Runs a command and gives its standard output.
pub(crate) fn run<S: AsRef<OsStr>>(
    command: &str,
    package: &'static str,
    arguments: &[S],
) -> Result<String, CommandError> {
    match run_for(command, package, arguments, &[])? {
        Some(output) => Ok(output),
        None => unreachable!("no status is excused"),
    }
}

/// The same; none if it ended with one of the statuses `excused`.
pub(crate) fn run_for<S: AsRef<OsStr>>(
    command: &str,
    package: &'static str,
    arguments: &[S],
    excused: &[i32],
) -> Result<Option<String>, CommandError> {
    let path = match std::env::var("PATH") {
        Ok(path) => format!("{path}:{PATH}"),
        Err(_) => PATH.into(),
    };
    let ended = Command::new(command)
        .args(arguments)
        .env("PATH", path)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        // Ctrl-C is for the server, which then has commands of its own to undo what it did.
        .process_group(0)
        .output()
        .map_err(|source| CommandError::Start {
            command: command.into(),
            package,
            source,
        })?;
    if ended.status.success() {
        let output = String::from_utf8_lossy(&ended.stdout);
        return Ok(Some(output.trim().into()));
    }
    if ended
        .status
        .code()
        .is_some_and(|code| excused.contains(&code))
    {
        return Ok(None);
    }
    let words = arguments
        .iter()
        .map(|argument| argument.as_ref().to_string_lossy());
    let said = String::from_utf8_lossy(&ended.stderr);
    let said = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let said = said.collect::<Vec<_>>().join("; ");
    Err(CommandError::Failed {
        command: [command.into()]
            .into_iter()
            .chain(words)
            .collect::<Vec<_>>()
            .join(" "),
        said: match said.is_empty() {
            true => ended.status.to_string(),
            false => said,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_says_is_told() {
        assert_eq!(run("echo", "coreutils", &["so"]).expect("it runs"), "so");
        let failed = run("ls", "coreutils", &["/nothing/here"]).expect_err("no such file");
        assert!(
            failed.to_string().starts_with("ls /nothing/here failed: "),
            "{failed}"
        );
        let absent = run("no-such-command", "no-such-package", &[""]).expect_err("no command");
        assert!(
            absent.to_string().contains("is no-such-package installed?"),
            "{absent}"
        );
        let excused = run_for("false", "coreutils", &[""; 0], &[1]).expect("it is excused");
        assert_eq!(excused, None);
    }
}
