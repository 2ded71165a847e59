/* The state of a thread without thread-local storage: a table by the number of the thread, which
 * the C library keeps beside the thread pointer. A number comes again, at last, in a thread that
 * has nothing to do with the first one: what remembers ended threads says so (mt_tls_forget). A
 * thread that gets the number of an ended one before that is taken for the same thread. */
#include "preload/base/own.h"
#include "preload/base/tracer.h"

#include <sys/mman.h>
#include <sys/syscall.h>

struct mt_tls_entry *mt_tls_table[MT_TLS_BUCKETS];
uint64_t mt_tls_number_at;

/* Memory for new entries. Those of the first threads need no system call, and neither does the one
 * that stands for all threads for which there is no memory: it stays untraced. */
#define FIRST 64u
#define ROOM (16 * MT_WIRE_PAGE)
static struct mt_tls_entry first[FIRST];
static struct mt_tls_entry none = {.tls = {.flags = MT_TLS_UNTRACED}};
static uint32_t first_used;
static struct room {
	struct room *before;
	uint64_t used;
	struct mt_tls_entry entries[];
} * room;

/* System calls are made without mt_sys_call, which itself asks for the state of the thread. */
static struct room *add_room(struct room *old)
{
	long p;

	if (mt_load(&mt_tracer.sealed))
		return NULL;
	p = mt_arch_call(SYS_mmap, 0, ROOM, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p < 0 && p > -4096)
		return NULL;
	((struct room *)p)->before = old;
	if (mt_swap_if(&room, &old, (struct room *)p)) {
		mt_own_add((void *)p, ROOM);
		return (struct room *)p;
	}
	mt_arch_call(SYS_munmap, p, ROOM, 0, 0, 0, 0);
	return old;
}

static struct mt_tls_entry *new_entry(void)
{
	uint64_t most = (ROOM - sizeof(struct room)) / sizeof(struct mt_tls_entry), at;
	struct room *r;

	if (mt_load(&first_used) < FIRST && (at = mt_add(&first_used, 1)) < FIRST)
		return &first[at];
	for (r = mt_load_acquire(&room);; r = add_room(r)) {
		if (r && (at = mt_add(&r->used, 1)) < most)
			return &r->entries[at];
		if (mt_load(&mt_tracer.sealed))
			return NULL;
		if (r != mt_load_acquire(&room))
			continue;
		if (!(r = add_room(r)))
			return NULL;
		if ((at = mt_add(&r->used, 1)) < most)
			return &r->entries[at];
	}
}

/* Of a thread that is gone. */
static struct mt_tls_entry *take_over(struct mt_tls_entry *entry, uint32_t number)
{
	for (; entry; entry = entry->next) {
		uint32_t ended = 1;

		if (!mt_load(&entry->ended) || !mt_swap_if(&entry->ended, &ended, 0))
			continue;
		entry->tls = (struct mt_thread_local){.self = NULL};
		mt_store_release(&entry->number, number);
		return entry;
	}
	return NULL;
}

/* No signal handler of this thread comes between the look and the new entry that could not be
 * answered the same: at worst the thread has two entries, of which the first one is found. */
struct mt_thread_local *mt_tls_find(uint32_t number)
{
	struct mt_tls_entry **bucket = &mt_tls_table[number % MT_TLS_BUCKETS], *entry, *head;

	for (entry = mt_load_acquire(bucket); entry; entry = entry->next)
		if (mt_load(&entry->number) == number)
			return &entry->tls;
	head = mt_load_acquire(bucket);
	if ((entry = take_over(head, number)))
		return &entry->tls;
	entry = new_entry();
	if (!entry)
		return &none.tls;
	entry->number = number;
	do {
		entry->next = head;
	} while (!mt_swap_if(bucket, &head, entry));
	return &entry->tls;
}

void mt_tls_forget(int32_t number)
{
	struct mt_tls_entry *entry =
		mt_load_acquire(&mt_tls_table[(uint32_t)number % MT_TLS_BUCKETS]);

	for (; entry; entry = entry->next)
		if (mt_load(&entry->number) == (uint32_t)number) {
			mt_store(&entry->number, 0); /* which no thread has */
			mt_store_release(&entry->ended, 1);
		}
}

/* The table is of no use afterwards: every look finds nothing. */
void mt_tls_free(void)
{
	struct room *r = mt_load_acquire(&room), *before;

	for (uint32_t i = 0; i < MT_TLS_BUCKETS; i++)
		mt_store_release(&mt_tls_table[i], NULL);
	mt_store_release(&room, NULL);
	for (; r; r = before) {
		before = r->before;
		mt_arch_call(SYS_munmap, (long)r, ROOM, 0, 0, 0, 0);
	}
}
