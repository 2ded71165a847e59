#include "tui/command/sessions_list.h"

#include "core/base/text.h"
#include "core/export/json.h"
#include "core/export/number.h"
#include "core/export/table.h"
#include "tui/command/commands.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define RECENT_S (180 * 86400ll) /* ls tells times of day for as long */

/* A recording that runs, or one in the cache. */
struct row {
	char handle[16];
	const char *state, *command; /* command NULL: not known */
	uint32_t pid;                /* of the first program; 0: not known */
	uint32_t processes;
	bool has_sums, sampled;
	uint64_t begin_ns, duration_ns, bytes, leaked_bytes, peak_bytes; /* begin 0: not known */
	const struct mt_saved *saved;           /* NULL: not in the cache */
	const struct mt_session_entry *running; /* NULL: nobody records it now */
	struct mt_session_process *traces;      /* running: its processes */
};

/* ---- rows ---- */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t file_bytes(const char *path)
{
	struct stat is;

	return lstat(path, &is) == 0 && S_ISREG(is.st_mode) ? (uint64_t)is.st_size : 0;
}

static void add_process(struct row *row, const struct mt_session_process *p, bool is_first)
{
	row->bytes += file_bytes(p->trace_path);
	if (!is_first)
		return;
	row->has_sums = true;
	row->sampled = p->sampled;
	row->leaked_bytes = p->leaked_bytes;
	row->peak_bytes = p->peak_bytes;
}

static struct row row_of_running(const struct mt_saved_list *list,
	const struct mt_session_entry *entry)
{
	struct row row = {.state = entry->program ? "running" : "no answer", .running = entry};
	struct mt_err ignored = {0};
	uint64_t now = now_ns();
	int count = 0;

	for (uint32_t i = 0; i < list->count; i++)
		row.saved = list->items[i].running == entry ? &list->items[i] : row.saved;
	row.pid = (uint32_t)entry->program;
	snprintf(row.handle, sizeof row.handle, "%d",
		(int)(entry->program ? entry->program : entry->recorder));
	if (!entry->program)
		return row;
	row.command = entry->command;
	row.begin_ns = entry->start_unix_ns;
	row.duration_ns = now > row.begin_ns ? now - row.begin_ns : 0;
	count = mt_session_all_processes(entry->name, &row.traces, &ignored);
	row.processes = count > 0 ? (uint32_t)count : 1;
	for (uint32_t i = 0; count > 0 && i < row.processes; i++)
		add_process(&row, &row.traces[i], row.traces[i].pid == entry->program);
	if (count <= 0) /* its recorder is at its end */
		row.bytes = file_bytes(entry->trace_path);
	return row;
}

static struct row row_of_saved(const struct mt_saved_list *list, const struct mt_saved *s)
{
	const struct mt_saved_file *first = s->first;
	struct row row = {.state = mt_saved_state_name(s->state),
		.saved = s,
		.processes = s->processes,
		.bytes = s->bytes};
	char handle[16];

	snprintf(row.handle, sizeof row.handle, "%s", mt_saved_handle(list, s, handle));
	if (!first)
		return row;
	row.pid = first->pid;
	row.command = first->command;
	row.begin_ns = first->start_unix_ns;
	row.has_sums = first->has_sums;
	row.sampled = first->sampled;
	row.duration_ns = first->duration_ns;
	row.leaked_bytes = first->leaked_bytes;
	row.peak_bytes = first->peak_bytes;
	return row;
}

/* Calls each for every row, those that run first. */
static void each_row(const struct mt_saved_list *list, void (*each)(void *, const struct row *),
	void *context)
{
	for (int i = 0; i < list->running_count; i++) {
		struct row row = row_of_running(list, &list->running[i]);

		each(context, &row);
		free(row.traces);
	}
	for (uint32_t i = 0; i < list->count; i++) {
		struct row row = row_of_saved(list, &list->items[i]);

		if (!list->items[i].running)
			each(context, &row);
	}
}

/* ---- text ---- */

struct printer {
	struct mt_table *table;
	bool exact;
};

