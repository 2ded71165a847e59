#ifndef MT_TUI_DETAIL_FACTS_H
#define MT_TUI_DETAIL_FACTS_H

#include "tui/app.h"

/* Draws what is known of the group of the detail view; r.rows: of the whole view, by which it
 * measures. Returns rows used. */
int mt_detail_facts(struct mt_app *, struct mt_rect r);

#endif
