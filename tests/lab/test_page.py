"""The report page: opened in a real browser, offline, and read."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.lab.results import example, replayed, session

from foveate.errors import ConfigError
from foveate.lab.example import example as replay_of_sample
from foveate.lab.page import LEAST_POINTS, MOST_POINTS, _affordable, _embedded, page
from foveate.lab.result import LeftOut, Problem, Result

if TYPE_CHECKING:
    from tests.browser import Visit

pytest_plugins = ["tests.browser"]

HOSTILE = [
    "</script><script>document.title='stolen'</script>",
    "<!--<script>",
    "<b>bold</b> &amp; <a href='javascript:0'>link</a>",
    "line\u2028paragraph\u2029end",
    "<img src=x onerror=\"document.title='stolen'\">",
    "{{plotly}} %{y} $1 \\u003c",
    "会话 \ud800 half",
]
INK = {"light": "#1d2329", "dark": "#e7eaed"}
DRAWN_IN = (
    "ink => [...document.querySelectorAll('.js-plotly-plot')].every(plot => plot.layout.legend.font.color === ink)"
)
PLOTS = ("overall", "shares", "cost", "inputs", "window", "cache")


def written(result: Result, folder: Path) -> Path:
    path = folder / "report.html"
    path.write_text(page(result), encoding="utf-8")
    return path


def embedded(html: str) -> Any:
    """The numbers inside a page, found as a browser finds them."""
    found = re.search(r'<script type="application/json" id="report">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def traces(visit: Visit, plot: str) -> list[dict[str, Any]]:
    return visit.page.evaluate(
        "id => document.getElementById(id).data.map(t => ({name: t.name, x: [...t.x], y: [...t.y], color: t.line && t.line.color}))",
        plot,
    )


def legend(visit: Visit, plot: str) -> list[str]:
    return visit.page.locator(f"#{plot} .legendtext").all_text_contents()


def table(visit: Visit, name: str) -> list[list[str]]:
    return visit.page.evaluate(
        "id => [...document.getElementById(id).tBodies[0].rows].map(r => [...r.cells].map(c => c.textContent))", name
    )


@pytest.fixture(scope="module")
def shown(shared_page: Visit, tmp_path_factory: pytest.TempPathFactory) -> Visit:
    """The example, opened once for the tests that only look at it."""
    shared_page.open(written(example(), tmp_path_factory.mktemp("shown")))
    return shared_page


def test_the_page_opens_offline_without_a_complaint_and_draws_every_plot(shown: Visit) -> None:
    assert shown.complaints == []
    assert shown.requests == []
    for plot in PLOTS:
        assert len(traces(shown, plot)) >= 2, plot
        assert shown.page.locator(f"#{plot} .main-svg").count() > 0
        assert shown.page.locator(f"#{plot} .xtitle").text_content(), plot
        assert shown.page.locator(f"#{plot} .ytitle").text_content(), plot


def test_what_was_replayed_is_said_in_one_sentence(shown: Visit) -> None:
    assert shown.page.locator("#lede").text_content() == (
        "3 recorded sessions with 46 model calls, replayed with a budget of 5,000 input tokens for what a log shows, "
        "at the prices and cache rules of openai:gpt-5 (prices of 2026-01-31)."
    )


def test_legends_name_every_policy_and_every_fate_that_is_drawn(shown: Visit) -> None:
    """What became of no token is not in a legend; what was left out is, though it is in no request."""
    assert legend(shown, "overall") == legend(shown, "cost") == ["foveate", "raw", "mask-10"]
    assert legend(shown, "inputs") == ["foveate", "raw", "mask-10", "recorded usage", "budget"]
    assert legend(shown, "window") == ["verbatim", "masked", "left out", "budget"]
    assert legend(shown, "cache") == ["cached", "newly written", "cache broke"]
    assert legend(shown, "shares") == ["equal", "session", "chosen session"]


def test_the_plots_show_the_numbers_of_the_result(shown: Visit) -> None:
    """The session with most calls is shown first."""
    result = example()

    series = result.sessions[1].lanes["foveate"].series
    calls = list(range(1, 31))
    verbatim, masked, _, budget = traces(shown, "window")
    assert (verbatim["x"], verbatim["y"]) == (calls, list(series.fates["verbatim"]))
    assert masked["y"] == list(series.fates["masked"])
    assert budget["y"] == [5_000, 5_000]
    cached, new, broke = traces(shown, "cache")
    assert cached["y"] == list(series.cached)
    assert [old + fresh for old, fresh in zip(cached["y"], new["y"], strict=True)] == list(series.tokens)
    assert broke["x"] == [one.call + 1 for one in series.breaks]
    assert broke["y"] == [series.tokens[one.call] for one in series.breaks]
    assert traces(shown, "inputs")[3]["y"] == list(result.sessions[1].usage.inputs)
    for trace in traces(shown, "overall"):
        assert trace["y"][-1] == pytest.approx(result.totals[trace["name"]].cost, rel=1e-5)
    for trace in traces(shown, "cost"):
        assert trace["y"][-1] == pytest.approx(result.sessions[1].lanes[trace["name"]].totals.cost, rel=1e-5)
    assert traces(shown, "shares")[1]["x"] == [0.9, 0.9]


def test_the_reason_of_a_break_is_shown_on_hover(shown: Visit) -> None:
    shown.page.evaluate("Plotly.Fx.hover('cache', {xval: 6}, ['xy'])")

    text = " ".join(shown.page.locator("#cache .hoverlayer text").all_text_contents())
    assert "call 6" in text
    assert "rewritten, from message 3 (tool: m7), 5 tokens" in text


def test_the_summary_table_has_the_totals_with_the_best_of_each_column_marked(
    browser_page: Visit, tmp_path: Path
) -> None:
    opened = browser_page.open(written(replayed(session("alpha", 4, ("foveate", "raw"))), tmp_path))

    assert table(browser_page, "summary") == [
        ["foveate", "700", "25.0 %", "$0.0016", "0.37×", "0", "0", "0", "0", "90.0 %", "5.0 %", "5.0 %", "50.0 %", "1.0"],
        ["raw", "2,000", "30.0 %", "$0.0044", "1.00×", "0", "0", "0", "0", "80.0 %", "10.0 %", "10.0 %", "50.0 %", "2.0"],
    ]  # fmt: skip
    assert opened.locator("#summary .best").all_text_contents() == [
        "700",
        "$0.0016",
        "0.37×",
        "90.0 %",
        "5.0 %",
        "1.0",
        "30.0 %",
    ]


def test_a_policy_that_leaves_out_calls_is_not_called_the_cheapest(browser_page: Visit, tmp_path: Path) -> None:
    result = replayed(session("alpha", 4, ("foveate", "raw")))
    quitter = replace(result.totals["foveate"], sent=1, refused=3)
    opened = browser_page.open(written(replace(result, totals={**result.totals, "foveate": quitter}), tmp_path))

    best = opened.locator("#summary tbody tr").nth(1).locator(".best").all_text_contents()
    assert best[:4] == ["2,000", "30.0 %", "$0.0044", "1.00×"]


def test_choosing_a_session_by_typing_changes_its_plots_only(browser_page: Visit, tmp_path: Path) -> None:
    opened = browser_page.open(written(example(), tmp_path))
    overall = traces(browser_page, "overall")

    opened.locator("#session").fill("delta")
    assert "No session" in opened.locator("#matches").inner_text()
    opened.keyboard.press("Enter")
    assert opened.locator("#session").input_value() == "beta"

    opened.locator("#session").fill("codex")
    assert opened.locator("#matches [role=option]").count() == 3
    opened.keyboard.press("Enter")
    assert opened.locator("#session").input_value() == "alpha"

    opened.locator("#session").fill("GAM")
    assert opened.locator("#matches li").count() == 1
    opened.keyboard.press("Enter")

    assert opened.locator("#session").input_value() == "gamma"
    assert opened.locator("#matches").is_hidden()
    for plot in ("cost", "inputs", "window", "cache"):
        assert traces(browser_page, plot)[0]["x"] == list(range(1, 13)), plot
    assert "no recorded usage" in (opened.locator("#inputs-note").text_content() or "")
    assert traces(browser_page, "overall") == overall
    assert opened.locator("#sessions tr[aria-current]").text_content().startswith("gamma")


def test_choosing_a_policy_changes_window_and_cache(browser_page: Visit, tmp_path: Path) -> None:
    result = example()
    opened = browser_page.open(written(result, tmp_path))

    opened.locator("#policy label", has_text="mask-10").click()

    assert traces(browser_page, "cache")[0]["y"] == list(result.sessions[1].lanes["mask-10"].series.cached)
    assert opened.locator(".chosen").all_text_contents() == ["mask-10", "mask-10"]
    assert "broke at 0 calls" in (opened.locator("#cache-note").text_content() or "")


def test_the_sessions_are_sorted_by_a_click_and_chosen_by_one(browser_page: Visit, tmp_path: Path) -> None:
    opened = browser_page.open(written(example(), tmp_path))
    assert [row[0] for row in table(browser_page, "sessions")] == ["beta", "gamma", "alpha"]

    opened.locator("#sessions th button", has_text="raw").click()
    opened.locator("#sessions th button", has_text="raw").click()
    assert [row[0] for row in table(browser_page, "sessions")] == ["alpha", "gamma", "beta"]
    assert opened.locator("#sessions th[aria-sort=ascending]").count() == 1

    # What is not known comes last in either order.
    opened.locator("#sessions th.simulated button").click()
    assert [row[0] for row in table(browser_page, "sessions")][-1] == "gamma"

    opened.locator("#sessions td button", has_text="alpha").click()
    assert traces(browser_page, "cost")[0]["x"] == [1, 2, 3, 4]


def test_a_policy_has_one_colour_everywhere_and_no_two_share_one(browser_page: Visit, tmp_path: Path) -> None:
    policies = ("foveate", "raw", *(f"own-{place}" for place in range(6)))
    opened = browser_page.open(written(replayed(session("alpha", 4, policies)), tmp_path))

    for scheme in ("light", "dark"):
        opened.emulate_media(color_scheme=scheme)
        opened.wait_for_function(DRAWN_IN, arg=INK[scheme])
        lines = {trace["name"]: trace["color"] for trace in traces(browser_page, "overall")}
        assert len(set(lines.values())) == len(policies)
        assert {trace["name"]: trace["color"] for trace in traces(browser_page, "cost")} == lines
        for place, policy in enumerate(policies):
            assert (
                opened.evaluate(f"document.documentElement.style.getPropertyValue('--policy-{place}')") == lines[policy]
            )


def test_the_page_follows_the_scheme_of_the_reader_and_prints_light(browser_page: Visit, tmp_path: Path) -> None:
    opened = browser_page.open(written(example(), tmp_path))
    opened.wait_for_function(DRAWN_IN, arg=INK["light"])
    opened.emulate_media(color_scheme="dark")
    opened.wait_for_function(DRAWN_IN, arg=INK["dark"])

    opened.evaluate(f"addEventListener('beforeprint', () => {{ window.printed = ({DRAWN_IN})('{INK['light']}'); }})")
    assert opened.pdf().startswith(b"%PDF")

    assert opened.evaluate("window.printed") is True
    opened.wait_for_function(DRAWN_IN, arg=INK["dark"])


def test_no_width_makes_the_page_scroll_sideways(browser_page: Visit, tmp_path: Path) -> None:
    """Wide tables scroll inside their frame, long names wrap, plots follow the window."""
    policies = ("foveate", "raw", "mask-10", "a-policy-with-quite-a-long-name-of-its-own")
    left_out = (LeftOut(name="x" * 300, reason="y" * 300),)
    opened = browser_page.open(
        written(replayed(session("a/" + "long-name-" * 30, 40, policies), left_out=left_out), tmp_path)
    )
    opened.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")

    for width in (1280, 768, 400):
        opened.set_viewport_size({"width": width, "height": 800})
        opened.wait_for_function(
            "width => [...document.querySelectorAll('.main-svg')].every(one => one.getBoundingClientRect().right <= width)",
            arg=width,
        )
        assert opened.evaluate("document.documentElement.scrollWidth") <= width


def test_names_that_look_like_markup_are_shown_as_they_are(browser_page: Visit, tmp_path: Path) -> None:
    """In the tables, the chooser, the legends and on hover; none of them ends the script they are carried in."""
    policies = tuple(f"{place}{name}" for place, name in enumerate(HOSTILE[:6]))
    sessions = [session(f"{place}{name}", 3 + place, policies) for place, name in enumerate(HOSTILE)]
    broken = Problem(call=1, kind="failed", text=HOSTILE[0])
    first = sessions[0].lanes[policies[0]]
    sessions[0].lanes[policies[0]] = replace(first, series=replace(first.series, problems=(broken,)))
    path = tmp_path / "report.html"
    path.write_text(page(replayed(*sessions)), encoding="utf-8")

    opened = browser_page.open(path)
    opened.locator("#sessions td button").last.click()
    named = [" ".join(name.split()) for name in legend(browser_page, "cost")]
    opened.evaluate("Plotly.Fx.hover('cost', {xval: 2}, ['xy'])")

    assert browser_page.complaints == []
    assert opened.title() == "Foveate replay"
    assert opened.locator("img").count() == 0
    names = [row[0] for row in table(browser_page, "sessions")]
    assert names[:-1] == [one.name for one in reversed(sessions)][:-1]
    assert names[-1] == opened.locator("#session").input_value() == sessions[0].name
    assert [row[0] for row in table(browser_page, "summary")] == list(policies)
    assert named == [" ".join(name.split()) for name in policies]
    assert policies[0] in " ".join(opened.locator("#cost .hoverlayer text").all_text_contents())
    assert HOSTILE[0] in (opened.locator("#problems dd").text_content() or "")


@given(st.lists(st.text(st.sampled_from("<>&!-/script\u2028\u2029\ud800") | st.characters())))
@settings(max_examples=100, deadline=None)
def test_no_text_can_end_the_element_that_carries_the_numbers(value: Any) -> None:
    text = _embedded({"value": value})

    assert text.isascii()
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == {"value": value}


def test_a_replay_of_nothing_is_a_page_too(browser_page: Visit, tmp_path: Path) -> None:
    result = replace(
        replayed(), budget=None, model="", left_out=(LeftOut(name="a.jsonl", reason="no model call in it"),)
    )
    opened = browser_page.open(written(result, tmp_path))

    assert browser_page.complaints == []
    assert "0 recorded sessions" in opened.locator("#lede").inner_text()
    assert opened.locator("#left-out summary").inner_text() == "1 session could not be replayed"
    assert opened.locator("#all").is_hidden()


def test_without_prices_costs_are_in_tokens_and_without_usage_the_comparison_says_why(
    browser_page: Visit, tmp_path: Path
) -> None:
    result = replayed(session("alpha", 1, ("mask-10",), usage=False), unit="tokens")
    opened = browser_page.open(written(result, tmp_path))

    assert browser_page.complaints == []
    assert "$" not in opened.locator("main").inner_text()
    assert "nothing to compare with" in opened.locator("#shares").inner_text()
    assert opened.locator("#cost .ytitle").text_content() == "cost of input so far, in uncached input tokens"
    assert table(browser_page, "summary")[0][4] == "–"


def test_long_sessions_are_sampled_with_first_last_and_largest_breaks(browser_page: Visit, tmp_path: Path) -> None:
    """The page says so, and its totals still count every call."""
    calls = 3_000
    result = replayed(session("long", calls, ("foveate", "raw")))
    html = page(result)
    drawn = embedded(html)["sessions"][0]["lanes"][0]

    breaks = result.sessions[0].lanes["foveate"].series.breaks
    largest = sorted(breaks, key=lambda one: -one.lost)[: MOST_POINTS // 2]
    assert {one.call for one in largest} <= set(drawn["at"])
    assert (drawn["at"][0], drawn["at"][-1]) == (0, calls - 1)
    assert MOST_POINTS <= len(drawn["at"]) <= 1.5 * MOST_POINTS
    assert drawn["allBreaks"] == len(breaks)
    opened = browser_page.open(written(result, tmp_path))
    assert "more than 400 calls" in opened.locator("#sampled").inner_text()
    assert "broke at 1,000 calls" in opened.locator("#cache-note").inner_text()
    assert table(browser_page, "sessions")[0][2] == "3,000"


def test_hundreds_of_long_sessions_stay_below_fifteen_megabytes() -> None:
    policies = tuple(f"policy-{place}" for place in range(5))
    one = session("one", 600, policies)
    result = replayed(*(replace(one, name=f"projects/service/{place:036d}") for place in range(600)))

    assert LEAST_POINTS < _affordable(result) < MOST_POINTS
    assert len(page(result).encode()) < 15_000_000


def test_numbers_that_json_does_not_have_are_left_out() -> None:
    result = replayed(session("alpha", 2, ("foveate",)))
    odd = replace(result, totals={"foveate": replace(result.totals["foveate"], cost=float("nan"))})

    assert embedded(page(odd))["totals"][0]["cost"] is None


def test_the_same_result_gives_the_same_bytes() -> None:
    assert page(example()) == page(example())


def test_a_real_replay_fills_the_page(browser_page: Visit, tmp_path: Path) -> None:
    """What a request is made of adds up to its size, and each policy has its line."""
    result = replay_of_sample(messages=60)
    opened = browser_page.open(written(result, tmp_path))

    assert browser_page.complaints == []
    names = [policy.name for policy in result.policies]
    assert legend(browser_page, "cost") == names
    for name in names:
        opened.locator("#policy label", has_text=re.compile(f"^{name}$")).click()
        fates = [trace for trace in traces(browser_page, "window") if trace["name"] not in {"budget", "left out"}]
        series = result.sessions[0].lanes[name].series
        assert [sum(column) for column in zip(*(trace["y"] for trace in fates), strict=True)] == list(series.tokens)


def test_without_the_plot_library_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)

    with pytest.raises(ConfigError, match=r"pip install 'foveate\[report\]'"):
        page(example())