/* Today's year goes without saying, as in ls. */
static void begin_text(char out[24], uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000u), now = time(NULL);
	struct tm parts;
	bool recent = seconds <= now && now - seconds < RECENT_S;

	if (!unix_ns || !localtime_r(&seconds, &parts)
		|| !strftime(out, 24, recent ? "%m-%d %H:%M" : "%Y-%m-%d", &parts))
		snprintf(out, 24, "-");
}

static void put_bytes(const struct printer *p, uint64_t bytes, bool known, bool about)
{
	char number[MT_NUMBER_EXACT_LEN], text[MT_NUMBER_EXACT_LEN + 1];

	if (p->exact)
		snprintf(number, sizeof number, "%llu", (unsigned long long)bytes);
	else
		mt_number_size(number, bytes);
	snprintf(text, sizeof text, "%s%s", about ? "~" : "", number);
	mt_table_cell(p->table, known ? text : "-");
}

static void print_row(void *context, const struct row *row)
{
	const struct printer *p = context;
	char begin[24], duration[MT_NUMBER_LEN] = "-", processes[16];

	begin_text(begin, row->begin_ns);
	if (row->duration_ns)
		mt_number_time(duration, row->duration_ns);
	snprintf(processes, sizeof processes, "%u", row->processes);
	mt_table_cell(p->table, row->handle);
	mt_table_cell(p->table, begin);
	mt_table_cell(p->table, row->state);
	put_bytes(p, row->leaked_bytes, row->has_sums, row->sampled);
	put_bytes(p, row->bytes, row->running == NULL || row->running->program, false);
	put_bytes(p, row->peak_bytes, row->has_sums, row->sampled);
	mt_table_cell(p->table, duration);
	mt_table_cell(p->table, row->processes ? processes : "-");
	mt_table_cell(p->table, row->command ? row->command : "-");
}

static void say_faults(const struct mt_saved *s)
{
	if (s->error)
		mt_command_say("%s", s->error);
	for (uint32_t i = 0; i < s->count; i++)
		if (s->files[i].error) {
			char *name = mt_text_line(s->files[i].error);

			mt_command_say("%s: %s", s->directory, name);
			free(name);
		}
	for (uint32_t i = 0; i < s->strange_count; i++) {
		char *name = mt_text_line(s->strange[i]);

		mt_command_say("%s/%s: was not written by memtui, which leaves it alone",
			s->directory, name);
		free(name);
	}
}

static void say_empty(const struct mt_saved_list *list)
{
	mt_command_say("there are no recordings: 'memtui run' without -o writes them to %s",
		list->place ? list->place : "a directory below /tmp, since there is no HOME");
}

void mt_sessions_print_text(const struct mt_saved_list *list, bool exact, uint32_t width)
{
	static const char *const headings[] = {"session", "began", "state", "leaked", "size",
		"peak", "duration", "processes", "command"};
	static const bool numbers[] = {true, false, false, true, true, true, true, true, false};
	struct printer p = {mt_table_new(headings, numbers, sizeof numbers), exact};

	each_row(list, print_row, &p);
	mt_table_fit(p.table, width);
	if (list->running_count || list->count)
		mt_table_print(p.table, stdout);
	else
		say_empty(list);
	mt_table_free(p.table);
	fflush(stdout);
	for (int i = 0; i < list->running_count; i++)
		if (!list->running[i].program)
			mt_command_say("recorder %d does not answer and may be stopped: kill -CONT "
				       "%d continues it",
				(int)list->running[i].recorder, (int)list->running[i].recorder);
	for (uint32_t i = 0; i < list->count; i++)
		say_faults(&list->items[i]);
}

/* ---- JSON ---- */

static void put_text(struct mt_json *json, const char *name, const char *text)
{
	mt_json_key(json, name);
	if (text && *text)
		mt_json_string(json, text);
	else
		mt_json_null(json);
}

static void put_known(struct mt_json *json, const char *name, uint64_t number, bool known)
{
	mt_json_key(json, name);
	if (known)
		mt_json_number(json, number);
	else
		mt_json_null(json);
}

