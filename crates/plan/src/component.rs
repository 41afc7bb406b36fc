//! Components of a cluster, by the names that files and tables give them.

/// Name of the component that is kube-scheduler.
pub const KUBE_SCHEDULER: &str = "kube-scheduler";

/// Name of the component that is HAMi's scheduler extender, real or built in.
pub const HAMI: &str = "hami";

/// Name of the component that is Kueue's manager.
pub const KUEUE: &str = "kueue";

/// Name of the component that is the cluster's storage.
pub const ETCD: &str = "etcd";

/// Name of the component that is the node clearer, where a run has one.
pub const CLEARER: &str = "clearer";

/// Components that the supervisor starts again; the others are the substrate.
pub const SUPERVISED: [&str; 4] = [KUBE_SCHEDULER, HAMI, KUEUE, CLEARER];
