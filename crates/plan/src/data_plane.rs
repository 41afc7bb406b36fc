//! The data plane: the delays on a machine between bind and useful work, and between a pod's end and free cards. They are
//! simulated, so that their effect on scheduling can be measured. Without settings they take no time.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::{self, Check};
use super::error::PlanError;

/// Size of an image, GB.
const IMAGE_GB: std::ops::RangeInclusive<f64> = 0.0..=10_000.0;

/// Rate of a pull, Gbit/s.
const GBIT_PER_SEC: std::ops::RangeInclusive<f64> = 0.001..=10_000.0;

/// Bits in a byte.
const BITS: f64 = 8.0;

/// The data plane of an experiment file. Its seconds are divided by `compress`, as the timeline's minutes are.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct DataPlaneDoc {
    /// For every class of request.
    pub default: PhasesDoc,
    /// What differs for a class of request, e.g. `whole-machine`.
    pub classes: IndexMap<String, PhasesDoc>,
}

/// Phases of a pod on its machine. A phase that is left out takes no time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PhasesDoc {
    /// Size of the image, GB as a registry stores it. The first pod with this image on a machine pulls it; later ones find it
    /// there. A team has one image, and another one for each class with an `image_gb` of its own.
    pub image_gb: Option<f64>,
    /// How fast a machine pulls and unpacks an image, Gbit/s of its size. One image at a time, as kubelet does it.
    pub pull_gbit_per_sec: Option<f64>,
    /// From the container's start until CUDA is ready, seconds.
    pub cuda_init_secs: Option<f64>,
    /// From there until the model is loaded and useful work begins, seconds.
    pub model_load_secs: Option<f64>,
    /// From the pod's deletion until the process is gone, seconds.
    pub shutdown_secs: Option<f64>,
    /// From the end of the process, whatever ended it, until its cards are free, seconds.
    pub release_secs: Option<f64>,
}

/// The data plane of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DataPlanePlan {
    /// The seconds below are the experiment file's divided by this.
    pub compressed_by: f64,
    /// The phases of each class of request that a team submits.
    pub classes: BTreeMap<String, DataPlane>,
}

/// The phases of a pod of one class on its machine, as they are simulated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DataPlane {
    /// Size of the image, GB; 0: no image.
    pub image_gb: f64,
    /// Whether the class has an image of its own, and not its team's.
    pub own_image: bool,
    /// Pulling it onto a machine that does not have it.
    pub pull_secs: f64,
    /// From the container's start until CUDA is ready.
    pub cuda_init_secs: f64,
    /// From there to useful work.
    pub model_load_secs: f64,
    /// From the pod's deletion until the process is gone.
    pub shutdown_secs: f64,
    /// From the end of the process until the cards are free.
    pub release_secs: f64,
}

impl DataPlanePlan {
    /// The phases of a pod of `class`.
    #[must_use]
    pub fn of(&self, class: &str) -> DataPlane {
        self.classes.get(class).copied().unwrap_or_default()
    }

    /// The longest time that a pod of any class holds cards without useful work, seconds.
    #[must_use]
    pub(crate) fn longest_secs(&self) -> f64 {
        let each = self.classes.values();
        each.map(|c| c.pull_secs + c.prepare_secs() + c.release_secs)
            .fold(0.0, f64::max)
    }

    /// Its settings in words, one line per class, for `--dry-run`.
    pub(super) fn in_words(&self) -> Vec<String> {
        let class = |(name, c): (&String, &DataPlane)| {
            let image = if c.pull_secs > 0.0 {
                format!("image of {} GB in {:.1} s, ", c.image_gb, c.pull_secs)
            } else {
                String::new()
            };
            format!(
                "{name}: {image}CUDA {:.1} s, model {:.1} s, shutdown {:.1} s, release {:.1} s",
                c.cuda_init_secs, c.model_load_secs, c.shutdown_secs, c.release_secs
            )
        };
        self.classes.iter().map(class).collect()
    }
}

impl DataPlane {
    /// From the container's start to useful work, seconds.
    #[must_use]
    pub fn prepare_secs(&self) -> f64 {
        self.cuda_init_secs + self.model_load_secs
    }

