# The two commands: `make demo` and `make test`. Everything they need, they install.

.PHONY: demo test bench budget set-up schema format

demo: set-up
	cargo run --quiet --locked -- demo $(ARGS)

test:
	@tests/run.sh

bench: set-up
	@benches/run.sh $(ARGS)

# Instructions per request against the committed budget. Builds for minutes the first time.
budget:
	@tests/set_up.sh budget
	@benches/budget/run.sh

# The JSON Schema of routes.yaml, as editors read it; a test fails when it is out of date.
schema:
	cargo run --quiet -- schema > schemas/routes.schema.json

# `cargo fmt` does not find the filters, whose modules a macro declares.
format:
	cargo fmt --all
	rustfmt --edition 2024 $(wildcard src/filter/*.rs)

set-up:
	@tests/set_up.sh build
