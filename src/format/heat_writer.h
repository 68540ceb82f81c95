/*
 * Writing the heat map of a session (heat.h).
 *
 *     hp_heat_begin(&writer, fd, pid, process_start, start_ns);            the file is empty
 *     place = hp_heat_track(&writer, site, now);
 *     hp_heat_add(&writer, place, growth, last_ns, now); ...
 *     hp_heat_write(&writer, now);
 *
 * No heap. SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_HEAT_WRITER_H
#define HP_FORMAT_HEAT_WRITER_H

#include "heat.h"

/* Private, except for `sites`. */
struct hp_heat_writer {
    int fd;
    struct hp_heat_header header;
    struct hp_heat_site sites[HP_HEAT_SITES];
};

/* Initialises the file; the descriptor stays the caller's. False: no space. */
bool hp_heat_begin(struct hp_heat_writer *writer, int fd, uint32_t pid, uint64_t process_start, uint64_t start_ns);

/* The index of a site, which gets a free one if it has none; HP_HEAT_SITES: all are taken, or no space. */
uint32_t hp_heat_track(struct hp_heat_writer *writer, uint32_t site, uint64_t now);

/* Frees an index. False: no space. */
bool hp_heat_drop(struct hp_heat_writer *writer, uint32_t place);

/*
 * Adds the calls of a site that ended between two times, by bucket; they are spread evenly over the slots in
 * between. False: no space.
 */
bool hp_heat_add(struct hp_heat_writer *writer, uint32_t place, const uint64_t calls[HP_HEAT_BUCKETS],
                 uint64_t from_ns, uint64_t to_ns);

/* Everything up to now is added. False: no space. */
bool hp_heat_write(struct hp_heat_writer *writer, uint64_t now);

#endif
