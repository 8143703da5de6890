"""What can be said about rules and priorities: findings of the lint, coverage, explanations."""
