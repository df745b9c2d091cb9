# ranger.R FIT TEST TREES THREADS SEED SECONDS - ranger's forests, one an output, as JSON for predict.py.
library(ranger)
args <- commandArgs(trailingOnly = TRUE)
trees <- as.integer(args[3])
threads <- as.integer(args[4])
fit <- read.csv(args[1])
test <- read.csv(args[2])
last <- ncol(fit)
x <- fit[, 1:(last - 2)]
rows <- test[, 1:(last - 2)]
now <- function() proc.time()[["elapsed"]]

start <- Sys.time()
models <- lapply(c(last - 1, last), function(k)
  ranger(x = x, y = fit[, k], num.trees = trees, num.threads = threads, seed = as.integer(args[5])))
fit_s <- as.numeric(Sys.time() - start, units = "secs")
ask <- function(x, threads) sapply(models, function(m) predict(m, data = x, num.threads = threads)$predictions)

start <- Sys.time()
p <- ask(rows, threads)
bulk_s <- as.numeric(Sys.time() - start, units = "secs")
taken <- c()
end <- now() + as.numeric(args[6])
i <- 0
while (now() < end) {
  i <- i %% nrow(rows) + 1
  row <- rows[i, ]
  start <- Sys.time()
  ask(row, 1)
  taken <- c(taken, as.numeric(Sys.time() - start, units = "secs"))
}
mae <- colMeans(abs(p - test[, c(last - 1, last)]))
cat(sprintf('{"fit_s": %.6f, "row_us": %.3f, "rows_per_s": %.1f, "mae": [%.6f, %.6f]}\n',
            fit_s, median(taken) * 1e6, nrow(rows) / bulk_s, mae[1], mae[2]))
