/* gcc's AddressSanitizer ends a program where any library is loaded before its own, since one that
 * serves malloc itself would blind it. This one hands on each call, so it may come first. The
 * sanitizer asks for its defaults by this name; ASAN_OPTIONS comes after them. */
#include "preload/base/tracer.h"

MT_EXPORT const char *__asan_default_options(void);
MT_EXPORT const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}
