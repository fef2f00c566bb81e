"""The same fits as on other processors: how far names of labels, genes and programs agree."""
