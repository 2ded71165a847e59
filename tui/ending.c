#include "tui/ending.h"
#include "core/base/buffer.h"
#include "core/base/proc.h"
#include "tui/command/commands.h"
#include "tui/data/switch.h"
#include "tui/user/unsaved.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define END_MS 3000     /* for a program to end after SIGTERM before SIGKILL */
#define FINISH_MS 60000 /* for the recorder to complete what it has recorded */
#define LOOK_MS 50      /* that one look at it counts at most: it may have stood still as we did */

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Looks after the session for so long at most, or until it is over. */
static void wait_for_end(struct mt_app *app, bool (*over)(const struct mt_app *), unsigned most_ms)
{
	uint64_t looked = now_ms(), waited = 0;
	struct mt_data *home = mt_app_home(app);

	while (waited < most_ms && !home->recorder_gone && !over(app)) {
		struct pollfd fd = {.fd = mt_client_fd(home->client),
			.events = mt_client_events(home->client)};

		poll(&fd, 1, LOOK_MS);
		uint64_t now = now_ms();

		waited += now - looked < LOOK_MS ? now - looked : LOOK_MS;
		looked = now;
		mt_client_flush(home->client);
		mt_program_read(app);
		if (fd.revents & ~POLLOUT)
			mt_data_update(home, true);
		if (app->session && mt_session_poll(app->session, &app->wait_status) == 1)
			app->program_ended = true;
	}
}

static bool program_is_over(const struct mt_app *app)
{
	return app->program_ended || (mt_app_home(app)->profile.info.ended && !mt_app_stopped(app));
}

static bool recorder_is_over(const struct mt_app *app)
{
	return mt_app_home(app)->recorder_gone;
}

/* Sends the signal to all processes of the session that still run; returns how many. */
static unsigned signal_others(struct mt_app *app, int number)
{
	struct mt_session_process *processes = NULL;
	struct mt_err ignored = {0};
	/* also those that have not allocated yet */
	int count = mt_session_all_processes(mt_client_entry(mt_app_home(app)->client)->name,
		&processes, &ignored);
	unsigned sent = 0;

	for (int i = 0; i < count; i++)
		sent += processes[i].alive && processes[i].wait_status == MT_STATUS_UNKNOWN
			&& kill(processes[i].pid, number) == 0;
	free(processes);
	return sent;
}

void mt_ending_end(struct mt_app *app, bool whole)
{
	struct mt_data *home = mt_app_home(app);

	home->frozen = false;       /* to see the ends */
	if (mt_app_attached(app)) { /* it was there before, and stays */
		mt_client_detach(home->client);
		wait_for_end(app, recorder_is_over, FINISH_MS);
		return;
	}
	if (!program_is_over(app)) {
		mt_client_signal(home->client, SIGTERM);
		wait_for_end(app, program_is_over, END_MS);
		if (!program_is_over(app) && !home->recorder_gone) {
			mt_client_signal(home->client, SIGKILL);
			wait_for_end(app, program_is_over, END_MS);
		}
	}
	if (whole && !home->recorder_gone && signal_others(app, SIGTERM)) {
		wait_for_end(app, recorder_is_over, END_MS);
		if (!home->recorder_gone)
			signal_others(app, SIGKILL);
	}
	if (app->unsaved) /* its files are complete once the recorder has ended */
		wait_for_end(app, recorder_is_over, FINISH_MS);
}

/* Path of the trace of a process of the session; of the root's where nobody can tell. */
static char *trace_of(const struct mt_session_entry *entry, pid_t pid)
{
	struct mt_session_process *processes = NULL;
	struct mt_err ignored = {0};
	int count = mt_session_all_processes(entry->name, &processes, &ignored);
	char *path = NULL;

	for (int i = 0; i < count && !path; i++)
		if (processes[i].pid == pid && !processes[i].followed && *processes[i].trace_path)
			path = mt_strdup(processes[i].trace_path);
	free(processes);
	return path ? path : mt_strdup(entry->trace_path);
}

char *mt_ending_shown_trace(const struct mt_app *app)
{
	const struct mt_data *d = &app->data;

	const char *path = mt_recording_trace_path(d->recording);

	if (path)
		return mt_strdup(path);
	return trace_of(mt_client_entry(mt_app_home(app)->client),
		d->client ? mt_client_entry(d->client)->program : 0);
}

char *mt_ending_home_trace(const struct mt_app *app)
{
	const struct mt_session_entry *entry = mt_client_entry(mt_app_home(app)->client);

	return trace_of(entry, entry->program);
}

static bool is_complete(const char *path)
{
	struct mt_err ignored = {0};
	struct mt_trace_reader *reader = mt_trace_reader_open(path, &ignored);
	bool complete = reader && mt_trace_reader_complete(reader);

	mt_trace_reader_free(reader);
	return complete;
}

int mt_ending_save_part(struct mt_app *app, struct mt_err *err)
{
	/* a recorder that stands still is not waited for without end */
	for (int waited = 0; waited < FINISH_MS && !is_complete(app->home_trace); waited += LOOK_MS)
		poll(NULL, 0, LOOK_MS);
	return mt_unsaved_save_part(app->part_of, app->home_trace, err);
}

int mt_ending_take_fate(struct mt_app *app, struct mt_err *err)
{
	const struct mt_data *home = mt_app_home(app);
	const char *path = mt_client_entry(home->client)->trace_path;
	bool whole = home->recorder_gone || (app->session && !app->session->going_on);

	if (app->fate != MT_FATE_NONE && !whole)
		return mt_fail(err, -EBUSY, "the recorder is still writing; the recording is in %s",
			app->unsaved);
	switch (app->fate) {
	case MT_FATE_SAVE: return mt_unsaved_save(app->unsaved, app->shown_trace, err);
	case MT_FATE_SAVE_ALL: return mt_unsaved_save_all(app->unsaved, path, err);
	case MT_FATE_DISCARD: mt_unsaved_discard(app->unsaved); break;
	case MT_FATE_NONE: mt_command_say("the recording is %s", path); break;
	}
	return 0;
}
