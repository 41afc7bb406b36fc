//! `headroom completions` and `headroom man`: made from the command line's own definition.

use host::{out, outln};
use std::path::Path;

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{Cli, Exit};

const NAME: &str = "headroom";

/// Prints the completion script of a shell.
pub fn completions(shell: Shell) -> Exit {
    out!("{}", script(shell));
    Exit::Done
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), NAME, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Prints the first manual page, or writes that of every command into a folder.
///
/// # Errors
/// A page cannot be written.
pub fn man(dir: Option<&Path>) -> anyhow::Result<Exit> {
    let Some(dir) = dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page)?;
        out!("{}", String::from_utf8_lossy(&page));
        return Ok(Exit::Done);
    };
    let problem = || format!("cannot write manual pages to {}", dir.display());
    std::fs::create_dir_all(dir).with_context(problem)?;
    clap_mangen::generate_to(Cli::command(), dir).with_context(problem)?;
    outln!("{}", dir.join(format!("{NAME}.1")).display());
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of all commands.
    fn commands() -> Vec<String> {
        let command = Cli::command();
        let names: Vec<String> = command
            .get_subcommands()
            .map(|command| command.get_name().to_owned())
            .collect();
        assert!(names.len() > 15, "{names:?}");
        names
    }

    #[test]
    fn every_shell_completes_every_command_and_its_options() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell);
            for name in commands() {
                assert!(script.contains(&name), "{name} is not in that of {shell}");
            }
            assert!(script.contains("resume"), "{shell}");
        }
        let bash = script(Shell::Bash);
        for name in commands() {
            assert!(bash.contains(&format!("headroom,{name})")), "{name}");
        }
    }

    #[test]
    fn every_command_has_a_manual_page() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("man1");
        assert_eq!(man(Some(&dir)).unwrap(), Exit::Done);
        let read = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap();
        let first = read("headroom.1");
        for name in commands() {
            assert!(read(&format!("headroom-{name}.1")).contains(".SH NAME"));
            let listed = format!("headroom\\-{}(1)", name.replace('-', "\\-"));
            assert!(first.contains(&listed), "{listed} is not in: {first}");
        }
        assert!(read("headroom-bench.1").contains("resume"));
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(man(Some(&file)).is_err());
    }
}
