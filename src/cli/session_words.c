/* A session in words. SPDX-License-Identifier: MIT */
#include "session_words.h"

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "run_facts.h"
#include "text.h"

void hp_session_put_name(char text[64], const struct hp_stored_session *session)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(hp_session_name(session), "."), hp_session_name(session));
    hp_copy_printable(text, 64, name);
}

void hp_session_put_state(char text[32], const struct hp_stored_session *session)
{
    char ending[24];
    const bool is_over = session->state == HP_SESSION_FINISHED || session->state == HP_SESSION_CRASHED;
    const bool is_known = is_over && session->is_run && hp_run_ending_read(session->path, ending, sizeof ending);
    if (session->is_paused)
        snprintf(text, 32, "paused");
    else if (session->state == HP_SESSION_LIVE)
        snprintf(text, 32, "running");
    else if (is_known && strcmp(ending, "exit 0") == 0)
        snprintf(text, 32, "finished");
    else if (is_known && strncmp(ending, "exit ", 5) == 0)
        snprintf(text, 32, "%s", ending);
    else if (is_known)
        snprintf(text, 32, "killed: %s", ending);
    else
        snprintf(text, 32, "%s",
                 session->state == HP_SESSION_CRASHED ? "unfinished" : hp_session_state_name(session->state));
}

void hp_session_put_processes(char text[HP_SESSION_PROCESSES_BYTES], const struct hp_stored_session *session)
{
    const char *first;
    const size_t length = hp_text_program(session->command, &first);
    const bool is_of_first = strlen(session->program) == length && memcmp(session->program, first, length) == 0;
    if (session->processes == 0)
        snprintf(text, HP_SESSION_PROCESSES_BYTES, "none");
    else if (session->processes == 1)
        snprintf(text, HP_SESSION_PROCESSES_BYTES, "pid %u", (unsigned)session->pid);
    else
        snprintf(text, HP_SESSION_PROCESSES_BYTES, "pid %u and %u more%s%s", (unsigned)session->pid,
                 (unsigned)session->processes - 1, is_of_first || session->cpu_ns == 0 ? "" : ", mostly ",
                 is_of_first || session->cpu_ns == 0 ? "" : session->program);
}
