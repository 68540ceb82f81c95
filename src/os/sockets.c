/* Names of socket connections, from the kernel's tables. SPDX-License-Identifier: MIT */
#include "sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>

#include "raw_call.h"
#include "task_files.h"
#include "text.h"

/* Hex digits that the kernel printed as native integers, of bytes in network order: 8, or 4 times 8. */
static struct in6_addr address_of(const char *digits, size_t words)
{
    struct in6_addr address = {0};
    for (size_t at = 0; at < words; at++) {
        char word[9] = {0};
        memcpy(word, digits + at * 8, 8);
        const char *rest = word;
        const uint32_t number = (uint32_t)hp_task_hex(&rest);
        memcpy(&address.s6_addr[at * 4], &number, sizeof number);
    }
    return address;
}

/* An address too long for the name loses its beginning, in whole groups. */
static void put_long_address(struct hp_text *text, const char *address)
{
    const size_t room = HP_SOCKET_NAME - 1 - text->length - (sizeof "[]:65535" - 1), length = strlen(address);
    hp_text_char(text, '[');
    if (length > room) {
        const char *group = strchr(address + length - (room - 2), ':');
        address = group != NULL ? group + 1 : address;
        hp_text_string(text, "..");
    }
    hp_text_string(text, address);
    hp_text_char(text, ']');
}

static uint64_t port_of(const char *endpoint)
{
    const char *port = endpoint + strcspn(endpoint, ": ");
    port += *port == ':';
    return hp_task_hex(&port);
}

/* "0100007F:1F90" is 127.0.0.1:8080. */
static void put_endpoint(struct hp_text *text, const char *endpoint)
{
    char name[INET6_ADDRSTRLEN] = "?";
    const size_t digits = strcspn(endpoint, ": ");
    const struct in6_addr address = address_of(endpoint, digits == 32 ? 4 : digits == 8);
    const bool is_mapped = digits == 32 && IN6_IS_ADDR_V4MAPPED(&address);
    if (digits == 8 || is_mapped) {
        inet_ntop(AF_INET, &address.s6_addr[is_mapped ? 12 : 0], name, sizeof name);
        hp_text_string(text, name);
    } else {
        inet_ntop(AF_INET6, &address, name, sizeof name);
        put_long_address(text, name);
    }
    hp_text_char(text, ':');
    hp_text_u64(text, port_of(endpoint));
}

/*
 * A line of /proc/net/tcp: "  0: 0100007F:1F90 00000000:0000 0A ... inode". Gives the peer; without one its own
 * address.
 */
static bool name_by_tcp(const char *line, uint64_t inode, const char *protocol, char name[HP_SOCKET_NAME])
{
    const char *fields[10];
    struct hp_text text;
    size_t count = 0;
    for (const char *at = line; *at != '\0' && count < 10;) {
        while (*at == ' ')
            at++;
        fields[count++] = at;
        while (*at != ' ' && *at != '\0')
            at++;
    }
    if (count < 10)
        return false;
    const char *number = fields[9];
    if (hp_task_number(&number) != inode)
        return false;
    const bool is_connected = port_of(fields[2]) != 0;
    hp_text_init(&text, name, HP_SOCKET_NAME);
    hp_text_string(&text, protocol);
    hp_text_string(&text, is_connected ? " " : " at ");
    put_endpoint(&text, fields[is_connected ? 2 : 1]);
    hp_text_end(&text);
    return true;
}

/* A line of /proc/net/unix: "...: refs protocol flags type st inode path". Client sockets have no path. */
static bool name_by_unix(const char *line, uint64_t inode, const char *protocol, char name[HP_SOCKET_NAME])
{
    const char *at = strchr(line, ':');
    struct hp_text text;
    if (at == NULL)
        return false;
    at++;
    for (int field = 0; field < 5; field++) {
        at += strspn(at, " ");
        at += strcspn(at, " ");
    }
    if (hp_task_number(&at) != inode)
        return false;
    at += strspn(at, " ");
    hp_text_init(&text, name, HP_SOCKET_NAME);
    hp_text_string(&text, protocol);
    hp_text_string(&text, at[0] != '\0' ? " " : " socket");
    hp_text_string(&text, at);
    hp_text_end(&text);
    return true;
}

typedef bool name_by_line(const char *line, uint64_t inode, const char *protocol, char name[HP_SOCKET_NAME]);

#define TABLE_BYTES (4u << 20) /* of a table to search: some 28,000 sockets */

/* Line by line, in chunks, since such a table may be long. */
static bool find_in_table(const char *path, uint64_t inode, const char *protocol, name_by_line *by,
                          char name[HP_SOCKET_NAME])
{
    char line[256], piece[1024];
    size_t length = 0, left = TABLE_BYTES;
    bool is_found = false;
    const int fd = hp_sys_open(path, O_RDONLY, 0);
    ssize_t got;
    while (fd >= 0 && !is_found && left > 0 && (got = hp_sys_read(fd, piece, sizeof piece)) > 0) {
        left -= (size_t)got < left ? (size_t)got : left;
        for (ssize_t at = 0; at < got && !is_found; at++) {
            if (piece[at] != '\n') {
                line[length] = piece[at];
                length += length + 1 < sizeof line;
                continue;
            }
            line[length] = '\0';
            is_found = by(line, inode, protocol, name);
            length = 0;
        }
    }
    if (fd >= 0)
        hp_sys_close(fd);
    return is_found;
}

bool hp_socket_name(uint32_t pid, uint64_t inode, char name[HP_SOCKET_NAME])
{
    static const struct {
        const char *file, *protocol;
        name_by_line *by;
    } tables[] = {{"net/tcp", "tcp", name_by_tcp},
                  {"net/tcp6", "tcp", name_by_tcp},
                  {"net/unix", "unix", name_by_unix},
                  {"net/udp", "udp", name_by_tcp},
                  {"net/udp6", "udp", name_by_tcp}};
    char path[HP_TASK_PATH];
    for (size_t at = 0; at < sizeof tables / sizeof tables[0]; at++)
        if (find_in_table(hp_task_path(path, pid, 0, tables[at].file), inode, tables[at].protocol, tables[at].by,
                          name))
            return true;
    return false;
}
