/* Stores stacks in a file. SPDX-License-Identifier: MIT */
#include "stack_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_stream.h"
#include "files.h"
#include "slot_records.h"

#define VERSION 11u
/* flags */
#define HAS_KERNEL 1u
#define BY_TIMERS 2u
#define BY_PROGRAM 4u
#define HIDES_KERNEL 8u
#define IS_LIVE 16u
#define REFUSED_FROM 16 /* the upper half: number of threads refused */
#define MOST_REFUSED 0xffffu
#define MOST_BYTES (UINT64_C(1) << 31)

static const char magic[8] = "hpstacks";

struct file_header {
    char magic[8];
    uint32_t version, flags;
    uint64_t counts[11]; /* the first fields of struct hp_stack_counts */
    uint64_t text_bytes;
    uint32_t images, functions, frames, nodes;
    uint32_t zones, shares;
    uint32_t programs, holds;
    struct hp_failed failed;
    uint64_t slot_start_ns, slot_ns, slot_latest_ns; /* slot_ns: 0: there are no slots */
    uint64_t slot_bytes;
    uint64_t log_number, log_bytes; /* 0: there is none (slot_log.h) */
    uint32_t slot_nodes, paths;
};

/* Texts are offsets into the last part of the file; each ends with a zero. */
struct file_image {
    uint32_t path, build_id, package;
};

struct file_function {
    uint32_t name, file, image;
};

struct file_program {
    uint32_t name, file;
};

_Static_assert(sizeof(struct file_header) == 216 && sizeof(struct file_image) == 12 &&
                   sizeof(struct file_function) == 12 && sizeof(struct file_program) == 8,
               "no gaps");
_Static_assert(offsetof(struct hp_stack_counts, refused) == sizeof((struct file_header){0}.counts), "all numbers");
_Static_assert(sizeof(struct hp_named_frame) == 8 && sizeof(struct hp_zone_share) == 8 + 8 * HP_STACK_WEIGHTS &&
                   sizeof(struct hp_lock_hold) == 24 && sizeof(struct hp_path_share) == 32 &&
                   sizeof(struct hp_named_node) == 24 + 8 * HP_STACK_WEIGHTS,
               "these are in the file as they are in memory");

/* ---------------------------------------------------------------------------------------------- writing */

static uint32_t text_of(const struct hp_named_stacks *stacks, const char *text)
{
    return (uint32_t)(text - stacks->texts);
}

/* The texts end with a zero. */
static uint32_t text_or_none(const struct hp_named_stacks *stacks, const char *text)
{
    return text != NULL && text[0] != '\0' ? text_of(stacks, text) : (uint32_t)(stacks->text_bytes - 1);
}

/* An empty one may be NULL. */
static void write_table(FILE *file, const void *table, size_t size, size_t count)
{
    if (count > 0)
        fwrite(table, size, count, file);
}

static void write_tables(FILE *file, const struct hp_named_stacks *stacks)
{
    for (size_t at = 0; at < stacks->image_count; at++) {
        const struct hp_named_image *image = &stacks->images[at];
        const struct file_image written = {text_of(stacks, image->path), text_of(stacks, image->build_id),
                                           text_or_none(stacks, image->package)};
        fwrite(&written, sizeof written, 1, file);
    }
    for (size_t at = 0; at < stacks->function_count; at++) {
        const struct hp_named_function *function = &stacks->functions[at];
        const struct file_function written = {text_of(stacks, function->name), text_of(stacks, function->file),
                                              function->image};
        fwrite(&written, sizeof written, 1, file);
    }
    write_table(file, stacks->frames, sizeof *stacks->frames, stacks->frame_count);
    write_table(file, stacks->nodes, sizeof *stacks->nodes, stacks->node_count);
    for (size_t at = 0; at < stacks->zone_count; at++) {
        const uint32_t name = text_of(stacks, stacks->zones[at].name);
        fwrite(&name, sizeof name, 1, file);
    }
    for (size_t at = 0; at < stacks->program_count; at++) {
        const struct hp_named_program *program = &stacks->programs[at];
        const struct file_program written = {text_of(stacks, program->name), text_of(stacks, program->file)};
        fwrite(&written, sizeof written, 1, file);
    }
    write_table(file, stacks->shares, sizeof *stacks->shares, stacks->share_count);
    write_table(file, stacks->holds, sizeof *stacks->holds, stacks->hold_count);
    write_table(file, stacks->paths, sizeof *stacks->paths, stacks->path_count);
    write_table(file, stacks->texts, 1, stacks->text_bytes);
}

