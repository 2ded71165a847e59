/* Sessions end to end with real programs: statuses, watchers, terminals, and every kind of violent
 * end. */
#include "core/capture/clock.h"
#include "core/model/load.h"
#include "core/session/session.h"

#include <errno.h>
#include <glob.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define PATIENCE_MS 60000

struct fixture {
	char directory[64], output[96], library[4096];
	struct mt_session session;
	struct mt_session_options options;
	struct mt_err err;
};

static int setup(void **state)
{
	struct fixture *f = mt_alloc(sizeof *f);
	ssize_t n = readlink("/proc/self/exe", f->library, sizeof f->library - 64);

	assert_true(n > 0);
	*strrchr(f->library, '/') = '\0';
	strcat(f->library, "/../libmemtui.so");
	strcpy(f->directory, "/tmp/memtui-session-XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	snprintf(f->output, sizeof f->output, "%s/t.dat", f->directory);
	char go[96];

	snprintf(go, sizeof go, "%s/go", f->directory);
	setenv("MEMTUI_TEST_GO", go, 1);
	f->options = (struct mt_session_options){
		.output = f->output,
		.library = f->library,
		.rows = 24,
		.columns = 80,
	};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char *command = mt_format("rm -rf %s", f->directory);

	assert_int_equal(system(command), 0);
	free(command);
	mt_session_free(&f->session);
	free(f);
	return 0;
}

/* ---- helpers --------------------------------------------------------------------------------- */

static bool until(bool (*holds)(void *), void *context)
{
	for (int i = 0; i < PATIENCE_MS; i++) {
		if (holds(context))
			return true;
		poll(NULL, 0, 1);
	}
	return false;
}

static void start(struct fixture *f, const char *const *argv)
{
	f->options.argv = (char *const *)argv;
	if (mt_session_start(&f->session, &f->options, &f->err) < 0)
		fail_msg("%s", f->err.text);
}

#define START_SHELL(f, script) start(f, (const char *const[]){"/bin/sh", "-c", script, NULL})

static int finish(struct fixture *f)
{
	int status;

	f->err = (struct mt_err){0};
	return mt_session_wait(&f->session, &status, &f->err);
}

static struct mt_info read_trace(const char *path, bool *complete)
{
	struct mt_profile profile;
	struct mt_info info;
	struct mt_err err = {0};
	struct mt_trace_reader *reader = mt_trace_reader_open(path, &err);

	if (!reader)
		fail_msg("%s", err.text);
	mt_profile_init(&profile);
	if (mt_profile_load(&profile, reader, NULL, NULL, &err) < 0)
		fail_msg("%s", err.text);
	*complete = mt_trace_reader_complete(reader);
	info = profile.info;
	mt_profile_free(&profile);
	mt_trace_reader_free(reader);
	return info;
}

static bool is_complete(void *at)
{
	struct mt_err err;
	struct mt_trace_reader *reader = mt_trace_reader_open(at, &err);
	bool complete = reader && mt_trace_reader_complete(reader);

	if (reader)
		mt_trace_reader_free(reader);
	return complete;
}

struct watch {
	struct mt_client *client;
	struct mt_profile profile;
	uint64_t at, least_events;
	const char *wanted;
	char text[65536];
	size_t len;
};

static void watch(struct watch *w, const char *name)
{
	struct mt_err err = {0};

	*w = (struct watch){.client = mt_client_connect(name, &err)};
	if (!w->client)
		fail_msg("%s", err.text);
	mt_profile_init(&w->profile);
}

static void unwatch(struct watch *w)
{
	mt_client_free(w->client);
	mt_profile_free(&w->profile);
}

static bool has_events(void *at)
{
	struct watch *w = at;

	mt_client_update(w->client, &w->profile, NULL);
	return w->profile.info.events >= w->least_events;
}

static bool shows(void *at)
{
	struct watch *w = at;

	w->len += mt_client_terminal(w->client, &w->at, w->text + w->len,
		sizeof w->text - 1 - w->len);
	w->text[w->len] = '\0';
	return strstr(w->text, w->wanted) != NULL;
}

static bool shows_or_drains(void *at)
{
	mt_client_drain(((struct watch *)at)->client);
	return shows(at);
}

static void await_text(struct watch *w, const char *text)
{
	w->wanted = text;
	if (!until(shows, w))
		fail_msg("terminal shows '%s', not '%s'", w->text, text);
}

static bool is_gone(void *at)
{
	return kill(*(pid_t *)at, 0) < 0 && errno == ESRCH;
}

/* ---- statuses -------------------------------------------------------------------------------- */

static void passes_statuses(void **state)
{
	static const struct {
		const char *script;
		int status;
	} cases[] = {
		{"exit 0", 0},
		{"exit 7", 7},
		{"exit 255", 255},
		{"kill -9 $$", 137},
		{"kill -15 $$", 143},
	};
	struct fixture *f = *state;

	f->options.force = true;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		bool complete;

		START_SHELL(f, cases[i].script);
		assert_int_equal(finish(f), cases[i].status);
		assert_int_equal(f->err.code, 0);
		struct mt_info info = read_trace(f->output, &complete);

		assert_true(complete);
		assert_int_equal(info.ended, 1);
		assert_true(info.allocations > 0);
		assert_int_equal(info.invalid_records, 0);
		mt_session_free(&f->session);
	}
}

