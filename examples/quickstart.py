"""A session, a budget, one request, and the account of it.

uv run python examples/quickstart.py
"""

import foveate
from foveate.sample import coding_session, tools

messages = coding_session()  # 429 OpenAI chat messages of a made-up coding session

session = foveate.Session(budget=8_000, tools=tools())
session.extend(messages)

view = session.compile()
request = view.to("openai")

print(f"log:     {len(session.messages)} messages")
print(f"request: {len(request)} messages, {view.tokens} of {view.budget.limit if view.budget else 0} tokens")
print("fates:  ", view.explain().counts())
print()
print("first message that is not shown as it was said:")
changed = next(record for record in view.explain().fates if record.fate != "verbatim")
print(view.why(changed.id))
print()
print("and it can be had back:")
print(session.recall(changed.id))
