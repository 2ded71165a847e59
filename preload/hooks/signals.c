/* The tracer handles a signal only if it was told to, and only while the program does not. Each
 * handler counts, or pauses and resumes as memtui.h does: nothing here waits, allocates or touches
 * errno. A program that sets a handler of its own later replaces this one without further ado. */
#include "preload/hooks/signals.h"

#include <signal.h>

#include "preload/base/sys.h"
#include "preload/memtui.h"

/* As the kernel has it. */
struct action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};
#define RESTORER 0x04000000ul /* SA_RESTORER, which libc's headers hide */

static void on_report(int number)
{
	struct mt_wire_header *h = mt_tracer.header;

	if (h && mt_tracer.running && mt_load(mt_tracer.running))
		mt_add(&h->reports[number != (int)h->signals[MT_SIGNAL_REPORT]], 1);
}

static void on_toggle(int number)
{
	struct mt_wire_header *h = mt_tracer.header;

	(void)number;
	if (!h || !mt_tracer.running || !mt_load(mt_tracer.running))
		return;
	if (mt_load(&h->recording))
		memtui_tracer_pause(NULL);
	else
		memtui_tracer_resume(NULL);
}

/* False: the program handles or ignores it, or the kernel refuses. */
static bool take(int number, void (*handler)(int))
{
	struct action now = {0},
		      ours = {.handler = handler,
			      .flags = SA_RESTART | SA_ONSTACK | RESTORER,
			      .restorer = mt_arch_sigreturn};

	if (mt_sys4(SYS_rt_sigaction, number, NULL, &now, sizeof now.mask) < 0)
		return false;
	if (now.handler == handler) /* a forked child has it */
		return true;
	return now.handler == SIG_DFL
		&& mt_sys4(SYS_rt_sigaction, number, &ours, NULL, sizeof now.mask) == 0;
}

MT_COLD void mt_signals_take(struct mt_wire_header *h)
{
	for (uint32_t use = 0; use < MT_SIGNAL_USES; use++) {
		int number = (int)h->signals[use];

		if (number > 0 && number < 65
			&& !take(number, use == MT_SIGNAL_TOGGLE ? on_toggle : on_report))
			mt_store(&h->signals_refused, mt_load(&h->signals_refused) | 1u << use);
	}
}
