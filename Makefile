.PHONY: test frameworks check fix fuzz attack agents agents-latest bench docs constraints

test:
	uv run pytest

# Those that cannot share an environment get one each, which uv makes.
frameworks:
	uv run pytest tests/frameworks
	uv run python -m bench.frameworks

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

# Real agents through the gateway: FOVEATE_AGENTS names the folder they are in; `python -m bench.agents install` fills it.
agents:
	uv run python -m bench.gateway_trial
	uv run pytest -n 1 tests/gateway/test_agents.py

# The newest versions in a folder of their own, and what they send that the pinned ones do not.
agents-latest:
	uv run python -m bench.agents_latest

bench:
	uv run --group bench foveate-bench all
	uv run python -m bench.speed
	uv run python -m bench.startup
	uv run python -m bench.store

docs:
	uv run --group docs mkdocs build --strict

constraints:
	uv export --quiet --no-hashes --all-groups --no-emit-workspace --no-annotate --output-file constraints.txt
