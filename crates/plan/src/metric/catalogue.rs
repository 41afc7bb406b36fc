//! The rows.
//!
//! A new metric is one row here and one extractor in crate `results`. `cargo test -p headroom-plan` says which documents
//! are out of date by it, and how to write them anew.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Better, Repeats, Row, Scope, Stat, Unit, Use};

/// Makes the enum, the rows and the phases out of one list.
macro_rules! catalogue {
    (
        $( $scope:ident {
            $( $metric:ident $id:literal $(was $alias:literal)*, $name:literal,
               $unit:ident, $better:ident, $repeats:ident, $used:ident,
               $definition:literal; )+
        } )+
        ; phases {
            $( $phase:ident $phase_id:literal $(was $phase_alias:literal)?, $phase_name:literal, $span:literal:
               $p50:ident $p50_used:ident, $p95:ident $p95_used:ident, $p99:ident, $max:ident; )+
        }
    ) => {
        /// A metric. Its row in [`CATALOGUE`] says all about it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Metric {
            $($( #[doc = $definition] $metric, )+)+
            $(
                #[doc = concat!($span, ": median.")] $p50,
                #[doc = concat!($span, ": 95th percentile.")] $p95,
                #[doc = concat!($span, ": 99th percentile.")] $p99,
                #[doc = concat!($span, ": the largest.")] $max,
            )+
        }

        /// Every metric, in the order in which documents list them.
        pub const CATALOGUE: &[Row] = &[
            $($( Row {
                metric: Metric::$metric,
                id: $id,
                aliases: &[$($alias),*],
                name: $name,
                unit: Unit::$unit,
                definition: $definition,
                scope: Scope::$scope,
                better: Better::$better,
                repeats: Repeats::$repeats,
                used: Use::$used,
                latency: None,
            }, )+)+
            $(
                catalogue!(@latency $phase, $phase_id $($phase_alias)?, $phase_name, $span,
                    $p50, P50, "p50", "median", $p50_used),
                catalogue!(@latency $phase, $phase_id $($phase_alias)?, $phase_name, $span,
                    $p95, P95, "p95", "95th percentile; none below 20 samples", $p95_used),
                catalogue!(@latency $phase, $phase_id $($phase_alias)?, $phase_name, $span,
                    $p99, P99, "p99", "99th percentile; none below 100 samples", Show),
                catalogue!(@latency $phase, $phase_id $($phase_alias)?, $phase_name, $span,
                    $max, Max, "max", "the longest", Show),
            )+
        ];

        /// Spans of a Job's life whose latencies are recorded.
        ///
        /// Those that begin at the intended submit time hide neither a late harness nor a stalled API server (no
        /// coordinated omission).
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum Phase {
            $( #[doc = concat!($span, ".")] $(#[serde(alias = $phase_alias)])? $phase, )+
        }

        impl Phase {
            /// Every phase, in the order of a Job's life.
            pub const ALL: &[Self] = &[$(Self::$phase),+];

            /// Its name in files.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$phase => $phase_id,)+ }
            }

            /// The name that people read.
            #[must_use]
            pub fn words(self) -> &'static str {
                match self { $(Self::$phase => $phase_name,)+ }
            }

            /// From what to what, in words.
            #[must_use]
            pub fn span(self) -> &'static str {
                match self { $(Self::$phase => $span,)+ }
            }

            /// The phase called `name`, today or in files of an older headroom.
            #[must_use]
            pub fn by_name(name: &str) -> Option<Self> {
                match name {
                    $( $phase_id $(| $phase_alias)? => Some(Self::$phase), )+
                    _ => None,
                }
            }
        }
    };
    (@latency $phase:ident, $id:literal $($alias:literal)?, $name:literal, $span:literal,
        $metric:ident, $stat:ident, $stat_id:literal, $stat_words:literal, $used:ident
    ) => {
        Row {
            metric: Metric::$metric,
            id: concat!($id, "_", $stat_id, "_secs"),
            aliases: &[$(concat!($alias, "_", $stat_id, "_secs"))?],
            name: catalogue!(@stat $name, $stat),
            unit: Unit::Secs,
            definition: concat!($span, ": ", $stat_words, "."),
            scope: Scope::Class,
            better: Better::Lower,
            repeats: Repeats::Median,
            used: Use::$used,
            latency: Some((Phase::$phase, Stat::$stat)),
        }
    };
    (@stat $name:literal, Max) => { concat!($name, ", longest") };
    (@stat $name:literal, P50) => { concat!($name, ", p50") };
    (@stat $name:literal, P95) => { concat!($name, ", p95") };
    (@stat $name:literal, P99) => { concat!($name, ", p99") };
}

