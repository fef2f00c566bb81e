# Rscript rcppml.R FOLDER CELLS GENES RANK THREADS SEED MAXIT...
# Reads the slots x, i and p of a genes x cells dgCMatrix; writes runs.txt (maxit, seconds, seconds of all cores, peak bytes) and the factors.
suppressMessages({library(Matrix); library(RcppML)})
given <- commandArgs(trailingOnly = TRUE)
folder <- given[1]
n_cells <- as.integer(given[2]); n_genes <- as.integer(given[3])
rank <- as.integer(given[4]); threads <- as.integer(given[5])
seed <- as.integer(given[6]); looks <- as.integer(given[-(1:6)])

slot_of <- function(name, what) {
  path <- file.path(folder, name)
  size <- if (what == "numeric") 8 else 4
  readBin(path, what, n = file.size(path) / size, size = size, endian = "little")
}
A <- new("dgCMatrix", x = slot_of("x", "numeric"), i = slot_of("i", "integer"), p = slot_of("p", "integer"),
         Dim = c(n_genes, n_cells))

# In kB, as Linux tells it; -1 elsewhere.
status <- function(field) {
  if (!file.exists("/proc/self/status")) return(-1)
  line <- grep(paste0("^", field, ":"), readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line))
}

setRcppMLthreads(threads)
warm_up <- nmf(A[, 1:min(50, n_cells)], 2, maxit = 2, tol = 0, verbose = FALSE, seed = 1)
peak <- -1
for (maxit in looks) {
  invisible(gc())
  before <- status("VmRSS")
  if (before >= 0) cat("5", file = "/proc/self/clear_refs")
  times <- system.time(model <- nmf(A, rank, tol = 0, maxit = maxit, verbose = FALSE, seed = seed))
  seconds <- c(times[["elapsed"]], times[["user.self"]] + times[["sys.self"]])
  # R keeps what it frees, so a later run may seem to need nothing: what an earlier one needed counts.
  if (before >= 0) peak <- max(peak, (status("VmHWM") - before) * 1024)
  cat(maxit, seconds, format(peak, scientific = FALSE), "\n", file = file.path(folder, "runs.txt"), append = TRUE)
  for (name in c("w", "d", "h")) {
    writeBin(as.numeric(model[[name]]), file.path(folder, paste0(name, maxit)), endian = "little")
  }
}