/* Those that are not in the log. Returns their size. */
static uint64_t write_slots(FILE *file, const struct hp_named_stacks *stacks, const struct hp_slot_log *log)
{
    uint64_t bytes = 0;
    if (stacks->slots == NULL)
        return 0;
    write_table(file, stacks->slot_nodes, sizeof *stacks->slot_nodes, stacks->slot_node_count);
    for (size_t kind = 0; kind < HP_SLOT_KINDS; kind++)
        for (uint32_t slot = 0; slot < HP_STACK_SLOTS; slot++)
            if (log == NULL || !hp_slot_log_has(log, stacks->slots, (enum hp_slot_kind)kind, slot))
                bytes += hp_slot_write(file, stacks->slots, (enum hp_slot_kind)kind, slot);
    return bytes;
}

static uint32_t flags_of(const struct hp_stack_counts *counts)
{
    const uint64_t refused = counts->refused < MOST_REFUSED ? counts->refused : MOST_REFUSED;
    return (counts->has_kernel ? HAS_KERNEL : 0) | (counts->source == HP_STACKS_BY_TIMERS ? BY_TIMERS : 0) |
           (counts->source == HP_STACKS_BY_PROGRAM ? BY_PROGRAM : 0) | (counts->hides_kernel ? HIDES_KERNEL : 0) |
           (uint32_t)refused << REFUSED_FROM;
}

static void set_slots(struct file_header *header, const struct hp_named_stacks *stacks,
                      const struct hp_slot_log *log)
{
    if (stacks->slots == NULL)
        return;
    header->slot_start_ns = stacks->slots->start_ns;
    header->slot_ns = stacks->slots->slot_ns;
    header->slot_latest_ns = stacks->slots->latest_ns;
    header->slot_nodes = (uint32_t)stacks->slot_node_count;
    header->log_number = log != NULL ? log->number : 0;
    header->log_bytes = log != NULL ? log->bytes : 0;
}

/* The size of the slots is known when they are written. */
static bool write_all(FILE *file, const struct hp_named_stacks *stacks, const struct hp_slot_log *log)
{
    struct file_header header = {.version = VERSION,
                                 .flags = flags_of(&stacks->counts) | (stacks->is_live ? IS_LIVE : 0),
                                 .text_bytes = stacks->text_bytes,
                                 .images = (uint32_t)stacks->image_count,
                                 .functions = (uint32_t)stacks->function_count,
                                 .frames = (uint32_t)stacks->frame_count,
                                 .nodes = (uint32_t)stacks->node_count,
                                 .zones = (uint32_t)stacks->zone_count,
                                 .shares = (uint32_t)stacks->share_count,
                                 .programs = (uint32_t)stacks->program_count,
                                 .holds = (uint32_t)stacks->hold_count,
                                 .paths = (uint32_t)stacks->path_count,
                                 .failed = stacks->counts.failed};
    memcpy(header.magic, magic, sizeof magic);
    memcpy(header.counts, &stacks->counts, sizeof header.counts);
    set_slots(&header, stacks, log);
    fwrite(&header, sizeof header, 1, file);
    write_tables(file, stacks);
    header.slot_bytes = write_slots(file, stacks, log);
    return fseek(file, 0, SEEK_SET) == 0 && fwrite(&header, sizeof header, 1, file) == 1 && !ferror(file);
}