static int refused(struct fixture *f, const char *program)
{
	const char *argv[] = {program, NULL};
	int error;

	f->options.argv = (char *const *)argv;
	f->err = (struct mt_err){0};
	error = mt_session_start(&f->session, &f->options, &f->err);
	assert_true(error < 0 && *f->err.text);
	return -error;
}

static void refuses_what_cannot_be(void **state)
{
	struct fixture *f = *state;
	char *text = mt_format("%s/text", f->directory);
	FILE *file = fopen(text, "w");

	fputs("hello\n", file);
	fclose(file);
	assert_int_equal(refused(f, "/nonexistent/program"), ENOENT);
	assert_int_equal(refused(f, "no-such-program-anywhere"), ENOENT);
	assert_int_equal(refused(f, "/tmp"), EISDIR);
	assert_int_equal(refused(f, text), EACCES);
	chmod(text, 0755);
	assert_int_equal(refused(f, text), ENOEXEC);
	f->options.library = "/nonexistent/libmemtui.so";
	assert_int_equal(refused(f, "/bin/true"), ENOENT);
	assert_int_not_equal(access(f->output, F_OK), 0);
	free(text);
}

static void keeps_existing_files(void **state)
{
	struct fixture *f = *state;

	fclose(fopen(f->output, "w"));
	assert_int_equal(refused(f, "/bin/true"), EEXIST);
	f->options.force = true;
	START_SHELL(f, "exit 3");
	assert_int_equal(finish(f), 3);
	assert_true(is_complete(f->output));
	struct stat status;

	assert_int_equal(stat(f->output, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
}

static void follows_exec(void **state)
{
	struct fixture *f = *state;
	char *first = mt_format("%s.exec0", f->output);

	START_SHELL(f, "exec /bin/ls -d /");
	assert_int_equal(finish(f), 0);
	assert_true(is_complete(f->output));
	assert_true(is_complete(first));
	free(first);
}

static void records_children(void **state)
{
	struct fixture *f = *state;
	char *pattern = mt_format("%s.*", f->output);
	bool complete;
	glob_t found;

	START_SHELL(f, "/bin/true; /bin/true; exit 0");
	assert_int_equal(finish(f), 0);
	assert_int_equal(read_trace(f->output, &complete).forked_children, 0);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 2);
	for (size_t i = 0; i < found.gl_pathc; i++)
		assert_true(is_complete(found.gl_pathv[i]));
	assert_int_equal(f->session.process_count, 3);
	globfree(&found);
	free(pattern);
}

/* ---- watchers -------------------------------------------------------------------------------- */

static void serves_watchers(void **state)
{
	struct fixture *f = *state;
	struct mt_session_entry *entries;
	struct watch w;
	int count;

	f->options.pty = true;
	START_SHELL(f, "echo ready; read line; echo got $line; stty size; read line; exit 9");
	watch(&w, f->session.name);
	assert_true(mt_client_has_terminal(w.client));
	await_text(&w, "ready");
	w.least_events = 1;
	assert_true(until(has_events, &w));
	assert_true(w.profile.group_count > 0);
	assert_string_equal(mt_strings_get(&w.profile.strings, w.profile.arguments[0]), "/bin/sh");
	count = mt_session_list(&entries, &f->err);
	bool listed = false;

	for (int i = 0; i < count; i++)
		listed |= !strcmp(entries[i].name, f->session.name)
			&& entries[i].program == f->session.program;
	free(entries);
	assert_true(listed);
	mt_client_resize(w.client, 33, 99);
	mt_client_input(w.client, "something\n", 10);
	await_text(&w, "got something");
	await_text(&w, "33 99");
	mt_client_signal(w.client, SIGTERM);
	assert_int_equal(finish(f), 128 + SIGTERM);
	unwatch(&w);
}

static bool is_paused(void *at)
{
	struct watch *w = at;

	mt_client_update(w->client, &w->profile, NULL);
	return w->profile.info.paused;
}

static bool goes_on(void *at)
{
	return !is_paused(at);
}

static bool is_past(void *at)
{
	return mt_clock_monotonic_ns() >= *(const uint64_t *)at;
}

/* What a person pauses is not recorded; what the program frees of before is, and the log has both
 * moments: no less apart than a pause that has been seen and what ends it. */
static void pauses(void **state)
{
	struct fixture *f = *state;
	bool complete;
	struct watch w;
	uint64_t before, seen, later;

	f->options.pty = true;
	START_SHELL(f,
		"echo ready; read line; a=$(seq 2000); "
		"echo done; read line; echo $line; read line");
	watch(&w, f->session.name);
	await_text(&w, "ready");
	w.least_events = 1;
	assert_true(until(has_events, &w));
	mt_client_pause(w.client, true);
	assert_true(until(is_paused, &w));
	seen = mt_clock_monotonic_ns();
	before = w.profile.info.allocations;
	mt_client_input(w.client, "x\n", 2);
	await_text(&w, "done");
	later = mt_clock_monotonic_ns() + 200000000;
	assert_true(until(is_past, &later));
	mt_client_pause(w.client, false);
	assert_true(until(goes_on, &w));
	assert_int_equal(w.profile.info.allocations, before);
	assert_int_equal(w.profile.log_count, 2);
	assert_int_equal(w.profile.log[0].type, MT_LOG_PAUSE);
	assert_int_equal(w.profile.log[1].type, MT_LOG_RESUME);
	assert_int_equal(w.profile.log[1].thread, MT_NO_THREAD);
	assert_true(w.profile.log[1].time_ns - w.profile.log[0].time_ns >= later - seen);
	mt_client_input(w.client, "y\n", 2);
	await_text(&w, "y\r\ny");
	mt_client_input(w.client, "z\n", 2);
	assert_int_equal(finish(f), 0);
	struct mt_info info = read_trace(f->output, &complete);

	assert_true(complete && info.allocations >= before);
	assert_int_equal(info.unknown_frees, 0);
	unwatch(&w);
}

static bool pauses_at_last(void *at)
{
	mt_client_flush(((struct watch *)at)->client);
	return is_paused(at);
}

/* A recorder that is stopped holds nobody up, and is told what it missed, in order. */
static void waits_for_no_recorder(void **state)
{
	struct fixture *f = *state;
	unsigned told = 0;
	struct watch w;

	f->options.pty = true;
	START_SHELL(f, "echo ready; read line");
	watch(&w, f->session.name);
	await_text(&w, "ready");
	kill(f->session.recorder, SIGSTOP);
	for (; !(mt_client_events(w.client) & POLLOUT); told++) {
		assert_true(told < 100000);
		mt_client_pause(w.client, false);
	}
	mt_client_pause(w.client, true);
	kill(f->session.recorder, SIGCONT);
	assert_true(until(pauses_at_last, &w));
	assert_int_equal(mt_client_events(w.client), POLLIN);
	mt_client_input(w.client, "x\n", 2);
	assert_int_equal(finish(f), 0);
	unwatch(&w);
}

/* A process, and what /proc says of it where it has come to where it is wanted. */
struct place {
	pid_t pid;
	const char *file;
	char words[16];
};

static bool is_there(void *at)
{
	const struct place *p = at;
	char path[64], text[256] = "";
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)p->pid, p->file);
	f = fopen(path, "r");
	if (!f)
		return false;
	text[fread(text, 1, sizeof text - 1, f)] = '\0';
	fclose(f);
	return strstr(text, p->words) != NULL;
}

