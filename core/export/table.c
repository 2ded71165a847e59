#include "core/export/table.h"

#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

#define HIDDEN UINT32_MAX
#define ALWAYS_SHOWN 4 /* columns */
#define LAST_LEAST 24  /* characters, of a cell that is cut */

struct mt_table {
	const char *const *headings;
	const bool *numbers;
	uint32_t columns;
	char **cells;
	uint32_t count, capacity;
	uint32_t width; /* of a line; 0: any */
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

/* width HIDDEN: nothing is printed. */
static void print_cell(const struct mt_table *table, FILE *out, const char *text, uint32_t column,
	uint32_t width)
{
	bool last = column + 1 == table->columns;

	if (width == HIDDEN)
		return;
	int pad = (int)(width - mt_text_columns(text));

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

void mt_table_fit(struct mt_table *table, uint32_t width)
{
	table->width = width;
}

/* The last column gets what the others leave. If that is too little, numbers are hidden, the last
 * ones first. */
static void fit(struct mt_table *table, uint32_t *widths)
{
	uint32_t before = 0, last = table->columns - 1;

	for (uint32_t i = 0; i < last; i++)
		before += widths[i] + 2;
	for (uint32_t i = last; i-- > ALWAYS_SHOWN && table->width < before + LAST_LEAST;) {
		if (!table->numbers[i])
			continue;
		before -= widths[i] + 2;
		widths[i] = HIDDEN;
	}
	for (uint32_t i = last; i < table->count; i += table->columns) {
		char *whole = table->cells[i];
		uint32_t room = table->width > before ? table->width - before : 0;

		table->cells[i] = mt_text_fitting(whole, room > LAST_LEAST ? room : LAST_LEAST);
		free(whole);
	}
}

void mt_table_print(struct mt_table *table, FILE *out)
{
	uint32_t *widths = mt_alloc(table->columns * sizeof *widths);

	for (uint32_t i = 0; i < table->columns; i++)
		widths[i] = mt_text_columns(table->headings[i]);
	for (uint32_t i = 0; i < table->count; i++) {
		uint32_t width = mt_text_columns(table->cells[i]);

		if (width > widths[i % table->columns])
			widths[i % table->columns] = width;
	}
	if (table->width)
		fit(table, widths);
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
