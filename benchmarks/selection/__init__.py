"""Whether the suggested numbers of programs and genes are right, on planted programs and on labelled data."""
