#include "core/capture/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

#define CALIBRATION_NS 2000000u
#define SECOND 1000000000ull

uint64_t mt_clock_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static uint64_t ticks(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __rdtsc();
#else
	return 0;
#endif
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += len)
		if ((at == text || at[-1] == ' ')
			&& (at[len] == ' ' || at[len] == '\n' || !at[len]))
			return true;
	return false;
}

/* The kernel drops the TSC from this list when the cores disagree. */
static bool kernel_offers_tsc(void)
{
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/available_clocksource", "re");
	char line[256];
	bool found = f && fgets(line, sizeof line, f) && has_word(line, "tsc");

	if (f)
		fclose(f);
	return found;
}

static bool cpu_keeps_tsc(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[8192];
	bool found = false;

	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "flags", 5)) {
			found = has_word(line, "constant_tsc") && has_word(line, "nonstop_tsc");
			break;
		}
	if (f)
		fclose(f);
	return found;
}

/* Reads both clocks at nearly one instant: the closest of some tries. */
static void read_both(uint64_t *stamp, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = ticks(), now = mt_clock_monotonic_ns(), after = ticks();

		if (after - before < best) {
			best = after - before;
			*stamp = before + best / 2;
			*ns = now;
		}
	}
}

uint64_t mt_clock_now(const struct mt_timebase *c)
{
	return c->kind == MT_CLOCK_TSC ? ticks() : mt_clock_monotonic_ns();
}

static uint64_t ratio(uint64_t ns, uint64_t units)
{
	return units ? (uint64_t)((long double)ns / (long double)units * 4294967296.0L)
		     : 1ull << 32;
}

void mt_clock_start(struct mt_timebase *c)
{
	uint64_t stamp, ns;

	*c = (struct mt_timebase){.kind = MT_CLOCK_MONOTONIC, .scale = 1ull << 32};
	if (kernel_offers_tsc() && cpu_keeps_tsc()) {
		read_both(&c->start, &c->start_monotonic_ns);
		do
			read_both(&stamp, &ns);
		while (ns - c->start_monotonic_ns < CALIBRATION_NS);
		c->kind = MT_CLOCK_TSC;
		c->scale = ratio(ns - c->start_monotonic_ns, stamp - c->start);
	}
	mt_clock_restart(c);
}

void mt_clock_restart(struct mt_timebase *c)
{
	if (c->kind == MT_CLOCK_TSC)
		read_both(&c->start, &c->start_monotonic_ns);
	else
		c->start = c->start_monotonic_ns = mt_clock_monotonic_ns();
	c->anchor = c->start;
	c->anchor_ns = 0;
}

/* The new scale meets the old one now and the true time a second later: time never jumps. */
void mt_clock_refine(struct mt_timebase *c)
{
	uint64_t stamp, ns;

	if (c->kind != MT_CLOCK_TSC)
		return;
	read_both(&stamp, &ns);
	uint64_t passed = ns - c->start_monotonic_ns, mapped = mt_clock_ns(c, stamp);

	if (passed < SECOND / 20 || stamp <= c->start)
		return;
	double error = (double)((int64_t)passed - (int64_t)mapped) / (double)SECOND;

	if (error > 0.5)
		error = 0.5;
	if (error < -0.5)
		error = -0.5;
	c->anchor = stamp;
	c->anchor_ns = mapped;
	c->scale = (uint64_t)((double)ratio(passed, stamp - c->start) * (1 + error));
}