/* Who asks while the recorder stands still, and stands still itself, has its answer later. */
static void connects_when_all_go_on(void **state)
{
	struct fixture *f = *state;
	struct place asks = {.file = "syscall"}, stands = {.file = "stat", .words = ") T "};
	int status;

	START_SHELL(f, "while [ ! -e \"$MEMTUI_TEST_GO\" ]; do :; done; exit 6");
	stands.pid = f->session.recorder;
	assert_int_equal(kill(f->session.recorder, SIGSTOP), 0);
	assert_true(until(is_there, &stands));
	asks.pid = stands.pid = fork();
	if (asks.pid == 0)
		_exit(mt_client_connect(f->session.name, NULL) ? 0 : 1);
	snprintf(asks.words, sizeof asks.words, "%d 0x", SYS_recvmsg);
	assert_true(until(is_there, &asks));
	assert_int_equal(kill(asks.pid, SIGSTOP), 0);
	assert_true(until(is_there, &stands));
	assert_int_equal(kill(asks.pid, SIGCONT), 0);
	assert_int_equal(kill(f->session.recorder, SIGCONT), 0);
	assert_int_equal(waitpid(asks.pid, &status, 0), asks.pid);
	assert_int_equal(status, 0);
	fclose(fopen(getenv("MEMTUI_TEST_GO"), "w"));
	assert_int_equal(finish(f), 6);
}

