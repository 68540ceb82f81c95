/*
 * The sections `io` and `io-by`: what was read and written, and which functions did it. docs/io.md describes each
 * number. SPDX-License-Identifier: MIT
 */
#include "io_profile.h"

#include <string.h>

#include "arena.h"
#include "identity.h"
#include "order.h"
#include "section.h"
#include "text.h"

static const struct hp_io_profile *io_of(const struct hotpath_results *results) { return results->model->io; }

static double rate_of(const struct hp_io_sums *sums)
{
    const double ns = sums->last_ns - sums->first_ns;
    return ns > 0 ? (double)sums->bytes * 1e9 / ns : 0;
}

/* "EPIPE 3, ENOENT 1" */
static const char *errors_of(struct hp_fields *to, const struct hp_io_errors *errors)
{
    char bytes[200];
    struct hp_text line;
    if (errors->total == 0)
        return NULL;
    hp_text_init(&line, bytes, sizeof bytes);
    for (unsigned at = 0; at < HP_IO_ERRORS && errors->all[at].count != 0; at++) {
        const char *name = hp_io_error_name((int)errors->all[at].number);
        hp_text_string(&line, at > 0 ? ", " : "");
        if (name != NULL)
            hp_text_string(&line, name);
        else
            hp_text_format(&line, "error %u", (unsigned)errors->all[at].number);
        hp_text_format(&line, " %u", (unsigned)errors->all[at].count);
    }
    if (errors->others != 0)
        hp_text_format(&line, ", others %llu", (unsigned long long)errors->others);
    return hp_fields_copy(to, bytes, line.length);
}

/* "emit_char (log.c:42)" */
static const char *place_of(struct hp_fields *to, const struct hp_io_user *user)
{
    char bytes[600];
    struct hp_text line;
    if (user == NULL || user->place.name == NULL)
        return NULL;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, user->place.name);
    if (user->place.file[0] != '\0' && user->place.line != 0) {
        const char *slash = strrchr(user->place.file, '/');
        hp_text_format(&line, " (%s:%u)", slash != NULL ? slash + 1 : user->place.file, (unsigned)user->place.line);
    }
    return hp_fields_copy(to, bytes, line.length);
}

/* What both sections tell of calls. */
static void fields_of_sums(struct hp_fields *to, const struct hp_io_sums *sums)
{
    HP_FIELD(to, sums->ops, "ops", "Ops", COUNT, HP_COLUMN_SHOWN, "Calls, failed ones included.");
    HP_FIELD(to, sums->bytes, "moved_bytes", "Bytes", BYTES, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "Bytes that they moved.");
    HP_FIELD_IF(to, sums->bytes > 0, (uint64_t)hp_io_median_size(sums), "size_median_bytes", "Median Size", BYTES,
                HP_COLUMN_SHOWN,
                "Of calls that moved bytes: half of them moved this or less; exact up to 8 bytes and for powers of "
                "two, else at most a fifth too small; null: none did.");
    HP_FIELD_IF(to, sums->bytes > 0 && sums->last_ns > sums->first_ns, (uint64_t)rate_of(sums), "rate_bytes",
                "Bytes/s", BYTES, HP_COLUMN_SHOWN, "Bytes per second, from the first to the last call.");
    HP_FIELD(to, sums->ns, "time_ns", "Time", NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, "Time in these calls.");
    HP_FIELD_IF(to, sums->timed > 0, sums->ns / (double)sums->timed, "mean_ns", "Avg", NS, HP_COLUMN_SHOWN);
    HP_FIELD_FAMILY(to, percentile, sums->timed > 0, hp_io_percentile(sums, percentile), "_ns", "", NS, 0,
                    "A percentile of the times of calls, within 7 %.");
    HP_FIELD_IF(to, sums->timed > 0, sums->longest_ns, "max_ns", "Max", NS, HP_COLUMN_SHOWN);
    HP_FIELD(to, sums->again, "again", "EAGAIN", COUNT, HP_COLUMN_SHOWN,
             "Calls that would have had to wait, and did not: EAGAIN, EINPROGRESS.");
    HP_FIELD(to, sums->errors.total, "errors", "Errors", COUNT, HP_COLUMN_SHOWN, "Calls that failed otherwise.");
    HP_FIELD(to, errors_of(to, &sums->errors), "error_names", "Which", TEXT, HP_COLUMN_MAYBE,
             "Names of the errors, and how often each came; null: none.");
}

