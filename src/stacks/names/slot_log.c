/* The log of slots. SPDX-License-Identifier: MIT */
#include "slot_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_stream.h"
#include "files.h"
#include "slot_records.h"

static const char magic[8] = "hpslots";

struct log_header {
    char magic[8];
    uint64_t number;
};

_Static_assert(sizeof(struct log_header) == HP_SLOT_LOG_HEADER, "no gaps");

#define MOST_BYTES (UINT64_C(1) << 28)
#define GROWTH                                                                                                     \
    2u /* a slot that was written and then changed is in it twice: when it is so much larger, it is made anew */
#define LEAST_BYTES (UINT64_C(1) << 20)

static bool has_ended(const struct hp_stack_slots *slots, uint32_t slot, uint64_t before_ns)
{
    return slots->start_ns + (slot + UINT64_C(1)) * slots->slot_ns <= before_ns;
}

/* Those that changed. Returns how many bytes. */
static uint64_t write_changed(struct hp_slot_log *log, FILE *file, const struct hp_stack_slots *slots,
                              uint64_t before_ns)
{
    uint64_t bytes = 0;
    for (size_t kind = 0; kind < HP_SLOT_KINDS; kind++)
        for (uint32_t slot = 0; slot < HP_STACK_SLOTS && has_ended(slots, slot, before_ns); slot++) {
            if (log->logged[kind][slot] == slots->all[kind][slot].changes)
                continue;
            bytes += hp_slot_write(file, slots, (enum hp_slot_kind)kind, slot);
            log->logged[kind][slot] = slots->all[kind][slot].changes;
        }
    return bytes;
}

/* What is behind the valid part is of no account. */
static bool add(struct hp_slot_log *log, const char *folder, const struct hp_stack_slots *slots, uint64_t before_ns)
{
    char path[PATH_MAX];
    if (!hp_file_path_in(folder, HP_SLOT_LOG_NAME, path, sizeof path))
        return false;
    FILE *file = hp_file_stream(open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW), "w");
    if (file == NULL)
        return false;
    const bool is_there = fseeko(file, (off_t)log->bytes, SEEK_SET) == 0;
    const uint64_t bytes = is_there ? write_changed(log, file, slots, before_ns) : 0;
    const bool is_written = is_there && !ferror(file);
    log->bytes += bytes;
    return fclose(file) == 0 && is_written;
}

static bool make(struct hp_slot_log *log, const char *folder, const struct hp_stack_slots *slots,
                 uint64_t before_ns)
{
    char path[PATH_MAX], draft[PATH_MAX];
    struct log_header header = {.number = log->number + 1};
    if (!hp_file_path_in(folder, HP_SLOT_LOG_NAME, path, sizeof path) ||
        !hp_file_path_in(folder, HP_SLOT_LOG_DRAFT, draft, sizeof draft))
        return false;
    FILE *file = hp_file_stream(open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), "w");
    if (file == NULL)
        return false;
    memcpy(header.magic, magic, sizeof magic);
    memset(log->logged, 0, sizeof log->logged);
    fwrite(&header, sizeof header, 1, file);
    log->bytes = log->first_bytes = sizeof header + write_changed(log, file, slots, before_ns);
    log->number = header.number;
    log->slot_ns = slots->slot_ns;
    const bool is_written = !ferror(file);
    return fclose(file) == 0 && is_written && rename(draft, path) == 0;
}

bool hp_slot_log_update(struct hp_slot_log *log, const char *folder, const struct hp_stack_slots *slots,
                        uint64_t before_ns)
{
    const bool is_new =
        log->number == 0 || log->slot_ns != slots->slot_ns || log->bytes > GROWTH * log->first_bytes + LEAST_BYTES;
    if (is_new ? make(log, folder, slots, before_ns) : add(log, folder, slots, before_ns))
        return true;
    const int error = errno;
    hp_slot_log_remove(folder);
    log->slot_ns = 0; /* the next one is made anew, with another number */
    memset(log->logged, 0, sizeof log->logged);
    errno = error;
    return false;
}

static bool is_log(const struct log_header *header, uint64_t number)
{
    return memcmp(header->magic, magic, sizeof magic) == 0 && header->number == number;
}

char *hp_slot_log_read(const char *folder, uint64_t number, uint64_t bytes)
{
    char path[PATH_MAX];
    struct log_header header;
    errno = EINVAL;
    if (bytes < sizeof header || bytes > MOST_BYTES ||
        !hp_file_path_in(folder, HP_SLOT_LOG_NAME, path, sizeof path))
        return NULL;
    const int fd = hp_regular_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW);
    const size_t size = (size_t)bytes - sizeof header;
    char *records = fd >= 0 ? malloc(size + 1) : NULL;
    if (records != NULL && (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header ||
                            !is_log(&header, number) || pread(fd, records, size, sizeof header) != (ssize_t)size)) {
        free(records);
        records = NULL;
        errno = ESTALE;
    }
    if (fd >= 0)
        close(fd);
    return records;
}

void hp_slot_log_remove(const char *folder)
{
    char path[PATH_MAX];
    if (hp_file_path_in(folder, HP_SLOT_LOG_NAME, path, sizeof path))
        unlink(path);
    if (hp_file_path_in(folder, HP_SLOT_LOG_DRAFT, path, sizeof path))
        unlink(path);
}
