/* The user's editor at a line of the source: which one, how it is told the line, and the terminal
 * lent to it. */
#include "core/base/buffer.h"
#include "tui/app.h"
#include "tui/user/config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORDS_MAX 32

/* How editors take the line, by the name of the program; whoever is not listed is told +LINE FILE
 * as vi is. */
static const struct {
	const char *name, *option; /* before the place; NULL: none */
	bool colon;                /* FILE:LINE, else LINE FILE */
} editors[] = {
	{"code", "--goto", true},
	{"code-insiders", "--goto", true},
	{"codium", "--goto", true},
	{"vscodium", "--goto", true},
	{"cursor", "--goto", true},
	{"windsurf", "--goto", true},
	{"subl", NULL, true},
	{"sublime_text", NULL, true},
	{"hx", NULL, true},
	{"helix", NULL, true},
	{"zed", NULL, true},
	{"zeditor", NULL, true},
	{"atom", NULL, true},
	{"lapce", NULL, true},
	{"kate", "--line", false},
	{"kwrite", "--line", false},
	{"idea", "--line", false},
	{"clion", "--line", false},
};

/* An executable that exec would find. */
static bool in_path(const char *name)
{
	const char *path = getenv("PATH");
	char file[4096];

	while (path && *path) {
		int len = (int)strcspn(path, ":");

		snprintf(file, sizeof file, "%.*s/%s", len, path, name);
		if (!access(file, X_OK))
			return true;
		path += len + (path[len] == ':');
	}
	return false;
}

static const char *chosen_editor(const struct mt_config *config)
{
	static const char *const variables[] = {"VISUAL", "EDITOR"};

	if (*config->value[MT_SETTING_EDITOR])
		return config->value[MT_SETTING_EDITOR];
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *value = getenv(variables[i]);

		if (value && value[strspn(value, " \t")])
			return value;
	}
	return in_path("vi") ? "vi" : NULL;
}

/* Splits a command into words, in place: blanks separate, quotes and backslashes keep. No shell
 * sees it. */
static int split(char *text, char *words[WORDS_MAX])
{
	int count = 0;
	char *to = text, quote = 0;

	for (;;) {
		text += strspn(text, " \t\n");
		if (!*text || count == WORDS_MAX - 4)
			break;
		words[count++] = to;
		for (; *text && (quote || !strchr(" \t\n", *text)); text++) {
			if (*text == quote)
				quote = 0;
			else if (!quote && (*text == '\'' || *text == '"'))
				quote = *text;
			else if (*text == '\\' && quote != '\'' && text[1])
				*to++ = *++text;
			else
				*to++ = *text;
		}
		text += *text != 0;
		*to++ = '\0';
	}
	return count;
}

/* The words that say where: behind those of the command. place: for the words made here. */
static void add_place(char **words, int count, const char *file, uint32_t line, char *place,
	size_t len)
{
	const char *name = strrchr(words[0], '/') ? strrchr(words[0], '/') + 1 : words[0];
	const char *option = NULL;
	bool known = false, colon = false;

	for (size_t i = 0; i < sizeof editors / sizeof *editors && !known; i++)
		if (!strcmp(editors[i].name, name)) {
			known = true;
			option = editors[i].option;
			colon = editors[i].colon;
		}
	if (option)
		words[count++] = (char *)option;
	if (colon)
		snprintf(place, len, "%s:%u", file, line);
	else
		snprintf(place, len, known ? "%u" : "+%u", line);
	words[count++] = place;
	if (!colon)
		words[count++] = (char *)file;
	words[count] = NULL;
}

/* In the child: only what may be called after a fork of a process with threads. */
static void become(char **words, int keys, int failed)
{
	mt_loop_unblock();
	if (!isatty(STDIN_FILENO))
		dup2(keys, STDIN_FILENO);
	execvp(words[0], words);

	int code = errno;

	if (write(failed, &code, sizeof code) < 0)
		_exit(126);
	_exit(127);
}

/* Until it has ended, or stopped by itself; true: the latter. Where ^Z stopped both, that is over
 * when this returns from the first waitid: it is no stop any more. */
static bool wait_once(pid_t pid)
{
	siginfo_t news = {0};

	while (waitid(P_PID, (id_t)pid, &news, WEXITED | WSTOPPED | WNOWAIT) < 0 && errno == EINTR)
		;
	if (news.si_code != CLD_STOPPED && news.si_code != CLD_TRAPPED)
		return false;
	news.si_pid = 0;
	waitid(P_PID, (id_t)pid, &news, WSTOPPED | WNOHANG);
	return news.si_pid == pid;
}

/* The terminal is the editor's meanwhile: ^C is meant for it, and ^Z stops both, as the shell
 * expects of one job. One that stops itself alone takes the job with it: else nobody could type. */
