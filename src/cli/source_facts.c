/*
 * Reads what git keeps in .git, without git. In CI, the variables of the job come first: what is checked out there
 * may be a merge that nobody else has. SPDX-License-Identifier: MIT
 */
#include "source_facts.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "git_index.h"
#include "text.h"

#define HASH_MOST 65u /* of SHA-256, with the zero */

struct facts {
    char commit[HASH_MOST], branch[256];
    enum hp_git_state state;
    const char *ci, *job;
};

/* ---------------------------------------------------------------------------------------------------------- git */

static void cut_line(char *text) { text[strcspn(text, "\r\n")] = '\0'; }

static bool is_hash(const char *text)
{
    const size_t length = strlen(text);
    return (length == 40 || length == 64) && strspn(text, "0123456789abcdef") == length;
}

/* The folder of git for `folder`, which has a worktree of its own in a file. */
static bool find_git(const char *folder, char git[PATH_MAX])
{
    char path[PATH_MAX + 8], text[PATH_MAX];
    struct stat about;
    snprintf(path, sizeof path, "%s/.git", folder);
    if (stat(path, &about) != 0)
        return false;
    if (S_ISDIR(about.st_mode))
        return snprintf(git, PATH_MAX, "%s", path) < PATH_MAX;
    if (!S_ISREG(about.st_mode) || !hp_file_read_text(path, text, sizeof text) || !hp_text_begins(text, "gitdir: "))
        return false;
    cut_line(text);
    const char *where = text + strlen("gitdir: ");
    return where[0] == '/' ? snprintf(git, PATH_MAX, "%s", where) < PATH_MAX
                           : snprintf(git, PATH_MAX, "%s/%s", folder, where) < PATH_MAX;
}

static bool find_packed(const char *git, const char *reference, char commit[HASH_MOST])
{
    char path[PATH_MAX + 32], line[512];
    snprintf(path, sizeof path, "%s/packed-refs", git);
    const int fd = hp_regular_open(AT_FDCWD, path, O_RDONLY);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    bool is_found = false;
    while (file != NULL && !is_found && fgets(line, sizeof line, file) != NULL) {
        char *blank = strchr(line, ' ');
        cut_line(line);
        if (blank == NULL || strcmp(blank + 1, reference) != 0)
            continue;
        *blank = '\0';
        is_found = is_hash(line);
        if (is_found)
            memcpy(commit, line, strlen(line) + 1);
    }
    if (file != NULL)
        fclose(file);
    return is_found;
}

static bool find_reference(const char *git, const char *reference, char commit[HASH_MOST])
{
    char path[PATH_MAX + 300], text[HASH_MOST + 2];
    snprintf(path, sizeof path, "%s/%s", git, reference);
    if (!hp_file_read_text(path, text, sizeof text))
        return find_packed(git, reference, commit);
    cut_line(text);
    if (!is_hash(text))
        return false;
    memcpy(commit, text, strlen(text) + 1);
    return true;
}

/* Branches of all worktrees are in one folder. */
static void read_head(const char *git, struct facts *facts)
{
    char path[PATH_MAX + 32], text[300], common[PATH_MAX], other[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/HEAD", git);
    if (!hp_file_read_text(path, text, sizeof text))
        return;
    cut_line(text);
    if (is_hash(text))
        memcpy(facts->commit, text, strlen(text) + 1);
    if (!hp_text_begins(text, "ref: ") || strstr(text, "..") != NULL)
        return;
    const char *reference = text + strlen("ref: ");
    if (hp_text_begins(reference, "refs/heads/"))
        snprintf(facts->branch, sizeof facts->branch, "%.250s", reference + strlen("refs/heads/"));
    snprintf(path, sizeof path, "%s/commondir", git);
    if (find_reference(git, reference, facts->commit) || !hp_file_read_text(path, common, sizeof common))
        return;
    cut_line(common);
    snprintf(other, sizeof other, "%s%s%s", common[0] == '/' ? "" : git, common[0] == '/' ? "" : "/", common);
    if (strlen(other) < PATH_MAX)
        find_reference(other, reference, facts->commit);
}

static void read_git(struct facts *facts)
{
    char folder[PATH_MAX], git[PATH_MAX];
    if (getcwd(folder, sizeof folder) == NULL)
        return;
    while (!find_git(folder, git)) {
        char *slash = strrchr(folder, '/');
        if (slash == NULL || slash == folder)
            return;
        *slash = '\0';
    }
    read_head(git, facts);
    facts->state = hp_git_index_compare(git, folder, strlen(facts->commit) / 2);
}

/* ----------------------------------------------------------------------------------------------------------- CI */

static const char *set(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static void take(char *to, size_t size, const char *value)
{
    if (value != NULL)
        snprintf(to, size, "%s", value);
}

static void read_ci(struct facts *facts)
{
    if (set("GITHUB_ACTIONS") != NULL) {
        facts->ci = "github";
        facts->job = set("GITHUB_RUN_ID");
        take(facts->commit, sizeof facts->commit, set("GITHUB_SHA"));
        take(facts->branch, sizeof facts->branch,
             set("GITHUB_HEAD_REF") != NULL ? set("GITHUB_HEAD_REF") : set("GITHUB_REF_NAME"));
    } else if (set("GITLAB_CI") != NULL) {
        facts->ci = "gitlab";
        facts->job = set("CI_JOB_ID");
        take(facts->commit, sizeof facts->commit, set("CI_COMMIT_SHA"));
        take(facts->branch, sizeof facts->branch, set("CI_COMMIT_REF_NAME"));
    } else if (set("CI") != NULL) {
        facts->ci = "other";
    }
}

/* --------------------------------------------------------------------------------------------------------- all */

/* A comma would end the value. */
static void add(struct hp_text *text, const char *key, const char *value)
{
    if (value == NULL || value[0] == '\0')
        return;
    hp_text_format(text, "%s%s=", text->length > 0 ? "," : "", key);
    for (; *value != '\0'; value++)
        hp_text_char(text, *value == ',' || (unsigned char)*value < ' ' ? '_' : *value);
}

void hp_source_facts_find(char *text, size_t size)
{
    static const char *const dirty[] = {[HP_GIT_CLEAN] = "false", [HP_GIT_DIRTY] = "true"};
    struct facts facts = {.state = HP_GIT_UNKNOWN};
    struct hp_text out;
    read_git(&facts);
    read_ci(&facts);
    hp_text_init(&out, text, size);
    add(&out, "commit", facts.commit);
    add(&out, "branch", facts.branch);
    add(&out, "dirty", dirty[facts.state]);
    add(&out, "ci", facts.ci);
    add(&out, "job", facts.job);
    hp_text_end(&out);
}
