/*
 * Places in the code. The callers of a call are found by the tables that the compiler makes for exceptions
 * (.eh_frame), which are mapped with each program and library: how to get from an address to the caller is looked
 * up once and kept. Only what compilers write for ordinary functions is understood; at all else the search for
 * callers ends. Only on x86-64: elsewhere a site is the caller alone.
 *
 * Which programs and libraries there are is read from /proc/self/maps, since dl_iterate_phdr takes a lock that
 * another thread may hold for long. SPDX-License-Identifier: MIT
 */
#include "call_sites.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>

#include "raw_call.h"
#include "real_functions.h"

#define MOST_READINGS 64u /* of the list of images: code that is in none would make us read it again and again */
#define ALWAYS_INLINE inline __attribute__((always_inline)) /* takes less stack than a call */

/* ------------------------------------------------------------------------------------------------------- images */

/* A line of /proc/self/maps. */
struct mapping {
    uintptr_t start, end, offset, inode;
    bool is_readable, is_code;
    const char *path;
};

/* Reads lines; a longer one than a path can be is cut. */
struct reading {
    long fd;
    size_t at, length;
    char bytes[2048], line[512];
};

static bool next_byte(struct reading *reading, char *ret_byte)
{
    if (reading->at == reading->length) {
        const long got = hp_raw(SYS_read, reading->fd, reading->bytes, sizeof reading->bytes);
        if (got <= 0)
            return false;
        reading->length = (size_t)got;
        reading->at = 0;
    }
    *ret_byte = reading->bytes[reading->at++];
    return true;
}

static bool next_line(struct reading *reading)
{
    size_t length = 0;
    char byte;
    bool is_any = false;
    while (next_byte(reading, &byte)) {
        is_any = true;
        if (byte == '\n')
            break;
        if (length < sizeof reading->line - 1)
            reading->line[length++] = byte;
    }
    reading->line[length] = '\0';
    return is_any;
}

static uintptr_t take_number(const char **at, unsigned base)
{
    uintptr_t number = 0;
    for (;; (*at)++) {
        const char digit = **at;
        const unsigned value = digit >= '0' && digit <= '9'   ? (unsigned)(digit - '0')
                               : digit >= 'a' && digit <= 'f' ? (unsigned)(digit - 'a') + 10
                                                              : 16;
        if (value >= base)
            return number;
        number = number * base + value;
    }
}

static const char *skip(const char *at)
{
    while (*at != '\0' && *at != ' ')
        at++;
    while (*at == ' ')
        at++;
    return at;
}

/* "start-end rwxp offset device inode   path" */
static void parse(const char *line, struct mapping *ret_mapping)
{
    const char *at = line;
    ret_mapping->start = take_number(&at, 16);
    at += *at == '-';
    ret_mapping->end = take_number(&at, 16);
    at = skip(at);
    ret_mapping->is_readable = *at == 'r';
    ret_mapping->is_code = strnlen(at, 3) == 3 && at[2] == 'x';
    at = skip(at);
    ret_mapping->offset = take_number(&at, 16);
    at = skip(skip(at));
    ret_mapping->inode = take_number(&at, 10);
    ret_mapping->path = skip(at);
}

/* What its headers tell, mapped at `low`: where an image has its tables for exceptions and its variables. */
static void read_headers(uintptr_t low, struct hp_loaded_code *image)
{
    const ElfW(Ehdr) *header = (const void *)low;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phentsize != sizeof(ElfW(Phdr)) ||
        header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr)) > 4096)
        return;
    const ElfW(Phdr) *parts = (const void *)(low + header->e_phoff), *first = NULL, *frames = NULL, *data = NULL;
    for (const ElfW(Phdr) *part = parts; part < parts + header->e_phnum; part++) {
        if (part->p_type == PT_LOAD && part->p_offset == 0)
            first = part;
        if (part->p_type == PT_LOAD && part->p_flags & PF_W)
            data = part;
        if (part->p_type == PT_GNU_EH_FRAME)
            frames = part;
    }
    if (first == NULL)
        return;
    const uintptr_t moved = low - first->p_vaddr;
    if (frames != NULL)
        image->frames = (const uint8_t *)(moved + frames->p_vaddr);
    if (data != NULL) {
        image->data = moved + data->p_vaddr;
        image->data_end = image->data + data->p_memsz;
    }
}

