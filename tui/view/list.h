/* A scrolling list: which line is selected and which is at the top. */
#ifndef MT_TUI_LIST_H
#define MT_TUI_LIST_H

#include "tui/actions.h"

#include <stdbool.h>
#include <stdint.h>

struct mt_list {
	uint32_t count, selected, top;
	int rows;          /* lines seen last */
	uint64_t identity; /* of the selected line; kept by the owner */
	/* somebody chose the line: it stays; else the first line is selected, whatever it is */
	bool held;
};

/* Moves by an action of scope MOVE; false: it was none. */
bool mt_list_move(struct mt_list *, enum mt_action action);
void mt_list_select(struct mt_list *, uint32_t index);
/* New contents: index is where the selected line is now (count or more: it is gone). Keeps it at
 * its place on the screen. */
void mt_list_keep(struct mt_list *, uint32_t count, uint32_t index);
/* Before drawing into so many rows: scrolls so that the selected line is seen. */
void mt_list_fit(struct mt_list *, int rows);

#endif
