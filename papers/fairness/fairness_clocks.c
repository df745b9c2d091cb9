/*
 * fairness_clocks.c - Figures 6 and 10: two tenants run ResNet50, A1 at 1300 MHz, A2 at a clock of
 * its own. All numbers are of the published profiles.
 */
#include <math.h>

#include "fairness_study.h"

#define TOP (TX2_CLOCKS - 1)

/* Both tenants, A2 at each of the clocks, under each policy. */
struct clocks {
	struct shares at[STUDY_POLICIES][TX2_CLOCKS];
	double mhz[TX2_CLOCKS], ratio[TX2_CLOCKS];
};

static int clocks_replay(const struct study *s, struct clocks *c, struct hes_err *err)
{
	const struct tx2_network *net = &s->tx2.resnet50;

	for (size_t i = 0; i < TX2_CLOCKS; i++) {
		const struct fair_replay_tenant t[2] = {
			study_tenant(net->at[TOP].power_w, net->at[TOP].request_ns),
			study_tenant(net->at[i].power_w, net->at[i].request_ns)
		};

		c->mhz[i] = net->at[i].mhz;
		c->ratio[i] = t[0].power_w / t[1].power_w;
		for (int k = 0; k < STUDY_POLICIES; k++) {
			int rc = study_replay(s, (enum study_policy)k, STUDY_PHI, t, 2, NULL,
					      &c->at[k][i], err);

			if (rc)
				return rc;
		}
	}
	return 0;
}

/* --- Figure 6 --- */

static double extreme(const struct clocks *c, size_t i)
{
	return fmax(c->at[STUDY_TIME][i].f.system, c->at[STUDY_ENERGY][i].f.system);
}

static double gain(const struct clocks *c, size_t i)
{
	return c->at[STUDY_ETF][i].f.system / extreme(c, i);
}

static int figure_6_draw(const struct study *s, const struct clocks *c, struct hes_err *err)
{
	static const char *const names[] = { "time (TF)", "energy (EF)", "ETF, phi 0.7" },
				 *const gain_name[] = { "ETF of the better extreme" };
	double y[STUDY_POLICIES * TX2_CLOCKS], gains[TX2_CLOCKS];
	struct panel p[2] = {
		{ .title = "system fairness",
		  .x_title = "clock of A2, MHz",
		  .y_title = "F_S",
		  .series = names,
		  .n_series = STUDY_POLICIES,
		  .x = c->mhz,
		  .y = y,
		  .n = TX2_CLOCKS,
		  .y_max = 1.05,
		  .x_max = 1400 },
		{ .title = "gain",
		  .x_title = "power of A1 / power of A2",
		  .y_title = "times as fair",
		  .series = gain_name,
		  .n_series = 1,
		  .x = c->ratio,
		  .y = gains,
		  .n = TX2_CLOCKS,
		  .y_max = 2.05,
		  .x_min = 1,
		  .x_max = 8 },
	};

	for (size_t i = 0; i < TX2_CLOCKS; i++) {
		for (size_t k = 0; k < STUDY_POLICIES; k++)
			y[k * TX2_CLOCKS + i] = c->at[k][i].f.system;
		gains[i] = gain(c, i);
	}
	return study_draw(s, "Figure 6: ResNet50 twice, A1 at 1300 MHz", p, 2, "figure6.svg", err);
}

int figure_6(struct study *s, struct hes_err *err)
{
	struct clocks c;
	bool never_worse = true, falls = true;
	int rc = clocks_replay(s, &c, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < TX2_CLOCKS; i++) {
		never_worse &= gain(&c, i) > 0.99;
		falls &= !i || gain(&c, i) <= gain(&c, i - 1) + 0.01;
	}
	study_heading("6", "two ResNet50, A1 at 1300 MHz, A2 from 115 to 1300 MHz, phi = 0.7 "
			   "(published profiles)");
	study_claim(s, "6", "greatest power ratio", 7.9, c.ratio[0]);
	study_claim(s, "6", "at that ratio: F_S of ETF / F_S of time fairness", 2,
		    c.at[STUDY_ETF][0].f.system / c.at[STUDY_TIME][0].f.system);
	study_claim(s, "6", "at that ratio: F_S of ETF / F_S of energy fairness", 1.6,
		    c.at[STUDY_ETF][0].f.system / c.at[STUDY_ENERGY][0].f.system);
	study_claim(s, "6", "at that ratio: F_S of ETF", STUDY_NONE, c.at[STUDY_ETF][0].f.system);
	study_claim(s, "6", "at equal power: F_S of time fairness", 1,
		    c.at[STUDY_TIME][TOP].f.system);
	study_claim(s, "6", "at equal power: F_S of energy fairness", 1,
		    c.at[STUDY_ENERGY][TOP].f.system);
	study_claim(s, "6", "at equal power: F_S of ETF", 1, c.at[STUDY_ETF][TOP].f.system);
	study_must(
		s, "6",
		"at the greatest ratio ETF is at least 1.6 times as fair as the better of the two",
		gain(&c, 0) >= 1.6);
	study_must(s, "6", "all three converge at equal power (F_S of each above 0.99)",
		   c.at[STUDY_TIME][TOP].f.system > 0.99 &&
			   c.at[STUDY_ENERGY][TOP].f.system > 0.99 &&
			   c.at[STUDY_ETF][TOP].f.system > 0.99);
	study_must(s, "6",
		   "ETF is never less fair than the better of the two, and gains less as powers "
		   "come nearer",
		   never_worse && falls);
	return figure_6_draw(s, &c, err);
}