/* Written under another name first: a concurrent reader sees all of the old file or all of the new one. */
static bool write_file(const char *folder, const struct hp_named_stacks *stacks, const struct hp_slot_log *log)
{
    char path[PATH_MAX], draft[PATH_MAX];
    if (!hp_file_path_in(folder, HP_STACK_FILE_NAME, path, sizeof path) ||
        !hp_file_path_in(folder, HP_STACK_FILE_DRAFT, draft, sizeof draft))
        return false;
    FILE *file = hp_file_stream(open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), "w");
    if (file == NULL)
        return false;
    bool is_written = write_all(file, stacks, log);
    is_written = fclose(file) == 0 && is_written && rename(draft, path) == 0;
    if (!is_written) {
        const int error = errno;
        unlink(draft);
        errno = error;
    }
    return is_written;
}

bool hp_stack_file_write(const char *folder, const struct hp_named_stacks *stacks)
{
    const bool is_written = write_file(folder, stacks, NULL);
    const int error = errno;
    if (is_written)
        hp_slot_log_remove(folder);
    errno = error;
    return is_written;
}

#define SETTLED_NS UINT64_C(3000000000) /* a slot rarely changes so long after its end */

bool hp_stack_file_write_live(const char *folder, const struct hp_named_stacks *stacks, struct hp_slot_log *log)
{
    const struct hp_stack_slots *slots = stacks->slots;
    const bool has_log = slots != NULL && slots->latest_ns > SETTLED_NS &&
                         hp_slot_log_update(log, folder, slots, slots->latest_ns - SETTLED_NS);
    return write_file(folder, stacks, has_log ? log : NULL);
}

/* ---------------------------------------------------------------------------------------------- reading */

/* The unread rest. */
struct bytes {
    const char *at;
    uint64_t left;
};

static bool take(struct bytes *bytes, void *to, uint64_t size)
{
    if (size > bytes->left)
        return false;
    if (size > 0)
        memcpy(to, bytes->at, (size_t)size);
    bytes->at += size;
    bytes->left -= size;
    return true;
}

/*
 * A table of that many entries; NULL: truncated, or no memory. Allocates one more than needed, so that it is never
 * empty.
 */
static void *take_table(struct bytes *bytes, uint64_t count, size_t size)
{
    void *table = count <= bytes->left / size ? calloc((size_t)count + 1, size) : NULL;
    if (table != NULL)
        take(bytes, table, count * size);
    return table;
}

static bool take_images(struct bytes *bytes, const struct file_header *header, struct hp_named_stacks *stacks,
                        struct file_image **ret_images)
{
    *ret_images = take_table(bytes, header->images, sizeof **ret_images);
    stacks->images = *ret_images != NULL ? calloc(header->images + (size_t)1, sizeof *stacks->images) : NULL;
    return stacks->images != NULL;
}

static bool take_functions(struct bytes *bytes, const struct file_header *header, struct hp_named_stacks *stacks,
                           struct file_function **ret_functions)
{
    *ret_functions = take_table(bytes, header->functions, sizeof **ret_functions);
    stacks->functions =
        *ret_functions != NULL ? calloc(header->functions + (size_t)1, sizeof *stacks->functions) : NULL;
    return stacks->functions != NULL;
}

static bool take_programs(struct bytes *bytes, const struct file_header *header, struct hp_named_stacks *stacks,
                          struct file_program **ret_programs)
{
    *ret_programs = take_table(bytes, header->programs, sizeof **ret_programs);
    stacks->programs =
        *ret_programs != NULL ? calloc(header->programs + (size_t)1, sizeof *stacks->programs) : NULL;
    stacks->program_count = stacks->programs != NULL ? header->programs : 0;
    return stacks->programs != NULL;
}

static bool take_zones(struct bytes *bytes, const struct file_header *header, struct hp_named_stacks *stacks,
                       uint32_t **ret_names, struct file_program **ret_programs)
{
    *ret_names = take_table(bytes, header->zones, sizeof **ret_names);
    stacks->zones = *ret_names != NULL ? calloc(header->zones + (size_t)1, sizeof *stacks->zones) : NULL;
    if (stacks->zones == NULL || !take_programs(bytes, header, stacks, ret_programs))
        return false;
    stacks->shares = stacks->zones != NULL ? take_table(bytes, header->shares, sizeof *stacks->shares) : NULL;
    if (stacks->shares == NULL)
        return false;
    stacks->zone_count = header->zones;
    stacks->share_count = header->shares;
    return true;
}

