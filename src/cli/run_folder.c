/* Creates the folder of a run. SPDX-License-Identifier: MIT */
#include "run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector.h"
#include "command.h"
#include "counted_blocks.h"
#include "debug_servers.h"
#include "instruction_blocks.h"
#include "live_stacks.h"
#include "name_stacks.h"
#include "process.h"
#include "run_facts.h"
#include "session_dirs.h"
#include "stack_file.h"
#include "stack_watch.h"
#include "zone_names.h"

#define USUAL_RATE 997u
#define SAMPLE_NS 7000.0 /* what one takes: docs/overhead.md */

uint64_t hp_stack_period_ns(const struct hp_settings *settings)
{
    return UINT64_C(1000000000) / (settings->record.cpu_rate > 0 ? settings->record.cpu_rate : USUAL_RATE);
}

void hp_stack_cost_say(const struct hp_settings *settings)
{
    const uint32_t rate = settings->record.cpu_rate;
    if (rate > USUAL_RATE && getenv("HOTPATH_CPU_RATE") == NULL) /* whose user may not want to be told each time */
        hp_fail("%u samples a second take about %.1f %% of the CPU time", (unsigned)rate, rate * SAMPLE_NS / 1e7);
}

/* Held as long as we live: it tells others, even in other containers, that this run goes on. */
static bool lock_folder(const char *folder)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* The full path, because the program may change its working directory. */
static bool make_in(char folder[HP_RUN_FOLDER], const char *place)
{
    char whole[PATH_MAX];
    if (!hp_session_dir_is_usable(place) || realpath(place, whole) == NULL)
        return false;
    const int length = snprintf(folder, HP_RUN_FOLDER, "%s/%u-%llu%s", whole, (unsigned)getpid(),
                                (unsigned long long)hp_process_start_time(0), HP_RUN_SUFFIX);
    if (length >= (int)HP_RUN_FOLDER)
        errno = ENAMETOOLONG;
    return length < (int)HP_RUN_FOLDER && mkdir(folder, 0700) == 0 && lock_folder(folder);
}

bool hp_run_folder_make(const struct hp_settings *settings, char folder[HP_RUN_FOLDER])
{
    char place[1200];
    for (unsigned n = 0; hp_session_dir(&settings->record, n, place, sizeof place); n++)
        if (make_in(folder, place)) {
            hp_run_terminal_write(folder);
            return true;
        }
    folder[0] = '\0';
    return false;
}

void hp_run_folder_drop(const char *folder)
{
    char source[HP_RUN_SOURCE];
    const bool has_source = hp_run_source_read(folder, source);
    hp_run_source_forget(folder);
    hp_run_terminal_forget(folder);
    hp_stacks_withdraw(folder);
    if (rmdir(folder) == 0)
        return;
    hp_run_terminal_write(folder); /* it has something in it, and stays */
    if (has_source)
        hp_run_source_write(folder, source);
}

bool hp_run_folder_keep_stacks(const char *folder, uint32_t pid)
{
    struct hp_named_stacks named;
    const struct hp_stacks *stacks = hp_collector_end();
    errno = 0;
    if (stacks == NULL)
        return false;
    const uint64_t found = stacks->counts.samples + stacks->counts.waits + stacks->counts.refused +
                           stacks->counts.allocs + stacks->counts.failed.samples + stacks->counts.failed.heaps;
    struct hp_zone_namer *namer = stacks->zones.count > 0 ? hp_zone_names_of(folder) : NULL;
    const bool is_named = found > 0 && hp_live_stacks_finish(stacks, namer, &named);
    hp_zone_names_free(namer);
    hp_debug_servers_end();
    if (is_named && pid != 0)
        hp_named_stacks_keep(&named, &pid, 1);
    const bool is_kept = is_named && hp_stack_file_write(folder, &named);
    const int error = is_named && !is_kept ? errno : 0;
    if (error != 0)
        hp_fail("cannot store stacks in '%s': %s", folder, strerror(error));
    if (is_named)
        hp_named_stacks_free(&named);
    hp_collector_free();
    hp_live_stacks_free();
    errno = error;
    return is_kept;
}

