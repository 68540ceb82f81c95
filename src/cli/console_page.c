/* Writes the console's report as a page. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* mkostemps */
#include "console_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "report_output.h"
#include "sessions.h"

static bool find_sessions(struct hp_sessions *sessions, const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return hp_sessions_in(sessions, path) && sessions->count > 0;
    sessions->all = calloc(1, sizeof *sessions->all);
    if (sessions->all == NULL)
        return false;
    sessions->count = sessions->capacity = 1;
    snprintf(sessions->all->path, sizeof sessions->all->path, "%s", path);
    return true;
}

static FILE *make_file(const char *program, char *name, size_t size)
{
    static const char end[] = ".html";
    const char *folder = getenv("TMPDIR");
    const int length = snprintf(name, size, "%s/hotpath-%.60s-XXXXXX%s",
                                folder != NULL && folder[0] == '/' ? folder : "/tmp", program, end);
    const int fd = length < (int)size ? mkostemps(name, (int)sizeof end - 1, O_CLOEXEC) : -1;
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (fd >= 0 && file == NULL)
        close(fd);
    return file;
}

bool hp_console_page(const struct hp_settings *settings, const char *path, const char *program, char *text,
                     size_t size)
{
    static struct hp_settings page;
    struct hp_sessions sessions = {0};
    hp_settings_copy(&page, settings);
    page.output.format = HP_FORMAT_HTML;
    page.output.output_path[0] = '\0';
    FILE *file = make_file(program, text, size);
    if (file == NULL) {
        snprintf(text, size, "Cannot create a file for the page: %s", strerror(errno));
        return false;
    }
    bool is_written = find_sessions(&sessions, path) && hp_show(&sessions, &page, file, false) == EXIT_DONE;
    is_written = fclose(file) == 0 && is_written;
    hp_sessions_free(&sessions);
    if (!is_written) {
        unlink(text);
        snprintf(text, size, "Cannot write the page; 'hotpath report --format html' shows why");
    }
    return is_written;
}
