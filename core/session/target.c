#include "core/session/target.h"

#include "core/base/proc.h"
#include "core/session/service_parts.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __x86_64__
#define MACHINE EM_X86_64
#endif

static void read_interpreter(struct mt_target *t, int fd, const Elf64_Phdr *phdr)
{
	size_t len =
		phdr->p_filesz < sizeof t->interpreter ? phdr->p_filesz : sizeof t->interpreter - 1;
	ssize_t n = pread(fd, t->interpreter, len, (off_t)phdr->p_offset);

	t->interpreter[n > 0 ? (size_t)n : 0] = '\0';
	if (!*t->interpreter)
		t->is_cut = true;
}

void mt_target_read(struct mt_target *t, int fd)
{
	Elf64_Ehdr file;
	Elf64_Phdr phdr;

	*t = (struct mt_target){0};
	if (pread(fd, &file, sizeof file, 0) != sizeof file
		|| memcmp(file.e_ident, ELFMAG, SELFMAG) != 0)
		return;
	t->is_elf = true;
	t->is_64_bit = file.e_ident[EI_CLASS] == ELFCLASS64;
	t->is_of_machine = file.e_machine == MACHINE;
	t->is_cut = file.e_phentsize != sizeof phdr;
	for (unsigned i = 0; t->is_64_bit && !t->is_cut && i < file.e_phnum; i++) {
		if (pread(fd, &phdr, sizeof phdr, (off_t)(file.e_phoff + i * sizeof phdr))
			!= sizeof phdr) {
			t->is_cut = true;
		} else if (phdr.p_type == PT_INTERP) {
			read_interpreter(t, fd, &phdr);
			return;
		}
	}
}

bool mt_target_is_musl(const struct mt_target *t)
{
	return strstr(t->interpreter, "/ld-musl-") != NULL;
}

/* Of the file that runs, which may have another name by now. */
static bool has_other_rights(int fd)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return false;
	return (status.st_mode & S_ISUID && status.st_uid != getuid())
		|| ((status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP)
			&& status.st_gid != getgid());
}

static enum mt_blind_reason reason_of_file(int fd)
{
	struct mt_target t;

	mt_target_read(&t, fd);
	if (t.is_elf && (!t.is_64_bit || !t.is_of_machine))
		return MT_BLIND_WORD_SIZE;
	if (t.is_elf && !t.is_cut && !*t.interpreter)
		return MT_BLIND_STATIC;
	if (mt_target_is_musl(&t))
		return MT_BLIND_OTHER_LIBC;
	return has_other_rights(fd) ? MT_BLIND_PRIVILEGED : MT_BLIND_UNTRACED;
}

enum mt_blind_reason mt_target_of_process(pid_t pid, char *path, size_t size)
{
	enum mt_blind_reason reason = MT_BLIND_UNTRACED;
	char link[64], comm[32] = "";
	ssize_t n;
	int fd;

	snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
	n = readlink(link, path, size - 1);
	path[n > 0 ? n : 0] = '\0';
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		reason = reason_of_file(fd);
		close(fd);
	}
	if (reason == MT_BLIND_UNTRACED && mt_service_names_no_session(pid))
		reason = MT_BLIND_ENVIRONMENT;
	/* one that has ended has only its short name left */
	if (!*path && mt_proc_read(pid, "comm", comm, sizeof comm))
		snprintf(path, size, "%.*s", (int)strcspn(comm, "\n"), comm);
	return reason;
}
