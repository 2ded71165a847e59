#include "core/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

int mt_fail_open(struct mt_err *err, const char *path)
{
	int code = errno ? errno : EIO;

	return mt_fail(err, -code, "cannot open %s: %s", path, strerror(code));
}
