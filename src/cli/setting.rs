//! With which programs an experiment runs, and where. The command line goes before the experiment file.

use std::str::FromStr;

use super::Place;
use super::args::ShapeArgs;
use components::image::{self, Registry};
use components::{self, Cache, Hami, HamiChoice};
use host::errln;
use host::usage::OrUsage as _;
use plan::{Experiment, Host};

/// What must be ready before an experiment can run. Experiments of one command often share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Where components and clusters are kept.
    pub place: Place,
    hami: HamiChoice,
    registry: Registry,
}

impl Setting {
    /// The setting for `host`, which is merged from the command line and `experiment`.
    ///
    /// # Errors
    /// The experiment file's `host` names an invalid HAMi or registry. Those of the command line were checked before.
    pub fn new(host: &Host, experiment: &Experiment) -> anyhow::Result<Self> {
        Ok(Self {
            place: Place {
                cache: host.cache.clone(),
                components: host.components.clone(),
            },
            hami: parsed(experiment, "host.hami", host.hami.as_ref())?,
            registry: parsed(experiment, "host.registry", host.registry.as_ref())?,
        })
    }

    /// Finds the HAMi scheduler, and says which it is.
    ///
    /// # Errors
    /// Those of [`components::resolve_hami`].
    pub async fn find_hami(&self, cache: &Cache) -> anyhow::Result<Hami> {
        find_hami(&self.hami, &self.registry, cache).await
    }
}

/// Finds a HAMi scheduler, and says which it is.
///
/// # Errors
/// Those of [`components::resolve_hami`].
pub async fn find_hami(
    choice: &HamiChoice,
    registry: &Registry,
    cache: &Cache,
) -> anyhow::Result<Hami> {
    let report = |news: image::Progress| {
        if let image::Progress::Layer {
            number,
            of,
            received_bytes: 0,
            ..
        } = news
        {
            errln!("pulling HAMi's image: layer {number} of {of}");
        }
    };
    let (hami, which) = components::resolve_hami(choice, registry, cache, &report)
        .await
        .or_usage()?;
    errln!("{which}");
    Ok(hami)
}

/// The host settings: those of the command line, and where it has none, those of the experiment file.
///
/// # Errors
/// The file names a program or a folder, and `--trust-host` is not given.
pub fn host(place: &Place, shape: &ShapeArgs, experiment: &Experiment) -> anyhow::Result<Host> {
    let named = experiment.host.reaches();
    if let Some((field, value)) = named.first().filter(|_| !shape.trust_host) {
        let problem = format!(
            "names {value}, and an experiment file may be someone else's: give it as an option, or take what the file says with --trust-host"
        );
        return Err(experiment.wrong(field, problem)).or_usage();
    }
    let options = Host {
        hami: shape.hami.clone(),
        registry: shape.registry.clone(),
        cache: place.cache.clone(),
        components: place.components.clone(),
        ..Host::default()
    };
    Ok(options.or(&experiment.host))
}

fn parsed<T: Default + FromStr<Err = image::ImageError>>(
    experiment: &Experiment,
    field: &str,
    text: Option<&String>,
) -> anyhow::Result<T> {
    let value = text.map_or_else(|| Ok(T::default()), |text| text.parse());
    let wrong = |error: image::ImageError| experiment.wrong(field, error.to_string());
    value.map_err(wrong).or_usage()
}
