"""All attacks, in the order they are carried out."""

from __future__ import annotations

from typing import Final

from tests.attack import backends, guarded, http, imports, kills, pages, processes, stores, texts
from tests.attack.attack import Attack

ATTACKS: Final = (
    Attack(
        name="kill-sqlite",
        promise="A killed writer loses no message and no call that it was told is safe.",
        small=8,
        full=1_000,
        run=kills.kill_writers_sqlite,
    ),
    Attack(
        name="kill-postgresql",
        promise="The same on PostgreSQL.",
        small=6,
        full=200,
        run=kills.kill_writers_postgresql,
    ),
    Attack(
        name="kill-backends",
        promise="When database backends die, nothing acknowledged is lost and no call number is given twice.",
        small=4,
        full=100,
        run=backends.kill_backends,
    ),
    Attack(
        name="locked-stores",
        promise="What a session says while its store is locked is in the store once the lock is gone.",
        small=2,
        full=60,
        run=stores.lock_stores,
    ),
    Attack(
        name="full-stores",
        promise="The same for a full disk, also if the session is killed meanwhile.",
        small=2,
        full=60,
        run=stores.fill_stores,
    ),
    Attack(
        name="damaged-stores",
        promise="A damaged store is read right or refused by name; no changed text is believed.",
        small=6,
        full=400,
        run=stores.damage_stores,
    ),
    Attack(
        name="trapped-folders",
        promise="An import of a folder reads regular files inside of it, and nothing else.",
        small=1,
        full=10,
        run=texts.trap_imports,
    ),
    Attack(
        name="templates",
        promise="No template escapes, hangs or fills the memory.",
        small=1,
        full=5,
        run=texts.render_templates,
    ),
    Attack(
        name="patterns",
        promise="No regular expression takes longer than its text is long.",
        small=0,
        full=400,
        run=texts.stretch_patterns,
    ),
    Attack(
        name="forged-words",
        promise="No tool output passes for the user's words or for a line of Foveate's.",
        small=8,
        full=400,
        run=texts.forge_words,
    ),
    Attack(
        name="mutated-imports",
        promise="A damaged or packed log of any format is imported or refused by name; the store is not damaged.",
        small=80,
        full=4_000,
        run=imports.import_mutated,
    ),
    Attack(
        name="large-import",
        promise="One log of more than 2 GB (count is in MB) is imported or refused in bounded memory.",
        small=20,
        full=2_200,
        run=imports.import_large,
        expected=lambda _megabytes: 1,
        patience=3 * 3600.0,
    ),
    Attack(
        name="http",
        promise="No request makes the server fail, tells of the machine, or comes from another origin.",
        small=60,
        full=2_000,
        run=http.attack_http,
    ),
    Attack(
        name="guarded",
        promise="Only the token opens a server that has one; guesses must wait, and a logout ends cookie and sockets.",
        small=60,
        full=1_000,
        run=guarded.guess_tokens,
    ),
    Attack(
        name="sockets",
        promise="The pages' WebSocket opens for their own origin only.",
        small=20,
        full=500,
        run=http.open_sockets,
    ),
    Attack(
        name="slow-readers",
        promise="Clients that never read their answers keep nobody else waiting.",
        small=2,
        full=40,
        run=http.stall_readers,
    ),
    Attack(
        name="crowd",
        promise="Clients that chat and preview at once are all answered.",
        small=8,
        full=50,
        run=http.crowd_server,
        expected=http.visits,
    ),
    Attack(
        name="pages",
        promise="Every page shows a text that means harm, none runs it, and none asks another host for anything.",
        small=2,
        full=14,
        run=pages.show_payloads,
    ),
    Attack(
        name="threads",
        promise="Threads on one session lose nothing.",
        small=4,
        full=100,
        run=processes.share_session,
    ),
    Attack(
        name="tasks",
        promise="Compiles at once on one event loop each have their own number.",
        small=2,
        full=50,
        run=processes.compile_at_once,
    ),
    Attack(
        name="fork",
        promise="A forked child counts and compiles like its parent.",
        small=2,
        full=30,
        run=processes.fork_after_counting,
    ),
    Attack(
        name="memory",
        promise="Memory does not grow with work done (each attempt is 25 turns more).",
        small=4,
        full=1_200,
        run=processes.use_memory,
    ),
)
