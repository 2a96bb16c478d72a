.PHONY: test check fix fuzz attack bench docs constraints

test:
	uv run pytest

check:
	uv run ruff check .
	uv run ruff format --check .
	uv run mypy
	uv run basedpyright
	uv run lint-imports

fix:
	uv run ruff format .
	uv run ruff check --fix .

fuzz:
	uv run python -m tests.properties.fuzz --compiles 100000
	uv run pytest --hypothesis-profile random tests/properties tests/wire tests/log tests/views

# Every class of attack at full size takes some three hours; `--only` and `--scale` choose.
attack:
	uv run python -m tests.attack

bench:
	uv run --group bench foveate-bench all
	uv run python -m bench.speed
	uv run python -m bench.startup
	uv run python -m bench.store

docs:
	uv run --group docs mkdocs build --strict

constraints:
	uv export --quiet --no-hashes --all-groups --no-emit-workspace --no-annotate --output-file constraints.txt
