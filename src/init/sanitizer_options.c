/* SPDX-License-Identifier: Apache-2.0 */
/* Sanitized builds only: PID 1 has no environment to take these from. It ends with its whole
 * namespace, so what it still holds then is no leak. After a report it is gone, and the run fails
 * with "PID 1 ended"; the report itself went to the keeper's socket, where 'strace -f -s 9999 -e
 * trace=write' shows it. */

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void)
{
    return "detect_leaks=0:exitcode=86";
}

const char *__ubsan_default_options(void)
{
    return "halt_on_error=1:print_stacktrace=1:exitcode=86";
}
