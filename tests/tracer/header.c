/* Includes memtui.h as C or C++ of any kind and says whether it is traced: built in every way by
 * run.sh. */
#include <stdio.h>

#include "memtui.h"

int traced(void);
#ifndef NO_PART
int traced(void)
{
	static char pool;

	memtui_pool_alloc(&pool, &pool, 1);
	memtui_pool_realloc(&pool, &pool, &pool, 2);
	memtui_pool_free(&pool, &pool);
	memtui_marker("mark");
	memtui_pause(NULL);
	memtui_resume(NULL);
	return memtui_is_traced();
}
#endif

#ifndef NO_MAIN
int main(void)
{
	printf("%d\n", traced());
	return 0;
}
#endif