/* The file that is being read: its mappings follow one another. */
struct current {
    char path[sizeof((struct hp_call_image *)0)->path];
    uintptr_t headers; /* where its first bytes are; 0: not seen */
    uintptr_t end;
};

static void add_to_file(struct hp_call_sites *sites, const struct mapping *mapping)
{
    const uint32_t known = HOTPATH_GET_(hp_side_header(sites->file)->counts[HP_SIDE_IMAGES]);
    for (uint32_t at = 0; at < known; at++) {
        const struct hp_call_image *image = hp_side_item(sites->file, HP_SIDE_IMAGES, at);
        if (image->start == mapping->start && image->end == mapping->end && image->inode == mapping->inode &&
            image->offset == mapping->offset)
            return;
    }
    const uint32_t number = hp_side_claim(sites->file, HP_SIDE_IMAGES);
    if (number == HP_SIDE_NO_ITEM)
        return;
    struct hp_call_image *image = hp_side_item(sites->file, HP_SIDE_IMAGES, number);
    const size_t length = strnlen(mapping->path, sizeof image->path - 1);
    image->end = mapping->end;
    image->offset = mapping->offset;
    image->inode = mapping->inode;
    memcpy(image->path, mapping->path, length);
    __atomic_store_n(&image->start, mapping->start, __ATOMIC_RELEASE);
}

static void begin_file(struct current *current, const struct mapping *mapping)
{
    const size_t length = strnlen(mapping->path, sizeof current->path - 1);
    memcpy(current->path, mapping->path, length);
    current->path[length] = '\0';
    current->headers = mapping->offset == 0 && mapping->is_readable ? mapping->start : 0;
}

static bool is_of_current(const struct current *current, const struct mapping *mapping)
{
    return strncmp(mapping->path, current->path, sizeof current->path - 1) == 0 &&
           mapping->start - current->end < 1u << 22;
}

/* Only a file with code is looked into: another may be a device, or have been cut off. */
static void add_image(struct hp_call_sites *sites, struct hp_loaded_list *images, const struct current *current,
                      const struct mapping *mapping)
{
    if (images->count == HP_SIDE_MOST_IMAGES)
        return;
    struct hp_loaded_code *image = &images->all[images->count++];
    *image = (struct hp_loaded_code){.start = mapping->start, .end = mapping->end};
    if (current->headers != 0)
        read_headers(current->headers, image);
    add_to_file(sites, mapping);
}

static void take_mapping(struct hp_call_sites *sites, struct hp_loaded_list *images, struct current *current,
                         const struct mapping *mapping)
{
    if (mapping->path[0] != '/') {
        current->path[0] = '\0';
        return;
    }
    if (current->path[0] == '\0' || !is_of_current(current, mapping))
        begin_file(current, mapping);
    if (mapping->is_code)
        add_image(sites, images, current, mapping);
    current->end = mapping->end;
}

