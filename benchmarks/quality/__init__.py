"""Quality of clusters and of selected genes: labelled data sets x methods x seeds, one scorer."""
