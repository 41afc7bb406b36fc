//! The command line and an experiment file make the order for a session.

use host::errln;
use std::collections::BTreeSet;
use std::path::PathBuf;

use super::Place;
use super::args::{BenchArgs, ShapeArgs};
use super::hints::loaded;
use super::setting::{self, Setting};
use ::results::run_folder::{files, place};
use host::usage::{OrUsage as _, Usage};
use plan::{Order, Overrides};

/// This command line, which is recorded.
pub fn command_line() -> Vec<String> {
    std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// The order for one experiment.
///
/// # Errors
/// The experiment, or an option for it, is wrong.
pub fn order(name: &str, place: &Place, args: &BenchArgs) -> anyhow::Result<(Order, Setting)> {
    let experiment = loaded(name)?;
    let overrides = Overrides {
        compress: args.compress,
        timeline: args.timeline.clone(),
        quick: args.quick,
        repeat: args.repeat,
        alone: args.alone,
        controls: args.controls,
        soak_secs: args.soak,
        arms: args.arms.clone(),
        ..shape_overrides(&args.shape)
    };
    let out = args.resume.as_ref().or(args.out.as_ref());
    let out = out.map(|out| match args.experiments.len() {
        1 => out.clone(),
        // A session an experiment: each has a folder of its own under the one that was named.
        _ => out.join(&experiment.name),
    });
    let mut host = setting::host(place, &args.shape, &experiment)?;
    host.out = out.or(host.out);
    let there = |out: &PathBuf| out.join(files::SUMMARY).is_file();
    let resume = args.resume.is_some() && host.out.as_ref().is_some_and(there);
    // Whether the one session that is named can be continued is told later; of several, some may be new.
    let new = args.resume.is_none() || (args.experiments.len() > 1 && !resume);
    if let Some(out) = host.out.as_ref().filter(|_| new) {
        place::untaken(out)?;
    }
    host.keep |= args.keep;
    let setting = Setting::new(&host, &experiment)?;
    let plans = plan::plans(&experiment, &overrides).or_usage()?;
    if host.keep && plans.iter().any(|plan| plan.soak_secs.is_some()) {
        let problem = "--keep does not go with --soak: nobody knows in advance which run is the last; leave out one of them";
        return Err(Usage::new(problem).into());
    }
    let one = args.experiments.len() == 1;
    if args.quick && one && !plans.iter().any(|plan| plan.quick) {
        let name = &experiment.name;
        errln!("note: --quick changes nothing in {name}, which has no timeline");
    }
    let order = Order {
        expect: experiment.expected(&plans, &overrides),
        plans,
        experiment: experiment.name,
        host,
        command: command_line(),
        resume,
    };
    Ok((order, setting))
}

/// Checks that each session gets its own folder: below `--out` there is one per experiment's name.
///
/// # Errors
/// Two would get the same.
pub fn own_folders(orders: &[(Order, Setting)]) -> Result<(), Usage> {
    let mut taken = BTreeSet::new();
    let out = |(order, _): &(Order, Setting)| order.host.out.clone();
    match orders
        .iter()
        .filter_map(out)
        .find(|dir| !taken.insert(dir.clone()))
    {
        Some(dir) => Err(Usage::new(format!(
            "two experiments would be written to {}: give them different names, or use --repeat",
            dir.display()
        ))),
        None => Ok(()),
    }
}

/// The settings of the options that shape a cluster.
pub fn shape_overrides(shape: &ShapeArgs) -> Overrides {
    Overrides {
        limits: shape.limits,
        node_policy: shape.node_policy,
        nodes: shape.nodes,
        seed: shape.seed,
        ..Overrides::default()
    }
}
