/*
 * Finds the folders of sessions of a host: those of all users, and those in containers, which are other mount
 * namespaces. No file in them is opened: a folder is a descriptor with which its owner can open it. Nothing that a
 * container has prepared leads out of it: links are refused.
 *
 *     struct hp_session_folders folders = {...};
 *     every few seconds: hp_session_folders_find(&folders);
 *     hp_session_folders_free(&folders);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_AGENT_SESSION_FOLDERS_H
#define HP_AGENT_SESSION_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HP_SESSION_FOLDERS_MOST 1024u

struct hp_session_folder {
    char path[512];            /* as it is reached from here, to be shown; any bytes */
    uint64_t namespace_number; /* of its mounts; 0: our own */
    uint64_t device, inode;
    uid_t owner;
    int fd;               /* -1: it is left out, ... */
    const char *left_out; /* ... for this reason */
    bool is_gone;         /* it was not found any more */
};

/* A mount namespace of others. */
struct hp_mount_namespace {
    uint64_t number;
    uint32_t pid;         /* of a process in it */
    const char *left_out; /* NULL: it is looked at */
    bool is_seen;
};

/* Zeroed, but for the first two. */
struct hp_session_folders {
    const char *only; /* the whole path of the one folder that is wanted; NULL: all */
    bool is_for_all;  /* users; else only those of this one */
    struct hp_session_folder *all;
    size_t count, room;
    struct hp_mount_namespace *namespaces;
    size_t namespace_count, namespace_room;
    size_t left_out;     /* those that are too many */
    size_t hidden;       /* processes of which it cannot be seen whether they are in a container */
    uint64_t own_number; /* of our namespace */
};

/* Those that are gone stay, marked, until they are forgotten. */
void hp_session_folders_find(struct hp_session_folders *folders);
void hp_session_folders_forget_gone(struct hp_session_folders *folders);
void hp_session_folders_free(struct hp_session_folders *folders);

#endif
