/* What the other rooms use of libc, for a tracer that no dynamic linker binds: plain functions on
 * memory and text, and the few that only the process's own libc can answer, by the addresses that
 * the recorder has found. */
#include "preload/attached/attached.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

/* ---- memory and text ------------------------------------------------------------------------- */

void *memcpy(void *restrict to, const void *restrict from, size_t len)
{
	void *at = to;

	__asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(len) : : "memory");
	return to;
}

void *memset(void *to, int value, size_t len)
{
	void *at = to;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(len) : "a"(value) : "memory");
	return to;
}

int memcmp(const void *a, const void *b, size_t len)
{
	const unsigned char *x = a, *y = b;

	for (; len; len--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

size_t strlen(const char *text)
{
	size_t len = 0;

	while (text[len])
		len++;
	return len;
}

int strncmp(const char *a, const char *b, size_t most)
{
	for (; most; most--, a++, b++)
		if (*a != *b || !*a)
			return (unsigned char)*a - (unsigned char)*b;
	return 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

char *strrchr(const char *text, int wanted)
{
	const char *found = NULL;

	for (;; text++) {
		if (*text == (char)wanted)
			found = text;
		if (!*text)
			return (char *)(uintptr_t)found;
	}
}

/* ---- the process ----------------------------------------------------------------------------- */

/* Where executed programs would be handed the session: an attached process hands on nothing. */
char **environ;
void *__dso_handle;

int *__errno_location(void)
{
	static int nowhere;

	return mt_attached.errno_location ? ((int *(*)(void))mt_attached.errno_location)()
					  : &nowhere;
}

unsigned long getauxval(unsigned long type)
{
	for (int i = 0; i < MT_WIRE_AUXILIARY_MAX && mt_attached.auxiliary[i][0]; i++)
		if (mt_attached.auxiliary[i][0] == type)
			return mt_attached.auxiliary[i][1];
	return 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	return mt_arch_call(SYS_clock_gettime, clock, (long)now, 0, 0, 0, 0) == 0 ? 0 : -1;
}

/* Objects as the recorder has found them: for a C library that cannot be asked, such as musl. Those
 * that are opened later are not known. */
static struct link_map maps[MT_WIRE_OBJECTS_MAX];

static int find_listed(uint64_t address, struct dl_find_object *found)
{
	for (uint64_t i = 0; i < mt_attached.object_count && i < MT_WIRE_OBJECTS_MAX; i++) {
		const struct mt_wire_object *o = &mt_attached.objects[i];

		if (address - o->start >= o->end - o->start)
			continue;
		/* every thread writes the same */
		maps[i].l_addr = o->bias;
		maps[i].l_name = (char *)(uintptr_t)o->path;
		maps[i].l_ld = (void *)o->dynamic;
		maps[i].l_prev = o->is_program ? NULL : &maps[i];
		*found = (struct dl_find_object){
			.dlfo_map_start = (void *)o->start,
			.dlfo_map_end = (void *)o->end,
			.dlfo_link_map = &maps[i],
			.dlfo_eh_frame = (void *)o->eh_frame,
		};
		return 0;
	}
	return -1;
}

int _dl_find_object(void *address, struct dl_find_object *object)
{
	return mt_attached.find_object
		? ((int (*)(void *, struct dl_find_object *))mt_attached.find_object)(address,
			object)
		: find_listed((uint64_t)address, object);
}
