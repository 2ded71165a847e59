#include "core/export/packed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static bool ends_in(const char *name, const char *end)
{
	size_t len = name ? strlen(name) : 0;

	return len > strlen(end) && !strcmp(name + len - strlen(end), end);
}

int mt_packed_begin(struct mt_packed_out *p, FILE *out, const char *name, struct mt_err *err)
{
	bool failed = false;

	*p = (struct mt_packed_out){.out = out, .piece = mt_alloc(MT_PACKED_PIECE)};
	if (ends_in(name, ".zst")) {
		p->zstd = ZSTD_createCCtx();
		failed = !p->zstd;
	} else if (ends_in(name, ".gz")) {
		p->gzip = mt_alloc(sizeof(z_stream));
		failed = deflateInit2(p->gzip, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY)
			!= Z_OK;
	}
	return failed ? mt_fail(err, -ENOMEM, "cannot compress %s: out of memory", name) : 0;
}

static void write_zstd(struct mt_packed_out *p, bool last)
{
	ZSTD_inBuffer in = {p->text.data, p->text.len, 0};
	size_t left;

	do {
		ZSTD_outBuffer out = {p->piece, MT_PACKED_PIECE, 0};

		left = ZSTD_compressStream2(p->zstd, &out, &in,
			last ? ZSTD_e_end : ZSTD_e_continue);
		fwrite(out.dst, 1, out.pos, p->out);
	} while (!ZSTD_isError(left) && (last ? left : in.pos < in.size));
}

static void write_gzip(struct mt_packed_out *p, bool last)
{
	z_stream *gzip = p->gzip;

	gzip->next_in = p->text.data;
	gzip->avail_in = (uInt)p->text.len;
	do {
		gzip->next_out = p->piece;
		gzip->avail_out = MT_PACKED_PIECE;
		deflate(gzip, last ? Z_FINISH : Z_NO_FLUSH);
		fwrite(p->piece, 1, MT_PACKED_PIECE - gzip->avail_out, p->out);
	} while (!gzip->avail_out);
}

void mt_packed_write(struct mt_packed_out *p, bool last)
{
	if (p->zstd)
		write_zstd(p, last);
	else if (p->gzip)
		write_gzip(p, last);
	else
		fwrite(p->text.data, 1, p->text.len, p->out);
	p->text.len = 0;
}

void mt_packed_end(struct mt_packed_out *p)
{
	mt_packed_write(p, true);
	ZSTD_freeCCtx(p->zstd);
	if (p->gzip)
		deflateEnd(p->gzip);
	free(p->gzip);
	free(p->piece);
	mt_buffer_free(&p->text);
	*p = (struct mt_packed_out){0};
}
