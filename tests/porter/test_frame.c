/* SPDX-License-Identifier: Apache-2.0 */
/* The tunnel's format, and the rules of its channels, at whichever end. */
#include "../unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "porter/report.h"
#include "porter/tunnel.h"

static void put_bytes(struct frame_reader *reader, const uint8_t *data, size_t length)
{
    while (length) {
        size_t room;
        uint8_t *place = frame_reader_room(reader, &room);
        assert_non_null(place);
        assert_true(room > 0);
        size_t chunk = length < room ? length : room;
        memcpy(place, data, chunk);
        frame_reader_filled(reader, chunk);
        data += chunk;
        length -= chunk;
    }
}

/* Three frames: a message with a file and a blob, bytes, an end. */
static void fill_queue(struct frame_queue *queue)
{
    struct frame_parts parts = {.message = {.type = INIT_SPAWN, .session = 7},
                                .fd_count = 3,
                                .fds = {{.kind = FRAME_FD_INPUT, .channel = 3},
                                        {.kind = FRAME_FD_NULL},
                                        {.kind = FRAME_FD_FILE, .length = 5}},
                                .blob = (uint8_t *)(uintptr_t) "blob",
                                .blob_length = 4};
    parts.contents[2] = (uint8_t *)(uintptr_t) "image";
    frame_put_message(queue, &parts);
    frame_put(queue, FRAME_DATA, 3, "some bytes", 10);
    frame_put(queue, FRAME_CLOSE, 3, NULL, 0);
}

static void check_frame(const struct frame *frame, int number)
{
    struct frame_parts parts;
    switch (number) {
    case 0:
        assert_int_equal(frame->type, FRAME_MESSAGE);
        assert_int_equal(frame_message_read(frame, &parts), 0);
        assert_int_equal(parts.message.session, 7);
        assert_int_equal(parts.fd_count, 3);
        assert_int_equal(parts.fds[0].channel, 3);
        assert_memory_equal(parts.contents[2], "image", 5);
        assert_int_equal(parts.blob_length, 4);
        assert_memory_equal(parts.blob, "blob", 4);
        break;
    case 1:
        assert_int_equal(frame->type, FRAME_DATA);
        assert_int_equal(frame->channel, 3);
        assert_int_equal(frame->length, 10);
        assert_memory_equal(frame->data, "some bytes", 10);
        break;
    default:
        assert_int_equal(frame->type, FRAME_CLOSE);
        assert_int_equal(frame->length, 0);
        break;
    }
}

static void frames_may_be_cut_anywhere(void **state)
{
    (void)state;
    struct frame_queue queue = {0};
    fill_queue(&queue);
    size_t total = frame_queue_length(&queue);
    for (size_t first = 0; first <= total; first++)
        for (size_t second = first; second <= total; second += 7) {
            struct frame_reader reader = {.message_max = FRAME_MESSAGE_MAX};
            const size_t cuts[] = {0, first, second, total};
            struct frame frame;
            int number = 0;
            for (size_t i = 0; i < 3; i++) {
                put_bytes(&reader, queue.data + cuts[i], cuts[i + 1] - cuts[i]);
                int found;
                while ((found = frame_next(&reader, &frame)) > 0)
                    check_frame(&frame, number++);
                assert_int_equal(found, 0);
            }
            assert_int_equal(number, 3);
            frame_reader_done(&reader);
        }
    frame_queue_done(&queue);
}