static void read_images(struct hp_call_sites *sites)
{
    struct reading reading = {.fd = hp_raw(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    struct hp_loaded_list *images = &sites->lists[sites->readings & 1];
    struct current current = {.path = ""};
    struct mapping mapping;
    if (reading.fd < 0)
        return;
    images->count = 0;
    while (next_line(&reading)) {
        parse(reading.line, &mapping);
        take_mapping(sites, images, &current, &mapping);
    }
    hp_raw(SYS_close, reading.fd);
    __atomic_store_n(&sites->images, images, __ATOMIC_RELEASE);
}

static void read_images_aside(void *context)
{
    struct hp_call_sites *sites = context;
    if (!hp_calls_begin())
        return;
    read_images(sites);
    hp_calls_end();
}

/*
 * Done by one thread. Others go on with the list before. After a library was closed they do without: what is in its
 * place may look different.
 */
void hp_sites_read_images(struct hp_call_sites *sites)
{
    const uint32_t closed = __atomic_load_n(&hp_closed_libraries, __ATOMIC_SEQ_CST);
    const int saved = errno;
    if (__atomic_load_n(&sites->readings, __ATOMIC_RELAXED) >= MOST_READINGS ||
        __atomic_exchange_n(&sites->is_reading_images, 1, __ATOMIC_ACQUIRE) != 0)
        return;
    __atomic_fetch_add(&sites->readings, 1, __ATOMIC_RELAXED);
    if (closed != sites->closed) {
        __atomic_store_n(&sites->images, NULL, __ATOMIC_RELEASE);
        for (size_t at = 0; at < HP_CALLER_RULES; at++)
            __atomic_store_n(&sites->rules[at].pc, 0, __ATOMIC_RELAXED);
    }
    hp_aside(read_images_aside, sites);
    __atomic_store_n(&sites->closed, closed, __ATOMIC_RELAXED);
    __atomic_store_n(&sites->is_reading_images, 0, __ATOMIC_RELEASE);
    errno = saved;
}

/* NULL: unknown. */
static const struct hp_loaded_code *find_image(const struct hp_call_sites *sites, uintptr_t pc)
{
    const struct hp_loaded_list *images = __atomic_load_n(&sites->images, __ATOMIC_ACQUIRE);
    for (uint32_t at = 0; images != NULL && at < images->count; at++)
        if (pc - images->all[at].start < images->all[at].end - images->all[at].start)
            return &images->all[at];
    return NULL;
}

bool hp_sites_is_static(const struct hp_call_sites *sites, uintptr_t address)
{
    const struct hp_loaded_list *images = __atomic_load_n(&sites->images, __ATOMIC_ACQUIRE);
    for (uint32_t at = 0; images != NULL && at < images->count; at++)
        if (address - images->all[at].data < images->all[at].data_end - images->all[at].data)
            return true;
    return false;
}

/* ------------------------------------------------------------------------------------------------------ callers */

#if defined __x86_64__ && defined __LP64__

/* DWARF numbers, and encodings of pointers. */
enum { FRAME = 6, STACK = 7, RETURN = 16 };
enum { SIGNED_4 = 0x0b, UNSIGNED_4 = 0x03, BY_PLACE = 0x10, BY_TABLE = 0x30 };

static uint64_t take_uleb(const uint8_t **at)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t byte = *(*at)++;
        number |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128))
            break;
    }
    return number;
}

static int64_t take_sleb(const uint8_t **at)
{
    uint64_t number = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = *(*at)++;
        number |= (uint64_t)(byte & 127) << shift;
        shift += 7;
    } while (byte & 128 && shift < 64);
    if (shift < 64 && byte & 64)
        number |= ~UINT64_C(0) << shift;
    return (int64_t)number;
}

