/*
 * Looked up aside, since the program's stack may be small, and once per descriptor. The generation is read before
 * the kernel is asked: if the number is closed meanwhile, the answer is kept for the generation that is gone, and
 * nobody finds it. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "io_rows.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "descriptor_links.h"
#include "hook_entries.h"
#include "text.h"
#include "threads.h"

#define FIRST_EPHEMERAL 32768u /* ports that the kernel chooses */

/* -------------------------------------------------------------------------------------------------------- rows */

struct wanted_row {
    struct hp_io_rows *rows;
    enum hp_io_kind kind;
    int descriptor;
    bool may_change; /* it is being connected */
    char name[HP_IO_NAME_BYTES];
};

static struct hp_io_row *row_at(const struct hp_io_rows *rows, uint32_t number)
{
    return hp_side_item(rows->file, HP_IO_ROWS, number - 1);
}

static bool is_row(uint32_t number, const void *wanted_)
{
    const struct wanted_row *wanted = wanted_;
    const struct hp_io_row *row = row_at(wanted->rows, number);
    return row->kind == wanted->kind && strcmp(row->name, wanted->name) == 0;
}

static uint64_t hash_of(const struct wanted_row *wanted)
{
    uint64_t hash = wanted->kind;
    for (const char *at = wanted->name; *at != '\0'; at++)
        hash = hp_side_hash(hash, (uint8_t)*at, 0);
    return hash;
}

/* The row of that kind and name; that of all others if there is no room. */
static uint32_t find_or_make(struct wanted_row *wanted)
{
    struct hp_io_rows *rows = wanted->rows;
    const uint64_t hash = hash_of(wanted);
    uint32_t *free, none = 0, number = hp_side_find(rows->index, HP_IO_ROW_INDEX, hash, is_row, wanted, &free);
    if (number != 0)
        return number;
    const uint32_t made = free != NULL ? hp_side_claim(rows->file, HP_IO_ROWS) : HP_SIDE_NO_ITEM;
    if (made == HP_SIDE_NO_ITEM) {
        hp_side_lose(rows->file, HP_IO_LOST_ROWS);
        return HP_IO_ROW_OF_OTHERS;
    }
    struct hp_io_row *row = row_at(rows, made + 1);
    row->kind = wanted->kind;
    memcpy(row->name, wanted->name, sizeof row->name);
    __atomic_store_n(&row->key, 1, __ATOMIC_RELEASE);
    /* If another thread was first there, this one is beside it: the report adds up equal rows. */
    __atomic_compare_exchange_n(free, &none, made + 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    return made + 1;
}

bool hp_io_rows_begin(struct hp_io_rows *rows, struct hp_side_file *file)
{
    rows->file = file;
    const uint32_t made = hp_side_claim(file, HP_IO_ROWS);
    if (made != HP_IO_ROW_OF_OTHERS - 1)
        return false;
    struct hp_io_row *row = row_at(rows, made + 1);
    row->kind = HP_IO_OTHERS;
    __atomic_store_n(&row->key, 1, __ATOMIC_RELEASE);
    return true;
}

/* ------------------------------------------------------------------------------------------- asking the kernel */

static void set_name(struct wanted_row *wanted, enum hp_io_kind kind, const char *name, size_t length)
{
    const size_t most = sizeof wanted->name - 1;
    wanted->kind = kind;
    if (length > most) { /* the end tells more than the beginning */
        name += length - most;
        length = most;
    }
    memset(wanted->name, 0, sizeof wanted->name);
    memcpy(wanted->name, name, length);
}

static void put_address(struct hp_text *text, const struct sockaddr_storage *address, uint16_t *ret_port)
{
    char plain[INET6_ADDRSTRLEN] = "?";
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *its = (const void *)address;
        inet_ntop(AF_INET, &its->sin_addr, plain, sizeof plain);
        *ret_port = ntohs(its->sin_port);
        hp_text_string(text, plain);
        return;
    }
    const struct sockaddr_in6 *its = (const void *)address;
    const bool is_mapped = IN6_IS_ADDR_V4MAPPED(&its->sin6_addr);
    if (is_mapped)
        inet_ntop(AF_INET, &its->sin6_addr.s6_addr[12], plain, sizeof plain);
    else
        inet_ntop(AF_INET6, &its->sin6_addr, plain, sizeof plain);
    *ret_port = ntohs(its->sin6_port);
    hp_text_string(text, is_mapped ? "" : "[");
    hp_text_string(text, plain);
    hp_text_string(text, is_mapped ? "" : "]");
}

static void put_port(struct hp_text *text, const char *before, uint16_t port)
{
    hp_text_string(text, before);
    hp_text_u64(text, port);
}

