"""The campaign: certificates against exact arithmetic, mutated files, kills, invariances, concurrency."""
