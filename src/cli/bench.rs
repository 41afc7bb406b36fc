//! `headroom bench`.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

use super::args::{BenchArgs, LimitsArg, PolicyArg, ShapeArgs};
use super::{Exit, Interrupted, Place, signals};
use crate::bench::{self, Bench, Order};
use crate::cluster::{self, ClusterError, Programs};
use crate::components::image::Registry;
use crate::components::{
    self, Cache, Components, ComponentsError, Hami, HamiChoice, Progress, image,
};
use crate::plan::{self, Overrides, Plan};
use crate::run_folder::info::Program;
use crate::tenants;

/// Seconds that bring-up and tear-down of one run take on two cores, for the estimate at the start.
pub const AROUND_A_RUN_SECS: f64 = 20.0;

/// Runs an experiment.
///
/// # Errors
/// Usage errors before anything is started; a component or a file that fails, later.
pub async fn bench(place: &Place, args: BenchArgs) -> anyhow::Result<Exit> {
    // All of them first: a mistake in the last must not show after an hour.
    let mut orders = Vec::new();
    for name in &args.experiments {
        orders.push(order(name, &args)?);
    }
    if args.dry_run {
        for order in &orders {
            dry_run(&order.plans)?;
        }
        return Ok(Exit::Done);
    }
    let cache = place.open()?;
    // Asked before anything is built: a wrong path is told at once.
    let hami = resolve(&args.shape, &cache).await?;
    let plans: Vec<&Plan> = orders.iter().flat_map(|o| &o.plans).collect();
    eprintln!("{}", expectation(&cache, place, &plans));
    let bench = match prepare(place, &cache, &hami).await {
        Err(error) if error.is::<Interrupted>() => return Ok(Exit::Interrupted),
        bench => bench?,
    };
    let mut exit = Exit::Done;
    for order in &orders {
        let ended = match bench::session(&bench, order, signals::stop()).await {
            Err(error) if matches!(error.downcast_ref(), Some(ClusterError::Cancelled)) => {
                return Ok(Exit::Interrupted);
            }
            ended => ended?,
        };
        eprintln!("results: {}", ended.dir.display());
        if ended.interrupted {
            return Ok(Exit::Interrupted);
        }
        if ended.disturbed() {
            exit = Exit::Disturbed;
        }
    }
    Ok(exit)
}

/// What is to be done for one experiment.
fn order(name: &str, args: &BenchArgs) -> anyhow::Result<Order> {
    let experiment = plan::load(name)?;
    let overrides = Overrides {
        compress: args.compress,
        timeline: args.timeline.clone(),
        quick: args.quick,
        repeat: args.repeat,
        arms: args.arms.clone(),
        ..shape_overrides(&args.shape)
    };
    let out = args.out.as_ref().map(|out| match args.experiments.len() {
        1 => out.clone(),
        // A session an experiment: each has a folder of its own under the one that was named.
        _ => out.join(&experiment.name),
    });
    Ok(Order {
        plans: plan::plans(&experiment, &overrides)?,
        experiment: experiment.name,
        expect: experiment.expect,
        out,
        keep: args.keep,
        command: std::env::args().collect(),
    })
}

/// What the options that shape a cluster say.
pub fn shape_overrides(shape: &ShapeArgs) -> Overrides {
    let limits = shape.limits.map(|limits| match limits {
        LimitsArg::Raised => "raised",
        LimitsArg::HamiDefault => "hami-default",
    });
    let policy = shape.node_policy.map(|policy| match policy {
        PolicyArg::Spread => "spread",
        PolicyArg::Binpack => "binpack",
    });
    Overrides {
        limits: limits.map(Into::into),
        node_policy: policy.map(Into::into),
        nodes: shape.nodes,
        seed: shape.seed,
        ..Overrides::default()
    }
}

/// Finds the HAMi scheduler that is asked for and says which it is.
///
/// # Errors
/// As [`components::resolve_hami`].
pub async fn resolve(shape: &ShapeArgs, cache: &Cache) -> Result<Hami, ComponentsError> {
    resolve_one(&shape.hami, shape.registry.as_ref(), cache).await
}

