/* Errors: a negative errno, and a sentence for the person: what failed, on what, why, what to
 * do. */
#ifndef MT_BASE_ERR_H
#define MT_BASE_ERR_H

struct mt_err {
	int code;       /* 0 or a negative errno */
	char text[512]; /* one sentence without a final newline */
};

/* Sets the error (err may be NULL) and returns code, which is negative. */
int mt_fail(struct mt_err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Of a file that cannot be opened, for the reason in errno; returns that, negative. */
int mt_fail_open(struct mt_err *err, const char *path);

#endif