/* Whether we have accepted connections there: then there is a row of that port. */
static bool is_port_of_ours(struct hp_io_rows *rows, uint16_t port)
{
    struct wanted_row wanted = {.rows = rows, .kind = HP_IO_PEER};
    struct hp_text text;
    uint32_t *free;
    hp_text_init(&text, wanted.name, sizeof wanted.name);
    put_port(&text, "port ", port);
    hp_text_end(&text);
    return hp_side_find(rows->index, HP_IO_ROW_INDEX, hash_of(&wanted), is_row, &wanted, &free) != 0;
}

/* A stream that has no peer yet, and does not listen for any. */
static bool is_yet_to_connect(int descriptor)
{
    int type = 0, listens = 0;
    socklen_t type_size = sizeof type, listens_size = sizeof listens;
    return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &type_size) == 0 && type == SOCK_STREAM &&
           getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) == 0 && !listens;
}

/*
 * "10.0.0.5:443". A client of ours has a port that the kernel chose for it, which tells nothing, and a row of its
 * own for each connection would be too many: "10.0.0.7 to port 8080". A socket without a peer: "port 8080". Who has
 * accepted the connection may be another process: then the ports tell, if only one of them is high.
 */
static void name_connection(struct wanted_row *wanted)
{
    struct sockaddr_storage own = {0}, peer = {0};
    socklen_t own_size = sizeof own, peer_size = sizeof peer;
    char name[128], unused[64];
    struct hp_text text, address;
    uint16_t own_port = 0, peer_port = 0;
    hp_text_init(&text, name, sizeof name);
    hp_text_init(&address, unused, sizeof unused);
    const bool has_own = getsockname(wanted->descriptor, (void *)&own, &own_size) == 0;
    if (has_own)
        put_address(&address, &own, &own_port);
    if (getpeername(wanted->descriptor, (void *)&peer, &peer_size) == 0) {
        put_address(&text, &peer, &peer_port);
        if (own_port != 0 && ((peer_port >= FIRST_EPHEMERAL && own_port < FIRST_EPHEMERAL) ||
                              is_port_of_ours(wanted->rows, own_port)))
            put_port(&text, " to port ", own_port);
        else
            put_port(&text, ":", peer_port);
    } else {
        wanted->may_change = is_yet_to_connect(wanted->descriptor);
        if (own_port != 0 && !wanted->may_change)
            put_port(&text, "port ", own_port);
        else
            hp_text_string(&text, "no peer");
    }
    hp_text_end(&text);
    set_name(wanted, HP_IO_PEER, name, text.length);
}

static void name_address(struct wanted_row *wanted, const void *given, uint32_t size)
{
    struct sockaddr_storage address = {0};
    char name[128];
    struct hp_text text;
    uint16_t port = 0;
    if (size > sizeof address)
        size = sizeof address;
    memcpy(&address, given, size);
    if (address.ss_family == AF_UNIX && size > offsetof(struct sockaddr_un, sun_path)) {
        const struct sockaddr_un *local = (const void *)&address;
        const size_t most = size - offsetof(struct sockaddr_un, sun_path);
        set_name(wanted, HP_IO_SOCKET, local->sun_path, strnlen(local->sun_path, most));
        return;
    }
    hp_text_init(&text, name, sizeof name);
    if (address.ss_family == AF_INET || address.ss_family == AF_INET6) {
        put_address(&text, &address, &port);
        put_port(&text, ":", port);
    } else {
        hp_text_string(&text, "no peer");
    }
    hp_text_end(&text);
    set_name(wanted, HP_IO_PEER, name, text.length);
}

