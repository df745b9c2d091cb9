/*
 * fairness_profiles.c - Figure 1: the power of networks at the clocks of a Jetson TX2, each alone
 * on the GPU.
 */
#include <math.h>

#include "fairness_study.h"

/* Power and requests a second of a tenant that has the GPU to itself. */
static int alone(const struct study *s, const struct tx2_network *net, double *power_w,
		 double *rate, struct hes_err *err)
{
	for (size_t i = 0; i < net->n; i++) {
		struct fair_replay_tenant t =
			study_tenant(net->at[i].power_w, net->at[i].request_ns);
		struct shares got;
		int rc = study_replay(s, STUDY_ETF, STUDY_PHI, &t, 1, NULL, &got, err);

		if (rc)
			return rc;
		power_w[i] = got.u[0].energy_j / (double)s->seconds;
		rate[i] = (double)got.u[0].requests / (double)s->seconds;
	}
	return 0;
}

static int figure_1_draw(const struct study *s, const double *power_w, const double *rate,
			 struct hes_err *err)
{
	static const char *const names[] = { "ResNet50", "ResNet18", "MobileNetV2 (implied)" };
	double x[TX2_CLOCKS], y[3 * TX2_CLOCKS];
	struct panel p[2] = {
		{ .title = "power",
		  .x_title = "GPU clock, MHz",
		  .y_title = "power, W",
		  .series = names,
		  .n_series = 3,
		  .x = x,
		  .y = y,
		  .n = TX2_CLOCKS,
		  .y_max = 5,
		  .x_max = 1400 },
		{ .title = "throughput",
		  .x_title = "GPU clock, MHz",
		  .y_title = "requests per second",
		  .series = names,
		  .n_series = 2,
		  .x = x,
		  .y = rate,
		  .n = TX2_CLOCKS,
		  .y_max = 60,
		  .x_max = 1400 },
	};

	for (size_t i = 0; i < TX2_CLOCKS; i++) {
		x[i] = s->tx2.resnet50.at[i].mhz;
		y[i] = power_w[i];
		y[TX2_CLOCKS + i] = power_w[TX2_CLOCKS + i];
		y[2 * TX2_CLOCKS + i] = &s->tx2.resnet50.at[i] == tx2_at(&s->tx2.resnet50, 726)
						? MOBILENET_PART * power_w[TX2_CLOCKS - 1]
						: NAN;
	}
	return study_draw(s, "Figure 1: networks alone on a Jetson TX2", p, 2, "figure1.svg", err);
}

int figure_1(struct study *s, struct hes_err *err)
{
	double power_w[2 * TX2_CLOCKS], rate[2 * TX2_CLOCKS], top;
	bool rises = true, differs = true;
	int rc = alone(s, &s->tx2.resnet50, power_w, rate, err);

	if (!rc)
		rc = alone(s, &s->tx2.resnet18, power_w + TX2_CLOCKS, rate + TX2_CLOCKS, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < TX2_CLOCKS; i++) {
		rises &= !i || (power_w[i] > power_w[i - 1] &&
				power_w[TX2_CLOCKS + i] > power_w[TX2_CLOCKS + i - 1]);
		differs &= power_w[i] > 1.05 * power_w[TX2_CLOCKS + i];
	}
	top = power_w[TX2_CLOCKS - 1];
	study_heading("1",
		      "power of networks at 13 clocks (two of the four networks are published)");
	study_verdict(s, "1", STUDY_INPUT,
		      "the authors' profiles; those of other models are not published");
	study_claim(s, "1", "ResNet50: power at 1300 MHz of that at 115 MHz (text of Fig. 6)", 7.9,
		    top / power_w[0]);
	study_claim(s, "1", "ResNet50: power at 1300 MHz of that at 1032 MHz (text of Fig. 9)", 1.5,
		    top / tx2_at(&s->tx2.resnet50, 1032)->power_w);
	study_claim(s, "1", "ResNet50: power at 1300 MHz of that at 726 MHz (text of Fig. 9)", 2.5,
		    top / tx2_at(&s->tx2.resnet50, 726)->power_w);
	study_claim(s, "1", "ResNet50 at 1300 MHz, W", STUDY_NONE, top);
	study_must(s, "1", "power rises with the clock, for both networks", rises);
	study_must(s, "1", "ResNet50 draws over 5 % more than ResNet18 at each clock", differs);
	return figure_1_draw(s, power_w, rate, err);
}
