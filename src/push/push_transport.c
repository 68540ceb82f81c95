/*
 * Sends requests by libcurl.
 *
 * What is declared here is the ABI of libcurl.so.4, which is frozen: functions, the numbers of options (their type
 * is in the ten thousands: 0 long, 10000 a pointer, 20000 a function, 30000 a 64-bit number), the numbers of facts
 * (the type is in the bits from 20), and CURLMsg. What an older libcurl lacks, it refuses.
 * SPDX-License-Identifier: MIT
 */
#include "push_transport.h"

#include <dlfcn.h>
#include <stdlib.h>

enum { LONG = 0, POINTER = 10000, FUNCTION = 20000, BIG = 30000 };
enum {
    OPT_WRITEDATA = POINTER + 1,
    OPT_URL = POINTER + 2,
    OPT_WRITEFUNCTION = FUNCTION + 11,
    OPT_POSTFIELDS = POINTER + 15, /* the bytes are not copied */
    OPT_HTTPHEADER = POINTER + 23,
    OPT_POST = LONG + 47,
    OPT_CAINFO = POINTER + 65,
    OPT_NOSIGNAL = LONG + 99,
    OPT_PRIVATE = POINTER + 103,
    OPT_POSTFIELDSIZE_LARGE = BIG + 120,
    OPT_TIMEOUT_MS = LONG + 155,
    OPT_CONNECTTIMEOUT_MS = LONG + 156,
    OPT_QUICK_EXIT = LONG + 322 /* from 7.87 on: threads that wait for names are left behind */
};
enum { INFO_RESPONSE_CODE = 0x200000 + 2, INFO_PRIVATE = 0x100000 + 21, INFO_RETRY_AFTER = 0x600000 + 57 };
enum { MESSAGE_DONE = 1, GLOBAL_DEFAULT = 3, OK = 0 };

/* CURLMsg */
struct message {
    int kind;
    void *easy;
    union {
        void *whatever;
        int result;
    } data;
};

struct curl {
    int (*curl_global_init)(long flags);
    void *(*curl_easy_init)(void);
    int (*curl_easy_setopt)(void *easy, int option, ...);
    int (*curl_easy_getinfo)(void *easy, int info, ...);
    const char *(*curl_easy_strerror)(int result);
    void (*curl_easy_cleanup)(void *easy);
    void *(*curl_slist_append)(void *list, const char *text);
    void (*curl_slist_free_all)(void *list);
    void *(*curl_multi_init)(void);
    int (*curl_multi_add_handle)(void *multi, void *easy);
    int (*curl_multi_remove_handle)(void *multi, void *easy);
    int (*curl_multi_perform)(void *multi, int *ret_running);
    struct message *(*curl_multi_info_read)(void *multi, int *ret_left);
    int (*curl_multi_cleanup)(void *multi);
};

#define TIMEOUT_MS 30000L
#define CONNECT_MS 10000L
#define ANSWER_MOST 65536u /* bytes that are read of one; they are not looked at */

/* ------------------------------------------------------------------------------------------------------ library */

static bool find(void *library, const char *name, void *ret_function)
{
    *(void **)ret_function = dlsym(library, name);
    return *(void **)ret_function != NULL;
}

static bool find_all(struct curl *curl)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    void *library = NULL;
    for (size_t at = 0; library == NULL && at < sizeof names / sizeof names[0]; at++)
        library = dlopen(names[at], RTLD_LAZY | RTLD_LOCAL);
    return library != NULL && find(library, "curl_global_init", &curl->curl_global_init) &&
           find(library, "curl_easy_init", &curl->curl_easy_init) &&
           find(library, "curl_easy_setopt", &curl->curl_easy_setopt) &&
           find(library, "curl_easy_getinfo", &curl->curl_easy_getinfo) &&
           find(library, "curl_easy_strerror", &curl->curl_easy_strerror) &&
           find(library, "curl_easy_cleanup", &curl->curl_easy_cleanup) &&
           find(library, "curl_slist_append", &curl->curl_slist_append) &&
           find(library, "curl_slist_free_all", &curl->curl_slist_free_all) &&
           find(library, "curl_multi_init", &curl->curl_multi_init) &&
           find(library, "curl_multi_add_handle", &curl->curl_multi_add_handle) &&
           find(library, "curl_multi_remove_handle", &curl->curl_multi_remove_handle) &&
           find(library, "curl_multi_perform", &curl->curl_multi_perform) &&
           find(library, "curl_multi_info_read", &curl->curl_multi_info_read) &&
           find(library, "curl_multi_cleanup", &curl->curl_multi_cleanup) &&
           curl->curl_global_init(GLOBAL_DEFAULT) == OK;
}

/* NULL: not installed. */
static const struct curl *curl_get(void)
{
    static struct curl curl;
    static bool is_tried, is_found;
    if (!is_tried)
        is_found = find_all(&curl);
    is_tried = true;
    return is_found ? &curl : NULL;
}

const char *hp_push_transport_is_missing(void)
{
    return curl_get() != NULL ? NULL : "libcurl is missing, which pushes profiles: install libcurl4";
}

/* ---------------------------------------------------------------------------------------------------- transfers */

struct transfer {
    void *easy, *headers;
    size_t read; /* bytes of the answer */
};

struct sender {
    const struct curl *curl;
    void *multi;
    struct transfer transfers[HP_PUSH_TARGETS];
    size_t count;
    bool may_wait; /* for a thread, where something is ended that resolves a name: libcurl is older */
};

/* Reads a part of the answer; the request ends if that has too much. */
static size_t skip(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    (void)bytes;
    transfer->read += size * count;
    return transfer->read <= ANSWER_MOST ? size * count : 0;
}

