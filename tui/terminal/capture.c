#include "tui/terminal/capture.h"
#include "tui/terminal/squeeze.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

void mt_capture_open(struct mt_capture *c)
{
	*c = (struct mt_capture){.out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3),
		.file = memfd_create("frame", MFD_CLOEXEC)};
}

void mt_capture_close(struct mt_capture *c)
{
	if (c->out >= 0)
		close(c->out);
	if (c->file >= 0)
		close(c->file);
	mt_buffer_free(&c->bytes);
	mt_buffer_free(&c->frame);
}

void mt_capture_begin(struct mt_capture *c)
{
	c->begun = c->file >= 0 && c->out >= 0 && lseek(c->file, 0, SEEK_SET) == 0
		&& dup2(c->file, STDOUT_FILENO) >= 0;
}

const struct mt_buffer *mt_capture_end(struct mt_capture *c)
{
	c->frame.len = c->bytes.len = 0;
	if (!c->begun)
		return &c->frame;
	dup2(c->out, STDOUT_FILENO);
	off_t len = lseek(c->file, 0, SEEK_CUR);

	if (len > 0
		&& pread(c->file, mt_buffer_add(&c->bytes, NULL, (size_t)len), (size_t)len, 0)
			== len)
		mt_squeeze(&c->frame, (const char *)c->bytes.data, c->bytes.len);
	return &c->frame;
}
