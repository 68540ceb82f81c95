/* Directories of sessions. SPDX-License-Identifier: MIT */
#include "session_dirs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "layout.h"
#include "process.h"
#include "text.h"

static void put_runtime_folder(struct hp_text *place)
{
    const char *runtime = hp_environment("XDG_RUNTIME_DIR");
    if (runtime == NULL || runtime[0] != '/')
        return;
    hp_text_format(place, "%s/hotpath", runtime);
}

static void put_folder_of_user(struct hp_text *place, const char *folder)
{
    hp_text_format(place, "%s/hotpath-%u", folder, geteuid());
}

bool hp_session_dir(const struct hp_record_settings *settings, unsigned n, char *text, size_t size)
{
    struct hp_text place;
    hp_text_init(&place, text, size);
    const bool is_chosen = settings->dir[0] != '\0';
    if (is_chosen)
        hp_text_string(&place, settings->dir);
    else if (n == 0)
        put_runtime_folder(&place);
    else
        put_folder_of_user(&place, n == 1 ? "/dev/shm" : "/tmp");
    hp_text_end(&place);
    return n < (is_chosen ? 1 : 3); /* the user chose: no other directory is used silently */
}

/* A session takes at most a quarter of the free space. */
bool hp_session_dir_is_usable(const char *place)
{
    if (place[0] == '\0')
        errno = ENOENT;
    if (place[0] == '\0' || !hp_file_make_private_folder(place))
        return false;
    if (hp_file_free_bytes(place) >= 4 * (uint64_t)HP_MIN_BYTES)
        return true;
    errno = ENOSPC;
    return false;
}

bool hp_session_dir_is_of_run(const char *folder) { return hp_text_has_suffix(folder, HP_RUN_SUFFIX); }

bool hp_session_dir_find_run(const char *path, char *folder, size_t size)
{
    const char *slash = strrchr(path, '/');
    const size_t length = hp_session_dir_is_of_run(path) ? strlen(path)
                          : slash != NULL                ? (size_t)(slash - path)
                                                         : 0;
    folder[0] = '\0';
    if (length >= size)
        return false;
    memcpy(folder, path, length);
    folder[length] = '\0';
    if (!hp_session_dir_is_of_run(folder))
        folder[0] = '\0';
    return folder[0] != '\0';
}

/* If its parent directory is missing, too, we are in another root. */
static bool is_removed(const char *folder)
{
    char around[1024];
    const char *slash = strrchr(folder, '/');
    const size_t length = slash != NULL ? (size_t)(slash - folder) : 0;
    if (length == 0 || length >= sizeof around || access(folder, F_OK) == 0 || errno != ENOENT)
        return false;
    memcpy(around, folder, length);
    around[length] = '\0';
    return access(around, F_OK) == 0;
}

bool hp_session_dir_is_of_past_run(const char *folder)
{
    return hp_session_dir_is_of_run(folder) && (!hp_file_is_locked(folder) || is_removed(folder));
}

bool hp_session_dir_of_report(const char *pattern, uint32_t pid, char *path, size_t size)
{
    struct hp_text text;
    hp_text_init(&text, path, size);
    for (; *pattern; pattern++) {
        if (pattern[0] == '%' && pattern[1] == 'p') {
            hp_text_u64(&text, pid);
            pattern++;
        } else {
            hp_text_char(&text, *pattern);
        }
    }
    hp_text_end(&text);
    return !text.is_cut && text.length > 0 && text.length < size;
}
