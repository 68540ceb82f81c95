/* The readers of the agent, and the sums of what they answer. SPDX-License-Identifier: MIT */
#include "agent_users.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent_rights.h"
#include "clock.h"
#include "files.h"
#include "text.h"
#include "units.h"

#define AWAITED_NS UINT64_C(5000000000)      /* ... and by who asks */
#define MOST_MESSAGES 64u                    /* of a reader at a time: others are waiting, too */
#define PATIENCE_NS UINT64_C(30000000000)    /* for metrics, by us ... */
#define FIRST_PAUSE_NS UINT64_C(1000000000)  /* after a reader has failed, doubled each time ... */
#define LAST_PAUSE_NS UINT64_C(300000000000) /* ... up to this */

/* -------------------------------------------------------------------------------------------------------- users */

static void name_user(uid_t id, char name[64])
{
    const struct passwd *entry = getpwuid(id);
    if (entry != NULL)
        snprintf(name, 64, "%s", entry->pw_name);
    else
        snprintf(name, 64, "%u", (unsigned)id);
}

bool hp_agent_users_has(const struct hp_agent_users *users, uid_t id)
{
    char name[64];
    size_t length;
    uint64_t number;
    if (users->list == NULL)
        return true;
    name_user(id, name);
    for (const char *rest = users->list, *item; (item = hp_text_next_item(&rest, &length)) != NULL;)
        if ((strlen(name) == length && memcmp(name, item, length) == 0) ||
            (hp_number_unsigned(item, length, UINT32_MAX, &number) && number == id))
            return true;
    return false;
}

/* NULL: there are too many, or no memory. */
static struct hp_agent_user *take_user(struct hp_agent_users *users, uid_t id)
{
    for (size_t at = 0; at < users->count; at++)
        if (users->all[at].id == id)
            return &users->all[at];
    if (users->count >= HP_AGENT_USERS_MOST || !HP_MAKE_ROOM(users->all, users->count + 1, users->room))
        return NULL;
    struct hp_agent_user *user = &users->all[users->count++];
    *user = (struct hp_agent_user){.id = id, .end = -1, .state = -1};
    name_user(id, user->name);
    return user;
}

/* ------------------------------------------------------------------------------------------------------ readers */

