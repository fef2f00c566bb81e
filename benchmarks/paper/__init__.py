"""Brings what ``genesieve reproduce`` measured into docs/paper.md."""
