/* Themes: complete, readable, told apart by all eyes and on terminals with few colours. */
#include "core/base/buffer.h"
#include "tui/terminal/theme.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const role_names[] = {
#define X(id, name, mono) name,
	MT_ROLES(X)
#undef X
};

struct colour {
	double l, a, b;
}; /* CIE L*a*b*, D65 */

static char *read_theme(const char *name)
{
	char *path = mt_format("%s/%s.theme", MT_THEME_DIR, name), *text = calloc(1, 65536);
	FILE *file = fopen(path, "r");

	if (!file)
		fail_msg("%s cannot be read", path);
	assert_true(fread(text, 1, 65535, file) > 0);
	fclose(file);
	free(path);
	return text;
}

static void load(struct mt_theme *theme, const char *name)
{
	char *text = read_theme(name);
	struct mt_err err = {0};

	if (mt_theme_parse(theme, name, text, &err) < 0)
		fail_msg("%s", err.text);
	free(text);
}

/* Calls what for each theme of the directory; returns how many there are. */
static int each(void (*what)(const char *name, const struct mt_theme *))
{
	DIR *dir = opendir(MT_THEME_DIR);
	struct dirent *entry;
	struct mt_theme theme;
	int count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		char name[256];

		if (sscanf(entry->d_name, "%200[^.].theme", name) != 1)
			continue;
		load(&theme, name);
		what(name, &theme);
		count++;
	}
	closedir(dir);
	return count;
}

/* ---- complete ---- */

static void check_roles(const char *name, const struct mt_theme *theme)
{
	char *text = read_theme(name), *line, *next = text;
	bool said[MT_ROLE_COUNT] = {false};

	(void)theme;
	while ((line = strsep(&next, "\n"))) {
		char role[64] = "";

		sscanf(line, "%63[a-z0-9_]", role);
		for (int i = 0; i < MT_ROLE_COUNT; i++)
			if (!strcmp(role, role_names[i])) {
				if (said[i])
					fail_msg("themes/%s.theme says '%s' twice", name, role);
				said[i] = true;
			}
	}
	for (int i = 0; i < MT_ROLE_COUNT; i++)
		if (!said[i])
			fail_msg("themes/%s.theme lacks the role '%s'", name, role_names[i]);
	free(text);
}

static void test_complete(void **state)
{
	static const char *const names[] = {"dark", "light", "solarized", "gruvbox", "nord",
		"high-contrast", "colour-blind", "mono"};
	struct mt_theme theme;

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		load(&theme, names[i]);
	assert_true(each(check_roles) >= 8);
}

static void test_mono(void **state)
{
	struct mt_theme theme, built_in;

	(void)state;
	load(&theme, "mono");
	mt_theme_mono(&built_in);
	for (int i = 0; i < MT_ROLE_COUNT; i++)
		if (memcmp(&theme.style[i], &built_in.style[i], sizeof theme.style[i]))
			fail_msg("themes/mono.theme and MT_ROLES differ in '%s'", role_names[i]);
}

/* ---- contrast, by WCAG 2.1 ---- */

static void linear(double out[3], int rgb)
{
	for (int i = 0; i < 3; i++) {
		double c = (rgb >> (16 - 8 * i) & 255) / 255.0;

		out[i] = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
	}
}

static double contrast(int a, int b)
{
	double x[3], y[3], of_a, of_b;

	linear(x, a);
	linear(y, b);
	of_a = 0.2126 * x[0] + 0.7152 * x[1] + 0.0722 * x[2] + 0.05;
	of_b = 0.2126 * y[0] + 0.7152 * y[1] + 0.0722 * y[2] + 0.05;
	return of_a > of_b ? of_a / of_b : of_b / of_a;
}

/* As a terminal with 256 colours shows it. */
static int shown(int rgb)
{
	static const int cube[] = {0, 95, 135, 175, 215, 255};
	int index = mt_theme_nearest(rgb, 256);

	if (index >= 232)
		return (8 + (index - 232) * 10) * 0x10101;
	index -= 16;
	return cube[index / 36] << 16 | cube[index / 6 % 6] << 8 | cube[index % 6];
}

/* Where a theme leaves the background to the terminal: the least black of the usual blacks, the
 * least white of the whites. */
static int background_of(const char *name, const struct mt_style *style)
{
	return style->background >= 0    ? style->background
		: !strcmp(name, "light") ? 0xf5f5f5
					 : 0x1e1e1e;
}