/* ----------------------------------------------------------------------------------------------------------- io */

static void fields(struct hp_fields *to, void *view, const void *entry)
{
    const struct hp_io_profile_row *row = entry;
    (void)view;
    if (to->row != NULL)
        to->row->id = hp_identity_with_number(hp_identity_with_text(0, row->name), row->kind << 8 | row->op);
    HP_FIELD(
        to, row->name, "name", "File or Peer", TEXT, HP_COLUMN_FIRST,
        "Path of a file; address of the other end of a connection; host that was looked up; label; <other>: those "
        "without a row of their own.");
    HP_FIELD(to, hp_io_kind_name(row->kind), "kind", "Kind", TEXT, 0, .words = HP_IO_KIND_WORDS);
    HP_FIELD(to, hp_io_op_name(row->op), "op", "Op", TEXT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             .words = HP_IO_OP_WORDS);
    fields_of_sums(to, to->row != NULL ? &row->sums : NULL);
    HP_FIELD(to, place_of(to, row->most), "function", "Function", TEXT,
             HP_COLUMN_ELASTIC | HP_COLUMN_MAYBE | HP_COLUMN_SHOWN,
             "The function with the most time of these calls; null: unknown.");
    HP_FIELD(to, row->most != NULL ? row->most->zone : NULL, "zone", "Zone", TEXT, HP_COLUMN_MAYBE,
             "The innermost measured function or block in which it made them; null: none.");
}

static double part(uint64_t of, uint64_t whole) { return whole > 0 ? 100 * (double)of / (double)whole : 0; }

static void totals(struct hp_fields *to, void *view, const void *about)
{
    const struct hp_io_profile *io = about;
    (void)view;
    HP_FIELD(to, io->processes, "recorded_processes", NULL, COUNT, 0, "Processes whose I/O was counted.");
    HP_FIELD(to, io->share.read, "kernel_read_bytes", NULL, COUNT, 0,
             "Bytes that the kernel counted as read by these processes.");
    HP_FIELD(to, io->share.read_seen, "seen_read_bytes", NULL, COUNT, 0, "Those of them that were seen.");
    HP_FIELD(to, io->share.written, "kernel_written_bytes", NULL, COUNT, 0,
             "Bytes that the kernel counted as written by these processes.");
    HP_FIELD(to, io->share.written_seen, "seen_written_bytes", NULL, COUNT, 0, "Those of them that were seen.");
    HP_FIELD(to, io->unnamed, "unnamed", NULL, COUNT, 0,
             "Files and peers without a row of their own, for lack of space: they are in the row <other>.");
}

static bool has_io(const struct hotpath_results *results)
{
    return io_of(results) != NULL && io_of(results)->row_count > 0;
}

static const char not_counted[] = "I/O was not counted: hotpath run --io does that";

