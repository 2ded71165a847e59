/* The entry: finds the command, parses its options, runs it, and says what failed. */
#include "core/base/nearest.h"
#include "core/base/text.h"
#include "core/base/wrap.h"
#include "tui/command/commands.h"
#include "tui/command/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef MT_VERSION
#define MT_VERSION "unknown"
#endif

enum { EXIT_USAGE = 2 };

#define PREFIX "memtui: "
/* Seconds. */
#define PROGRESS_AFTER 0.5
#define PROGRESS_EVERY 0.05

static const struct mt_command *const commands[] = {
#define X(name) &mt_command_##name,
	MT_COMMANDS(X) NULL,
#undef X
};

const struct mt_command *mt_command_at(int i)
{
	return commands[i];
}

const struct mt_command *mt_command_find(const char *name)
{
	for (int i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static const char *command_name_at(const void *context, int i)
{
	(void)context;
	return commands[i] ? commands[i]->name : NULL;
}

int mt_command_unknown(const char *name, struct mt_err *err)
{
	const char *nearest = mt_nearest(name, command_name_at, NULL);
	struct stat status;

	if (nearest)
		return mt_fail(err, -EINVAL, "unknown command '%.100s'; did you mean 'memtui %s'?",
			name, nearest);
	if (!stat(name, &status) && S_ISREG(status.st_mode))
		return mt_fail(err, -EINVAL,
			"unknown command '%.100s'; did you mean 'memtui %s %.100s'?", name,
			status.st_mode & S_IXUSR ? "run" : "open", name);
	return mt_fail(err, -EINVAL, "unknown command '%.100s'; 'memtui help' lists them", name);
}

/* One line whatever is in it; a terminal gets it wrapped. */
void mt_command_say(const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	struct mt_buffer line = {0};

	mt_buffer_add(&line, PREFIX, sizeof PREFIX - 1);
	mt_text_add(&line, MT_TEXT_LINE, text);
	mt_buffer_add(&line, "", 1);
	mt_wrap_line(stderr, (const char *)line.data, mt_wrap_columns(STDERR_FILENO),
		sizeof PREFIX - 1);
	mt_buffer_free(&line);
}

static double now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* What is done at once needs no line. */
void mt_command_progress(const char *what, double fraction)
{
	static struct {
		double began, last;
		bool shown;
	} line;
	double now = now_seconds();

	if (fraction < 0) {
		if (line.shown)
			fputs("\r\033[K", stderr);
		line.shown = false;
		line.began = 0;
		return;
	}
	if (!line.began)
		line.began = now;
	if (now - line.began < PROGRESS_AFTER || now - line.last < PROGRESS_EVERY)
		return;
	line.last = now;
	if (!isatty(STDERR_FILENO))
		return;
	line.shown = true;
	fprintf(stderr, "\r\033[Kmemtui: %s %3d%%", what, (int)(fraction * 100));
	fflush(stderr);
}

int mt_command_tell(void *unused, const char *what, double fraction)
{
	(void)unused;
	mt_command_progress(what, fraction);
	return 0;
}

static int usage(const struct mt_err *err)
{
	mt_command_say("%s", err->text);
	return EXIT_USAGE;
}

/* Patterns are part of the command line: they fail before anything is opened or started. */
static bool good_patterns(const struct mt_arguments *arguments, struct mt_err *err)
{
	struct mt_filter *filter = mt_command_filter(arguments, NULL, err);

	if (!filter)
		return false;
	mt_filter_free(filter);
	struct mt_wrappers *wrappers = mt_command_wrappers(arguments, err);

	mt_wrappers_free(wrappers);
	return wrappers && mt_command_check_suppressions(arguments, err) >= 0;
}

/* Whether the command shows leaks: then it takes options of suppressions, and applies them. */
static bool applies_suppressions(const struct mt_command *command)
{
	for (const struct mt_option *option = command->options; option->name; option++)
		if (option->place == MT_OPTION_AT(no_builtin_suppressions))
			return true;
	return false;
}

static int run_command(const struct mt_command *command, int argc, char **argv)
{
	char *cache =
		command->runs_program || command->records_process ? mt_environment_cache() : NULL;
	struct mt_arguments arguments = {.sort = MT_METRIC_LEAKED_SIZE,
		.cache = cache,
		.older_ms = MT_OLDER_MS,
		.applies_suppressions = applies_suppressions(command)};
	struct mt_err err = {0};
	char **operands = mt_alloc(((size_t)argc + 1) * sizeof *operands);
	int status;

	if ((command->runs_program && mt_environment_apply(&arguments, command, &err) < 0)
		|| mt_options_parse(&arguments, command, argc, argv, operands, &err) < 0
		|| (!arguments.help && command->check && command->check(&arguments, &err) < 0)
		|| !good_patterns(&arguments, &err)) {
		status = usage(&err);
	} else if (arguments.help) {
		mt_help_print(stdout, command);
		status = 0;
	} else {
		status = command->run(&arguments, &err);
		if (status < 0) {
			mt_command_say("%s", *err.text ? err.text : strerror(-status));
			/* what was asked for is neither built in nor in the recording */
			status = status == -EBADRQC ? EXIT_USAGE : EXIT_FAILURE;
		}
	}
	free(operands);
	free(cache);
	return status;
}

/* What was printed counts only when it has arrived. */
static int close_output(int status)
{
	if (!ferror(stdout) && fflush(stdout) == 0)
		return status;
	if (!status && errno != EPIPE)
		mt_command_say("cannot write the result to standard output: %s",
			strerror(errno ? errno : EIO));
	return status ? status : EXIT_FAILURE;
}

/* What is opened later must not become standard input, output or error. They fail as closed ones
 * do, and are closed again in a program that is started. */
static void fill_standard(void)
{
	int fd;

	do
		fd = open("/dev/null",
			O_CLOEXEC | (fcntl(STDIN_FILENO, F_GETFD) < 0 ? O_WRONLY : O_RDONLY));
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	struct mt_err err = {0};

	fill_standard();
	if (argc < 2) {
		mt_fail(&err, -EINVAL,
			"missing command; try 'memtui run PROG' or 'memtui open TRACE'; 'memtui "
			"help' lists all");
		return usage(&err);
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("memtui " MT_VERSION);
		return close_output(EXIT_SUCCESS);
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		mt_help_print(stdout, NULL);
		return close_output(EXIT_SUCCESS);
	}
	const struct mt_command *command = mt_command_find(argv[1]);

	if (!command) {
		mt_command_unknown(argv[1], &err);
		return usage(&err);
	}
	return close_output(run_command(command, argc - 2, argv + 2));
}