static bool take_holds(struct bytes *bytes, const struct file_header *header, struct hp_named_stacks *stacks)
{
    stacks->holds = take_table(bytes, header->holds, sizeof *stacks->holds);
    stacks->hold_count = stacks->holds != NULL ? header->holds : 0;
    return stacks->holds != NULL;
}

static bool take_paths(struct bytes *bytes, const struct file_header *header, struct hp_named_stacks *stacks)
{
    stacks->paths = take_table(bytes, header->paths, sizeof *stacks->paths);
    stacks->path_count = stacks->paths != NULL ? header->paths : 0;
    return stacks->paths != NULL;
}

/* The last byte is a zero, so every text ends. */
static bool take_texts(struct bytes *bytes, const struct file_header *header, struct hp_named_stacks *stacks)
{
    if (header->text_bytes > bytes->left || header->text_bytes == 0)
        return false;
    stacks->texts = take_table(bytes, header->text_bytes, 1);
    stacks->text_bytes = (size_t)header->text_bytes;
    return stacks->texts != NULL && stacks->texts[stacks->text_bytes - 1] == '\0';
}

static bool are_sound_times(const struct file_header *header)
{
    const uint64_t longest_ns = HP_STACK_FIRST_SLOT_NS << 20;
    return header->slot_ns >= HP_STACK_FIRST_SLOT_NS && header->slot_ns <= longest_ns &&
           header->slot_start_ns <= header->slot_latest_ns && header->slot_latest_ns <= UINT64_MAX / 2;
}

static bool are_sound_slot_nodes(const struct hp_named_stacks *stacks)
{
    for (size_t at = 0; at < stacks->slot_node_count; at++)
        if (stacks->slot_nodes[at] >= stacks->node_count && stacks->slot_nodes[at] != HP_NO_NODE)
            return false;
    return true;
}

static size_t log_size(const struct file_header *header)
{
    return (size_t)(header->log_bytes - HP_SLOT_LOG_HEADER);
}

/* They are the rest of the file. Those of the log are older. */
static bool take_slots(struct bytes *bytes, const struct file_header *header, const char *log,
                       struct hp_named_stacks *stacks)
{
    if (header->slot_ns == 0)
        return bytes->left == 0;
    stacks->slot_nodes = take_table(bytes, header->slot_nodes, sizeof *stacks->slot_nodes);
    stacks->slot_node_count = header->slot_nodes;
    stacks->own_slots = calloc(1, sizeof *stacks->own_slots);
    stacks->slots = stacks->own_slots;
    if (stacks->slot_nodes == NULL || stacks->own_slots == NULL || !are_sound_times(header) ||
        !are_sound_slot_nodes(stacks) || bytes->left != header->slot_bytes)
        return false;
    stacks->own_slots->start_ns = stacks->began_ns = header->slot_start_ns;
    stacks->own_slots->slot_ns = header->slot_ns;
    stacks->own_slots->latest_ns = header->slot_latest_ns;
    if (log != NULL && !hp_slots_parse(log, log_size(header), header->slot_nodes, stacks->own_slots))
        return false;
    return hp_slots_parse(bytes->at, (size_t)bytes->left, header->slot_nodes, stacks->own_slots);
}

static bool find_text(const struct hp_named_stacks *stacks, uint32_t place, const char **ret_text)
{
    *ret_text = stacks->texts + place;
    return place < stacks->text_bytes;
}

static bool settle_names(struct hp_named_stacks *stacks, const struct file_image *images,
                         const struct file_function *functions)
{
    for (size_t at = 0; at < stacks->image_count; at++)
        if (!find_text(stacks, images[at].path, &stacks->images[at].path) ||
            !find_text(stacks, images[at].build_id, &stacks->images[at].build_id) ||
            !find_text(stacks, images[at].package, &stacks->images[at].package))
            return false;
    for (size_t at = 0; at < stacks->function_count; at++) {
        struct hp_named_function *function = &stacks->functions[at];
        function->image = functions[at].image;
        if (!find_text(stacks, functions[at].name, &function->name) ||
            !find_text(stacks, functions[at].file, &function->file) ||
            (function->image >= stacks->image_count && function->image != HP_STACK_NO_IMAGE))
            return false;
    }
    return true;
}

