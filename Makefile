# The two commands: `make demo` and `make test`. Everything they need, they install.

.PHONY: demo test bench set-up schema

demo: set-up
	cargo run --quiet --locked -- demo $(ARGS)

test:
	@tests/run.sh

bench: set-up
	@benches/run.sh $(ARGS)

# The JSON Schema of routes.yaml, as editors read it; a test fails when it is out of date.
schema:
	cargo run --quiet -- schema > schemas/routes.schema.json

set-up:
	@tests/set_up.sh build
