"""Scripts: Markdown files whose headings are steps that a model carries out, one after the other."""
