"""Speed, memory and passes over the data, against peers on the same data and in the same run."""
