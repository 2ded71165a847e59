/* A program whose leak is in a library without debug information; its own memory comes and goes. */
#include "common.h"
#include "plugin.h"

#define PAGES 300

static char *pages[PAGES];
static int guilty_line;

static NOINLINE char *read_text(size_t len)
{
	return fill(malloc(len), len);
}

static NOINLINE void decode_page(unsigned slot)
{
	size_t len = 100 + next_random(900);
	char *text = read_text(len);

	free(pages[slot]);
	guilty_line = __LINE__ + 1;
	pages[slot] = plugin_decode(text, len);
	free(text);
}

static NOINLINE void draw_page(unsigned slot)
{
	size_t size = 5000 + next_random(9000);
	char *canvas = calloc(1, size);

	if (pages[slot])
		strcpy(canvas, pages[slot]);
	free(fill(canvas, size));
}

int main(int argc, char **argv)
{
	unsigned long lost, bytes;

	begin(argc, argv, 2000);
	for (unsigned long done = 0; next_request(done); done++) {
		decode_page(next_random(PAGES));
		draw_page(next_random(PAGES));
	}
	for (unsigned i = 0; i < PAGES; i++)
		free(pages[i]);
	plugin_totals(&lost, &bytes);
	tell_truth("decode_page", __FILE__, guilty_line, lost, bytes);
	return 0;
}
