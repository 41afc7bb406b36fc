//! `headroom bench all`: runs every experiment, and writes one page about them.

use host::{errln, out};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::Place;
use super::args::BenchArgs;
use super::order::order;
use super::setting::Setting;
use ::results::run_folder::files;
use ::results::run_folder::place::{self, RUNS, untaken};
use host::terminal::in_one;
use host::usage::Usage;
use plan::{self, Experiment, Order};
use present::tables::page::{Outcome, Page, PageError};

/// The name that means every experiment.
pub const ALL: &str = "all";

/// All experiments, in their defaults.
#[derive(Debug)]
pub struct All {
    experiments: Vec<Experiment>,
    dir: PathBuf,
    /// Experiments that do not exist at this size, and why.
    left_out: Vec<(String, String)>,
}

impl All {
    /// If `all` is named, replaces it by every experiment, and chooses a folder for all of them.
    ///
    /// # Errors
    /// Another experiment is named, too, an option is for a single experiment only, or the folder is taken.
    pub fn asked(args: &mut BenchArgs) -> anyhow::Result<Option<Self>> {
        if !args.experiments.iter().any(|name| name == ALL) {
            return Ok(None);
        }
        check(args)?;
        let experiments: Vec<Experiment> = plan::embedded().collect();
        let dir = match (&args.resume, &args.out) {
            (Some(dir), _) | (None, Some(dir)) => dir.clone(),
            (None, None) => place::free(Path::new(RUNS), Timestamp::now(), ALL),
        };
        if args.resume.is_none() {
            untaken(&dir)?;
            args.out = Some(dir.clone());
        }
        args.experiments = experiments.iter().map(|e| e.name.clone()).collect();
        Ok(Some(Self {
            experiments,
            dir,
            left_out: Vec::new(),
        }))
    }

    /// Orders every experiment. One that does not exist at `--nodes` is left out, with a note.
    ///
    /// # Errors
    /// An option is wrong, or every experiment would be left out.
    pub fn orders(
        &mut self,
        place: &Place,
        args: &BenchArgs,
    ) -> anyhow::Result<Vec<(Order, Setting)>> {
        let mut own_size = args.clone();
        own_size.shape.nodes = None;
        let mut orders = Vec::new();
        let mut last = None;
        for name in &args.experiments {
            match order(name, place, args) {
                Ok(order) => orders.push(order),
                Err(error) => {
                    if args.shape.nodes.is_none() || order(name, place, &own_size).is_err() {
                        return Err(error);
                    }
                    let why = format!("cannot be had at this --nodes: {}", in_one(&error));
                    self.left_out.push((name.clone(), why));
                    last = Some(error);
                }
            }
        }
        if let (Some(error), true) = (last, orders.is_empty()) {
            return Err(error);
        }
        for (name, why) in &self.left_out {
            errln!("note: {name} is left out: it {why}");
        }
        Ok(orders)
    }

    /// Writes the page, as far as it goes, beside the sessions.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(
        &self,
        orders: &[(Order, Setting)],
        outcomes: &[Option<Outcome>],
    ) -> Result<(), PageError> {
        self.page(orders, outcomes).write(&self.dir)
    }

    /// Prints the page.
    pub fn print(&self, orders: &[(Order, Setting)], outcomes: &[Option<Outcome>]) {
        out!("{}", self.page(orders, outcomes).markdown());
        let file = self.dir.join(files::PAGE_TEXT);
        if file.exists() {
            errln!("page: {}", file.display());
        }
    }

    fn page(&self, orders: &[(Order, Setting)], outcomes: &[Option<Outcome>]) -> Page {
        let orders = orders.iter().map(|(order, _)| order);
        let ordered: Vec<_> = orders.zip(outcomes.iter().map(Option::as_ref)).collect();
        Page::over(&self.experiments, &ordered, &self.left_out)
    }
}

/// Refuses options that are for a single experiment.
fn check(args: &BenchArgs) -> Result<(), Usage> {
    let timeline =
        "not every experiment has a timeline; name the experiments that have one, or use --quick";
    let arms = "it is what some arms differ in; name the experiments instead";
    let several = (args.experiments.len() > 1).then(|| "another experiment".to_owned());
    let arm = args.arms.first().map(|arm| format!("--arm {arm}"));
    let option = |given: bool, option: &str| given.then(|| option.to_owned());
    let refused = [
        (several, "all means every one of them"),
        (arm, "each experiment has its own arms; name one experiment"),
        (option(args.compress.is_some(), "--compress"), timeline),
        (option(args.timeline.is_some(), "--timeline"), timeline),
        (option(args.shape.limits.is_some(), "--limits"), arms),
        (
            option(args.shape.node_policy.is_some(), "--node-policy"),
            arms,
        ),
        (
            option(args.keep, "--keep"),
            "each experiment would leave a cluster up beside the next; name one experiment",
        ),
        (
            option(args.soak.is_some(), "--soak"),
            "it is the time for one experiment; name one",
        ),
    ];
    match refused
        .into_iter()
        .find_map(|(what, why)| Some((what?, why)))
    {
        Some((what, why)) => Err(Usage::new(format!("{what} does not go with all: {why}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn args(line: &str) -> BenchArgs {
        match Cli::try_parse_from(line.split_whitespace()).map(|cli| cli.command) {
            Ok(Command::Bench(args)) => args,
            other => panic!("{other:?}"),
        }
    }

    fn refused(line: &str) -> String {
        match All::asked(&mut args(line)) {
            Err(error) => error.to_string(),
            Ok(asked) => panic!("{line}: {asked:?}"),
        }
    }

    #[test]
    fn all_stands_for_every_experiment_each_in_a_folder_beneath_one() {
        let mut args = args("headroom bench all --quick --repeat 2 --nodes 50 --hami builtin");
        let all = All::asked(&mut args).unwrap().unwrap();
        let names: Vec<String> = plan::names().into_iter().map(|(name, _)| name).collect();
        assert_eq!(args.experiments, names);
        assert_eq!(args.out.as_ref(), Some(&all.dir));
        assert!(all.dir.starts_with(RUNS) && all.dir.to_string_lossy().ends_with("-all"));
    }

    #[test]
    fn one_that_is_named_is_left_as_it_is() {
        let mut args = args("headroom bench regimes rate-limit --compress 600");
        assert!(All::asked(&mut args).unwrap().is_none());
        assert_eq!(args.experiments, ["regimes", "rate-limit"]);
        assert_eq!(args.out, None);
    }

    #[test]
    fn what_is_about_one_experiment_is_refused_with_what_to_do() {
        for (line, words) in [
            ("headroom bench all --arm spread", "--arm spread"),
            ("headroom bench all --compress 600", "--quick"),
            ("headroom bench all --timeline autoresearch", "--timeline"),
            ("headroom bench all --limits raised", "--limits"),
            ("headroom bench all --node-policy spread", "--node-policy"),
            ("headroom bench all --keep", "--keep"),
            ("headroom bench all --soak 16h", "--soak"),
            ("headroom bench regimes all", "every one"),
        ] {
            let problem = refused(line);
            assert!(
                problem.contains(words) && problem.contains("does not go with all"),
                "{line}: {problem}"
            );
        }
    }

    #[test]
    fn a_folder_that_holds_something_is_refused_as_a_whole() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("page.md"), "").unwrap();
        let problem = refused(&format!(
            "headroom bench all --out {}",
            dir.path().display()
        ));
        assert!(problem.contains("files in it"), "{problem}");
    }
}