/* Not to be read, but to be seen. */
static bool is_graph(enum mt_role role)
{
	return !strncmp(role_names[role], "graph", 5)
		|| (role >= MT_ROLE_GROUP_1 && role <= MT_ROLE_OTHER);
}

static void check_contrast(const char *name, const struct mt_theme *theme)
{
	double text = !strcmp(name, "high-contrast") ? 7 : 4.5, graph = text > 4.5 ? 4.5 : 3;

	if (!strcmp(name, "mono"))
		return;
	for (int i = 0; i < MT_ROLE_COUNT; i++) {
		const struct mt_style *style = &theme->style[i];
		int background = background_of(name, style);
		double wanted = is_graph((enum mt_role)i) ? graph : text;
		double given = contrast(style->foreground, background);
		double of_256 = contrast(shown(style->foreground),
			style->background >= 0 ? shown(background) : background);

		if (style->foreground < 0 || given < wanted || of_256 < wanted)
			fail_msg("themes/%s.theme: %s stands out by %.2f, "
				 "with 256 colours by %.2f; at least %.1f is wanted",
				name, role_names[i], given, of_256, wanted);
	}
}

static void test_contrast(void **state)
{
	(void)state;
	each(check_contrast);
}

/* With 8 and 16 colours nothing may be drawn in its own background, nor in black or white on one
 * that nobody knows. */
static void check_few(const char *name, const struct mt_theme *theme)
{
	static const int colours[] = {8, 16, 256};

	for (int i = 0; i < MT_ROLE_COUNT; i++)
		for (int c = 0; c < 3; c++) {
			int foreground, background;

			mt_theme_pair(theme, (enum mt_role)i, colours[c], &foreground, &background);
			if (foreground >= colours[c] || background >= colours[c]
				|| (foreground == background && foreground >= 0)
				|| (background < 0
					&& (foreground == 0
						|| (colours[c] < 256 && foreground == 7))))
				fail_msg("themes/%s.theme: %s is %d on %d of %d colours", name,
					role_names[i], foreground, background, colours[c]);
		}
}

static void test_few_colours(void **state)
{
	(void)state;
	each(check_few);
}

/* ---- colours for all eyes ---- */

static double curve(double t)
{
	return t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116;
}

