/* Notes of open calls: see notes.c. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_NOTES_H
#define HP_RECORD_NOTES_H

struct hotpath_frame_;
struct hp_thread_context;
struct hp_note;

/* The note of an open call, or NULL. The caller holds the context. */
const struct hp_note *hp_note_of(const struct hp_thread_context *context, const struct hotpath_frame_ *frame);
/* The call is over. Needed because the next call at its depth may start in the same tick. */
void hp_note_end(struct hp_thread_context *context, const struct hotpath_frame_ *frame);

#endif