/// As [`resolve`], without the other options.
///
/// # Errors
/// As [`components::resolve_hami`].
pub async fn resolve_one(
    choice: &HamiChoice,
    registry: Option<&Registry>,
    cache: &Cache,
) -> Result<Hami, ComponentsError> {
    let registry = registry.cloned().unwrap_or_default();
    let report = |news: image::Progress| {
        if let image::Progress::Layer {
            number,
            of,
            received_bytes: 0,
            ..
        } = news
        {
            eprintln!("pulling HAMi's image: layer {number} of {of}");
        }
    };
    let (hami, which) = components::resolve_hami(choice, &registry, cache, &report).await?;
    eprintln!("{which}");
    Ok(hami)
}

/// Builds what is missing and puts together what every run needs.
///
/// # Errors
/// As [`components::setup`]; [`Interrupted`] if a signal stopped it.
pub async fn prepare(place: &Place, cache: &Cache, hami: &Hami) -> anyhow::Result<Bench> {
    let components = place.programs(cache).await?;
    Ok(Bench {
        programs: programs(&components, hami),
        components: recorded(&components, hami),
        hami: hami.source.clone(),
        hami_agent: hami.agent.clone(),
        state_root: Place::state_root(cache),
    })
}

fn programs(components: &Components, hami: &Hami) -> Programs {
    Programs {
        etcd: components.etcd.path.clone(),
        kube_apiserver: components.kube_apiserver.path.clone(),
        kube_controller_manager: components.kube_controller_manager.path.clone(),
        kube_scheduler: components.kube_scheduler.path.clone(),
        kwok: components.kwok.path.clone(),
        kwokctl: components.kwokctl.path.clone(),
        kueue: components.kueue.path.clone(),
        kueue_manifests: components.kueue_manifests.clone(),
        hami: hami.program.clone(),
        hami_args: hami.leading_args.clone(),
    }
}

fn recorded(components: &Components, hami: &Hami) -> BTreeMap<String, Program> {
    let mut programs: BTreeMap<String, Program> = components
        .binaries()
        .into_iter()
        .map(|b| {
            (
                b.name.clone(),
                Program {
                    version: b.version.clone(),
                    sha256: b.sha256.clone(),
                },
            )
        })
        .collect();
    let source = &hami.source;
    programs.insert(
        cluster::HAMI.into(),
        Program {
            version: source.version.clone(),
            sha256: source.sha256.clone(),
        },
    );
    programs
}

fn expectation(cache: &Cache, place: &Place, plans: &[&Plan]) -> String {
    let run: f64 = plans
        .iter()
        .map(|plan| f64::from(plan.repeats) * (plan::expected_secs(plan) + AROUND_A_RUN_SECS))
        .sum();
    let runs: u32 = plans.iter().map(|plan| plan.repeats).sum();
    let (missing, setup_secs) = match place.components {
        Some(_) => (Vec::new(), 0),
        None => components::estimate(cache),
    };
    let setup = if missing.is_empty() {
        "set-up: nothing to build".to_owned()
    } else {
        format!(
            "set-up: building {}, about {setup_secs} s",
            missing.join(", ")
        )
    };
    format!("{setup}; {runs} run(s): about {}", minutes(run))
}

/// A duration for people, e.g. `19 min 30 s`.
pub fn minutes(secs: f64) -> String {
    format!("{:.0} min {:02.0} s", (secs / 60.0).floor(), secs % 60.0)
}

fn dry_run(plans: &[Plan]) -> anyhow::Result<()> {
    for plan in plans {
        println!("{}", plan.describe());
        println!(
            "expected    {:.0} s",
            plan::expected_secs(plan) + AROUND_A_RUN_SECS
        );
        println!("objects");
        for object in tenants::objects(plan) {
            println!("---\n{}", serde_saphyr::to_string(&object)?);
        }
    }
    Ok(())
}

/// Says how a set-up goes on: one line that is overwritten on a terminal, plain lines elsewhere.
pub fn setup_report() -> impl FnMut(Progress) + Send {
    let bar = std::io::stderr().is_terminal().then(|| {
        let style = ProgressStyle::with_template("{wide_msg}");
        ProgressBar::new_spinner()
            .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
    });
    move |news| match (&bar, &news) {
        (Some(bar), Progress::Running { .. }) => bar.set_message(news.to_string()),
        (Some(bar), _) => bar.println(news.to_string()),
        // Each second would be too much for a log.
        (None, Progress::Running { elapsed, .. }) if elapsed.as_secs() % 10 != 0 => {}
        (None, _) => eprintln!("{news}"),
    }
}