/* "of 4096 bytes read, 12.0 % were seen; of 100 written, 100.0 %" */
static void note_share(struct hotpath_results *results, struct hotpath_section *section,
                       const struct hp_io_share *share)
{
    char bytes[200];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    if (share->read > 0)
        hp_text_format(&line, "of %llu bytes read, %.1f %% were seen", (unsigned long long)share->read,
                       part(share->read_seen, share->read));
    if (share->read > 0 && share->written > 0)
        hp_text_string(&line, "; ");
    if (share->written > 0)
        hp_text_format(&line, "of %llu bytes written, %.1f %% were seen", (unsigned long long)share->written,
                       part(share->written_seen, share->written));
    const char *kept = line.length > 0 ? hp_results_keep(results, &line) : NULL;
    if (kept != NULL)
        hp_section_note(section, kept);
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    const struct hp_io_profile *io = io_of(results);
    const size_t count = io != NULL ? io->row_count : 0;
    section->description = "Files, connections and labels: what was read and written, and how long it took.";
    section->if_empty = io != NULL ? "nothing was read or written" : not_counted;
    const void **rows = hp_arena_take_array(results->model->arena, count + 1, sizeof(void *));
    for (size_t at = 0; rows != NULL && at < count; at++)
        rows[at] = io->rows[at];
    if (rows == NULL || !hp_section_begin(results, section, NULL, 0, "time_ns", NULL))
        return false;
    if (io != NULL) {
        hp_section_add_totals(results, section, io);
        note_share(results, section, &io->share);
    }
    return hp_section_fill_rows(results, section, rows, count, NULL);
}

const struct hp_section_type hp_section_io = {.name = "io",
                                              .is_left_out_empty = true,
                                              .has_data = has_io,
                                              .fill = fill,
                                              .fields = fields,
                                              .totals = totals,
                                              .about = "Files, connections and labels of programs run with --io.",
                                              .about_row = "An operation on a file, a peer or a label.",
                                              .always = "order|totals"};

/* -------------------------------------------------------------------------------------------------------- io-by */

static const char *name_of(const struct hp_io_user *user)
{
    return user->place.name != NULL ? user->place.name : "<unknown>";
}

static void fields_of_user(struct hp_fields *to, void *view, const void *entry)
{
    const struct hp_io_user *user = entry;
    (void)view;
    if (to->row != NULL)
        to->row->id = hp_identity_with_number(
            hp_identity_with_text(hp_identity_with_text(hp_identity_with_text(0, name_of(user)),
                                                        user->zone != NULL ? user->zone : ""),
                                  user->row->name),
            user->row->kind << 8 | user->row->op);
    HP_FIELD(to, name_of(user), "name", "Function", TEXT, HP_COLUMN_FIRST,
             "The function that made these calls, past wrappers.");
    HP_FIELD(to, user->row->name, "file", "File or Peer", TEXT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "The name of the row of the section io.");
    HP_FIELD(to, hp_io_op_name(user->row->op), "op", "Op", TEXT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             .words = HP_IO_OP_WORDS);
    fields_of_sums(to, to->row != NULL ? &user->sums : NULL);
    HP_FIELD(to, user->zone, "zone", "Zone", TEXT, HP_COLUMN_LATE | HP_COLUMN_MAYBE | HP_COLUMN_SHOWN,
             "The innermost measured function or block in which they were made; null: none.");
    HP_FIELD(to, place_of(to, user), "place", "Place", TEXT, HP_COLUMN_ELASTIC | HP_COLUMN_MAYBE,
             "Where it makes them; null: unknown.");
}

static bool has_users(const struct hotpath_results *results)
{
    return io_of(results) != NULL && io_of(results)->user_count > 0;
}

static bool fill_users(struct hotpath_results *results, struct hotpath_section *section)
{
    const struct hp_io_profile *io = io_of(results);
    const size_t count = io != NULL ? io->user_count : 0;
    section->description = "Which functions read and write what.";
    section->if_empty = io != NULL ? "nothing was read or written" : not_counted;
    const void **rows = hp_arena_take_array(results->model->arena, count + 1, sizeof(void *));
    for (size_t at = 0; rows != NULL && at < count; at++)
        rows[at] = io->users[at];
    return rows != NULL && hp_section_begin(results, section, NULL, 0, "time_ns", NULL) &&
           hp_section_fill_rows(results, section, rows, count, NULL);
}

const struct hp_section_type hp_section_io_by = {.name = "io-by",
                                                 .is_left_out_empty = true,
                                                 .has_data = has_users,
                                                 .fill = fill_users,
                                                 .fields = fields_of_user,
                                                 .about =
                                                     "Functions that read and wrote, in programs run with --io.",
                                                 .about_row = "A function, what it read or wrote, and how.",
                                                 .always = "order"};
