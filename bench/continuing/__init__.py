"""The continuation test: whether an agent can finish a task whose facts were said or seen long before."""
