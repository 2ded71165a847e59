/* Theme files. One that is refused says why and changes nothing; the colours of any other can be
 * shown by a terminal of any kind. */
#include "tests/fuzz/file.h"
#include "tests/fuzz/fuzz.h"
#include "tui/terminal/theme.h"

#include <stdlib.h>
#include <string.h>

static void check_pairs(const struct mt_theme *theme)
{
	static const int terminals[] = {8, 16, 88, 256, 0x1000000};
	int colours, foreground, background;

	for (size_t t = 0; t < sizeof terminals / sizeof *terminals; t++) {
		colours = terminals[t];
		for (int i = 0; i < MT_ROLE_COUNT; i++) {
			mt_theme_pair(&theme->style[i], colours, &foreground, &background);
			if (foreground < MT_COLOUR_DEFAULT || foreground >= colours
				|| background < MT_COLOUR_DEFAULT || background >= colours)
				abort();
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
