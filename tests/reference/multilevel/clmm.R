# Write clmm.json: cumulative link mixed models of DICES-350 by ordinal::clmm (Christensen), with Laplace's
# approximation. Debian: apt install r-cran-ordinal r-cran-jsonlite.
#
#     DISSENSUS_DATA=... Rscript tests/reference/multilevel/clmm.R
#
# 36,400 answers of the 104 raters whom the authors retained to 350 items. Only estimates are written.

library(ordinal)
library(jsonlite)

ratings <- read.csv(file.path(Sys.getenv("DISSENSUS_DATA"), "dices-350", "ratings.csv"), colClasses = "character")
ratings <- subset(ratings, tolower(removed_by_authors) == "false")
for (name in c("rater_race", "rater_gender", "rater_age", "rater_id", "item_id"))
  ratings[[name]] <- factor(ratings[[name]], levels = sort(unique(ratings[[name]]), method = "radix"))
ratings$answer <- factor(ratings$Q_overall, levels = c("No", "Unsure", "Yes"), ordered = TRUE)
ratings$unsafe <- factor(ifelse(ratings$Q_overall == "Yes", "Yes", "other"), levels = c("other", "Yes"), ordered = TRUE)

MAIN <- "rater_race + rater_gender + rater_age + (1 | rater_id) + (1 | item_id)"
CROSSED <- "rater_race * rater_gender + rater_age + (1 | rater_id) + (1 | item_id)"
MODELS <- list(
  main_probit = list(paste("answer ~", MAIN), "probit"),
  crossed_probit = list(paste("answer ~", CROSSED), "probit"),
  main_logit = list(paste("answer ~", MAIN), "logit"),
  binary_probit = list(paste("unsafe ~", MAIN), "probit"),
  binary_logit = list(paste("unsafe ~", MAIN), "logit")
)

# Differences of the log-likelihood give the gradient and the standard errors, so that modes are found to 1e-8.
CONTROL <- clmm.control(method = "nlminb", maxIter = 200, gradTol = 1e-8, maxLineIter = 100, rel.tol = 1e-13,
                        x.tol = 1e-10, eval.max = 2000, iter.max = 1000)

fit_model <- function(formula, link) {
  seconds <- system.time(fit <- clmm(as.formula(formula), data = ratings, link = link, control = CONTROL, Hess = TRUE))
  errors <- sqrt(diag(vcov(fit)))
  list(
    formula = formula, link = link, n = nobs(fit), seconds = unname(seconds["user.self"]),
    coefficients = as.list(fit$beta), standard_errors = as.list(errors[names(fit$beta)]),
    thresholds = as.list(fit$alpha), threshold_errors = as.list(errors[names(fit$alpha)]),
    sd = lapply(VarCorr(fit), function(v) unname(attr(v, "stddev"))),
    log_likelihood = as.numeric(logLik(fit)), largest_gradient = max(abs(fit$gradient))
  )
}

path <- file.path(dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE))), "clmm.json")
results <- list(
  software = list(R = as.character(getRversion()), ordinal = as.character(packageVersion("ordinal"))),
  contrasts = "treatment",
  base = lapply(ratings[c("rater_race", "rater_gender", "rater_age")], function(column) levels(column)[1]),
  models = list()
)
for (name in names(MODELS)) {
  results$models[[name]] <- do.call(fit_model, MODELS[[name]])
  write_json(results, path, auto_unbox = TRUE, digits = NA, pretty = TRUE)
}
