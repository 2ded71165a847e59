/* The processes of the session, each with its totals; Enter shows another one's recording. */
#include "core/base/buffer.h"
#include "core/export/number.h"
#include "core/model/blind.h"
#include "tui/data/switch.h"
#include "tui/data/triage.h"
#include "tui/user/keymap.h"
#include "tui/view/processes_parts.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define NUMBER 8
#define STATE 12

/* ---- words ---- */

static const char *state_words(const struct mt_session_process *p, char out[STATE + 16])
{
	const char *name;

	if (!p->recorded)
		return "untraced";
	if (p->blind && !p->allocations)
		return "not seen";
	if (p->alive)
		return "running";
	if (p->followed)
		return "executed"; /* went on as the next line */
	if (p->failed)
		return "incomplete";
	if (p->stopped)
		return "stopped";
	if (p->wait_status == -1)
		return "ended ?";
	if (WIFSIGNALED(p->wait_status)) {
		name = sigabbrev_np(WTERMSIG(p->wait_status));
		snprintf(out, STATE + 16, "SIG%s", name ? name : "?");
	} else {
		snprintf(out, STATE + 16, "ended %d", WEXITSTATUS(p->wait_status));
	}
	return out;
}

/* Everything of the selected process, in two lines. */
static void draw_whole(struct mt_app *app, struct mt_rect r)
{
	struct mt_processes_state *s = app->processes;
	const struct mt_session_process *p =
		&s->family.items[mt_app_follow(app, &s->shown, s->list.selected, s->list.count)];
	const char *file = strrchr(p->trace_path, '/');
	char leaked[MT_NUMBER_LEN + 1] = "~", blocks[MT_NUMBER_LEN + 1] = "~", size[MT_NUMBER_LEN],
				    text[256];
	char untraced[96] = "", suppressed[48] = "", lost[48] = "", keys[48];
	uint64_t known = mt_processes_is_shown(app, p)
		? mt_triage_suppressed_bytes(app, app->data.whole)
		: 0;

	mt_number_size(leaked + p->sampled, p->leaked_bytes);
	mt_number_count(blocks + p->sampled, p->leaked_count);
	if (known) {
		mt_number_size(size, known);
		snprintf(suppressed, sizeof suppressed, ", %s of it suppressed", size);
	}
	if (p->lost_events)
		snprintf(lost, sizeof lost, "   %s lost",
			mt_number_of((char[MT_NUMBER_OF_LEN]){0}, p->lost_events, "event"));
	if (p->untraced)
		snprintf(untraced, sizeof untraced, "   %u of its children were not traced",
			p->untraced);
	snprintf(text, sizeof text, "%s%s%.128s",
		mt_processes_is_shown(app, p) ? "shown in all views"
			: mt_processes_is_all(app, p)
			? mt_keymap_words(keys, sizeof keys, "{open} shows all")
			: p->silent ? "forked: it has not allocated yet"
			: p->alive || *p->trace_path
			? mt_keymap_words(keys, sizeof keys, "{open} shows it")
			: p->blind ? "it has no trace: its allocations were not seen"
				   : "it has no trace: it allocated nothing",
		*p->trace_path ? ": " : "", file ? file + 1 : p->trace_path);
	if (r.rows > 2)
		mt_draw_rule(app->screen, r.row++, r.column, r.columns, MT_ROLE_RULE, text);
	if (!p->recorded)
		snprintf(text, sizeof text,
			"not recorded: set-user-ID, static, or started with a cleared environment");
	else if (p->blind)
		snprintf(text, sizeof text, "not seen: %s%s%s", mt_blind_reason_name(p->blind),
			lost, untraced);
	else
		/* not "leaked": the names by which blocks are suppressed are not read for a list */
		snprintf(text, sizeof text, "%s %s in %s %s%s%s%s",
			p->alive || p->failed || p->stopped ? "live" : "not freed", leaked, blocks,
			MT_PLURAL(blocks, "block"), suppressed, lost, untraced);
	mt_draw(app->screen, r.row, r.column + 1, r.columns - 1, MT_ROLE_TEXT, text);
	mt_draw(app->screen, r.row + 1, r.column + 1, r.columns - 1, MT_ROLE_SOURCE, p->command);
}

