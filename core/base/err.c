#include "core/base/err.h"

#include <stdarg.h>
#include <stdio.h>

int mt_fail(struct mt_err *err, int code, const char *format, ...)
{
	va_list args;

	if (err) {
		err->code = code;
		va_start(args, format);
		vsnprintf(err->text, sizeof err->text, format, args);
		va_end(args);
	}
	return code;
}