static void headers_that_are_none_are_refused(void **state)
{
    (void)state;
    static const struct frame_header bad[] = {
        {.type = 0, .length = 0},
        {.type = FRAME_TYPE_COUNT, .length = 0},
        {.type = 255, .length = 0},
        {.type = FRAME_DATA, .channel = 0, .length = 1},
        {.type = FRAME_DATA, .channel = 1, .length = 0},
        {.type = FRAME_DATA, .channel = 1, .length = FRAME_DATA_MAX + 1},
        {.type = FRAME_DATA, .channel = 1, .length = UINT32_MAX},
        {.type = FRAME_DATA, .channel = 1, .length = 1, .reserved = {0, 0, 1}},
        {.type = FRAME_CLOSE, .channel = 1, .length = 1},
        {.type = FRAME_CLOSE, .channel = 0, .length = 0},
        {.type = FRAME_WINDOW_ADD, .channel = 1, .length = 8},
        {.type = FRAME_RESIZE, .channel = 1, .length = 3},
        {.type = FRAME_HELLO, .channel = 1, .length = sizeof(struct frame_hello)},
        {.type = FRAME_HELLO, .length = sizeof(struct frame_hello) - 1},
        {.type = FRAME_MESSAGE, .length = sizeof(struct frame_message) - 1},
        {.type = FRAME_MESSAGE, .length = FRAME_REPORT_MAX + 1},
        {.type = FRAME_MESSAGE, .length = UINT32_MAX},
        {.type = FRAME_MESSAGE, .channel = 1, .length = sizeof(struct frame_message)},
        {.type = FRAME_END, .channel = 1},
        {.type = FRAME_COUNTERS, .length = sizeof(struct frame_counters) + 1},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct frame_reader reader = {.message_max = FRAME_REPORT_MAX};
        struct frame frame;
        put_bytes(&reader, (const uint8_t *)&bad[i], sizeof(bad[i]));
        errno = 0;
        assert_int_equal(frame_next(&reader, &frame), -1);
        assert_int_equal(errno, EPROTO);
        assert_true(reader.capacity < (1u << 20)); /* no length is believed before it is checked */
        frame_reader_done(&reader);
    }
}

static void a_long_message_does_not_keep_its_memory(void **state)
{
    (void)state;
    struct frame_queue queue = {0};
    struct frame_reader reader = {.message_max = FRAME_MESSAGE_MAX};
    struct frame frame;
    size_t room, length = 20u << 20;
    struct frame_parts parts = {.blob_length = (uint32_t)length};
    parts.blob = calloc(1, length);
    assert_non_null(parts.blob);
    frame_put_message(&queue, &parts);
    put_bytes(&reader, queue.data, frame_queue_length(&queue));
    frame_queue_sent(&queue, frame_queue_length(&queue));
    assert_int_equal(queue.capacity, 0);
    assert_int_equal(frame_next(&reader, &frame), 1);
    assert_int_equal(frame_next(&reader, &frame), 0);
    assert_non_null(frame_reader_room(&reader, &room));
    assert_true(reader.capacity < (1u << 20));
    free(parts.blob);
    frame_reader_done(&reader);
    frame_queue_done(&queue);
}

static void messages_that_are_none_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t fd_count;
        uint32_t blob_length;
        struct frame_fd fd;
    } bad[] = {
        {1, 1, {.kind = FRAME_FD_NULL}},                 /* longer than it is */
        {1, UINT32_MAX, {.kind = FRAME_FD_NULL}},        /* wraps around */
        {0, 0, {0}},                                     /* shorter than it is */
        {FRAME_MAX_FDS + 1, 0, {.kind = FRAME_FD_NULL}}, /* more than there are */
        {UINT32_MAX, 0, {.kind = FRAME_FD_NULL}},
        {2, 0, {.kind = FRAME_FD_NULL}},
        {1, 0, {.kind = 0}},
        {1, 0, {.kind = FRAME_FD_KIND_COUNT}},
        {1, 0, {.kind = FRAME_FD_NULL, .channel = 1}},
        {1, 0, {.kind = FRAME_FD_INPUT, .channel = 0}},
        {1, 0, {.kind = FRAME_FD_INPUT, .channel = 1, .length = 1}},
        {1, 0, {.kind = FRAME_FD_FILE, .length = 1}},
        {1, 0, {.kind = FRAME_FD_FILE, .length = UINT32_MAX}},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint8_t data[sizeof(struct frame_message) + sizeof(struct frame_fd)];
        struct frame_message head = {.fd_count = bad[i].fd_count,
                                     .blob_length = bad[i].blob_length};
        struct frame frame = {.type = FRAME_MESSAGE, .data = data, .length = sizeof(data)};
        struct frame_parts parts;
        memcpy(data, &head, sizeof(head));
        memcpy(data + sizeof(head), &bad[i].fd, sizeof(bad[i].fd));
        errno = 0;
        assert_int_equal(frame_message_read(&frame, &parts), -1);
        assert_int_equal(errno, EPROTO);
    }
}