/* ---- drawing ---- */

struct layout {
	int state, numbers, command, file; /* columns of each; numbers: how many of them */
};

static struct layout lay_out(int width)
{
	struct layout l = {.numbers = 1};
	int room = width - 4 - NUMBER - NUMBER;

	if (width >= 60) {
		l.state = STATE;
		l.numbers = width >= 100 ? 4 : width >= 70 ? 3 : 1;
		room -= STATE + (l.numbers - 1) * NUMBER;
	}
	l.file = width >= 96 ? room * 2 / 5 : 0;
	l.command = room - l.file;
	return l;
}

/* A heading with the mark of the order; a click sorts by it. Numbers stand on the right. */
static void draw_head(struct mt_app *app, struct mt_rect r, enum mt_processes_order order,
	const char *head)
{
	const struct mt_processes_state *state = app->processes;
	bool sorted = state->order == order,
	     right = order != MT_PROCESSES_BY_STATE && order != MT_PROCESSES_BY_COMMAND;
	enum mt_role role = sorted ? MT_ROLE_SORTED : MT_ROLE_HEADING;
	int width = mt_text_width(head), at = right ? r.columns - 1 - width : 0;

	mt_draw(app->screen, r.row, r.column + at, r.columns - at, role, head);
	if (sorted && at + width < r.columns)
		mt_draw(app->screen, r.row, r.column + at + width, 1, role,
			mt_glyph(mt_screen_utf8(app->screen),
				mt_processes_descend(order) != state->reversed
					? MT_GLYPH_DESCENDING
					: MT_GLYPH_ASCENDING));
	mt_frame_hit(app, r, MT_HIT_COLUMN, MT_VIEW_PROCESSES, order);
}

static void draw_heading(struct mt_app *app, struct mt_rect r, const struct layout *l)
{
	static const char *const heads[] = {"LIVE", "PEAK", "ALLOCS", "RSS"};
	struct mt_screen *s = app->screen;
	int column = r.column + 2 + NUMBER;

	mt_draw_fill(s, r.row, r.column, r.columns, MT_ROLE_HEADING);
	draw_head(app, (struct mt_rect){r.row, r.column + 2, 1, NUMBER}, MT_PROCESSES_BY_PROCESS,
		"PROCESS");
	if (l->state)
		draw_head(app, (struct mt_rect){r.row, column, 1, l->state}, MT_PROCESSES_BY_STATE,
			"STATE");
	column += l->state;
	for (int i = 0; i < l->numbers; i++, column += NUMBER)
		draw_head(app, (struct mt_rect){r.row, column, 1, NUMBER},
			(enum mt_processes_order)(MT_PROCESSES_BY_LIVE + i), heads[i]);
	column++; /* behind the mark of an order */
	draw_head(app, (struct mt_rect){r.row, column, 1, l->command}, MT_PROCESSES_BY_COMMAND,
		"COMMAND");
	mt_draw(s, r.row, column + l->command, l->file, MT_ROLE_HEADING, "TRACE");
}

/* The program alone. */
static void command_words(const struct mt_session_process *p, char *out, size_t len)
{
	const char *name = mt_processes_name(p);

	snprintf(out, len, "process %d (%.*s)", (int)p->pid, (int)strcspn(name, " "), name);
}

/* A child stands deeper than its parent, as far as there is room. */
static void command_text(const struct mt_processes_state *s, uint32_t index, int width, char *out,
	size_t len)
{
	const struct mt_session_process *p = &s->family.items[index];
	uint32_t depth = s->family.depths[index], most = width > 40 ? 10 : 3;

	snprintf(out, len, "%*s%s%s", (int)(depth < most ? depth : most) * 2, "",
		depth > most ? ".. " : "",
		*p->command ? mt_processes_name(p) : "(no command line)");
}

static void number_words(const struct mt_session_process *p, enum mt_processes_order column,
	char out[MT_NUMBER_LEN + 1])
{
	bool sampled = p->sampled && column != MT_PROCESSES_BY_RSS;

	out[0] = '~';
	if (!p->recorded || (column == MT_PROCESSES_BY_RSS && !p->peak_rss_bytes))
		strcpy(out, "-");
	else if (column == MT_PROCESSES_BY_ALLOCS)
		mt_number_count(out + sampled, p->allocations);
	else
		mt_number_size(out + sampled, mt_processes_value(p, column));
}