static int wait_for(pid_t pid)
{
	sigset_t stop, interrupt;
	int status = 0;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	signal(SIGTSTP, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
	while (wait_once(pid)) {
		kill(0, SIGTSTP);
		kill(pid, SIGCONT); /* whom fg has woken already does not mind */
	}
	waitpid(pid, &status, 0);
	pthread_sigmask(SIG_BLOCK, &stop, NULL);
	while (sigtimedwait(&interrupt, NULL, &(struct timespec){0, 0}) > 0)
		;
	return status;
}

/* Returns the wait status, or a negative errno: it could not be started. */
static int run(struct mt_app *app, char **words)
{
	int failed[2], code = 0, status = 0;

	if (pipe2(failed, O_CLOEXEC) < 0)
		return -errno;
	mt_screen_suspend(app->screen);
	pid_t pid = fork();

	if (pid == 0)
		become(words, mt_screen_fd(app->screen), failed[1]);
	code = pid < 0 ? -errno : 0;
	close(failed[1]);
	if (pid > 0) {
		status = wait_for(pid);
		if (read(failed[0], &code, sizeof code) == sizeof code)
			code = -code;
	}
	close(failed[0]);
	mt_screen_resume(app->screen);
	mt_program_resize(app);
	return code ? code : status;
}

char *mt_editor_source(const char *path, const char *module)
{
	char *directory = mt_strdup(module), *file = mt_strdup(path), *slash;
	struct stat status;

	/* Of a relative name nothing may be taken for an option or an order: vi runs +COMMAND. */
	if (*path == '+' || *path == '-') {
		free(file);
		file = mt_format("./%s", path);
	}
	while (*path
		&& (stat(file, &status) < 0 || !S_ISREG(status.st_mode)
			|| access(file, R_OK) < 0)) {
		slash = *path == '/' || *module != '/' ? NULL : strrchr(directory, '/');
		if (!slash) {
			path = "";
			break;
		}
		*slash = '\0';
		free(file);
		file = mt_format("%s/%s", directory, path);
	}
	free(directory);
	if (*path)
		return file;
	free(file);
	return NULL;
}

/* ---- where ---- */

struct place {
	char *file;
	uint32_t line;
	/* missing: a source file that debug information names and that is not here */
	char function[128], missing[512];
	bool caller; /* of what was selected, which has no source here */
};

static bool look(struct place *place, const struct mt_backtrace_frame *frame)
{
	if (!*frame->source || !frame->line)
		return false;
	place->file = mt_editor_source(frame->source, frame->module);
	if (place->file) {
		place->line = frame->line;
		snprintf(place->function, sizeof place->function, "%s", frame->function);
	} else if (!*place->missing) {
		snprintf(place->missing, sizeof place->missing, "%s", frame->source);
	}
	return place->file;
}

/* The selected frame, or the nearest of its callers of which the source is here. */
static void find_place(struct mt_app *app, const struct mt_pick *pick, struct place *place)
{
	struct mt_backtrace backtrace = {0};
	const struct mt_backtrace_frame *own;

	if (pick->branch.function) {
		look(place, &pick->branch);
		return;
	}
	mt_backtrace_get(&backtrace, &app->data.profile, app->data.symbols, pick->group);
	own = mt_backtrace_own(&backtrace);
	uint32_t first = pick->frame != UINT32_MAX ? pick->frame
		: own                              ? (uint32_t)(own - backtrace.frames)
						   : 0;

	for (uint32_t i = first; i < backtrace.count && !place->file; i++) {
		look(place, &backtrace.frames[i]);
		place->caller = i > first;
	}
	mt_backtrace_free(&backtrace);
}

static void open_at(struct mt_app *app, const struct place *place, const char *editor)
{
	char *command = mt_strdup(editor), *words[WORDS_MAX], where[4200];
	int count = split(command, words), status;

	if (!count) {
		mt_app_say(app, "VISUAL or EDITOR is invalid; set for example EDITOR=vim");
	} else {
		add_place(words, count, place->file, place->line, where, sizeof where);
		status = run(app, words);
		if (status < 0)
			mt_app_say(app, "cannot start %s: %s; set VISUAL or EDITOR", words[0],
				strerror(-status));
		else if (status)
			mt_app_say(app,
				WIFSIGNALED(status) ? "%s was killed by signal %d"
						    : "%s exited with status %d",
				words[0],
				WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		else
			mt_app_say(app, "back from %s at %s%s, %s:%u", words[0],
				place->caller ? "the nearest caller with source: " : "",
				place->function, place->file, place->line);
	}
	free(command);
}

void mt_editor_open(struct mt_app *app)
{
	struct place place = {0};
	struct mt_pick pick;
	const char *editor = chosen_editor(app->config);

	if (!mt_app_pick(app, &pick))
		return;
	find_place(app, &pick, &place);
	if (!place.file && *place.missing)
		mt_app_say(app, "%s: not found; start memtui in the source directory",
			place.missing);
	else if (!place.file)
		mt_app_say(app,
			"no source line for this frame: build with -g, or install debug symbols");
	else if (!editor)
		mt_app_say(app, "no editor found; set VISUAL or EDITOR, for example EDITOR=vim");
	else
		open_at(app, &place, editor);
	free(place.file);
}
