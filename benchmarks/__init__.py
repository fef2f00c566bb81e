"""Benchmarks of genesieve against its peers: a harness, and one folder a suite."""