static void draw_line(struct mt_app *app, const struct mt_line *line, void *layout)
{
	const struct layout *l = layout;
	struct mt_processes_state *s = app->processes;
	const struct mt_session_process *p = &s->family.items[line->index];
	bool selected = line->selected;
	const struct mt_rect r = line->r;
	enum mt_role role = line->role;
	char number[MT_NUMBER_LEN + 1], text[512], state[STATE + 16];
	const char *file = strrchr(p->trace_path, '/');
	int column = r.column + 2 + NUMBER;

	mt_draw(app->screen, r.row, r.column + 1, 1, selected ? role : MT_ROLE_GROWING,
		mt_processes_is_shown(app, p) ? "*" : " ");
	snprintf(text, sizeof text, mt_processes_is_all(app, p) ? "all" : "%d", (int)p->pid);
	mt_draw_right(app->screen, r.row, r.column + 2, NUMBER - 1, role, text);
	mt_draw(app->screen, r.row, column, l->state - 1,
		selected                            ? role
			: p->alive                  ? MT_ROLE_GROWING
			: !p->recorded || p->failed ? MT_ROLE_ERROR
						    : MT_ROLE_DIM,
		mt_processes_is_all(app, p) ? "" : state_words(p, state));
	column += l->state;
	for (int i = 0; i < l->numbers; i++, column += NUMBER) {
		number_words(p, (enum mt_processes_order)(MT_PROCESSES_BY_LIVE + i), number);
		mt_draw_right(app->screen, r.row, column, NUMBER - 1, role, number);
	}
	column++;
	command_text(s, line->index, l->command, text, sizeof text);
	if (!selected && mt_prompt_matches(app, p->command))
		role = MT_ROLE_MATCH;
	mt_draw(app->screen, r.row, column, l->command - (l->file > 0),
		selected || role == MT_ROLE_MATCH ? role : MT_ROLE_FUNCTION, text);
	mt_draw(app->screen, r.row, column + l->command, l->file, selected ? role : MT_ROLE_SOURCE,
		file ? file + 1 : p->trace_path);
}

static void draw_below(struct mt_app *app, struct mt_rect r)
{
	const struct mt_processes_state *s = app->processes;
	const char *words = *s->error ? s->error
		: !s->made            ? "looking for the processes of this session"
		: s->family.truncated ? "too many traces beside this one: not all are listed"
		: s->family.count > 1 ? ""
		: !app->data.client && !app->data.reader
		? "stand-alone: each child process has its own recording"
		: mt_app_live(app)
		? "the program has not started another process yet"
		: "no other process was recorded, or their traces are in another directory";

	if (r.rows > 0)
		mt_draw(app->screen, r.row, r.column + 2, r.columns - 2,
			*s->error ? MT_ROLE_ERROR : MT_ROLE_DIM, words);
}

static void draw(struct mt_app *app, struct mt_rect r, bool focus)
{
	struct mt_processes_state *s = mt_processes_state(app);
	struct mt_list *l = &s->list;
	struct layout layout = lay_out(r.columns);
	int below = !l->count ? 0 : r.rows >= 8 ? 3 : r.rows >= 5 ? 2 : 0;

	draw_heading(app, r, &layout);
	int seen = mt_frame_list(app, MT_VIEW_PROCESSES,
		(struct mt_rect){r.row + 1, r.column, r.rows - 1 - below, r.columns}, l, focus,
		draw_line, &layout);

	draw_below(app, (struct mt_rect){r.row + 1 + seen, r.column, l->rows - seen, r.columns});
	if (below)
		draw_whole(app,
			(struct mt_rect){r.row + r.rows - below, r.column, below, r.columns});
}

/* ---- actions ---- */

static void sort_by(struct mt_app *app, enum mt_processes_order order, bool reversed)
{
	struct mt_processes_state *s = app->processes;

	s->order = order;
	s->reversed = reversed;
	if (!s->made)
		return;
	mt_processes_sort(&s->family, s->order, s->reversed);
	for (uint32_t i = 0; i < s->family.count; i++)
		if (mt_processes_identity(&s->family.items[i]) == s->list.identity)
			mt_list_select(&s->list, i);
	mt_app_say(app, "processes by %s%s", mt_processes_order_words(order),
		reversed ? ", reversed" : "");
}

