/* The view of the processes: its list, and what its files share. */
#ifndef MT_TUI_PROCESSES_PARTS_H
#define MT_TUI_PROCESSES_PARTS_H

#include "tui/app.h"
#include "tui/view/processes_order.h"

struct mt_processes_state {
	struct mt_list list;
	uint32_t shown; /* mt_app_follow */
	struct mt_family family;
	bool made, asked; /* the list is there; it is being asked for */
	bool last;        /* it was asked for when the recorder had ended */
	uint64_t next_ms; /* when it is to be asked for again */
	enum mt_processes_order order;
	bool reversed;
	char error[512];
};

/* Makes it if there is none yet. */
struct mt_processes_state *mt_processes_state(struct mt_app *);
/* It stands for all recordings of a set. */
bool mt_processes_is_all(const struct mt_app *, const struct mt_session_process *);
/* Returns true if the views show this process. */
bool mt_processes_is_shown(struct mt_app *, const struct mt_session_process *);

#endif