/* --- Figure 10 --- */

static double latency(const struct clocks *c, enum study_policy k, size_t i)
{
	return c->at[k][i].u[1].mean_latency_ns / c->at[STUDY_ETF][TOP].u[1].mean_latency_ns;
}

/* By latency in a closed loop: requests that are cut off at the end of the replay do not matter. */
static double throughput(const struct clocks *c, enum study_policy k, size_t i)
{
	return 1 / latency(c, k, i);
}

static int figure_10_draw(const struct study *s, const struct clocks *c, struct hes_err *err)
{
	static const char *const names[] = { "ETF, phi 0.7", "time (TF)" };
	double rate[2 * TX2_CLOCKS], late[2 * TX2_CLOCKS];
	struct panel p[2] = {
		{ .title = "throughput of A2",
		  .x_title = "clock of A2, MHz",
		  .y_title = "of that at 1300 MHz",
		  .series = names,
		  .n_series = 2,
		  .x = c->mhz,
		  .y = rate,
		  .n = TX2_CLOCKS,
		  .y_max = 1.2,
		  .x_max = 1400 },
		{ .title = "latency of A2",
		  .x_title = "clock of A2, MHz",
		  .y_title = "of that at 1300 MHz",
		  .series = names,
		  .n_series = 2,
		  .x = c->mhz,
		  .y = late,
		  .n = TX2_CLOCKS,
		  .y_max = 4,
		  .x_max = 1400 },
	};

	for (size_t i = 0; i < TX2_CLOCKS; i++) {
		rate[i] = throughput(c, STUDY_ETF, i);
		rate[TX2_CLOCKS + i] = throughput(c, STUDY_TIME, i);
		late[i] = latency(c, STUDY_ETF, i);
		late[TX2_CLOCKS + i] = latency(c, STUDY_TIME, i);
	}
	return study_draw(s, "Figure 10: A2 lowers its clock, A1 stays at 1300 MHz", p, 2,
			  "figure10.svg", err);
}

static void figure_10_rows(const struct clocks *c)
{
	printf("  %10s %8s %12s %14s %11s %20s\n", "A2 at MHz", "power", "time of A2", "throughput",
	       "latency", "throughput under TF");
	for (size_t i = TX2_CLOCKS; i--;)
		printf("  %10.2f %8.2f %12.3f %14.3f %11.3f %20.3f\n", c->mhz[i], 1 / c->ratio[i],
		       c->at[STUDY_ETF][i].time[1], throughput(c, STUDY_ETF, i),
		       latency(c, STUDY_ETF, i), throughput(c, STUDY_TIME, i));
}

int figure_10(struct study *s, struct hes_err *err)
{
	struct clocks c;
	size_t best = TOP, equal = 0;
	double time = 0, over = 0;
	int rc = clocks_replay(s, &c, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < TX2_CLOCKS; i++) {
		best = throughput(&c, STUDY_ETF, i) > throughput(&c, STUDY_ETF, best) ? i : best;
		time = fmax(time, c.at[STUDY_ETF][i].time[1] / 0.5);
		over = fmax(over, throughput(&c, STUDY_ETF, i) / throughput(&c, STUDY_TIME, i));
	}
	while (throughput(&c, STUDY_ETF, equal) < 1)
		equal++;
	study_heading("10", "two ResNet50; A2 lowers its clock, phi = 0.7 (published profiles)");
	study_claim(s, "10", "A2's throughput, best clock, of that at 1300 MHz", 1.3,
		    throughput(&c, STUDY_ETF, best));
	study_claim(s, "10", "A2's latency, the same clock, of that at 1300 MHz", 0.9,
		    latency(&c, STUDY_ETF, best));
	study_claim(s, "10",
		    "A2's throughput, at most, of that under time fairness at the same clock",
		    STUDY_NONE, over);
	study_claim(s, "10", "A2's part of the time, at most, of that at 1300 MHz", STUDY_NONE,
		    time);
	study_claim(s, "10", "lowest clock with no less throughput than at 1300 MHz, MHz",
		    STUDY_NONE, c.mhz[equal]);
	figure_10_rows(&c);
	study_must(s, "10", "a lower clock gives A2 more throughput and less latency",
		   best < TOP && throughput(&c, STUDY_ETF, best) > 1.02 &&
			   latency(&c, STUDY_ETF, best) < 0.98);
	study_must(s, "10",
		   "at the same clock A2 has up to 1.3 times what time fairness gives, in time and "
		   "throughput",
		   fabs(over - 1.3) < 0.02 && fabs(time - 1.3) < 0.02);
	return figure_10_draw(s, &c, err);
}