static void name_socket(struct wanted_row *wanted)
{
    struct sockaddr_un address;
    int domain = 0;
    socklen_t size = sizeof domain;
    getsockopt(wanted->descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    if (domain == AF_INET || domain == AF_INET6) {
        name_connection(wanted);
        return;
    }
    const size_t length = domain == AF_UNIX ? hp_descriptor_local_path(wanted->descriptor, &address) : 0;
    if (length != 0)
        set_name(wanted, HP_IO_SOCKET, address.sun_path, length);
    else
        set_name(wanted, HP_IO_SOCKET, domain == AF_UNIX ? "unix socket" : "socket", domain == AF_UNIX ? 11 : 6);
}

/* "/data/x.db"; "pipe:[4711]" and "anon_inode:[eventfd]" by what they are. */
static void name_link(struct wanted_row *wanted, enum hp_io_kind kind)
{
    static const char gone[] = " (deleted)", anonymous[] = "anon_inode:";
    char link[1024];
    size_t length = hp_descriptor_link(0, (uint32_t)wanted->descriptor, link, sizeof link);
    if (length > sizeof gone && hp_text_has_suffix(link, gone))
        length -= sizeof gone - 1;
    if (length == 0)
        set_name(wanted, kind, "unknown", 7);
    else if (strncmp(link, "pipe:", 5) == 0)
        set_name(wanted, HP_IO_PIPE, "pipe", 4);
    else if (strncmp(link, anonymous, sizeof anonymous - 1) == 0) {
        const char *name = link + sizeof anonymous - 1;
        const size_t brackets = name[0] == '[';
        set_name(wanted, HP_IO_OTHER, name + brackets, strlen(name) - 2 * brackets);
    } else {
        set_name(wanted, kind, link, length);
    }
}

/* False: it is not open now. */
static bool name_descriptor(struct wanted_row *wanted)
{
    struct stat file;
    if (fstat(wanted->descriptor, &file) != 0)
        return false;
    if (S_ISSOCK(file.st_mode))
        name_socket(wanted);
    else
        name_link(wanted, S_ISFIFO(file.st_mode)                           ? HP_IO_PIPE
                          : S_ISCHR(file.st_mode) || S_ISBLK(file.st_mode) ? HP_IO_DEVICE
                          : S_ISREG(file.st_mode) || S_ISDIR(file.st_mode) ? HP_IO_FILE
                                                                           : HP_IO_OTHER);
    return true;
}

/* ------------------------------------------------------------------------------------------------- descriptors */

static void keep(struct hp_io_rows *rows, int number, uint64_t entry, uint32_t row)
{
    __atomic_store_n(&rows->of_descriptors[number], (uint64_t)hp_descriptor_generation(entry) << 32 | row,
                     __ATOMIC_RELAXED);
}

struct question {
    struct hp_io_rows *rows;
    int descriptor; /* -1: the row of that name or address */
    enum hp_io_kind kind;
    const char *name;
    const void *address;
    uint32_t size;
    uint32_t row;    /* 0: not found */
    bool may_change; /* it is to be looked up again */
};

static void answer(void *context)
{
    struct question *question = context;
    struct wanted_row wanted = {.rows = question->rows, .descriptor = question->descriptor};
    if (question->address != NULL)
        name_address(&wanted, question->address, question->size);
    else if (question->descriptor < 0)
        set_name(&wanted, question->kind, question->name, strlen(question->name));
    else if (!name_descriptor(&wanted))
        return;
    question->row = find_or_make(&wanted);
    question->may_change = wanted.may_change;
}

/* musl does not tell us of a fork: there a child is not ours before something is recorded. */
static bool may_look(void)
{
#ifndef __GLIBC__
    if (!hp_thread_is_ours())
        return false;
#endif
    return hotpath_v1_transfer_may_look();
}

static uint32_t row_for(struct question *question)
{
    const int saved = errno;
    if (!may_look() || !hp_aside(answer, question))
        question->row = 0;
    errno = saved;
    return question->row;
}

__attribute__((noinline)) uint32_t hp_io_row_look(struct hp_io_rows *rows, int number)
{
    const uint64_t entry = hp_descriptor_entry(number);
    struct question question = {.rows = rows, .descriptor = number};
    const uint32_t row = row_for(&question);
    if (row != 0 && !question.may_change)
        keep(rows, number, entry, row);
    return row != 0 ? row : HP_IO_ROW_OF_OTHERS;
}

__attribute__((noinline)) uint32_t hp_io_row_named(struct hp_io_rows *rows, enum hp_io_kind kind, const char *name)
{
    struct question question = {.rows = rows, .descriptor = -1, .kind = kind, .name = name};
    const uint32_t row = row_for(&question);
    return row != 0 ? row : HP_IO_ROW_OF_OTHERS;
}

uint32_t hp_io_row_of_address(struct hp_io_rows *rows, const void *address, uint32_t size)
{
    struct question question = {.rows = rows, .descriptor = -1, .address = address, .size = size};
    const uint32_t row = address != NULL && size >= sizeof(sa_family_t) ? row_for(&question) : 0;
    return row != 0 ? row : HP_IO_ROW_OF_OTHERS;
}

static bool is_label(const struct hp_io_rows *rows, uint32_t row) { return row_at(rows, row)->kind == HP_IO_LABEL; }

uint32_t hp_io_row_forget(struct hp_io_rows *rows, int number)
{
    const uint32_t row = hp_io_row_known(rows, number);
    if (row != 0 && is_label(rows, row))
        return row;
    if ((unsigned)number < HP_DESCRIPTORS)
        __atomic_store_n(&rows->of_descriptors[number], 0, __ATOMIC_RELAXED);
    return 0;
}

void hp_io_row_label(struct hp_io_rows *rows, int number, const char *label)
{
    if ((unsigned)number >= HP_DESCRIPTORS)
        return;
    const uint64_t entry = hp_descriptor_entry(number); /* first: it may be closed while the row is looked up */
    keep(rows, number, entry, hp_io_row_named(rows, HP_IO_LABEL, label));
}
