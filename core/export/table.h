/* Rows for people (aligned columns) and for spreadsheets (CSV, RFC 4180). */
#ifndef MT_EXPORT_TABLE_H
#define MT_EXPORT_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct mt_table;

/* Headings: column names, borrowed until the table is freed; numbers[i]: column i is
 * right-aligned. */
struct mt_table *mt_table_new(const char *const *headings, const bool *numbers, uint32_t columns);
/* The next cell, row by row, as mt_text_line has it. */
void mt_table_cell(struct mt_table *, const char *text);
/* For a terminal of this width, 0: any. So that lines do not wrap, the last column, a name, is cut,
 * and numbers before it are left out where it would get too little. */
void mt_table_fit(struct mt_table *, uint32_t width);
void mt_table_print(struct mt_table *, FILE *out);
void mt_table_free(struct mt_table *);

/* One CSV field, as mt_text_put_csv has it; separator ',' before all but the first. */
void mt_csv_field(FILE *out, bool first, const char *text);

#endif
