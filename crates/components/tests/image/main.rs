//! HAMi's scheduler out of an image, against a real registry (distribution's) on loopback.
//!
//! Each test starts a registry of its own, pushes an image made here, and fetches it. The image's scheduler is a small
//! program compiled here that needs a library which only the image has, so that running it proves that the right files
//! were taken out and that the image's own loader finds them.
//!
//! Where no registry can be built the tests are shown as ignored, with the reason: a main of its own (libtest-mimic) can
//! decide that when it runs, which an attribute can't. In CI they fail then.

mod environment;
mod fetches;
mod image;
mod proxy;
mod refusals;
mod registry;
mod token;

use std::collections::BTreeSet;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use headroom_components::image::{FetchedHami, ImageError, ImageRef, Registry, fetch_scheduler};
use libtest_mimic::{Arguments, Trial};
use tempfile::TempDir;

/// Trials of these tests, by file.
macro_rules! trials {
    ($($file:ident: $($test:ident)*;)*) => {
        vec![$($(trial(concat!(stringify!($file), "::", stringify!($test)), $file::$test)),*),*]
    };
}

fn main() -> ExitCode {
    if let Ok(registry) = std::env::var(environment::REGISTRY) {
        block_on(environment::child(registry));
        return ExitCode::SUCCESS;
    }
    let arguments = Arguments::from_args();
    let missing = if arguments.list {
        None
    } else {
        registry::built().err()
    };
    let kind = missing.as_ref().map_or_else(String::new, |why| {
        let why = why.lines().next().unwrap_or_default();
        format!("skipped: no registry to test against: {why}")
    });
    let ignored = missing.is_some() && std::env::var_os("CI").is_none();
    let with_registry = trials! {
        environment:
            a_proxy_is_used_for_all_but_loopback
            a_mirror_s_certificate_must_be_trusted;
        fetches:
            what_is_fetched_runs_with_the_images_own_libraries
            of_several_architectures_this_machines_is_taken
            a_cut_connection_is_resumed_where_it_was_cut
            whiteouts_of_upper_layers_hide_lower_files
            links_inside_the_image_are_followed
            a_tag_is_asked_again_and_answered_from_the_cache_only_when_nobody_answers
            two_fetches_at_once_download_once
            what_a_killed_fetch_left_is_cleared_and_a_damaged_entry_replaced
            an_interrupted_fetch_leaves_nothing;
        refusals:
            other_machines_images
            blobs_and_manifests_that_were_tampered_with
            a_layer_that_decompresses_to_something_else
            images_that_are_not_there_or_not_whole
            hostile_layers
            layers_of_absurd_size
            connections_that_are_always_cut;
    };
    let mut tests: Vec<Trial> = with_registry
        .into_iter()
        .map(|trial| trial.with_kind(&kind).with_ignored_flag(ignored))
        .collect();
    tests.extend(trials! {
        refusals: nobody_answers;
        token: anonymous_tokens_and_redirected_blobs_as_docker_hub_has_them;
    });
    libtest_mimic::run(&arguments, tests).exit_code()
}

fn trial<F: Future<Output = ()> + 'static>(name: &str, test: fn() -> F) -> Trial {
    Trial::test(name, move || {
        block_on(test());
        Ok(())
    })
}

fn block_on(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(test);
}

/// A folder with nothing in it but the cache, so that whatever is written beside the cache shows.
struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// Names in the cache, without the lock.
    fn names(&self) -> BTreeSet<String> {
        assert!(
            names(self.folder.path()).is_subset(&["cache".to_owned()].into()),
            "written beside the cache"
        );
        let mut names = names(&self.cache());
        names.remove("lock");
        names
    }

    #[track_caller]
    fn assert_empty(&self) {
        assert_eq!(self.names(), BTreeSet::new(), "left in the cache");
    }

    async fn fetch(&self, image: &str, registry: &str) -> Result<FetchedHami, ImageError> {
        self.fetch_from(image, &at(registry)).await
    }

    async fn fetch_from(
        &self,
        image: &str,
        registry: &Registry,
    ) -> Result<FetchedHami, ImageError> {
        let image: ImageRef = image.parse().unwrap();
        fetch_scheduler(&image, registry, &self.cache(), &|_| ()).await
    }
}

/// The registry at an address, with time-outs that only a test machine under heavy load comes near.
fn at(address: &str) -> Registry {
    let registry: Registry = address.parse().unwrap();
    registry.with_timeouts(Duration::from_mins(1), Duration::from_mins(2))
}

fn names(folder: &Path) -> BTreeSet<String> {
    match std::fs::read_dir(folder) {
        Ok(entries) => entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect(),
        Err(_) => BTreeSet::new(),
    }
}

/// What the fetched scheduler prints when it is started as the harness would start it.
#[track_caller]
fn run(fetched: &FetchedHami) -> String {
    let output = std::process::Command::new(&fetched.program)
        .args(&fetched.leading_args)
        .args(["--flag", "value"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}