static bool has_notice(void *at)
{
	struct pollfd fd = {mt_client_fd(((struct watch *)at)->client), POLLIN, 0};

	return poll(&fd, 1, 0) > 0;
}

/* What a watcher says last counts, though it leaves without reading what it was told. */
static void hears_last_words(void **state)
{
	struct fixture *f = *state;
	struct watch w, leaver;

	START_SHELL(f, "while [ ! -e \"$MEMTUI_TEST_GO\" ]; do :; done; exit 6");
	watch(&w, f->session.name);
	watch(&leaver, f->session.name);
	assert_true(until(has_notice, &leaver));
	assert_int_equal(kill(f->session.recorder, SIGSTOP), 0);
	mt_client_pause(leaver.client, true);
	unwatch(&leaver);
	assert_int_equal(kill(f->session.recorder, SIGCONT), 0);
	assert_true(until(is_paused, &w));
	fclose(fopen(getenv("MEMTUI_TEST_GO"), "w"));
	assert_int_equal(finish(f), 6);
	unwatch(&w);
}

struct children {
	const char *name;
	struct mt_session_process child;
	int live;
};

static bool lists_child(void *at)
{
	struct children *c = at;
	struct mt_session_process *all;
	int count = mt_session_processes(c->name, &all, NULL);

	c->live = 0;
	for (int i = 0; i < count; i++)
		if (all[i].alive && c->live++)
			c->child = all[i];
	free(all);
	return c->live == 2;
}

static bool sees_another(void *at)
{
	return has_events(at) && mt_client_others(((struct watch *)at)->client) == 1;
}