#define MOST_NATIVES 4u /* named; there may be thousands */

/* Programs that ran without the emulator, each once: lines of a reason, a tab and a path. */
struct natives {
    char lines[MOST_NATIVES][PATH_MAX + 64];
    size_t count; /* of all */
};

static void add_natives(struct natives *natives, FILE *from)
{
    char line[sizeof natives->lines[0]];
    while (fgets(line, sizeof line, from) != NULL) {
        size_t at = 0;
        line[strcspn(line, "\n")] = '\0';
        while (at < natives->count && at < MOST_NATIVES && strcmp(natives->lines[at], line) != 0)
            at++;
        if (at < natives->count && at < MOST_NATIVES)
            continue;
        if (at < MOST_NATIVES)
            memcpy(natives->lines[at], line, sizeof line);
        natives->count++;
    }
}

#define LONGEST_PATH (HP_RUN_NATIVES / MOST_NATIVES - 120u) /* beside the reason */

/* For the report. */
static void write_natives(const char *folder, const struct natives *natives)
{
    char lines[HP_RUN_NATIVES] = "";
    struct hp_text text;
    hp_text_init(&text, lines, sizeof lines);
    for (size_t at = 0; at < natives->count && at < MOST_NATIVES; at++) {
        const char *tab = strchr(natives->lines[at], '\t');
        if (tab == NULL)
            continue;
        hp_text_bytes(&text, natives->lines[at], (size_t)(tab - natives->lines[at]));
        hp_text_bytes(&text, tab, strnlen(tab, LONGEST_PATH));
        hp_text_char(&text, '\n');
    }
    if (natives->count > MOST_NATIVES)
        hp_text_format(&text, "\t%zu\n", natives->count - MOST_NATIVES);
    hp_run_natives_write(folder, hp_text_end(&text));
}

void hp_run_folder_name_natives(const char *folder)
{
    char lines[HP_RUN_NATIVES];
    if (!hp_run_natives_read(folder, lines))
        return;
    for (char *line = lines, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        char *tab = memchr(line, '\t', (size_t)(end - line));
        if (tab == NULL)
            continue;
        if (tab == line)
            hp_fail("nor are those of other programs, executed %.*s times", (int)(end - tab) - 1, tab + 1);
        else
            hp_fail("instructions of '%.*s', which the program executed, are not counted: %.*s",
                    (int)(end - tab) - 1, tab + 1, (int)(tab - line), line);
    }
}

static void keep_natives(const char *folder)
{
    char path[PATH_MAX];
    DIR *all = opendir(folder);
    struct natives *natives = calloc(1, sizeof *natives);
    for (const struct dirent *entry; all != NULL && natives != NULL && (entry = readdir(all)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *from = hp_text_has_suffix(path, HP_BLOCK_NATIVE_SUFFIX) ? fopen(path, "re") : NULL;
        if (from == NULL)
            continue;
        add_natives(natives, from);
        fclose(from);
        unlink(path);
    }
    if (all != NULL)
        closedir(all);
    if (natives != NULL)
        write_natives(folder, natives);
    free(natives);
}

bool hp_run_folder_keep_counts(const char *folder)
{
    struct hp_stacks counted;
    struct hp_named_stacks named;
    uint64_t refused;
    const bool is_named =
        hp_counted_blocks_read(folder, &counted, &refused) && hp_name_stacks(&counted, NULL, &named);
    keep_natives(folder);
    if (refused > 0)
        hp_fail("instructions are not counted everywhere, but time under the emulator: the system refuses its "
                "plugin what it needs to answer (process_vm_readv, /proc/self/mem)");
    errno = 0;
    const bool is_kept = is_named && hp_stack_file_write(folder, &named);
    if (is_named && !is_kept)
        hp_fail("cannot store counts in '%s': %s", folder, strerror(errno));
    if (is_named)
        hp_named_stacks_free(&named);
    hp_counted_blocks_free(&counted);
    return is_kept;
}
