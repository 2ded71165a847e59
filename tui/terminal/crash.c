#include "tui/terminal/crash.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STACK_BYTES 65536 /* where the handler runs when the stack is what overflowed */

/* What a signal handler needs to give the terminal back; a handler can reach nothing but static
 * storage. */
static struct {
	struct termios saved;
	int fd, out;
	char restore[256];
	size_t restore_len;
	pid_t owner; /* a forked child gives nothing back */
	volatile sig_atomic_t armed;
	char stack[STACK_BYTES];
} crash;

static void restore_now(void)
{
	if (!crash.armed || getpid() != crash.owner)
		return;
	crash.armed = 0;
	if (write(crash.out, crash.restore, crash.restore_len) < 0)
		return;
	tcsetattr(crash.fd, TCSANOW, &crash.saved);
}

static void on_crash(int signal_number)
{
	restore_now();
	raise(signal_number); /* SA_RESETHAND: kills now */
}

/* Those that mean a fault, and all others that would end the process and that nobody else waits
 * for. */
static void watch(void)
{
	static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGQUIT,
		SIGSYS};
	static const int harmless[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGURG, SIGWINCH,
		SIGTSTP, SIGTTIN, SIGTTOU, SIGTERM, SIGHUP, SIGINT /* the loop's own */};
	struct sigaction action = {.sa_handler = on_crash,
		.sa_flags = SA_RESETHAND | SA_NODEFER | SA_ONSTACK};
	struct sigaction present;
	sigset_t others;

	sigaltstack(&(stack_t){.ss_sp = crash.stack, .ss_size = sizeof crash.stack}, NULL);
	sigfillset(&others);
	for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
		sigdelset(&others, harmless[i]);
	for (int number = 1; number <= SIGRTMAX; number++)
		if (sigismember(&others, number) == 1 && sigaction(number, NULL, &present) == 0
			&& present.sa_handler == SIG_DFL)
			sigaction(number, &action, NULL);
	for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
		sigaction(fatal[i], &action, NULL);
}

void mt_crash_prepare(int fd, int out, const struct termios *saved, const char *const *capabilities,
	int count)
{
	crash.fd = fd;
	crash.out = out;
	crash.saved = *saved;
	crash.owner = getpid();
	crash.restore_len = 0;
	for (int i = 0; i < count; i++) {
		const char *c = capabilities[i];

		if (!c || c == (char *)-1 || crash.restore_len + strlen(c) >= sizeof crash.restore)
			continue;
		strcpy(crash.restore + crash.restore_len, c);
		crash.restore_len += strlen(c);
	}
	crash.armed = 1;
	watch();
	atexit(restore_now);
}

void mt_crash_arm(bool armed)
{
	crash.armed = armed;
}