static void end_reader(struct hp_agent_user *user)
{
    if (user->end < 0)
        return;
    close(user->end);
    kill(user->pid, SIGKILL);
    while (waitpid(user->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    user->end = -1;
    user->asked_ns = 0;
    memset(user->folders, 0, sizeof user->folders);
}

/* What it has counted stays. */
static void fail_reader(struct hp_agent_users *users, struct hp_agent_user *user)
{
    uint64_t pause = FIRST_PAUSE_NS;
    end_reader(user);
    hp_metric_sums_end(&users->sums, &user->points);
    user->about.live = 0;
    for (uint32_t left = user->failures; left > 0 && pause < LAST_PAUSE_NS; left--)
        pause *= 2;
    user->failures++;
    users->failures++;
    user->retry_ns = hp_clock_monotonic_ns() + pause;
}

static void start_reader(struct hp_agent_users *users, struct hp_agent_user *user)
{
    int ends[2];
    if (!hp_agent_link_open(ends))
        return;
    user->pid = hp_agent_start_reader(user->id, users->is_privileged, users->with_texts, ends[1]);
    close(ends[1]);
    user->end = ends[0];
    user->questions_before = users->questions;
    if (user->pid > 0)
        return;
    close(ends[0]);
    user->end = -1;
}

static void tell(struct hp_agent_users *users, struct hp_agent_user *user, enum hp_agent_kind kind, uint32_t number,
                 int fd)
{
    const struct hp_agent_message message = {.kind = (uint32_t)kind, .number = number};
    if (user->end >= 0 && !hp_agent_link_send(user->end, &message, fd))
        fail_reader(users, user);
}

/* ------------------------------------------------------------------------------------------------------ folders */

static uint64_t identity_of(const struct hp_session_folder *folder) { return folder->inode ^ folder->device << 48; }

static bool is_of(const struct hp_session_folder *folder, const struct hp_agent_user *user)
{
    return folder->fd >= 0 && folder->owner == user->id;
}

static bool is_there(const struct hp_session_folders *folders, const struct hp_agent_user *user, uint64_t identity)
{
    for (size_t at = 0; at < folders->count; at++)
        if (is_of(&folders->all[at], user) && identity_of(&folders->all[at]) == identity)
            return true;
    return false;
}

static void give(struct hp_agent_users *users, struct hp_agent_user *user, const struct hp_session_folder *folder)
{
    uint32_t free = HP_AGENT_FOLDERS_MOST;
    for (uint32_t at = HP_AGENT_FOLDERS_MOST; at-- > 0;) {
        if (user->folders[at] == identity_of(folder))
            return;
        free = user->folders[at] == 0 ? at : free;
    }
    if (free == HP_AGENT_FOLDERS_MOST)
        return;
    user->folders[free] = identity_of(folder);
    tell(users, user, HP_AGENT_FOLDER, free, folder->fd);
}

static void settle_user(struct hp_agent_users *users, struct hp_agent_user *user,
                        const struct hp_session_folders *folders)
{
    size_t wanted = 0;
    bool is_new = false;
    for (size_t at = 0; at < folders->count; at++)
        wanted += is_of(&folders->all[at], user);
    for (uint32_t at = 0; at < HP_AGENT_FOLDERS_MOST && user->end >= 0; at++)
        if (user->folders[at] != 0 && !is_there(folders, user, user->folders[at])) {
            user->folders[at] = 0;
            tell(users, user, HP_AGENT_NO_FOLDER, at, -1);
        }
    if (wanted == 0 && user->is_idle)
        end_reader(user);
    if (wanted == 0 || (user->end < 0 && hp_clock_monotonic_ns() < user->retry_ns))
        return;
    if (user->end < 0) {
        start_reader(users, user);
        is_new = true;
    }
    for (size_t at = 0; at < folders->count && user->end >= 0; at++)
        if (is_of(&folders->all[at], user))
            give(users, user, &folders->all[at]);
    if (is_new && user->state >= 0)
        tell(users, user, HP_AGENT_STATE, 0, user->state);
    if (is_new && users->push_s > 0)
        tell(users, user, HP_AGENT_PUSH, users->push_s, -1);
}

void hp_agent_users_settle(struct hp_agent_users *users, struct hp_session_folders *folders)
{
    for (size_t at = 0; at < folders->count; at++) {
        struct hp_session_folder *folder = &folders->all[at];
        if (folder->fd < 0)
            continue;
        const char *left_out = !hp_agent_users_has(users, folder->owner) ? "its user is not in --users"
                               : take_user(users, folder->owner) == NULL ? "there are too many users"
                                                                         : NULL;
        if (left_out == NULL)
            continue;
        close(folder->fd);
        folder->fd = -1;
        folder->left_out = left_out;
    }
    for (size_t at = 0; at < users->count; at++)
        settle_user(users, &users->all[at], folders);
}

/* ------------------------------------------------------------------------------------------------------ answers */

static void count_refusals(struct hp_metric_sums *sums, const struct hp_metric_refusals *refusals, bool is_more)
{
    for (size_t at = 0; at < refusals->count; at++) {
        uint32_t *refused = &sums->services[refusals->all[at].service].refused[refusals->all[at].kind];
        *refused += is_more ? refusals->all[at].count : -refusals->all[at].count;
    }
}

/* False: it is none. */
static bool take_metrics(struct hp_agent_users *users, struct hp_agent_user *user, int fd)
{
    struct hp_agent_memory memory;
    struct hp_agent_metrics about;
    struct hp_metric_points fresh = {0};
    struct hp_metric_refusals refusals = {0};
    bool is_fine = hp_agent_memory_open(&memory, fd);
    struct hp_metric_input in = hp_metric_input_of(memory.bytes, memory.length);
    is_fine = is_fine && hp_agent_metrics_take(&in, users->with_texts, &about) &&
              hp_metric_sums_take(&in, &users->sums, false, &fresh, NULL, &refusals) &&
              hp_metric_sums_update(&users->sums, &user->points, &fresh);
    if (is_fine) {
        count_refusals(&users->sums, &user->refusals, false);
        count_refusals(&users->sums, &refusals, true);
        free(user->refusals.all);
        user->refusals = refusals;
        user->about = about;
    } else {
        free(refusals.all);
    }
    hp_metric_points_free(&fresh);
    hp_agent_memory_close(&memory);
    return is_fine;
}

static bool take_push(const struct hp_agent_users *users, struct hp_agent_user *user,
                      const struct hp_agent_message *message, int fd)
{
    struct hp_agent_memory memory;
    if (!hp_agent_memory_open(&memory, fd))
        return false;
    user->push_left_out = message->number;
    users->take_push(users->context, user, memory.bytes, memory.length);
    hp_agent_memory_close(&memory);
    return true;
}

static bool take_answer(struct hp_agent_users *users, struct hp_agent_user *user,
                        const struct hp_agent_message *message, int fd)
{
    if (message->kind == HP_AGENT_PROFILE) {
        users->take_profile(users->context, user, message, fd);
        return true;
    }
    if (message->kind == HP_AGENT_PUSH && users->push_s > 0)
        return take_push(users, user, message, fd);
    if (message->kind != HP_AGENT_METRICS || user->asked_ns == 0 || !take_metrics(users, user, fd))
        return false;
    if (user->state >= 0)
        close(user->state);
    user->state = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    user->is_new = user->is_idle = true;
    for (size_t at = 0; at < HP_AGENT_FOLDERS_MOST; at++)
        user->is_idle &= user->folders[at] == 0;
    user->asked_ns = 0;
    user->failures = 0;
    return true;
}

static void turn_user(struct hp_agent_users *users, struct hp_agent_user *user)
{
    enum hp_agent_received received = HP_AGENT_RECEIVED;
    struct hp_agent_message message;
    bool is_fine = true;
    for (unsigned left = MOST_MESSAGES; left > 0 && user->end >= 0 && is_fine && received == HP_AGENT_RECEIVED;
         left--) {
        int fd;
        received = hp_agent_link_receive(user->end, &message, &fd);
        is_fine = received == HP_AGENT_NOTHING ||
                  (received == HP_AGENT_RECEIVED && take_answer(users, user, &message, fd));
        if (fd >= 0)
            close(fd);
    }
    if (!is_fine || (user->asked_ns != 0 && hp_clock_monotonic_ns() > user->asked_ns + PATIENCE_NS))
        fail_reader(users, user);
}

size_t hp_agent_users_turn(struct hp_agent_users *users)
{
    size_t busy = 0;
    for (size_t at = 0; at < users->count; at++) {
        turn_user(users, &users->all[at]);
        busy += users->all[at].asked_ns != 0 && hp_clock_monotonic_ns() < users->all[at].asked_ns + AWAITED_NS;
    }
    return busy;
}

/* ---------------------------------------------------------------------------------------------------- questions */

void hp_agent_users_ask_metrics(struct hp_agent_users *users)
{
    for (size_t at = 0; at < users->count; at++) {
        struct hp_agent_user *user = &users->all[at];
        if (user->end < 0 || user->asked_ns != 0)
            continue;
        user->asked_ns = hp_clock_monotonic_ns();
        tell(users, user, HP_AGENT_METRICS, 0, -1);
    }
}

uint64_t hp_agent_users_ask_profile(struct hp_agent_users *users, const struct hp_request *request,
                                    uint32_t *ret_number)
{
    uint64_t asked = 0;
    struct hp_agent_message message = {
        .kind = HP_AGENT_PROFILE, .number = ++users->questions, .route = (uint32_t)request->route};
    memcpy(message.service, request->service, sizeof message.service);
    memcpy(message.seconds, request->seconds, sizeof message.seconds);
    for (size_t at = 0; at < users->count; at++) {
        struct hp_agent_user *user = &users->all[at];
        if (user->end < 0)
            continue;
        if (hp_agent_link_send(user->end, &message, -1))
            asked |= UINT64_C(1) << at;
        else
            fail_reader(users, user);
    }
    *ret_number = message.number;
    return asked;
}

uint64_t hp_agent_users_asked(const struct hp_agent_users *users, uint32_t number)
{
    uint64_t asked = 0;
    for (size_t at = 0; at < users->count; at++)
        if (users->all[at].end >= 0 && users->all[at].questions_before < number)
            asked |= UINT64_C(1) << at;
    return asked;
}

void hp_agent_users_forget_profile(struct hp_agent_users *users, uint32_t number)
{
    for (size_t at = 0; at < users->count; at++)
        tell(users, &users->all[at], HP_AGENT_FORGET, number, -1);
}

uint64_t hp_agent_users_cpu_ns(const struct hp_agent_users *users)
{
    uint64_t ns = 0;
    for (size_t at = 0; at < users->count; at++) {
        clockid_t clock;
        struct timespec time;
        if (users->all[at].end >= 0 && clock_getcpuclockid(users->all[at].pid, &clock) == 0 &&
            clock_gettime(clock, &time) == 0)
            ns += (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    }
    return ns;
}

/* ------------------------------------------------------------------------------------------------------- states */

#define MAGIC "HPAGENT1"

/* Before the bytes of an answer. */
struct head {
    char magic[8];
    uint64_t length, sum;
};

static uint64_t sum_of(const void *bytes, size_t length)
{
    uint64_t sum = length, word;
    for (size_t at = 0; at < length; at += sizeof word) {
        word = 0;
        memcpy(&word, (const char *)bytes + at, length - at < sizeof word ? length - at : sizeof word);
        sum = (sum ^ word) * UINT64_C(0x9fb21c651e98df25);
        sum ^= sum >> 29;
    }
    return sum;
}

static bool path_of_state(const struct hp_agent_users *users, const char *name, uid_t id, char *path, size_t size)
{
    return (size_t)snprintf(path, size, "%s/%s%u.state", users->folder, name, (unsigned)id) < size;
}

/* Under another name first, so that it is always whole. */
static bool write_state(const struct hp_agent_users *users, const struct hp_agent_user *user)
{
    char path[1300], made[1300];
    struct hp_agent_memory memory;
    if (!path_of_state(users, "", user->id, path, sizeof path) ||
        !path_of_state(users, ".", user->id, made, sizeof made) || !hp_agent_memory_open(&memory, user->state))
        return false;
    struct head head = {.length = memory.length, .sum = sum_of(memory.bytes, memory.length)};
    memcpy(head.magic, MAGIC, sizeof head.magic);
    const int fd = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool is_written = fd >= 0 && hp_file_write(fd, (const char *)&head, sizeof head) &&
                      hp_file_write(fd, memory.bytes, memory.length);
    hp_agent_memory_close(&memory);
    if (fd >= 0)
        is_written = close(fd) == 0 && is_written;
    return is_written && rename(made, path) == 0;
}

void hp_agent_users_save(struct hp_agent_users *users)
{
    for (size_t at = 0; at < users->count && users->folder != NULL; at++) {
        struct hp_agent_user *user = &users->all[at];
        if (!user->is_new)
            continue;
        if (write_state(users, user)) {
            user->is_new = false;
        } else if (!users->is_told) {
            fprintf(stderr, "hotpath: cannot write to '%s': %s; counters would begin anew after a restart\n",
                    users->folder, strerror(errno));
            users->is_told = true;
        }
    }
}

/* What is in the file becomes memory, as if a reader had answered it. */
static bool read_state(struct hp_agent_users *users, struct hp_agent_user *user, int fd, size_t size)
{
    const struct head *head;
    bool is_fine = false;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return false;
    head = bytes;
    if (memcmp(head->magic, MAGIC, sizeof head->magic) == 0 && head->length == size - sizeof *head &&
        head->sum == sum_of(head + 1, head->length))
        user->state = hp_agent_memory_make(head + 1, head->length);
    munmap(bytes, size);
    if (user->state >= 0)
        is_fine = take_metrics(users, user, user->state);
    if (!is_fine && user->state >= 0) {
        close(user->state);
        user->state = -1;
    }
    hp_metric_sums_end(&users->sums, &user->points);
    user->about = (struct hp_agent_metrics){0};
    return is_fine;
}

static void load_state(const char *name, void *context)
{
    uint64_t id;
    char path[1300];
    struct stat status;
    struct hp_agent_users *users = context;
    const size_t length = strspn(name, "0123456789");
    if (strcmp(name + length, ".state") != 0 || !hp_number_unsigned(name, length, UINT32_MAX, &id) ||
        !hp_agent_users_has(users, (uid_t)id) || !path_of_state(users, "", (uid_t)id, path, sizeof path))
        return;
    const int fd = hp_regular_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW);
    struct hp_agent_user *user = fd >= 0 ? take_user(users, (uid_t)id) : NULL;
    if (user != NULL && user->state < 0 &&
        (fstat(fd, &status) != 0 || status.st_uid != geteuid() || (size_t)status.st_size <= sizeof(struct head) ||
         (uint64_t)status.st_size > HP_AGENT_MEMORY_MOST || !read_state(users, user, fd, (size_t)status.st_size)))
        fprintf(stderr, "hotpath: '%s' is damaged, or of another version or choice of texts: counters begin anew\n",
                path);
    if (fd >= 0)
        close(fd);
}

bool hp_agent_users_load(struct hp_agent_users *users, char *problem, size_t size)
{
    if (users->folder == NULL)
        return true;
    hp_file_make_parents(users->folder);
    if (!hp_file_make_private_folder(users->folder)) {
        snprintf(problem, size, "cannot keep counters in '%s': %s", users->folder, strerror(errno));
        return false;
    }
    hp_file_each(users->folder, load_state, users);
    return true;
}

void hp_agent_users_free(struct hp_agent_users *users)
{
    for (size_t at = 0; at < users->count; at++) {
        struct hp_agent_user *user = &users->all[at];
        end_reader(user);
        if (user->state >= 0)
            close(user->state);
        hp_metric_points_free(&user->points);
        free(user->refusals.all);
    }
    free(users->all);
    users->all = NULL;
    users->count = users->room = 0;
    hp_metric_sums_free(&users->sums);
}
