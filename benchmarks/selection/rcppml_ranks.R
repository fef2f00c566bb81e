# Bi-cross-validation with RcppML's nmf and project, on a matrix written as the slots x, i and p of genes x cells: a fit to
# some genes of some cells predicts the other genes of the other cells. Writes the mean error of every rank.
given <- commandArgs(trailingOnly = TRUE)
suppressMessages({library(Matrix); library(RcppML)})
folder <- given[1]
n_cells <- as.integer(given[2])
n_genes <- as.integer(given[3])
ranks <- as.integer(given[-(1:3)])
read <- function(name, what, size) readBin(file.path(folder, name), what, file.size(file.path(folder, name)) / size, size = size)
A <- new("dgCMatrix", x = read("x", "double", 8), i = read("i", "integer", 4), p = read("p", "integer", 4),
         Dim = c(n_genes, n_cells))
draws <- 3
parts <- 5
errors <- matrix(0, draws, length(ranks))
for (draw in seq_len(draws)) {
  set.seed(draw)
  genes <- sample(n_genes) <= n_genes %/% parts
  cells <- sample(n_cells) <= n_cells %/% parts
  held_out <- as.matrix(A[genes, cells])
  for (number in seq_along(ranks)) {
    fit <- nmf(A[!genes, !cells], ranks[number], tol = 1e-4, maxit = 100, verbose = FALSE, seed = draw)
    w <- fit$w %*% diag(fit$d, ranks[number])
    h <- project(A[!genes, cells], w = w)
    other <- project(A[genes, !cells], h = fit$h)
    other <- if (nrow(other) == sum(genes)) other else t(other)
    errors[draw, number] <- mean((held_out - other %*% h)^2)
  }
}
writeLines(paste(ranks, format(colMeans(errors), digits = 10)), file.path(folder, "errors.txt"))