static struct colour lab(const double c[3])
{
	double x = curve((0.4124 * c[0] + 0.3576 * c[1] + 0.1805 * c[2]) / 0.9505);
	double y = curve(0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]);
	double z = curve((0.0193 * c[0] + 0.1192 * c[1] + 0.9505 * c[2]) / 1.089);

	return (struct colour){116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

/* Machado, Oliveira, Fernandes, "A Physiologically-based Model for Simulation of Color Vision
 * Deficiency", 2009. */
static const double eyes[][3][3] = {
	{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	/* deuteranopia */
	{
		{0.367322, 0.860646, -0.227968},
		{0.280085, 0.672501, 0.047413},
		{-0.011820, 0.042940, 0.968881},
	},
	/* protanopia */
	{
		{0.152286, 1.052583, -0.204868},
		{0.114503, 0.786281, 0.099216},
		{-0.003882, -0.048116, 1.051998},
	},
};

static double distance(int eye, int a, int b)
{
	struct colour seen[2];

	for (int i = 0; i < 2; i++) {
		double c[3], out[3];

		linear(c, shown(i ? b : a));
		for (int k = 0; k < 3; k++) {
			double sum = eyes[eye][k][0] * c[0] + eyes[eye][k][1] * c[1]
				+ eyes[eye][k][2] * c[2];

			out[k] = sum < 0 ? 0 : sum > 1 ? 1 : sum;
		}
		seen[i] = lab(out);
	}
	return hypot(hypot(seen[0].l - seen[1].l, seen[0].a - seen[1].a), seen[0].b - seen[1].b);
}

static double apart(int eye, const struct mt_style *a, const struct mt_style *b)
{
	double text = distance(eye, a->foreground, b->foreground);
	double ground = distance(eye, a->background, b->background);

	return text > ground ? text : ground;
}

/* What others tell apart by its colours alone, whatever it says, is told apart without red and
 * green as well. */
static void test_colour_blind(void **state)
{
	struct mt_theme theme;
	int told = 0;

	(void)state;
	load(&theme, "colour-blind");
	for (int i = 0; i < MT_ROLE_COUNT; i++)
		for (int k = 0; k < i; k++) {
			const struct mt_style *a = &theme.style[i], *b = &theme.style[k];

			assert_true(a->background >= 0 && b->background >= 0);
			/* groups are compared with each other, see test_groups */
			if (i >= MT_ROLE_GROUP_1 || a->attributes != b->attributes
				|| apart(0, a, b) < 15)
				continue;
			told++;
			for (int eye = 1; eye <= 2; eye++)
				if (apart(eye, a, b) < 10)
					fail_msg("themes/colour-blind.theme: %s and %s are %.0f "
						 "apart, without red and green %.0f",
						role_names[i], role_names[k], apart(0, a, b),
						apart(eye, a, b));
		}
	assert_true(told > 20);
	/* The measure sees what it should: red and green of one brightness. */
	struct mt_style red = {0xaf5f00, 0x121212, 0}, green = {0x5f8700, 0x121212, 0};

	assert_true(apart(0, &red, &green) > 40 && apart(1, &red, &green) < 20);
}

/* ---- colours of groups ---- */

/* Layers touch each other, so each must be told from each, by all eyes, and with few colours none
 * may be another's. */
static void check_groups(const char *name, const struct mt_theme *theme)
{
	static const int colours[] = {8, 16, 256};

	if (!strcmp(name, "mono"))
		return;
	for (int i = MT_ROLE_GROUP_1; i <= MT_ROLE_OTHER; i++)
		for (int k = MT_ROLE_GROUP_1; k < i; k++) {
			for (int eye = 0; eye <= 2; eye++) {
				double away = distance(eye, theme->style[i].foreground,
					theme->style[k].foreground);

				if (away < (eye ? 10 : 20))
					fail_msg("themes/%s.theme: %s and %s are %.0f apart for "
						 "eye %d",
						name, role_names[i], role_names[k], away, eye);
			}
			for (int c = 0; c < 3; c++) {
				int ground, one, other;

				mt_theme_pair(theme, (enum mt_role)i, colours[c], &one, &ground);
				mt_theme_pair(theme, (enum mt_role)k, colours[c], &other, &ground);
				if (one == other)
					fail_msg("themes/%s.theme: %s and %s are one of %d colours",
						name, role_names[i], role_names[k], colours[c]);
			}
		}
}

static void test_groups(void **state)
{
	(void)state;
	each(check_groups);
}

/* ---- the parser ---- */

static void test_parser(void **state)
{
	static const struct {
		const char *text, *words;
	} wrong[] = {
		{"text = #d0d0d0\n\ntexte = #ffffff\n", "x.theme:3: unknown role 'texte'"},
		{"text = #d0d0d\n", "x.theme:1: '#d0d0d' is neither a colour"},
		{"text #d0d0d0\n", "x.theme:1: no '='"},
		{"# first\ntext =\n", "x.theme:2: nothing after '='"},
		{"text = #ffffff #000000 #010101\n", "x.theme:1: third colour"},
	};
	struct mt_theme theme, before;
	struct mt_err err = {0};

	(void)state;
	mt_theme_mono(&theme);
	before = theme;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_true(mt_theme_parse(&theme, "x.theme", wrong[i].text, &err) < 0);
		assert_non_null(strstr(err.text, wrong[i].words));
		assert_memory_equal(&theme, &before, sizeof theme);
	}
	assert_int_equal(mt_theme_parse(&theme, "x.theme",
				 "dim = #808080 bold # words\r\ntext = #ffffff #002b36\n"
				 "title = #000000 default\n",
				 &err),
		0);
	assert_int_equal(theme.style[MT_ROLE_DIM].background, 0x002b36);
	assert_int_equal(theme.style[MT_ROLE_DIM].attributes, MT_STYLE_BOLD);
	assert_int_equal(theme.style[MT_ROLE_TITLE].background, MT_COLOUR_DEFAULT);
	assert_int_equal(theme.style[MT_ROLE_AXIS].background, 0x002b36);
	assert_int_equal(theme.style[MT_ROLE_GROUP_1].foreground, 0xe0703a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_complete),
		cmocka_unit_test(test_mono),
		cmocka_unit_test(test_contrast),
		cmocka_unit_test(test_few_colours),
		cmocka_unit_test(test_colour_blind),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_parser),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