static bool settle_zones(struct hp_named_stacks *stacks, const uint32_t *names)
{
    for (size_t at = 0; at < stacks->zone_count; at++)
        if (!find_text(stacks, names[at], &stacks->zones[at].name))
            return false;
    return true;
}

static bool settle_programs(struct hp_named_stacks *stacks, const struct file_program *programs)
{
    for (size_t at = 0; at < stacks->program_count; at++)
        if (!find_text(stacks, programs[at].name, &stacks->programs[at].name) ||
            !find_text(stacks, programs[at].file, &stacks->programs[at].file))
            return false;
    return true;
}

static bool is_sound_share(const struct hp_named_stacks *stacks, const struct hp_zone_share *share)
{
    return share->node < stacks->node_count && share->zone < stacks->zone_count;
}

static bool is_sound_hold(const struct hp_named_stacks *stacks, const struct hp_lock_hold *hold)
{
    return hold->waiter < stacks->node_count && hold->holder < stacks->node_count;
}

static bool is_sound_node(const struct hp_named_stacks *stacks, size_t number)
{
    const struct hp_named_node *node = &stacks->nodes[number];
    if (number == HP_STACK_ROOT)
        return node->frame_count == 0;
    return node->parent < number && (node->frame_count > 0 || node->image == HP_STACK_PROCESS) &&
           node->first_frame <= stacks->frame_count && node->frame_count <= stacks->frame_count - node->first_frame;
}

static bool is_sound(const struct hp_named_stacks *stacks)
{
    for (size_t at = 0; at < stacks->frame_count; at++)
        if (stacks->frames[at].function >= stacks->function_count)
            return false;
    for (size_t at = 0; at < stacks->node_count; at++)
        if (!is_sound_node(stacks, at))
            return false;
    for (size_t at = 0; at < stacks->share_count; at++)
        if (!is_sound_share(stacks, &stacks->shares[at]))
            return false;
    for (size_t at = 0; at < stacks->hold_count; at++)
        if (!is_sound_hold(stacks, &stacks->holds[at]))
            return false;
    for (size_t at = 0; at < stacks->path_count; at++)
        if (stacks->paths[at].node >= stacks->node_count)
            return false;
    return stacks->node_count > 0;
}

static bool take_all(struct bytes *bytes, const struct file_header *header, const char *log,
                     struct hp_named_stacks *stacks)
{
    struct file_image *images = NULL;
    struct file_function *functions = NULL;
    struct file_program *programs = NULL;
    uint32_t *zones = NULL;
    bool is_done = take_images(bytes, header, stacks, &images) && take_functions(bytes, header, stacks, &functions);
    if (is_done) {
        stacks->image_count = header->images;
        stacks->function_count = header->functions;
        stacks->frame_count = header->frames;
        stacks->node_count = header->nodes;
        stacks->frames = take_table(bytes, header->frames, sizeof *stacks->frames);
        stacks->nodes = stacks->frames != NULL ? take_table(bytes, header->nodes, sizeof *stacks->nodes) : NULL;
        is_done = stacks->nodes != NULL && take_zones(bytes, header, stacks, &zones, &programs) &&
                  take_holds(bytes, header, stacks) && take_paths(bytes, header, stacks) &&
                  take_texts(bytes, header, stacks) && settle_names(stacks, images, functions) &&
                  settle_zones(stacks, zones) && settle_programs(stacks, programs) && is_sound(stacks) &&
                  take_slots(bytes, header, log, stacks);
    }
    free(images);
    free(functions);
    free(zones);
    free(programs);
    return is_done;
}

/* False, with errno: it is another file, or another version. */
static bool take_header(struct bytes *bytes, struct file_header *header)
{
    const size_t common = offsetof(struct file_header, flags); /* common to all versions */
    errno = EINVAL;
    if (!take(bytes, header, common) || memcmp(header->magic, magic, sizeof magic) != 0)
        return false;
    errno = EPROTO;
    if (header->version != VERSION)
        return false;
    errno = EINVAL;
    return take(bytes, (char *)header + common, sizeof *header - common);
}

