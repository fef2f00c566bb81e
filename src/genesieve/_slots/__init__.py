"""The slots of a fit in an AnnData: their names, reading and writing them. No other code touches them."""