/* ---- channels -------------------------------------------------------------------------------- */

struct world {
    struct tunnel tunnel;
    int pipe[2]; /* the far end of the channel's descriptor is the test's */
};

static struct channel *open_channel(struct world *world, uint32_t number, bool sends)
{
    struct channel *channel =
        tunnel_open(&world->tunnel, number, 1, sends ? FRAME_FD_OUTPUT : FRAME_FD_INPUT);
    assert_non_null(channel);
    assert_int_equal(pipe2(world->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    if (sends)
        channel->source = world->pipe[0];
    else
        channel->target = world->pipe[1];
    return channel;
}

static int take(struct world *world, uint8_t type, uint32_t number, void *data, uint32_t length)
{
    struct frame frame = {.type = type, .channel = number, .data = data, .length = length};
    return tunnel_take(&world->tunnel, &frame);
}

static uint64_t queued(const struct world *world, uint8_t type)
{
    const struct frame_queue *out = &world->tunnel.out;
    uint64_t bytes = 0;
    for (size_t at = out->start; at < out->end;) {
        struct frame_header header;
        memcpy(&header, out->data + at, sizeof(header));
        at += sizeof(header) + header.length;
        bytes += header.type == type ? header.length + (header.length == 0) : 0;
    }
    return bytes;
}

static void a_channel_sends_no_more_than_it_may(void **state)
{
    (void)state;
    struct world world = {0};
    static char chunk[4096];
    struct channel *channel = open_channel(&world, 1, true);
    for (int i = 0; i < 1000; i++) {
        (void)!write(world.pipe[1], chunk, sizeof(chunk));
        if (channel_read(channel, &world.tunnel.out) <= 0)
            break;
    }
    assert_int_equal(queued(&world, FRAME_DATA), FRAME_WINDOW);
    uint32_t more = 1000;
    assert_int_equal(take(&world, FRAME_WINDOW_ADD, 1, &more, sizeof(more)), 0);
    assert_int_equal(channel_read(channel, &world.tunnel.out), 1);
    assert_int_equal(queued(&world, FRAME_DATA), FRAME_WINDOW + 1000);
    /* at its command's end all that there is */
    size_t left = (size_t)fcntl(world.pipe[1], F_GETPIPE_SZ);
    while (write(world.pipe[1], chunk, sizeof(chunk)) > 0)
        ;
    (void)close(world.pipe[1]);
    assert_true(channel_drain(channel, &world.tunnel.out));
    assert_true(queued(&world, FRAME_DATA) > FRAME_WINDOW + left / 2);
    assert_int_equal(queued(&world, FRAME_CLOSE), 1);
    tunnel_done(&world.tunnel);
}

static void nobody_may_allow_more_than_a_window(void **state)
{
    (void)state;
    struct world world = {0};
    uint32_t more = 1;
    (void)open_channel(&world, 1, true);
    assert_int_equal(take(&world, FRAME_WINDOW_ADD, 1, &more, sizeof(more)), -1);
    assert_int_equal(errno, EPROTO);
    more = UINT32_MAX;
    assert_int_equal(take(&world, FRAME_WINDOW_ADD, 1, &more, sizeof(more)), -1);
    (void)close(world.pipe[1]);
    tunnel_done(&world.tunnel);
}

/* The reader reads nothing: what arrives is kept, within bounds. */
static void nobody_may_send_more_than_is_allowed(void **state)
{
    (void)state;
    struct world world = {0};
    static uint8_t data[FRAME_DATA_MAX];
    struct channel *channel = open_channel(&world, 1, false);
    uint64_t sent = 0;
    while (take(&world, FRAME_DATA, 1, data, sizeof(data)) == 0)
        sent += sizeof(data);
    assert_int_equal(errno, EPROTO);
    assert_true(sent >= FRAME_WINDOW && sent <= FRAME_WINDOW * 2 + FRAME_OVERDRAFT);
    assert_true(channel->waiting_length <= sent);
    (void)close(world.pipe[0]);
    tunnel_done(&world.tunnel);
}

static void leave_is_given_as_the_reader_reads(void **state)
{
    (void)state;
    struct world world = {0};
    static uint8_t data[FRAME_DATA_MAX];
    uint64_t total = 0, read_bytes = 0;
    struct channel *channel = open_channel(&world, 1, false);
    for (int i = 0; i < 200; i++) {
        while (channel->may_arrive >= (int64_t)sizeof(data)) {
            assert_int_equal(take(&world, FRAME_DATA, 1, data, sizeof(data)), 0);
            total += sizeof(data);
        }
        static char sink[30000];
        ssize_t got = read(world.pipe[0], sink, sizeof(sink));
        read_bytes += got > 0 ? (uint64_t)got : 0;
        channel_write(channel, &world.tunnel.out);
    }
    assert_true(total > UINT64_C(10) * FRAME_WINDOW);
    assert_true(read_bytes + FRAME_WINDOW + (64u << 10) >= total);
    assert_int_equal(take(&world, FRAME_CLOSE, 1, NULL, 0), 0);
    assert_true(channel->target >= 0); /* something is still waiting */
    static char sink[1 << 16];
    ssize_t got;
    while (channel->target >= 0) {
        got = read(world.pipe[0], sink, sizeof(sink));
        read_bytes += got > 0 ? (uint64_t)got : 0;
        channel_write(channel, &world.tunnel.out);
    }
    while ((got = read(world.pipe[0], sink, sizeof(sink))) > 0)
        read_bytes += (uint64_t)got;
    assert_int_equal(read_bytes, total);
    (void)close(world.pipe[0]);
    tunnel_done(&world.tunnel);
}

static void after_its_end_a_channel_says_nothing(void **state)
{
    (void)state;
    struct world world = {0};
    uint8_t byte = 'x';
    struct channel *channel = open_channel(&world, 1, false);
    channel->source = open("/dev/null", O_RDONLY | O_CLOEXEC); /* it stays after its target's end */
    assert_int_equal(take(&world, FRAME_CLOSE, 1, NULL, 0), 0);
    assert_int_equal(take(&world, FRAME_DATA, 1, &byte, 1), -1);
    assert_int_equal(take(&world, FRAME_CLOSE, 1, NULL, 0), -1);
    (void)close(world.pipe[0]);
    tunnel_done(&world.tunnel);
}

static void a_reader_that_went_is_told(void **state)
{
    (void)state;
    struct world world = {0};
    uint8_t byte = 'x';
    (void)open_channel(&world, 1, false);
    (void)close(world.pipe[0]);
    assert_int_equal(take(&world, FRAME_DATA, 1, &byte, 1), 0);
    assert_int_equal(queued(&world, FRAME_GONE), 1);
    tunnel_sweep(&world.tunnel);
    assert_int_equal(world.tunnel.count, 0);
    /* and the writer stops */
    struct world other = {0};
    (void)open_channel(&other, 1, true);
    assert_int_equal(take(&other, FRAME_GONE, 1, NULL, 0), 0);
    assert_int_equal(queued(&other, FRAME_CLOSE), 1);
    assert_int_equal(write(other.pipe[1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    (void)close(other.pipe[1]);
    tunnel_done(&world.tunnel);
    tunnel_done(&other.tunnel);
}

static void numbers_are_used_once(void **state)
{
    (void)state;
    struct world world = {0};
    uint8_t byte = 'x';
    (void)open_channel(&world, 5, false);
    (void)close(world.pipe[0]);
    assert_null(tunnel_open(&world.tunnel, 5, 1, FRAME_FD_INPUT)); /* it lives */
    assert_int_equal(errno, EPROTO);
    assert_int_equal(take(&world, FRAME_CLOSE, 5, NULL, 0), 0);
    tunnel_sweep(&world.tunnel);
    assert_null(tunnel_open(&world.tunnel, 5, 1, FRAME_FD_INPUT)); /* it has lived */
    assert_null(tunnel_open(&world.tunnel, 4, 1, FRAME_FD_INPUT));
    assert_int_equal(take(&world, FRAME_DATA, 5, &byte, 1), 0); /* it was on its way */
    assert_int_equal(take(&world, FRAME_DATA, 6, &byte, 1), -1);
    assert_int_equal(errno, EPROTO);
    tunnel_done(&world.tunnel);
}

static void there_are_only_so_many_channels(void **state)
{
    (void)state;
    struct tunnel tunnel = {0};
    for (uint32_t i = 1; i <= FRAME_MAX_CHANNELS; i++) {
        struct channel *channel = tunnel_open(&tunnel, i, i, FRAME_FD_TERMINAL);
        assert_non_null(channel);
        channel->is_reserved = true;
    }
    assert_null(tunnel_open(&tunnel, FRAME_MAX_CHANNELS + 1, 1, FRAME_FD_TERMINAL));
    assert_int_equal(errno, EMFILE);
    assert_ptr_equal(tunnel_find(&tunnel, 4711), tunnel_find_terminal(&tunnel, 4711));
    tunnel_forget_session(&tunnel, 4711);
    assert_null(tunnel_find(&tunnel, 4711));
    assert_int_equal(tunnel_find(&tunnel, 4712)->number, 4712);
    tunnel_done(&tunnel);
}

/* ---- reports --------------------------------------------------------------------------------- */

static bool is_one(const void *context, uint32_t session)
{
    (void)context;
    return session == 1;
}

static void add_report(struct reports *reports, uint32_t session, uint32_t type, uint64_t until_us)
{
    const struct init_message message = {.type = type, .session = session};
    assert_int_equal(reports_add(reports, &message, -1, until_us), 0);
}

static void expect_report(struct reports *reports, uint32_t session, uint32_t type)
{
    struct report *report = reports_take(reports, is_one, NULL);
    assert_non_null(report);
    assert_int_equal(report->message.session, session);
    assert_int_equal(report->message.type, type);
    report_free(report);
}

static void reports_wait_for_those_of_their_own_command(void **state)
{
    (void)state;
    struct reports reports = {0};
    add_report(&reports, 1, INIT_SPAWNED, 0);
    add_report(&reports, 1, INIT_EXITED, UINT64_MAX);
    add_report(&reports, 1, INIT_GONE, 0);
    add_report(&reports, 2, INIT_EXITED, UINT64_MAX);
    add_report(&reports, 2, INIT_GONE, 0);
    expect_report(&reports, 1, INIT_SPAWNED);
    expect_report(&reports, 2, INIT_EXITED);
    expect_report(&reports, 2, INIT_GONE);
    assert_null(reports_take(&reports, is_one, NULL));
    reports.first->until_us = 1; /* its time is up */
    expect_report(&reports, 1, INIT_EXITED);
    expect_report(&reports, 1, INIT_GONE);
    assert_int_equal(reports.count, 0);
    const struct init_message flood = {.type = INIT_GONE, .session = 1};
    for (int i = 0; i < REPORTS_MAX; i++)
        assert_int_equal(reports_add(&reports, &flood, -1, 0), 0);
    assert_int_equal(reports_add(&reports, &flood, -1, 0), -1);
    reports_done(&reports);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_may_be_cut_anywhere),
        cmocka_unit_test(headers_that_are_none_are_refused),
        cmocka_unit_test(a_long_message_does_not_keep_its_memory),
        cmocka_unit_test(messages_that_are_none_are_refused),
        cmocka_unit_test(a_channel_sends_no_more_than_it_may),
        cmocka_unit_test(nobody_may_allow_more_than_a_window),
        cmocka_unit_test(nobody_may_send_more_than_is_allowed),
        cmocka_unit_test(leave_is_given_as_the_reader_reads),
        cmocka_unit_test(after_its_end_a_channel_says_nothing),
        cmocka_unit_test(a_reader_that_went_is_told),
        cmocka_unit_test(numbers_are_used_once),
        cmocka_unit_test(there_are_only_so_many_channels),
        cmocka_unit_test(reports_wait_for_those_of_their_own_command),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
