"""Whether known programs are recovered, of types and of activities that types share, and how often one is lost."""
