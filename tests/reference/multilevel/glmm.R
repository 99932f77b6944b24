# Write glmm.json: binary mixed models of DICES-350, Yes against the other answers, by lme4::glmer and
# glmmTMB::glmmTMB, with Laplace's approximation. Debian: apt install r-cran-lme4 r-cran-glmmtmb r-cran-jsonlite.
#
#     DISSENSUS_DATA=... Rscript tests/reference/multilevel/glmm.R
#
# The ratings are those of clmm.R. Only estimates are written.

library(jsonlite)

ratings <- read.csv(file.path(Sys.getenv("DISSENSUS_DATA"), "dices-350", "ratings.csv"), colClasses = "character")
ratings <- subset(ratings, tolower(removed_by_authors) == "false")
for (name in c("rater_race", "rater_gender", "rater_age", "rater_id", "item_id"))
  ratings[[name]] <- factor(ratings[[name]], levels = sort(unique(ratings[[name]]), method = "radix"))
ratings$unsafe <- as.numeric(ratings$Q_overall == "Yes")
FORMULA <- unsafe ~ rater_race + rater_gender + rater_age + (1 | rater_id) + (1 | item_id)

describe <- function(package, seconds, effects, errors, sds, log_likelihood) {
  effects <- effects[names(effects) != "(Intercept)"]
  list(
    package = package, version = as.character(packageVersion(package)), seconds = unname(seconds["user.self"]),
    coefficients = as.list(effects), standard_errors = as.list(errors[names(effects)]),
    sd = sds, log_likelihood = as.numeric(log_likelihood)
  )
}

seconds <- system.time(fit <- glmmTMB::glmmTMB(FORMULA, data = ratings, family = binomial("probit")))
summed <- summary(fit)$coefficients$cond
tmb <- describe("glmmTMB", seconds, glmmTMB::fixef(fit)$cond, summed[, "Std. Error"],
                lapply(glmmTMB::VarCorr(fit)$cond, function(v) unname(attr(v, "stddev"))), logLik(fit))

seconds <- system.time(
  fit <- lme4::glmer(FORMULA, data = ratings, family = binomial("probit"),
                     control = lme4::glmerControl(optimizer = "nloptwrap"))
)
summed <- summary(fit)$coefficients
lme4 <- describe("lme4", seconds, lme4::fixef(fit), summed[, "Std. Error"],
                 lapply(lme4::VarCorr(fit), function(v) unname(attr(v, "stddev"))), logLik(fit))

path <- file.path(dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE))), "glmm.json")
results <- list(R = as.character(getRversion()), formula = deparse1(FORMULA), models = list(glmmTMB = tmb, lme4 = lme4))
write_json(results, path, auto_unbox = TRUE, digits = NA, pretty = TRUE)
