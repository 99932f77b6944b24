/* The kernel `fill_gradients` of src/dissensus/stats/multilevel/kernels.py for one random effect of each rater and item
   and the probit link, for benchmarks/compilation.py. */

#include <math.h>
#include <stdint.h>

static double upper_tail(double x) { return 0.5 * erfc(x * 0.70710678118654752440); }

static double density(double x) { return 0.39894228040143267794 * exp(-0.5 * x * x); }

double fill_gradients(int64_t n_groups, int64_t n_thresholds, const int64_t *start, const int8_t *answers,
                      const int32_t *places, const double *location, const double *thresholds, double *outer,
                      double *inner, double *blocks, double *weights) {
  double total = 0.0;
  for (int64_t i = 0; i < n_groups; i++) {
    inner[i] = blocks[i] = 0.0;
    for (int64_t n = start[i]; n < start[i + 1]; n++) {
      int k = answers[n], has_a = k > 0, has_b = k < n_thresholds;
      double a = has_a ? thresholds[k - 1] - location[n] : 0.0, b = has_b ? thresholds[k] - location[n] : 0.0, p;
      if (has_a && has_b)
        p = a > 0 ? upper_tail(a) - upper_tail(b) : upper_tail(-b) - upper_tail(-a);
      else
        p = has_b ? upper_tail(-b) : upper_tail(a);
      if (p < 1e-300) p = 1e-300;
      total += log(p);
      double fa = has_a ? density(a) : 0.0, fb = has_b ? density(b) : 0.0;
      double score = (fa - fb) / p, w = score * score + (b * fb - a * fa) / p;
      weights[n] = w;
      inner[i] += score;
      blocks[i] += w;
      outer[places[n]] += score;
    }
  }
  return total;
}
