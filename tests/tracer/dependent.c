/* A plug-in that needs a library with an allocator of its own, which it does not export to others:
 * its blocks must be of that allocator. See bundles.c. */
#include <stddef.h>

void *je_malloc(size_t);
void je_free(void *);
int owns(const void *);

int use(void)
{
	void *volatile p = je_malloc(1234);
	int own = owns(p);

	je_free(p);
	return own;
}