static bool begin(void *context, size_t target, const char *bytes, size_t length)
{
    struct sender *sender = context;
    struct transfer *transfer = &sender->transfers[target];
    transfer->read = 0;
    return sender->curl->curl_easy_setopt(transfer->easy, OPT_POSTFIELDSIZE_LARGE, (int64_t)length) == OK &&
           sender->curl->curl_easy_setopt(transfer->easy, OPT_POSTFIELDS, bytes) == OK &&
           sender->curl->curl_multi_add_handle(sender->multi, transfer->easy) == OK;
}

static void cancel(void *context, size_t target)
{
    struct sender *sender = context;
    sender->curl->curl_multi_remove_handle(sender->multi, sender->transfers[target].easy);
}

/* A status counts, though the rest of the answer may be missing or too long. */
static void describe(const struct sender *sender, const struct message *message, struct hp_push_end *ret_end)
{
    long status = 0;
    int64_t seconds = 0;
    struct transfer *transfer = NULL;
    sender->curl->curl_easy_getinfo(message->easy, INFO_PRIVATE, &transfer);
    sender->curl->curl_easy_getinfo(message->easy, INFO_RESPONSE_CODE, &status);
    sender->curl->curl_easy_getinfo(message->easy, INFO_RETRY_AFTER, &seconds);
    *ret_end = (struct hp_push_end){.target = (size_t)(transfer - sender->transfers),
                                    .status = status >= 200 ? (unsigned)status : 0,
                                    .problem = sender->curl->curl_easy_strerror(message->data.result)};
    if (seconds > 0 && seconds < INT32_MAX)
        ret_end->retry_after_ns = (uint64_t)seconds * UINT64_C(1000000000);
}

static bool go_on(void *context, struct hp_push_end *ret_end)
{
    struct sender *sender = context;
    struct message *message;
    int running, left;
    sender->curl->curl_multi_perform(sender->multi, &running);
    while ((message = sender->curl->curl_multi_info_read(sender->multi, &left)) != NULL)
        if (message->kind == MESSAGE_DONE) {
            describe(sender, message, ret_end);
            cancel(sender, ret_end->target); /* it can be used again */
            return true;
        }
    return false;
}

/* ------------------------------------------------------------------------------------------------------- sender */

bool hp_push_transport_open(struct hp_push_transport *ret_transport)
{
    const struct curl *curl = curl_get();
    struct sender *sender = curl != NULL ? calloc(1, sizeof *sender) : NULL;
    *ret_transport = (struct hp_push_transport){.begin = begin, .go_on = go_on, .cancel = cancel};
    if (sender == NULL)
        return false;
    sender->curl = curl;
    sender->multi = curl->curl_multi_init();
    ret_transport->context = sender;
    return sender->multi != NULL;
}

/* False: no memory; the list stays as it was. */
static bool add_header(const struct curl *curl, struct transfer *transfer, const char *header)
{
    void *list = curl->curl_slist_append(transfer->headers, header);
    transfer->headers = list != NULL ? list : transfer->headers;
    return list != NULL;
}

/* As curl(1), it believes in the certificates of SSL_CERT_FILE. Without "Expect:" it may wait for a second. */
bool hp_push_transport_add(struct hp_push_transport *transport, const char *url, const char *const *headers,
                           size_t header_count)
{
    static const char *const always[] = {"Content-Type: application/x-protobuf", "Content-Encoding: gzip",
                                         "User-Agent: hotpath", "Expect:"};
    struct sender *sender = transport->context;
    const struct curl *curl = sender->curl;
    struct transfer *transfer = &sender->transfers[sender->count];
    const char *certificates = getenv("SSL_CERT_FILE");
    if (sender->count == HP_PUSH_TARGETS || (transfer->easy = curl->curl_easy_init()) == NULL)
        return false;
    sender->count++;
    bool is_done = true;
    for (size_t at = 0; at < sizeof always / sizeof always[0]; at++)
        is_done &= add_header(curl, transfer, always[at]);
    for (size_t at = 0; at < header_count; at++)
        is_done &= add_header(curl, transfer, headers[at]);
    if (certificates != NULL)
        curl->curl_easy_setopt(transfer->easy, OPT_CAINFO, certificates);
    sender->may_wait = curl->curl_easy_setopt(transfer->easy, OPT_QUICK_EXIT, 1L) != OK;
    curl->curl_easy_setopt(transfer->easy, OPT_NOSIGNAL, 1L);
    curl->curl_easy_setopt(transfer->easy, OPT_TIMEOUT_MS, TIMEOUT_MS);
    curl->curl_easy_setopt(transfer->easy, OPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl->curl_easy_setopt(transfer->easy, OPT_PRIVATE, transfer);
    return is_done && curl->curl_easy_setopt(transfer->easy, OPT_URL, url) == OK &&
           curl->curl_easy_setopt(transfer->easy, OPT_POST, 1L) == OK &&
           curl->curl_easy_setopt(transfer->easy, OPT_HTTPHEADER, transfer->headers) == OK &&
           curl->curl_easy_setopt(transfer->easy, OPT_WRITEFUNCTION, skip) == OK &&
           curl->curl_easy_setopt(transfer->easy, OPT_WRITEDATA, transfer) == OK;
}

void hp_push_transport_close(struct hp_push_transport *transport)
{
    struct sender *sender = transport->context;
    if (sender == NULL || sender->may_wait) /* the program ends, and does not wait */
        return;
    for (size_t at = 0; at < sender->count; at++) {
        if (sender->multi != NULL)
            cancel(sender, at);
        sender->curl->curl_easy_cleanup(sender->transfers[at].easy);
        sender->curl->curl_slist_free_all(sender->transfers[at].headers);
    }
    if (sender->multi != NULL)
        sender->curl->curl_multi_cleanup(sender->multi);
    free(sender);
    transport->context = NULL;
}
