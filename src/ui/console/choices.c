/* Remembers the user's choices. SPDX-License-Identifier: MIT */
#include "choices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define USUAL_MS 1000u

/* In the user's configuration folder, which need not exist. */
static void find_path(struct hp_choices *choices)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const size_t size = sizeof choices->path;
    int length = 0;
    if (config != NULL && config[0] == '/')
        length = snprintf(choices->path, size, "%s/hotpath/console", config);
    else if (home != NULL && home[0] == '/')
        length = snprintf(choices->path, size, "%s/.config/hotpath/console", home);
    if (length <= 0 || (size_t)length >= size)
        choices->path[0] = '\0';
}

static bool copy(char *to, size_t size, const char *from)
{
    if (strlen(from) >= size || strpbrk(from, "\t\n") != NULL)
        return false;
    memcpy(to, from, strlen(from) + 1);
    return true;
}

static bool is_one(const struct hp_choice *choice, const char *what, const char *of, const char *name)
{
    return strcmp(choice->what, what) == 0 && strcmp(choice->of, of) == 0 &&
           (name == NULL || strcmp(choice->name, name) == 0);
}

bool hp_choice_has(const struct hp_choices *choices, const char *what, const char *of, const char *name)
{
    for (size_t at = 0; at < choices->count; at++)
        if (is_one(&choices->all[at], what, of, name))
            return true;
    return false;
}

const char *hp_choice_find(const struct hp_choices *choices, const char *what, const char *of)
{
    for (size_t at = 0; at < choices->count; at++)
        if (is_one(&choices->all[at], what, of, NULL))
            return choices->all[at].name;
    return NULL;
}

static void remove_all(struct hp_choices *choices, const char *what, const char *of, const char *name)
{
    size_t kept = 0;
    for (size_t at = 0; at < choices->count; at++)
        if (!is_one(&choices->all[at], what, of, name))
            choices->all[kept++] = choices->all[at];
    choices->has_changed |= kept < choices->count;
    choices->count = kept;
}

void hp_choice_clear(struct hp_choices *choices, const char *what, const char *of)
{
    remove_all(choices, what, of, NULL);
}

void hp_choice_set(struct hp_choices *choices, const char *what, const char *of, const char *name, bool is_chosen)
{
    if (!is_chosen) {
        remove_all(choices, what, of, name);
        return;
    }
    if (hp_choice_has(choices, what, of, name) || choices->count == HP_CHOICES_MOST)
        return;
    struct hp_choice *choice = &choices->all[choices->count];
    if (!copy(choice->what, sizeof choice->what, what) || !copy(choice->of, sizeof choice->of, of) ||
        !copy(choice->name, sizeof choice->name, name))
        return;
    choices->count++;
    choices->has_changed = true;
}

/* "refresh<tab>500", or "sort<tab>functions<tab>own" */
static void read_line(struct hp_choices *choices, char *line)
{
    line[strcspn(line, "\n")] = '\0';
    char *of = strchr(line, '\t');
    if (of == NULL)
        return;
    *of++ = '\0';
    char *name = strchr(of, '\t');
    if (name == NULL) {
        const long ms = strtol(of, NULL, 10);
        if (strcmp(line, "refresh") == 0 && ms >= 100 && ms <= 10000)
            choices->refresh_ms = (uint32_t)ms;
        return;
    }
    *name++ = '\0';
    hp_choice_set(choices, line, of, name, true);
}

void hp_choices_read(struct hp_choices *choices)
{
    char line[400];
    *choices = (struct hp_choices){.refresh_ms = USUAL_MS};
    find_path(choices);
    FILE *file = choices->path[0] != '\0' ? fopen(choices->path, "re") : NULL;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        read_line(choices, line);
    if (file != NULL)
        fclose(file);
    choices->has_changed = false;
}

/* Creates all missing folders above it. */
static void make_folders(const char *path)
{
    char folder[1024];
    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        if (mkdir(folder, 0700) != 0 && errno != EEXIST)
            return;
    }
}

/* Writes a new file and renames it, so that there is always a complete one. */
void hp_choices_write(struct hp_choices *choices)
{
    char beside[sizeof choices->path + 16];
    if (!choices->has_changed || choices->path[0] == '\0')
        return;
    choices->has_changed = false;
    make_folders(choices->path);
    snprintf(beside, sizeof beside, "%s.%ld", choices->path, (long)getpid());
    FILE *file = fopen(beside, "we");
    if (file == NULL)
        return;
    fprintf(file, "refresh\t%u\n", (unsigned)choices->refresh_ms);
    for (size_t at = 0; at < choices->count; at++)
        fprintf(file, "%s\t%s\t%s\n", choices->all[at].what, choices->all[at].of, choices->all[at].name);
    const bool is_written = fflush(file) == 0 && ferror(file) == 0;
    if (fclose(file) != 0 || !is_written || rename(beside, choices->path) != 0)
        unlink(beside);
}