static void put_begin(struct mt_json *json, uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000u);
	char text[40] = "";
	struct tm parts;

	if (unix_ns && gmtime_r(&seconds, &parts))
		strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
	put_text(json, "start_time", text);
}

static void put_file(struct mt_json *json, const char *directory, const struct mt_saved_file *f)
{
	char *path = mt_format("%s/%s", directory, f->name);

	mt_json_open(json, '{');
	mt_json_put_string(json, "file", path);
	put_known(json, "pid", f->pid, f->pid != 0);
	put_text(json, "command", f->command);
	mt_json_put_string(json, "state", mt_saved_state_name(f->state));
	mt_json_put_bool(json, "trace", f->whole);
	mt_json_put_number(json, "file_bytes", f->bytes);
	put_known(json, "leaked_bytes", f->leaked_bytes, f->has_sums);
	put_known(json, "peak_bytes", f->peak_bytes, f->has_sums);
	put_text(json, "error", f->error);
	mt_json_close(json, '}');
	free(path);
}

static void put_process(struct mt_json *json, const struct mt_session_process *p)
{
	mt_json_open(json, '{');
	put_text(json, "file", p->trace_path);
	mt_json_put_number(json, "pid", (uint64_t)p->pid);
	put_text(json, "command", p->command);
	mt_json_put_string(json, "state", p->alive ? "running" : "ended");
	mt_json_put_bool(json, "trace", p->recorded);
	mt_json_put_number(json, "file_bytes", file_bytes(p->trace_path));
	mt_json_put_number(json, "leaked_bytes", p->leaked_bytes);
	mt_json_put_number(json, "peak_bytes", p->peak_bytes);
	put_text(json, "error", NULL);
	mt_json_close(json, '}');
}

static void put_files(struct mt_json *json, const struct row *row)
{
	mt_json_key(json, "files");
	mt_json_open(json, '[');
	for (uint32_t i = 0; row->traces && i < row->processes; i++)
		put_process(json, &row->traces[i]);
	for (uint32_t i = 0; !row->running && i < row->saved->count; i++)
		put_file(json, row->saved->directory, &row->saved->files[i]);
	mt_json_close(json, ']');
	mt_json_key(json, "strange");
	mt_json_open(json, '[');
	for (uint32_t i = 0; row->saved && i < row->saved->strange_count; i++)
		mt_json_string(json, row->saved->strange[i]);
	mt_json_close(json, ']');
}

static void put_row(void *context, const struct row *row)
{
	struct mt_json *json = context;

	mt_json_line(json);
	mt_json_open(json, '{');
	mt_json_put_string(json, "session", row->handle);
	mt_json_put_string(json, "state", row->state);
	put_text(json, "name", row->saved ? row->saved->name : NULL);
	put_text(json, "directory", row->saved ? row->saved->directory : NULL);
	put_known(json, "pid", row->pid, row->pid != 0);
	put_known(json, "recorder", row->running ? (uint64_t)row->running->recorder : 0,
		row->running != NULL);
	put_begin(json, row->begin_ns);
	put_text(json, "command", row->command);
	mt_json_key(json, "wall_seconds");
	if (row->duration_ns)
		mt_json_seconds(json, row->duration_ns);
	else
		mt_json_null(json);
	mt_json_put_number(json, "processes", row->processes);
	mt_json_put_number(json, "file_bytes", row->bytes);
	put_known(json, "leaked_bytes", row->leaked_bytes, row->has_sums);
	put_known(json, "peak_bytes", row->peak_bytes, row->has_sums);
	mt_json_put_bool(json, "sampled", row->sampled);
	put_text(json, "error", row->saved ? row->saved->error : NULL);
	put_files(json, row);
	mt_json_close(json, '}');
}

void mt_sessions_print_json(const struct mt_saved_list *list)
{
	struct mt_json json = {.out = stdout};

	mt_json_open(&json, '{');
	put_text(&json, "directory", list->place);
	mt_json_key(&json, "sessions");
	mt_json_open(&json, '[');
	each_row(list, put_row, &json);
	mt_json_close(&json, ']');
	mt_json_close(&json, '}');
	putchar('\n');
}
