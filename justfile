# The project's commands by name. `just --list` shows them.

# Run an experiment: dedicated, shared, workstation, regimes, any name from `headroom list`, or all of them.
bench experiment="regimes" *options:
    cargo run --release -- bench {{experiment}} {{options}}

# Build the pinned components into the cache, and nothing else.
setup:
    cargo run --release -- setup

# Every test, end-to-end ones included.
test:
    cargo test --release

# Formatting, lints and documents (links, figures in both languages), as CI checks them.
lint:
    cargo fmt --check
    cargo clippy --release --all-targets -- -D warnings
    cargo test --release --test documents

# What the harness itself costs over a run at compression 120: CPU, memory, watch lag, late submissions.
bench-self *options:
    cargo run --release -- bench regimes --compress 120 {{options}}

# The charts of a session, into plots/<session>/: a folder, latest, latest~1, …; by default of a recorded example.
plots session="runs/examples/regimes":
    cargo run --release -- plot {{session}} --out plots/{{file_name(session)}}

# The report of a session as one HTML file; by default of a recorded example.
report session="runs/examples/regimes":
    cargo run --release -- report {{session}}

# New runs against earlier ones: `just compare latest~1 latest`.
compare *sessions:
    cargo run --release -- compare {{sessions}}

# The experiments of a night, compared with earlier nights, and a report.
nightly *options:
    cargo run --release -- nightly {{options}}
