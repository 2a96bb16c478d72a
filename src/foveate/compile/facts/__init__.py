"""Facts: what a log proves about the work, kept up message by message, without a model."""