static int32_t read_s32(const uint8_t *at)
{
    int32_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

static uint32_t read_u32(const uint8_t *at)
{
    uint32_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

/* The description of the function with an address; NULL: none. */
static const uint8_t *find_description(const struct hp_loaded_code *image, uintptr_t pc)
{
    const uint8_t *table = image->frames;
    if (table == NULL || table[0] != 1 || table[2] != UNSIGNED_4 || table[3] != (BY_TABLE | SIGNED_4) ||
        (table[1] & 0x0f) != SIGNED_4)
        return NULL;
    const uint32_t count = read_u32(table + 8);
    const uint8_t *rows = table + 12;
    const int64_t wanted = (int64_t)(pc - (uintptr_t)table);
    uint32_t low = 0, high = count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (read_s32(rows + 8 * (size_t)middle) <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? table + read_s32(rows + 8 * (size_t)(low - 1) + 4) : NULL;
}

/* What a function and its kind have in common. */
struct frame_program {
    uint64_t code_unit;
    int64_t data_unit;
    const uint8_t *first, *first_end; /* of all functions of its kind */
    const uint8_t *own, *own_end;
    uintptr_t start, size;
};

static bool read_kind(const uint8_t *at, struct frame_program *program, bool *ret_has_size)
{
    const uint8_t *end = at + 4 + read_u32(at);
    if (read_u32(at) >= 0xfffffff0u || read_u32(at + 4) != 0 || at[8] != 1)
        return false;
    const char *letters = (const char *)at + 9;
    at += 9 + strlen(letters) + 1;
    program->code_unit = take_uleb(&at);
    program->data_unit = take_sleb(&at);
    if (take_uleb(&at) != RETURN)
        return false;
    *ret_has_size = letters[0] == 'z';
    if (*ret_has_size) {
        const uint64_t size = take_uleb(&at);
        const uint8_t *its = at;
        for (const char *letter = letters + 1; *letter != '\0'; letter++) {
            if (*letter == 'R' && *its++ != (BY_PLACE | SIGNED_4))
                return false;
            if (*letter == 'P') /* the last of interest: its size depends on its encoding */
                its += (*its & 0x0f) == SIGNED_4 || (*its & 0x0f) == UNSIGNED_4 ? 5 : 9;
            else if (*letter == 'L')
                its++;
            else if (*letter != 'R')
                return false; /* a signal frame */
        }
        at += size;
    } else if (letters[0] != '\0') {
        return false;
    }
    program->first = at;
    program->first_end = end;
    return true;
}

static bool read_description(const uint8_t *at, struct frame_program *program)
{
    bool has_size;
    const uint32_t length = read_u32(at), back = read_u32(at + 4);
    if (length == 0 || length >= 0xfffffff0u || back == 0 || !read_kind(at + 4 - back, program, &has_size))
        return false;
    program->own_end = at + 4 + length;
    program->start = (uintptr_t)(at + 8) + (uintptr_t)(intptr_t)read_s32(at + 8);
    program->size = read_u32(at + 12);
    at += 16;
    if (has_size) {
        const uint64_t size = take_uleb(&at);
        at += size;
    }
    program->own = at;
    return true;
}

struct frame_state {
    uint64_t base; /* register of the CFA */
    int64_t offset;
    int64_t saved_frame; /* 0: not saved */
    bool is_return_usual;
};

/* Everything that ends the search: registers in registers, expressions. */
static bool note_saved(struct frame_state *state, uint64_t number, int64_t offset)
{
    if (number == FRAME)
        state->saved_frame = offset;
    if (number == RETURN)
        state->is_return_usual = offset == -8;
    return true;
}

struct frame_run {
    const struct frame_program *program;
    struct frame_state now, first;
    struct frame_state kept[4];
    unsigned kept_count;
    uintptr_t place, wanted;
};

static uint64_t moved_by(const uint8_t **at, uint8_t what)
{
    uint64_t distance = 0;
    const unsigned bytes = what == 2 ? 1 : what == 3 ? 2 : 4;
    memcpy(&distance, *at, bytes);
    *at += bytes;
    return distance;
}

static bool do_other(struct frame_run *run, uint8_t what, const uint8_t **at)
{
    uint64_t number;
    switch (what) {
    case 0x00: /* nothing */
        return true;
    case 0x02:
    case 0x03:
    case 0x04: /* further by 1, 2 or 4 bytes of distance */
        run->place += moved_by(at, what) * run->program->code_unit;
        return true;
    case 0x06: /* as at first */
        number = take_uleb(at);
        if (number == FRAME)
            run->now.saved_frame = run->first.saved_frame;
        return number != RETURN;
    case 0x07: /* undefined */
        return take_uleb(at) != RETURN;
    case 0x08: /* the same value */
        number = take_uleb(at);
        if (number == FRAME)
            run->now.saved_frame = 0;
        return number != RETURN;
    case 0x0a: /* remember */
        if (run->kept_count == sizeof run->kept / sizeof run->kept[0])
            return false;
        run->kept[run->kept_count++] = run->now;
        return true;
    case 0x0b: /* restore */
        if (run->kept_count == 0)
            return false;
        run->now = run->kept[--run->kept_count];
        return true;
    case 0x0c: /* the CFA */
        run->now.base = take_uleb(at);
        run->now.offset = (int64_t)take_uleb(at);
        return true;
    case 0x0d:
        run->now.base = take_uleb(at);
        return true;
    case 0x0e:
        run->now.offset = (int64_t)take_uleb(at);
        return true;
    case 0x10: /* an expression, of a register that is not ours */
        number = take_uleb(at);
        *at += take_uleb(at);
        return number != FRAME && number != RETURN;
    case 0x2e: /* size of arguments */
        take_uleb(at);
        return true;
    default:
        return false;
    }
}

/* Up to the wanted address. False: not understood. */
static bool execute(struct frame_run *run, const uint8_t *at, const uint8_t *end)
{
    while (at < end && run->place <= run->wanted) {
        const uint8_t byte = *at++, low = byte & 63;
        bool is_understood = true;
        switch (byte >> 6) {
        case 1:
            run->place += low * run->program->code_unit;
            break;
        case 2:
            is_understood = note_saved(&run->now, low, (int64_t)take_uleb(&at) * run->program->data_unit);
            break;
        case 3:
            if (low == FRAME)
                run->now.saved_frame = run->first.saved_frame;
            break;
        default:
            is_understood = do_other(run, byte, &at);
        }
        if (!is_understood)
            return false;
    }
    return true;
}

/* How to get from the code at an address to its caller. False: unknown. */
static bool find_rule(const struct hp_call_sites *sites, uintptr_t pc, struct hp_caller_rule *ret_rule)
{
    struct frame_program program;
    const struct hp_loaded_code *image = find_image(sites, pc);
    const uint8_t *description = image != NULL ? find_description(image, pc) : NULL;
    if (description == NULL || !read_description(description, &program) || pc - program.start >= program.size)
        return false;
    struct frame_run run = {.program = &program, .place = program.start, .wanted = pc};
    run.wanted = UINTPTR_MAX;
    if (!execute(&run, program.first, program.first_end))
        return false;
    run.wanted = pc;
    run.first = run.now;
    if (!execute(&run, program.own, program.own_end))
        return false;
    const struct frame_state *now = &run.now;
    if ((now->base != STACK && now->base != FRAME) || !now->is_return_usual || now->offset <= 0 ||
        now->offset > (int64_t)HP_MOST_FRAME || now->saved_frame > 0 || now->saved_frame < INT16_MIN)
        return false;
    ret_rule->cfa = (int32_t)now->offset;
    ret_rule->saved_frame = (int16_t)now->saved_frame;
    ret_rule->is_by_frame = now->base == FRAME;
    return true;
}

struct question {
    const struct hp_call_sites *sites;
    struct hp_caller_rule rule;
    uintptr_t pc;
};

static void ask(void *context)
{
    struct question *question = context;
    if (!find_rule(question->sites, question->pc, &question->rule))
        question->rule.cfa = 0;
}

static bool read_rule(const struct hp_caller_rule *from, uintptr_t pc, struct hp_caller_rule *ret_rule)
{
    const uint8_t sequence = __atomic_load_n(&from->sequence, __ATOMIC_ACQUIRE);
    const bool is_it = HOTPATH_GET_(from->pc) == pc;
    ret_rule->cfa = HOTPATH_GET_(from->cfa);
    ret_rule->saved_frame = HOTPATH_GET_(from->saved_frame);
    ret_rule->is_by_frame = HOTPATH_GET_(from->is_by_frame);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return is_it && !(sequence & 1) && HOTPATH_GET_(from->sequence) == sequence;
}

static void keep_rule(struct hp_caller_rule *to, uintptr_t pc, const struct hp_caller_rule *rule)
{
    struct hp_caller_rule claimed = {.word = HOTPATH_GET_(to->word)};
    uint32_t word = claimed.word;
    const uint8_t sequence = claimed.sequence;
    claimed.sequence++;
    if (sequence & 1 ||
        !__atomic_compare_exchange_n(&to->word, &word, claimed.word, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    HOTPATH_PUT_(to->pc, pc);
    HOTPATH_PUT_(to->cfa, rule->cfa);
    HOTPATH_PUT_(to->saved_frame, rule->saved_frame);
    HOTPATH_PUT_(to->is_by_frame, rule->is_by_frame);
    __atomic_store_n(&to->sequence, (uint8_t)(sequence + 2), __ATOMIC_RELEASE);
}

static __attribute__((noinline)) bool look_up_rule(struct hp_call_sites *sites, uintptr_t pc,
                                                   struct hp_caller_rule *kept, struct hp_caller_rule *ret_rule)
{
    struct question question = {.sites = sites, .pc = pc};
    if (find_image(sites, pc) == NULL || !hp_aside(ask, &question))
        return false;
    *ret_rule = question.rule;
    keep_rule(kept, pc, ret_rule);
    return true;
}

/* False: unknown, which is kept, too; or it was not looked up yet. */
static ALWAYS_INLINE bool rule_at(struct hp_call_sites *sites, uintptr_t pc, struct hp_caller_rule *ret_rule,
                                  bool *ret_is_missing)
{
    struct hp_caller_rule *kept = &sites->rules[hp_side_hash(pc, 0, 0) % HP_CALLER_RULES];
    if (!read_rule(kept, pc, ret_rule)) {
        if (ret_is_missing != NULL) {
            *ret_is_missing = find_image(sites, pc) != NULL;
            return false;
        }
        if (!look_up_rule(sites, pc, kept, ret_rule))
            return false;
    }
    return ret_rule->cfa != 0;
}

/* Moves to the caller. */
static ALWAYS_INLINE bool step(struct hp_call_sites *sites, struct hp_caller *at, bool *ret_is_missing)
{
    struct hp_caller_rule rule;
    /* A call may be the last instruction of its function, so the address before it counts. */
    if (!rule_at(sites, at->pc - 1, &rule, ret_is_missing))
        return false;
    const uintptr_t cfa = (rule.is_by_frame ? at->frame : at->stack) + (uintptr_t)rule.cfa;
    if (cfa <= at->stack || cfa - at->stack > HP_MOST_FRAME || cfa % sizeof(uintptr_t) != 0)
        return false;
    if (rule.saved_frame != 0)
        at->frame = *(const uintptr_t *)(cfa + (uintptr_t)(intptr_t)rule.saved_frame);
    at->pc = *(const uintptr_t *)(cfa - sizeof(uintptr_t));
    at->stack = cfa;
    return at->pc != 0;
}
#else
static ALWAYS_INLINE bool step(struct hp_call_sites *sites, struct hp_caller *at, bool *ret_is_missing)
{
    (void)sites, (void)at, (void)ret_is_missing;
    return false;
}
#endif

/* -------------------------------------------------------------------------------------------------------- sites */

struct wanted_site {
    const struct hp_call_sites *sites;
    const uint64_t *pc;
};

static bool is_site(uint32_t number, const void *wanted_)
{
    const struct wanted_site *wanted = wanted_;
    const struct hp_call_site *site = hp_side_item(wanted->sites->file, HP_SIDE_SITES, number - 1);
    return memcmp(site->pc, wanted->pc, sizeof site->pc) == 0;
}

/* Code that is in no known image, or libraries were closed since these were read. */
static bool are_images_old(const struct hp_call_sites *sites, uintptr_t pc)
{
    return __atomic_load_n(&sites->readings, __ATOMIC_RELAXED) < MOST_READINGS &&
           (find_image(sites, pc) == NULL || __atomic_load_n(&sites->closed, __ATOMIC_RELAXED) !=
                                                 __atomic_load_n(&hp_closed_libraries, __ATOMIC_RELAXED));
}

/* With `ret_is_missing` only what was looked up before is used; it is set if that is not enough. */
static ALWAYS_INLINE void find_callers(struct hp_call_sites *sites, const struct hp_caller *caller,
                                       uint64_t pc[HP_CALL_FRAMES], bool *ret_is_missing)
{
    struct hp_caller at = *caller;
    memset(pc, 0, HP_CALL_FRAMES * sizeof *pc);
    pc[0] = at.pc;
    if (are_images_old(sites, at.pc)) {
        if (ret_is_missing != NULL) {
            *ret_is_missing = true;
            return;
        }
        hp_sites_read_images(sites);
    }
    for (unsigned frame = 1; frame < HP_CALL_FRAMES && step(sites, &at, ret_is_missing); frame++)
        pc[frame] = at.pc;
}

static uint32_t find_site(struct hp_call_sites *sites, const uint64_t pc[HP_CALL_FRAMES], uint32_t **ret_free)
{
    const struct wanted_site wanted = {sites, pc};
    return hp_side_find(sites->index, HP_SITE_INDEX, hp_side_hash(pc[0], pc[1], pc[2]), is_site, &wanted, ret_free);
}

/* A site that is met for the first time. */
static uint32_t make_site(struct hp_call_sites *sites, const uint64_t pc[HP_CALL_FRAMES])
{
    uint32_t *free;
    uint32_t number = find_site(sites, pc, &free), none = 0;
    const uint32_t made = number == 0 && free != NULL ? hp_side_claim(sites->file, HP_SIDE_SITES) : HP_SIDE_NO_ITEM;
    if (made == HP_SIDE_NO_ITEM)
        return number;
    struct hp_call_site *site = hp_side_item(sites->file, HP_SIDE_SITES, made);
    site->pc[1] = pc[1];
    site->pc[2] = pc[2];
    __atomic_store_n(&site->pc[0], pc[0], __ATOMIC_RELEASE);
    while (free != NULL &&
           !__atomic_compare_exchange_n(free, &none, made + 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        number = find_site(sites, pc, &free);
        if (number != 0)
            return number;
        none = 0;
    }
    return made + 1;
}

struct site_request {
    struct hp_call_sites *sites;
    const struct hp_caller *caller;
    uint32_t number;
};

static void find_aside(void *context)
{
    struct site_request *request = context;
    uint64_t pc[HP_CALL_FRAMES];
    find_callers(request->sites, request->caller, pc, NULL);
    request->number = make_site(request->sites, pc);
}

/* Where one was met before, with little of the program's stack. */
static __attribute__((noinline)) uint32_t find_known(struct hp_call_sites *sites, const struct hp_caller *caller)
{
    uint64_t pc[HP_CALL_FRAMES];
    uint32_t *free;
    bool is_missing = false;
    find_callers(sites, caller, pc, &is_missing);
    return is_missing ? 0 : find_site(sites, pc, &free);
}

static __attribute__((noinline)) uint32_t find_new(struct hp_call_sites *sites, const struct hp_caller *caller)
{
    struct site_request request = {sites, caller, 0};
    const int saved = errno;
    const bool is_full = HOTPATH_GET_(hp_side_header(sites->file)->counts[HP_SIDE_SITES]) >= HP_SIDE_MOST_SITES;
    if (!is_full && !hp_aside(find_aside, &request))
        request.number = 0;
    errno = saved;
    return request.number;
}

uint32_t hp_sites_number(struct hp_call_sites *sites, const struct hp_caller *caller)
{
    const uint32_t known = find_known(sites, caller);
    return known != 0 ? known : find_new(sites, caller);
}

/* ---------------------------------------------------------------------------------------------- known again */

#if defined __x86_64__ && defined __LP64__
/* Of functions that keep no frame register. Without a further caller, the last address is looked at again. */
static void note_distances(struct hp_known_site *known, uintptr_t first)
{
    int64_t distance = 0;
    known->is_near = true;
    for (unsigned step = 0; step < HP_CALL_STEPS; step++) {
        const bool is_there = known->pc[step + 1] != 0;
        distance += is_there ? known->rules[step].cfa : 0;
        known->is_near &= !(is_there && known->rules[step].is_by_frame) && distance <= INT32_MAX;
        known->at[step] = (int32_t)distance - (int32_t)sizeof(uintptr_t);
    }
    if (!known->is_near)
        return;
    for (unsigned step = 0; step < HP_CALL_STEPS; step++)
        if (known->pc[step + 1] == 0)
            known->pc[step + 1] = step == 0 ? first : known->pc[step];
}

uint32_t hp_sites_know(struct hp_call_sites *sites, const struct hp_caller *caller, struct hp_known_site *ret_known)
{
    const uint32_t closed = __atomic_load_n(&hp_closed_libraries, __ATOMIC_SEQ_CST);
    const uint32_t number = hp_sites_number(sites, caller);
    ret_known->pc[0] = 0;
    if (number == 0 || closed != __atomic_load_n(&sites->closed, __ATOMIC_RELAXED))
        return number;
    const struct hp_call_site *site = hp_side_item(sites->file, HP_SIDE_SITES, number - 1);
    uintptr_t pc = caller->pc;
    for (unsigned step = 0; step < HP_CALL_STEPS && site->pc[step + 1] != 0; step++) {
        bool is_missing = false;
        if (!rule_at(sites, pc - 1, &ret_known->rules[step], &is_missing))
            return number;
        pc = site->pc[step + 1];
    }
    for (unsigned frame = 1; frame < HP_CALL_FRAMES; frame++)
        ret_known->pc[frame] = site->pc[frame];
    note_distances(ret_known, site->pc[0]);
    ret_known->closed = closed;
    ret_known->number = number;
    ret_known->pc[0] = site->pc[0];
    return number;
}
#else
uint32_t hp_sites_know(struct hp_call_sites *sites, const struct hp_caller *caller, struct hp_known_site *ret_known)
{
    ret_known->number = hp_sites_number(sites, caller);
    ret_known->is_near = false;
    ret_known->pc[1] = 0;
    ret_known->closed = __atomic_load_n(&hp_closed_libraries, __ATOMIC_SEQ_CST);
    ret_known->pc[0] = ret_known->number != 0 ? caller->pc : 0;
    return ret_known->number;
}
#endif
