#include "core/export/table.h"

#include "core/base/buffer.h"
#include "core/export/json.h"

#include <stdlib.h>
#include <string.h>

struct mt_table {
	const char *const *headings;
	const bool *numbers;
	uint32_t columns;
	char **cells;
	uint32_t count, capacity;
};

struct mt_table *mt_table_new(const char *const *headings, const bool *numbers, uint32_t columns)
{
	struct mt_table *table = mt_alloc(sizeof *table);

	table->headings = headings;
	table->numbers = numbers;
	table->columns = columns;
	return table;
}

void mt_table_cell(struct mt_table *table, const char *text)
{
	MT_GROW(table->cells, table->count, table->capacity);
	table->cells[table->count++] = mt_strdup(text);
}

/* Characters as a terminal counts them, wide ones apart. */
static uint32_t width_of(const char *text)
{
	uint32_t width = 0;

	for (; *text; width++) {
		unsigned len = mt_utf8_len(text);

		text += len ? len : 1;
	}
	return width;
}

void mt_put_safe(FILE *out, const char *text)
{
	while (*text) {
		unsigned char c = (unsigned char)*text;
		unsigned len = mt_utf8_len(text);

		/* C1 controls, as U+0080 to U+009F, steer terminals too. */
		if (c < 0x20 || c == 0x7f
			|| (c == 0xc2 && len == 2 && (unsigned char)text[1] < 0xa0))
			putc('?', out);
		else if (!len)
			fputs("\xef\xbf\xbd", out);
		else
			fwrite(text, 1, len, out);
		text += len ? len : 1;
	}
}

static void print_cell(const struct mt_table *table, FILE *out, const char *text, uint32_t column,
	uint32_t width)
{
	int pad = (int)(width - width_of(text));
	bool last = column + 1 == table->columns;

	if (column)
		fputs("  ", out);
	if (table->numbers[column])
		fprintf(out, "%*s", pad, "");
	mt_put_safe(out, text);
	if (!table->numbers[column] && !last)
		fprintf(out, "%*s", pad, "");
	if (last)
		putc('\n', out);
}

void mt_table_print(const struct mt_table *table, FILE *out)
{
	uint32_t *widths = mt_alloc(table->columns * sizeof *widths);

	for (uint32_t i = 0; i < table->columns; i++)
		widths[i] = width_of(table->headings[i]);
	for (uint32_t i = 0; i < table->count; i++) {
		uint32_t width = width_of(table->cells[i]);

		if (width > widths[i % table->columns])
			widths[i % table->columns] = width;
	}
	for (uint32_t i = 0; i < table->columns; i++)
		print_cell(table, out, table->headings[i], i, widths[i]);
	for (uint32_t i = 0; i < table->count; i++)
		print_cell(table, out, table->cells[i], i % table->columns,
			widths[i % table->columns]);
	free(widths);
}

void mt_table_free(struct mt_table *table)
{
	for (uint32_t i = 0; i < table->count; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

void mt_csv_field(FILE *out, bool first, const char *text)
{
	if (!first)
		putc(',', out);
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	putc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', out);
		putc(*text, out);
	}
	putc('"', out);
}
