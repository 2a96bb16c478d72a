"""The reading test: what a capable reader can do with a request, judged by graders who know what really happened."""