static struct mt_list *list(struct mt_app *app)
{
	return &mt_processes_state(app)->list;
}

static void open_selected(struct mt_app *app)
{
	struct mt_processes_state *s = app->processes;
	const struct mt_session_process *p =
		s->list.count ? &s->family.items[s->list.selected] : NULL;
	const struct mt_data *home = mt_app_home(app);
	bool live = p && p->alive && home->client && !home->recorder_gone;
	char words[320];

	if (!p)
		return;
	command_words(p, words, sizeof words);
	if (mt_processes_is_shown(app, p))
		mt_app_say(app,
			mt_processes_is_all(app, p) ? "all recordings are shown already"
						    : "this process is shown already");
	else if (mt_processes_is_all(app, p))
		mt_switch_to(app, 0, "", "all recordings");
	else if (app->data.recording->import)
		mt_app_say(app, "a stand-alone recording contains only one process");
	else if (!live && app->home && home->client && (pid_t)home->whole->info.pid == p->pid
		&& !p->followed)
		mt_switch_to(app, mt_client_entry(home->client)->program, p->trace_path, words);
	else if (!p->recorded)
		mt_app_say(app, "process %d was not recorded: it has no data to show", (int)p->pid);
	else if (p->silent)
		mt_app_say(app, "process %d has not allocated yet: there is nothing to show",
			(int)p->pid);
	else if (!live && !*p->trace_path)
		mt_app_say(app, "process %d left no trace: it allocated nothing", (int)p->pid);
	else
		mt_switch_to(app, live ? p->pid : 0, p->trace_path, words);
}

static bool action(struct mt_app *app, enum mt_action what)
{
	struct mt_list *l = list(app);

	if (what == MT_ACTION_OPEN) {
		open_selected(app);
		return true;
	}
	if (what == MT_ACTION_SORT || what == MT_ACTION_SORT_LEFT || what == MT_ACTION_SORT_RIGHT) {
		int by = what == MT_ACTION_SORT_LEFT ? MT_PROCESSES_ORDER_COUNT - 1 : 1;

		sort_by(app,
			(enum mt_processes_order)(
				(app->processes->order + by) % MT_PROCESSES_ORDER_COUNT),
			false);
		return true;
	}
	if (what == MT_ACTION_REVERSE) {
		if (app->processes->order == MT_PROCESSES_BY_TREE)
			mt_app_say(app,
				"the process tree has a fixed order; {sort-right} sorts by a "
				"column");
		else
			sort_by(app, app->processes->order, !app->processes->reversed);
		return true;
	}
	if (!mt_list_move(l, what))
		return false;
	l->held = true; /* the first line, too */
	if (l->count)
		l->identity = mt_processes_identity(&app->processes->family.items[l->selected]);
	return true;
}

static void choose(struct mt_app *app, uint32_t index)
{
	struct mt_list *l = list(app);

	mt_list_select(l, index);
	l->held = true;
	if (l->count)
		l->identity = mt_processes_identity(&app->processes->family.items[l->selected]);
}

static void line_text(struct mt_app *app, uint32_t index, char *out, size_t len)
{
	const struct mt_session_process *p = &app->processes->family.items[index];
	char state[STATE + 16];

	snprintf(out, len, "%d %s %s", (int)p->pid, state_words(p, state), p->command);
}

static void sort_column(struct mt_app *app, uint32_t order)
{
	const struct mt_processes_state *s = app->processes;

	sort_by(app, (enum mt_processes_order)order,
		s->order == (enum mt_processes_order)order && !s->reversed);
}

/* The list stays: it is the session's. */
const struct mt_view mt_view_processes = {
	.name = "Procs",
	.brief = "Proc",
	.scopes = 1u << MT_SCOPE_COLUMNS | 1u << MT_SCOPE_GROUPS,
	.draw = draw,
	.action = action,
	.list = list,
	.choose = choose,
	.line = line_text,
	.sort = sort_column,
};
