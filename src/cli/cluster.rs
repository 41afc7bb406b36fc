//! `headroom up`, `status`, `down`: a cluster that is left running.

use super::args::UpArgs;
use super::bench::prepare;
use super::hints::loaded;
use super::order::shape_overrides;
use super::setting::{self, Setting};
use super::{Exit, Place, signals};
use ::results::run_folder::place::stamp;
use harness::bench::run::{USER_AGENT, bring_up};
use harness::cluster;
use harness::tenants;
use host::usage::OrUsage as _;
use host::{errln, out, outln};

/// Brings up a cluster with an experiment's teams, leaves it running, and prints the line that points kubectl at it.
///
/// # Errors
/// Those of a run's bring-up.
pub async fn up(place: &Place, args: UpArgs) -> anyhow::Result<Exit> {
    let ended = brought_up(place, args).await;
    if ended.is_err() {
        // Whoever evaluates this must not go on with the cluster that they were logged into before.
        outln!("export KUBECONFIG=/dev/null; false");
    }
    ended
}

async fn brought_up(place: &Place, args: UpArgs) -> anyhow::Result<Exit> {
    let experiment = loaded(&args.experiment)?;
    let plans = plan::plans(&experiment, &shape_overrides(&args.shape)).or_usage()?;
    let Some(plan) = plans.first() else {
        anyhow::bail!(
            "experiment {} has no arm that runs by default",
            experiment.name
        );
    };
    let host = setting::host(place, &args.shape, &experiment)?;
    let setting = Setting::new(&host, &experiment)?;
    let cache = setting.place.open()?;
    let hami = setting.find_hami(&cache).await?;
    let bench = prepare(&setting.place, &cache, &hami).await?;
    // Not in the cluster's own folder, which `down` removes: the log says why a component died. Those of clusters that are up
    // stay.
    let logs = cache.folder().join("up-logs");
    if cluster::list(&bench.state_root)?.is_empty() {
        let _ = std::fs::remove_dir_all(&logs);
    }
    let now = stamp(jiff::Timestamp::now());
    let logs = logs.join(format!("{now}-{}", std::process::id()));
    let cluster = bring_up(&bench, plan, &logs, "", signals::stop()).await?;
    let client = cluster.client(USER_AGENT).await?;
    tenants::apply(&client, &tenants::objects(plan)).await?;
    tenants::admissible(&client, plan).await?;
    let (id, kubeconfig) = (cluster.id().to_owned(), cluster.kubeconfig());
    let secs = cluster.bring_up_secs();
    cluster.keep()?;
    errln!(
        "cluster {id} is up after {secs:.1} s; logs in {}; `headroom down` ends it",
        logs.display()
    );
    outln!("export KUBECONFIG={}", kubeconfig.display());
    Ok(Exit::Done)
}

/// Lists clusters and their components.
///
/// # Errors
/// The folder of live clusters cannot be read.
pub fn status(place: &Place) -> anyhow::Result<Exit> {
    let cache = place.open()?;
    let clusters = cluster::list(&Place::state_root(&cache))?;
    if clusters.is_empty() {
        outln!("no cluster is running; `headroom up` brings one up");
    }
    for cluster in clusters {
        out!("{}", cluster.describe());
    }
    Ok(Exit::Done)
}

/// Takes down kept clusters.
///
/// # Errors
/// `id` is no kept cluster, or something of it cannot be removed.
pub fn down(place: &Place, id: Option<&str>) -> anyhow::Result<Exit> {
    let cache = place.open()?;
    let ended = cluster::down(&Place::state_root(&cache), id).or_usage()?;
    if ended.is_empty() {
        outln!("no cluster was left running");
    }
    for id in ended {
        outln!("{id} is down");
    }
    Ok(Exit::Done)
}
