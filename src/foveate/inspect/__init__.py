"""The read models: what a session, a call, its window, the fate of a message and a cost are.

Each is computed here and nowhere else, as plain frozen data; the command line, the HTTP API, the pages and the lab show
what they find here. Nothing in this package writes into a store.
"""
