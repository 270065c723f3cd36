/* SPDX-License-Identifier: Apache-2.0 */
#include "tar/number.h"

#include <stdio.h>
#include <string.h>

#define NANOSECONDS 1000000000L

/* Two's complement in the field's low bits; the first byte is 0x80 for a positive number and 0xff
 * for a negative one. */
static bool read_base256(const unsigned char *field, size_t size, int64_t *ret_value)
{
    bool negative = field[0] == 0xff;
    uint64_t value = negative ? UINT64_MAX : 0;
    if (!negative && field[0] != 0x80)
        return false;
    for (size_t i = 1; i < size; i++) {
        if (value >> 55 != (negative ? UINT64_MAX >> 55 : 0))
            return false;
        value = value << 8 | field[i];
    }
    if (value >> 63 != negative)
        return false;
    *ret_value = (int64_t)value;
    return true;
}

bool tar_number_read(const char *field, size_t size, int64_t *ret_value)
{
    uint64_t value = 0;
    size_t at = 0;
    if ((unsigned char)field[0] & 0x80)
        return read_base256((const unsigned char *)field, size, ret_value);
    while (at < size && field[at] == ' ')
        at++;
    for (; at < size && field[at] >= '0' && field[at] <= '7'; at++)
        value = value << 3 | (uint64_t)(field[at] - '0'); /* twelve digits fit */
    if (at < size && field[at] != ' ' && field[at] != '\0')
        return false;
    *ret_value = (int64_t)value;
    return true;
}

bool tar_number_write(char *field, size_t size, uint64_t value)
{
    bool fits = value >> 3 * (size - 1) == 0;
    if (!fits)
        value = 0;
    field[size - 1] = '\0';
    for (size_t i = size - 1; i-- > 0; value >>= 3)
        field[i] = (char)('0' + (value & 7));
    return fits;
}

bool tar_decimal_read(const char *text, size_t length, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (length == 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)(text[i] - '0');
        if (digit > 9 || value > ((uint64_t)INT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret_value = value;
    return true;
}

/* The first nine digits count, more are allowed. */
static bool read_fraction(const char *text, size_t length, long *ret_nanoseconds)
{
    long value = 0, weight = NANOSECONDS;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        weight /= 10;
        value += weight * (text[i] - '0');
    }
    *ret_nanoseconds = value;
    return true;
}

bool tar_time_read(const char *text, size_t length, struct timespec *ret_time)
{
    bool negative = length && text[0] == '-';
    const char *digits = text + negative, *end = text + length;
    const char *dot = memchr(digits, '.', (size_t)(end - digits));
    const char *fraction = dot ? dot + 1 : end;
    uint64_t seconds;
    long nanoseconds;
    if (!tar_decimal_read(digits, (size_t)((dot ? dot : end) - digits), &seconds) ||
        !read_fraction(fraction, (size_t)(end - fraction), &nanoseconds))
        return false;
    *ret_time = (struct timespec){(time_t)seconds, nanoseconds};
    if (negative && nanoseconds)
        *ret_time = (struct timespec){-(time_t)seconds - 1, NANOSECONDS - nanoseconds};
    else if (negative)
        ret_time->tv_sec = -(time_t)seconds;
    return true;
}

void tar_time_write(char text[TAR_TIME_BYTES], const struct timespec *time)
{
    long long seconds = (long long)time->tv_sec;
    long nanoseconds = time->tv_nsec;
    const char *sign = "";
    if (seconds < 0) { /* the kernel counts nanoseconds upwards, the format by distance from zero */
        sign = "-";
        seconds = -(seconds + (nanoseconds != 0));
        nanoseconds = nanoseconds ? NANOSECONDS - nanoseconds : 0;
    }
    if (nanoseconds)
        (void)snprintf(text, TAR_TIME_BYTES, "%s%lld.%09ld", sign, seconds, nanoseconds);
    else
        (void)snprintf(text, TAR_TIME_BYTES, "%s%lld", sign, seconds);
}
