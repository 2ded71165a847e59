#include "core/export/table.h"

#include "core/base/text.h"

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
	table->cells[table->count++] = mt_text_line(text);
}

/* Characters as a terminal counts them, wide ones apart. */
static uint32_t width_of(const char *text)
{
	uint32_t width = 0;

	while (mt_text_next(&text))
		width++;
	return width;
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
	fputs(text, out);
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
	mt_text_put_csv(out, text);
}
