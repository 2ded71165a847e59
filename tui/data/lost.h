/* The leak check of what is shown: made on the screen, of a program that runs; or at its end, by
 * the recording. */
#ifndef MT_TUI_LOST_H
#define MT_TUI_LOST_H

#include "core/model/verdicts.h"
#include "tui/data/data.h"

struct mt_app;

/* Begins one, as a job. */
void mt_lost_check(struct mt_app *);
/* The newest one; NULL: none was made. */
const struct mt_verdicts *mt_lost_verdicts(const struct mt_data *);
void mt_lost_forget(struct mt_data *);
/* What it says of a group's blocks, worst first: "definitely lost 30k in 30 blocks, still reachable
 * 1.0k in 2 blocks; at the end". False: it judged none. */
bool mt_lost_words(char *out, size_t len, const struct mt_data *, uint32_t group);

#endif