/* Without a terminal interface, any number of watchers, of any process. */
static void watches_children(void **state)
{
	struct fixture *f = *state;
	struct watch root[2], child[2];
	struct children c = {.name = f->session.name};
	struct mt_err err = {0};
	char *path;
	bool complete;

	START_SHELL(f,
		"/bin/sh -c 'while [ ! -e \"$0\" ]; do :; "
		"done; exit 4' \"$MEMTUI_TEST_GO\"; exit $?");
	assert_true(until(lists_child, &c));
	assert_int_equal(c.child.parent, f->session.program);
	for (int i = 0; i < 2; i++) {
		watch(&root[i], f->session.name);
		child[i] = (struct watch){.client = mt_client_connect_process(f->session.name,
						  c.child.pid, &err),
			.least_events = 1};
		assert_non_null(child[i].client);
		mt_profile_init(&child[i].profile);
		root[i].least_events = 1;
		assert_true(until(sees_another, &root[i]));
		assert_true(until(has_events, &child[i]));
		assert_int_equal(child[i].profile.info.pid, c.child.pid);
		assert_int_equal(child[i].profile.info.parent, f->session.program);
		assert_int_equal(root[i].profile.info.pid, f->session.program);
		assert_false(mt_client_has_terminal(child[i].client));
	}
	assert_null(mt_client_connect_process(f->session.name, 1, &err));
	assert_int_equal(err.code, -ESRCH);
	fclose(fopen(getenv("MEMTUI_TEST_GO"), "w"));
	assert_int_equal(finish(f), 4);
	path = mt_format("%s.%d", f->output, (int)c.child.pid);
	assert_int_equal(read_trace(path, &complete).exit_status, 4 << 8);
	assert_true(complete);
	free(path);
	for (int i = 0; i < 2; i++) {
		unwatch(&root[i]);
		unwatch(&child[i]);
	}
}

/* ---- violent ends ---------------------------------------------------------------------------- */

static void survives_kill_of_recorder(void **state)
{
	struct fixture *f = *state;
	struct watch w;
	bool complete;

	f->options.pty = true;
	START_SHELL(f, "echo ready; read line; echo got $line; exit 5");
	watch(&w, f->session.name);
	await_text(&w, "ready");
	w.least_events = 1;
	assert_true(until(has_events, &w));
	assert_int_equal(kill(f->session.recorder, SIGKILL), 0);
	while (mt_client_update(w.client, &w.profile, NULL) >= 0)
		poll(NULL, 0, 1);
	mt_client_input(w.client, "again\n", 6);
	w.wanted = "got again";
	assert_true(until(shows_or_drains, &w));
	assert_int_equal(finish(f), 5);
	assert_int_not_equal(f->err.code, 0);
	read_trace(f->output, &complete);
	assert_false(complete);
	unwatch(&w);
}

static void survives_kill_of_program(void **state)
{
	struct fixture *f = *state;
	struct watch w;
	bool complete;

	f->options.pty = true;
	START_SHELL(f, "echo ready; read line");
	watch(&w, f->session.name);
	await_text(&w, "ready");
	kill(f->session.program, SIGKILL);
	assert_int_equal(finish(f), 137);
	assert_true(read_trace(f->output, &complete).allocations > 0);
	assert_true(complete);
	unwatch(&w);
}

static void survives_kill_of_front(void **state)
{
	struct fixture *f = *state;
	struct watch w;
	int pipe_fds[2];
	pid_t front, recorder;

	f->options.pty = true;
	assert_int_equal(pipe(pipe_fds), 0);
	front = fork();
	if (front == 0) {
		START_SHELL(f, "echo ready; read line; echo got $line; exit 5");
		if (write(pipe_fds[1], &f->session, sizeof f->session) > 0)
			finish(f);
		_exit(0);
	}
	assert_int_equal(read(pipe_fds[0], &f->session, sizeof f->session), sizeof f->session);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	watch(&w, f->session.name);
	recorder = f->session.recorder;
	f->session = (struct mt_session){0};
	await_text(&w, "ready");
	kill(front, SIGKILL);
	waitpid(front, NULL, 0);
	mt_client_input(w.client, "more\n", 5);
	await_text(&w, "got more");
	assert_true(until(is_complete, f->output));
	unwatch(&w);
	while (waitpid(recorder, NULL, 0) > 0)
		; /* it may have become ours */
	assert_true(until(is_gone, &recorder));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {CASE(passes_statuses), CASE(refuses_what_cannot_be),
		CASE(keeps_existing_files), CASE(follows_exec), CASE(records_children),
		CASE(serves_watchers), CASE(pauses), CASE(waits_for_no_recorder),
		CASE(connects_when_all_go_on), CASE(hears_last_words), CASE(watches_children),
		CASE(survives_kill_of_recorder), CASE(survives_kill_of_program),
		CASE(survives_kill_of_front)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