catalogue! {
    Run {
        Restarts "restarts", "restarts of components", Count, Lower, Median, Judge,
            "Restarts of supervised components while the run was observed.";
        RestartsPerHour "restarts_per_hour", "restarts of components an hour", PerHour, Lower, Median, Judge,
            "Restarts of supervised components ÷ hours under observation.";
        LeasesLost "leases_lost", "restarts for a lost Lease", Count, Lower, Median, Judge,
            "Restarts of components that had lost their Lease.";
        LargestFreeBlockCards "largest_free_block_cards", "largest free block while something waits",
            Cards, Higher, Median, Judge,
            "Most cards free on one machine, as a mean over the time in which a Job or pod waited for cards: what the \
             largest request could have been that fits at once.";
        IdleCardsOnUsedMachines "idle_cards_on_used_machines", "idle cards on machines in use while something waits",
            Cards, Lower, Median, Judge,
            "Cards without a pod on machines that hold at least one, as a mean over the time in which a Job or pod \
             waited for cards: what no whole-machine request can use (fragmentation).";
        BusiestLimitShare "busiest_limit_share", "client limit used by the busiest component",
            Share, Lower, Median, Judge,
            "The largest of the components' `client_limit_share`: 1 means that a component's own limit was the bottleneck \
             all the time.";
        IdleCards "idle_cards", "cards without a pod, mean", Cards, Lower, Median, Compare,
            "Cards of the cluster on which no pod was bound, as a mean over the observation.";
        BringUpSecs "bring_up_secs", "bring-up", Secs, Lower, Median, Compare,
            "From the start of bring-up to the first Job admissible.";
        BoundPerSec "bound_per_sec", "pods bound a second", PerSec, Higher, Median, Compare,
            "Pods bound after the clock's start ÷ seconds from the first of them being submitted to the last being bound.";
        WallSecs "wall_secs", "wall time", Secs, Lower, Median, Show,
            "From the start of bring-up to the end of tear-down.";
        ObservedSecs "observed_secs", "time observed", Secs, Neither, Median, Show,
            "From the run's clock starting to the observation's end.";
        BoundInStallsP50Secs "bind_latency_in_stalls_p50_secs", "bind latency of what overlaps a stall, p50",
            Secs, Lower, Median, Show,
            "Intended submit to bound of requests whose wait overlaps a stall of the storage: median.";
        BoundInStallsP95Secs "bind_latency_in_stalls_p95_secs", "bind latency of what overlaps a stall, p95",
            Secs, Lower, Median, Show,
            "Intended submit to bound of requests whose wait overlaps a stall of the storage: 95th percentile; none below \
             20 samples.";
        BoundOutsideStallsP50Secs "bind_latency_outside_stalls_p50_secs", "bind latency of the rest, p50",
            Secs, Lower, Median, Show,
            "Intended submit to bound of requests whose wait overlaps no stall, in a run with stalls: median.";
        BoundOutsideStallsP95Secs "bind_latency_outside_stalls_p95_secs", "bind latency of the rest, p95",
            Secs, Lower, Median, Show,
            "Intended submit to bound of requests whose wait overlaps no stall, in a run with stalls: 95th percentile; \
             none below 20 samples.";
        EtcdFsyncs "etcd_fsyncs", "etcd log syncs", Count, Neither, Median, Show,
            "Syncs of etcd's write-ahead log over the observation.";
        EtcdFsyncP50Secs "etcd_fsync_p50_secs", "etcd log sync, p50", Secs, Lower, Median, Show,
            "Sync of etcd's write-ahead log: median, at most (the upper end of etcd's own bucket).";
        EtcdFsyncP99Secs "etcd_fsync_p99_secs", "etcd log sync, p99", Secs, Lower, Median, Show,
            "Sync of etcd's write-ahead log: 99th percentile, at most (the upper end of etcd's own bucket).";
        EtcdCommits "etcd_commits", "etcd commits", Count, Neither, Median, Show,
            "Commits of etcd's database over the observation.";
        EtcdCommitP50Secs "etcd_commit_p50_secs", "etcd commit, p50", Secs, Lower, Median, Show,
            "Commit of etcd's database: median, at most (the upper end of etcd's own bucket).";
        EtcdCommitP99Secs "etcd_commit_p99_secs", "etcd commit, p99", Secs, Lower, Median, Show,
            "Commit of etcd's database: 99th percentile, at most (the upper end of etcd's own bucket).";
        WatchLagP50Ms "watch_lag_p50_ms", "watch lag, p50", Ms, Lower, Median, Show,
            "Watch receipt of a binding minus the audit log's stamp of its request: median.";
        WatchLagP99Ms "watch_lag_p99_ms", "watch lag, p99", Ms, Lower, Median, Show,
            "Watch receipt of a binding minus the audit log's stamp of its request: 99th percentile.";
        WatchLagMaxMs "watch_lag_max_ms", "watch lag, longest", Ms, Lower, Median, Show,
            "Watch receipt of a binding minus the audit log's stamp of its request: the longest.";
        WatchRelists "watch_relists", "watches lost and listed anew", Count, Lower, Median, Show,
            "Times a watch of the harness was lost and its objects were listed anew.";
        WatchInterruptions "watch_interruptions", "watches taken up again", Count, Lower, Median, Show,
            "Times a watch of the harness broke and was taken up where it broke: nothing lost, some stamps late.";
        MissingStamps "missing_stamps", "stamps missing", Count, Lower, Median, Show,
            "Stamps that must exist, since the Job was done, and were not seen.";
        UnmatchedBindings "unmatched_bindings", "bindings without a match", Count, Lower, Median, Show,
            "Bindings of the audit log that no record matches, or the reverse.";
        HarnessCpuSecs "harness_cpu_secs", "CPU of the harness", Secs, Lower, Median, Show,
            "CPU time of the harness over the observation.";
        HarnessPeakRssMib "harness_peak_rss_mib", "memory of the harness, peak", Mib, Lower, Median, Show,
            "Peak resident memory of the harness.";
        LateSubmits "late_submits", "late submissions", Count, Lower, Median, Show,
            "Submissions sent more than 50 ms after their intended time.";
        SubmitLatenessMaxMs "submit_lateness_max_ms", "lateness of a submission, longest", Ms, Lower, Median, Show,
            "How late the latest submission was sent.";
        LateTicks "late_ticks", "late ticks", Count, Lower, Median, Show,
            "Times the harness's one-second tick came more than 500 ms late.";
    }

    Team {
        MakespanSecs "makespan_secs", "makespan", Secs, Lower, Median, Judge,
            "From the clock's start to the team's last Job done.";
        CardSecondsReserved "card_seconds_reserved", "reserved", CardSeconds, Lower, Median, Judge,
            "Cards set aside for the team × makespan.";
        CardSecondsAdmitted "card_seconds_admitted", "admitted (quota held)", CardSeconds, Lower, Median, Judge,
            "Quota held: from admission until it is given back.";
        CardSecondsBound "card_seconds_bound", "bound", CardSeconds, Lower, Median, Judge,
            "From the pod bound to the pod ended.";
        CardSecondsIdeal "card_seconds_ideal", "ideal of the timeline", CardSeconds, Neither, Median, Judge,
            "Cards × run time of every Job of the timeline.";
        AdmittedNotBoundCardSeconds "card_seconds_admitted_not_bound", "admitted, not bound",
            CardSeconds, Lower, Median, Judge,
            "Quota held for cards that are not free: from admission until the pod is bound, or the quota given back.";
        AdmittedAtOnce "admitted_at_once", "requests holding quota at once", Count, Higher, Median, Judge,
            "Most Jobs that held quota at the same time.";
        AdmittedCardsAtOnce "admitted_cards_at_once", "cards holding quota at once", Cards, Higher, Median, Judge,
            "Most cards of Jobs that held quota at the same time.";
        AdmissionsPerSec "admissions_per_sec", "admissions a second", PerSec, Higher, Median, Judge,
            "Admissions after the first ÷ seconds from the first admission to the last; none below two.";
        WaitedWithFreeQuotaSecs "waited_with_free_quota_secs", "time waited although quota was free",
            Secs, Lower, Median, Judge,
            "Seconds in which a Job of the team waited for admission although the cards that the team held plus those it \
             asked for were within the team's nominal quota.";
        WaitedForQuotaSecs "waited_for_quota_secs", "waited for quota", Secs, Lower, Median, Judge,
            "Seconds that the team's requests waited for quota, all together: what the team may hold, or what its cohort has, \
             was taken. This and the next six are of each request's first attempt, and add up to submit → useful work.";
        WaitedForKueueSecs "waited_for_kueue_secs", "waited for Kueue to look", Secs, Lower, Median, Judge,
            "Seconds that the team's requests waited for quota although it was free, all together.";
        WaitedForPodSecs "waited_for_pod_secs", "waited for a pod", Secs, Lower, Median, Judge,
            "Seconds from quota reserved to pod created, all together: Kueue starts the Job, kube-controller-manager creates \
             the pod.";
        WaitedForSchedulerSecs "waited_for_scheduler_secs", "waited for kube-scheduler", Secs, Lower, Median, Judge,
            "Seconds from pod created to bound that are neither HAMi's nor for want of a machine, all together.";
        WaitedForHamiSecs "waited_for_hami_secs", "waited for HAMi", Secs, Lower, Median, Judge,
            "Seconds from pod created to bound in which HAMi's client limit was used up, or after HAMi had refused the pod for \
             a locked machine, all together.";
        WaitedForMachineSecs "waited_for_machine_secs", "waited for a machine with room", Secs, Lower, Median, Judge,
            "Seconds to bound after kube-scheduler had found no machine on which the pod fits, all together.";
        WaitedForStartSecs "waited_for_start_secs", "waited for the start on the machine", Secs, Lower, Median, Judge,
            "Seconds from bound to running, with a data plane to useful work, all together.";
        Evictions "evictions", "evictions", Count, Lower, Median, Judge,
            "Attempts of the team ended by preemption or eviction.";
        MostEvictionsOfOneTask "most_evictions_of_one_task", "most evictions of one task", Count, Lower, Worst, Judge,
            "Most evictions of one and the same Job or pod.";
        CardSecondsLost "card_seconds_lost", "evicted, to be done again", CardSeconds, Lower, Median, Judge,
            "Card-seconds of running that evictions make the team do again.";
        CardSecondsWaited "card_seconds_waited", "evicted, waited to run again", CardSeconds, Lower, Median, Judge,
            "Card-seconds from being evicted until bound again, or until the observation's end.";
        PlacedRight "placed_right" was "landed_right", "on the machine cleared for them", Count, Higher, Pooled, Judge,
            "Whole-machine requests on the machine cleared for them.";
        PlacedFree "placed_free" was "landed_free", "on another machine that was empty", Count, Lower, Pooled, Judge,
            "Whole-machine requests on another machine, which had become empty and was being cleared for nobody.";
        PlacedWrong "placed_wrong" was "landed_wrong", "on another machine that was not", Count, Lower, Pooled, Judge,
            "Whole-machine requests on yet another machine: held, or being cleared for somebody else.";
        PlacedNever "placed_never" was "landed_never", "on no machine", Count, Lower, Pooled, Judge,
            "Whole-machine requests that a machine was cleared for or none was found for, and that were never bound.";
        NotPlacedRight "not_placed_right" was "not_landed_right", "not on the machine cleared for them",
            Count, Lower, Pooled, Judge,
            "`placed_free`, `placed_wrong` and `placed_never` together.";
        PlacedRightShare "placed_right_share" was "landed_right_share", "share on the machine cleared for them",
            Share, Higher, Pooled, Judge,
            "Whole-machine requests on the machine cleared for them ÷ all for which one was chosen or none was found.";
        PlacedElsewhereShare "placed_elsewhere_share" was "landed_elsewhere_share",
            "share on another machine than the one cleared for them", Share, Lower, Pooled, Judge,
            "Whole-machine requests on another machine than the one cleared for them, empty or not, ÷ the same.";
        ClearingP50Secs "clearing_p50_secs", "clearing begun → bound, p50", Secs, Lower, Median, Judge,
            "From a clearing's begin to its request being bound, of those on the machine cleared for them: median.";
        IdealSecs "ideal_secs", "ideal makespan", Secs, Neither, Median, Show,
            "Makespan of the ideal list schedule of the team's timeline on its cards, without a control plane.";
        CardSecondsRunning "card_seconds_running", "running", CardSeconds, Neither, Median, Show,
            "From the pod running to the pod ended.";
        CardSecondsUseful "card_seconds_useful", "at useful work", CardSeconds, Neither, Median, Show,
            "From useful work begun to its own end or its eviction; only in a run with a data plane.";
        CardSecondsBorrowed "card_seconds_borrowed", "borrowed", CardSeconds, Neither, Median, Show,
            "Of admitted, on quota of other teams.";
        CardSecondsLent "card_seconds_lent", "lent", CardSeconds, Neither, Median, Show,
            "Own quota used by other teams of the cohort.";
        FailedCount "failed_count", "requests failed", Count, Lower, Median, Show,
            "Jobs and pods that failed or were refused.";
        UnfinishedCount "unfinished_count", "requests unfinished", Count, Lower, Median, Show,
            "Jobs and pods not done when the observation ended.";
        EvictionsByKueue "evictions_by_kueue", "evictions by Kueue", Count, Lower, Median, Show,
            "Attempts that Kueue preempted.";
        EvictionsByClearer "evictions_by_clearer", "evictions by the node clearer",
            Count, Lower, Median, Show,
            "Attempts that the node clearer evicted.";
        EvictionsByOther "evictions_by_other", "evictions by others", Count, Lower, Median, Show,
            "Attempts evicted by something else: a deletion, a lost machine.";
        LostForGoodCount "lost_for_good_count", "evicted for good", Count, Lower, Median, Show,
            "Evictions of bare pods, which nobody starts again.";
        ReboundP50Secs "rebound_p50_secs", "evicted → bound again, p50", Secs, Lower, Median, Show,
            "From being evicted to being bound again: median.";
        ReboundMaxSecs "rebound_max_secs", "evicted → bound again, longest", Secs, Lower, Median, Show,
            "From being evicted to being bound again: the longest.";
        UsefulAgainP50Secs "useful_again_p50_secs", "evicted → useful work again, p50", Secs, Lower, Median, Show,
            "From being evicted to useful work again: median; only in a run with a data plane.";
        UsefulAgainMaxSecs "useful_again_max_secs", "evicted → useful work again, longest", Secs, Lower, Median, Show,
            "From being evicted to useful work again: the longest; only in a run with a data plane.";
        DoneAgainP50Secs "done_again_p50_secs", "evicted → done, p50", Secs, Lower, Median, Show,
            "From being evicted to being done: median.";
        DoneAgainMaxSecs "done_again_max_secs", "evicted → done, longest", Secs, Lower, Median, Show,
            "From being evicted to being done: the longest.";
    }

    TeamAndClass {
        SubmittedCount "submitted_count", "requests submitted", Count, Neither, Median, Judge,
            "Jobs and pods submitted or due.";
        BoundCount "bound_count", "requests bound", Count, Higher, Median, Judge,
            "Jobs and pods bound when the observation ended.";
    }

    Component {
        CallsPerPod "calls_per_pod", "API calls a bound pod", Calls, Lower, Median, Compare,
            "API calls of the component for each pod bound, watches excepted.";
        ClientLimitShare "client_limit_share", "client limit used", Share, Lower, Median, Compare,
            "API calls a second over the observation, watches excepted, ÷ what the component's client limit allows; none \
             without a limit of its own.";
        BindCeilingPerSec "bind_ceiling_per_sec", "pods a second that the client limit allows",
            PerSec, Higher, Median, Show,
            "The component's client limit ÷ its API calls for each bound pod: what it sustains once its burst is used up.";
        ComponentRestarts "component_restarts", "restarts", Count, Lower, Median, Show,
            "Restarts of the component while the run was observed.";

    }

    ; phases {
        Reserve "reserve", "submit → quota reserved", "Intended submit to quota reserved by Kueue":
            ReserveP50Secs Show, ReserveP95Secs Show, ReserveP99Secs, ReserveMaxSecs;
        Admit "admit", "submit → admitted", "Intended submit to admitted by Kueue":
            AdmitP50Secs Show, AdmitP95Secs Show, AdmitP99Secs, AdmitMaxSecs;
        Pod "pod", "admitted → pod created", "Admitted to pod created (the Job controller)":
            PodP50Secs Show, PodP95Secs Show, PodP99Secs, PodMaxSecs;
        SchedulingLatency "scheduling_latency" was "bind", "scheduling latency",
            "Pod created to pod bound (kube-scheduler and HAMi)":
            SchedulingLatencyP50Secs Show, SchedulingLatencyP95Secs Show, SchedulingLatencyP99Secs,
            SchedulingLatencyMaxSecs;
        BindLatency "bind_latency" was "bound", "bind latency", "Intended submit to pod bound":
            BindLatencyP50Secs Judge, BindLatencyP95Secs Judge, BindLatencyP99Secs, BindLatencyMaxSecs;
        Start "start", "bound → running", "Bound to running (device plugin emulation)":
            StartP50Secs Show, StartP95Secs Show, StartP99Secs, StartMaxSecs;
        Running "running", "submit → running", "Intended submit to running":
            RunningP50Secs Show, RunningP95Secs Show, RunningP99Secs, RunningMaxSecs;
        Prepare "prepare", "bound → useful work",
            "Bound to useful work (image pull, CUDA, model), in a run with a data plane":
            PrepareP50Secs Show, PrepareP95Secs Show, PrepareP99Secs, PrepareMaxSecs;
        Useful "useful", "submit → useful work", "Intended submit to useful work, in a run with a data plane":
            UsefulP50Secs Judge, UsefulP95Secs Judge, UsefulP99Secs, UsefulMaxSecs;
        Termination "termination" was "stop", "terminating → cards free",
            "Pod terminating (deleted while it ran) to its cards free, in a run with a data plane":
            TerminationP50Secs Show, TerminationP95Secs Show, TerminationP99Secs, TerminationMaxSecs;
        Release "release", "pod ended → quota given back", "Pod ended to quota given back":
            ReleaseP50Secs Show, ReleaseP95Secs Show, ReleaseP99Secs, ReleaseMaxSecs;
        Done "done", "submit → done", "Intended submit to done":
            DoneP50Secs Show, DoneP95Secs Show, DoneP99Secs, DoneMaxSecs;
    }
}