    /// From the pod's deletion until the cards are free, seconds.
    #[must_use]
    pub fn termination_secs(&self) -> f64 {
        self.shutdown_secs + self.release_secs
    }

    /// Name of the image that a pod of `tenant` and `class` needs; `None` if pulling it takes no time.
    #[must_use]
    pub fn image(&self, tenant: &str, class: &str) -> Option<String> {
        let name = if self.own_image {
            format!("{tenant}/{class}")
        } else {
            tenant.to_owned()
        };
        (self.pull_secs > 0.0).then_some(name)
    }
}

impl DataPlaneDoc {
    /// The phases of each class in `submitted`, in the run's time, checked. `None` if all of them take no time.
    pub(super) fn resolve(
        &self,
        check: Check<'_>,
        compress: f64,
        submitted: &BTreeSet<String>,
    ) -> Result<Option<DataPlanePlan>, PlanError> {
        self.default.check(check, "data_plane.default")?;
        let known: Vec<&String> = submitted.iter().collect();
        for (class, phases) in &self.classes {
            let path = format!("data_plane.classes.{class}");
            check.one_of(&path, "request here of class", class, &known)?;
            phases.check(check, &path)?;
        }
        let mut classes = BTreeMap::new();
        for class in submitted {
            let own = self.classes.get(class);
            let phases = own.copied().unwrap_or_default().or(self.default);
            let own_image = own.is_some_and(|own| own.image_gb.is_some());
            let field = if own_image {
                format!("data_plane.classes.{class}.pull_gbit_per_sec")
            } else {
                "data_plane.default.pull_gbit_per_sec".to_owned()
            };
            let pulled = phases.image_gb() <= 0.0 || phases.pull_gbit_per_sec.is_some();
            check.require(pulled, &field, || {
                "is missing: image_gb needs it".to_owned()
            })?;
            classes.insert(class.clone(), phases.played(own_image, compress));
        }
        let takes_time =
            |c: &DataPlane| c.pull_secs + c.prepare_secs() + c.termination_secs() > 0.0;
        Ok(classes.values().any(takes_time).then_some(DataPlanePlan {
            compressed_by: compress,
            classes,
        }))
    }
}

impl PhasesDoc {
    fn check(&self, check: Check<'_>, path: &str) -> Result<(), PlanError> {
        let secs = check::SECS_OR_ZERO;
        for (field, value, range) in [
            ("image_gb", self.image_gb, IMAGE_GB),
            ("pull_gbit_per_sec", self.pull_gbit_per_sec, GBIT_PER_SEC),
            ("cuda_init_secs", self.cuda_init_secs, secs.clone()),
            ("model_load_secs", self.model_load_secs, secs.clone()),
            ("shutdown_secs", self.shutdown_secs, secs.clone()),
            ("release_secs", self.release_secs, secs),
        ] {
            check.number(&format!("{path}.{field}"), value, range)?;
        }
        Ok(())
    }

    /// These settings, and those of `default` for what is not set here.
    fn or(self, default: Self) -> Self {
        Self {
            image_gb: self.image_gb.or(default.image_gb),
            pull_gbit_per_sec: self.pull_gbit_per_sec.or(default.pull_gbit_per_sec),
            cuda_init_secs: self.cuda_init_secs.or(default.cuda_init_secs),
            model_load_secs: self.model_load_secs.or(default.model_load_secs),
            shutdown_secs: self.shutdown_secs.or(default.shutdown_secs),
            release_secs: self.release_secs.or(default.release_secs),
        }
    }

    fn image_gb(self) -> f64 {
        self.image_gb.unwrap_or(0.0)
    }

    fn played(self, own_image: bool, compress: f64) -> DataPlane {
        let secs = |value: Option<f64>| value.unwrap_or(0.0) / compress;
        let pull = |rate: f64| self.image_gb() * BITS / rate;
        DataPlane {
            image_gb: self.image_gb(),
            own_image,
            pull_secs: secs(self.pull_gbit_per_sec.map(pull)),
            cuda_init_secs: secs(self.cuda_init_secs),
            model_load_secs: secs(self.model_load_secs),
            shutdown_secs: secs(self.shutdown_secs),
            release_secs: secs(self.release_secs),
        }
    }
}