static bool parse(const void *start, size_t size, const char *log, struct hp_named_stacks *ret_stacks)
{
    struct bytes bytes = {start, size};
    struct file_header header;
    *ret_stacks = (struct hp_named_stacks){0};
    if (!take_header(&bytes, &header))
        return false;
    struct hp_stack_counts *counts = &ret_stacks->counts;
    memcpy(counts, header.counts, sizeof header.counts);
    counts->has_kernel = header.flags & HAS_KERNEL;
    counts->hides_kernel = header.flags & HIDES_KERNEL;
    counts->refused = header.flags >> REFUSED_FROM;
    counts->failed = header.failed;
    counts->source = header.flags & BY_TIMERS    ? HP_STACKS_BY_TIMERS
                     : header.flags & BY_PROGRAM ? HP_STACKS_BY_PROGRAM
                     : counts->samples > 0       ? HP_STACKS_BY_PERF
                                                 : HP_STACKS_BY_NOBODY;
    ret_stacks->is_live = header.flags & IS_LIVE;
    if (take_all(&bytes, &header, log, ret_stacks))
        return true;
    hp_named_stacks_free(ret_stacks);
    errno = EINVAL;
    return false;
}

bool hp_stack_file_parse(const void *start, size_t size, struct hp_named_stacks *ret_stacks)
{
    return parse(start, size, NULL, ret_stacks);
}

/* NULL: errno says why. */
static char *read_all(int fd, size_t *ret_size)
{
    struct stat status;
    errno = EINVAL;
    if (fstat(fd, &status) != 0 || status.st_size <= 0 || (uint64_t)status.st_size > MOST_BYTES)
        return NULL;
    char *bytes = malloc((size_t)status.st_size);
    for (*ret_size = 0; bytes != NULL && *ret_size < (size_t)status.st_size;) {
        const ssize_t got = read(fd, bytes + *ret_size, (size_t)status.st_size - *ret_size);
        if (got <= 0)
            break;
        *ret_size += (size_t)got;
    }
    return bytes;
}

/* Not mapped: the file could be truncated while it is read. NULL: errno says why. */
static char *read_bytes(const char *folder, size_t *ret_size)
{
    char path[PATH_MAX];
    if (!hp_file_path_in(folder, HP_STACK_FILE_NAME, path, sizeof path))
        return NULL;
    const int fd = hp_regular_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW);
    char *bytes = fd >= 0 ? read_all(fd, ret_size) : NULL;
    const int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return bytes;
}

/* False: the log is not that of the file; one of them was replaced meanwhile. */
static bool read_log(const char *folder, const char *bytes, size_t size, char **ret_log)
{
    struct bytes rest = {bytes, size};
    struct file_header header;
    *ret_log = NULL;
    if (!take_header(&rest, &header) || header.log_number == 0)
        return true;
    *ret_log = hp_slot_log_read(folder, header.log_number, header.log_bytes);
    return *ret_log != NULL;
}

#define TRIES 50u
#define PAUSE_US 2000u

/* Without the log, if it stays away, only slots are missing. */
static bool read_once(const char *folder, bool is_last, struct hp_named_stacks *ret_stacks, bool *ret_read)
{
    size_t size = 0;
    char *bytes = read_bytes(folder, &size), *log = NULL;
    const bool is_whole = bytes == NULL || read_log(folder, bytes, size, &log) || is_last;
    *ret_read = is_whole && bytes != NULL && parse(bytes, size, log, ret_stacks);
    const int error = errno;
    free(log);
    free(bytes);
    errno = error;
    return is_whole;
}

bool hp_stack_file_read(const char *folder, struct hp_named_stacks *ret_stacks)
{
    bool is_read = false;
    for (unsigned tries = 1; !read_once(folder, tries >= TRIES, ret_stacks, &is_read); tries++)
        usleep(PAUSE_US);
    return is_read;
}
