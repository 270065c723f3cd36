/* SPDX-License-Identifier: Apache-2.0 */
/* How every file of tests with a gateway begins and ends. */
#ifndef HUTCH_TESTS_GATEWAY_SUITE_H
#define HUTCH_TESTS_GATEWAY_SUITE_H

#include "world.h"

#include "util/own.h"

static inline int gateway_set_up(void **state)
{
    struct world *world = *state;
    world_forget_seen(world);
    memset(world->table, 0, sizeof(*world->table));
    return 0;
}

static inline int gateway_tear_down(void **state)
{
    gateway_stop(*state);
    return 0;
}

#define GATEWAY_TEST(name) cmocka_unit_test_setup_teardown(name, gateway_set_up, gateway_tear_down)

/* 77: this host lets nobody have namespaces. */
#define gateway_run_tests(tests)                                       \
    __extension__({                                                    \
        static struct world world_;                                    \
        struct CMUnitTest with_world_[HUTCH_COUNT(tests)];             \
        int failed_ = 77;                                              \
        if (world_make(&world_)) {                                     \
            for (size_t i_ = 0; i_ < HUTCH_COUNT(tests); i_++) {       \
                with_world_[i_] = (tests)[i_];                         \
                with_world_[i_].initial_state = &world_;               \
            }                                                          \
            failed_ = cmocka_run_group_tests(with_world_, NULL, NULL); \
            world_end(&world_);                                        \
        }                                                              \
        failed_;                                                       \
    })

#endif
