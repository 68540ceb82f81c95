/* What a socket is connected to, from the kernel's tables of them. SPDX-License-Identifier: MIT */
#include "sockets.h"

#include <fcntl.h>
#include <string.h>

#include "sys.h"
#include "task_files.h"
#include "text.h"

static void put_address(struct hp_text *text, const char *hex, size_t digits)
{
    const char *at = hex + digits;
    uint64_t port = 0;
    if (*at == ':') {
        at++;
        port = hp_task_hex(&at);
    }
    if (digits == 8) {
        /* The kernel prints it as a number of this machine, of bytes in the order of the network. */
        uint32_t address = (uint32_t)hp_task_hex(&hex);
        unsigned char bytes[4];
        memcpy(bytes, &address, sizeof bytes);
        for (size_t byte = 0; byte < sizeof bytes; byte++) {
            hp_text_string(text, byte > 0 ? "." : "");
            hp_text_u64(text, bytes[byte]);
        }
    } else {
        hp_text_string(text, "[..");
        hp_text_bytes(text, hex + digits - 8, 8);
        hp_text_char(text, ']');
    }
    hp_text_char(text, ':');
    hp_text_u64(text, port);
}

/* A line of /proc/net/tcp: "  0: 0100007F:1F90 00000000:0000 0A ... inode". The peer, or of one that listens its own address. */
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
    const bool is_listening = strncmp(fields[3], "0A", 2) == 0;
    const char *address = is_listening ? fields[1] : fields[2];
    hp_text_init(&text, name, HP_SOCKET_NAME);
    hp_text_string(&text, protocol);
    hp_text_string(&text, is_listening ? " at " : " ");
    put_address(&text, address, strcspn(address, ":"));
    hp_text_end(&text);
    return true;
}

/* A line of /proc/net/unix: "...: refs protocol flags type st inode path". Sockets of clients have no path. */
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

#define TABLE_BYTES 65536u /* of a table of sockets that are looked through */

/* Line by line, in pieces, since such a table may be long. */
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
