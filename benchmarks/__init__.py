"""Speed, memory and scale of genesieve against its peers: one scorer, one file a peer, one file a data set."""
