/* Theme files. One that is refused says why and changes nothing; the colours of any other can be
 * shown by a terminal of any kind. */
#include "tests/fuzz/file.h"
#include "tests/fuzz/fuzz.h"
#include "tui/terminal/theme.h"

#include <stdlib.h>
#include <string.h>

#define TRUE_COLOURS 0x1000000

static int brightness(int rgb)
{
	return ((rgb >> 16) * 2 + (rgb >> 8 & 255) * 5 + (rgb & 255)) / 8;
}

/* Text on a group's bar can be read: black on what is bright, white on what is dark. */
static void check_bar(int foreground, int background)
{
	int more = brightness(foreground) - brightness(background);

	if (background >= 0 && more < 100 && more > -100)
		abort();
}

static void check_pairs(const struct mt_theme *theme)
{
	static const int terminals[] = {8, 16, 88, 256, TRUE_COLOURS};
	int colours, foreground, background;

	for (size_t t = 0; t < sizeof terminals / sizeof *terminals; t++) {
		colours = terminals[t];
		for (int i = 0; i < MT_ROLE_ALL; i++) {
			mt_theme_pair(theme, (enum mt_role)i, colours, &foreground, &background);
			if (foreground < MT_COLOUR_DEFAULT || foreground >= colours
				|| background < MT_COLOUR_DEFAULT || background >= colours)
				abort();
			if (i >= MT_ROLE_BAR_1 && colours == TRUE_COLOURS)
				check_bar(foreground, background);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = fuzz_file(data, size);
	struct mt_theme theme, before;
	struct mt_err err = {0};
	char path[40];

	if (fd < 0)
		return 0;
	mt_theme_mono(&before);
	theme = before;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (!mt_theme_load(&theme, path, &err))
		check_pairs(&theme);
	else if (!*err.text || memcmp(&theme, &before, sizeof theme))
		abort();
	close(fd);
	return 0;
}
