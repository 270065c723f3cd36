/* SPDX-License-Identifier: Apache-2.0 */
#include "util/sha256.h"

#include <string.h>

#define ROUNDS 64
#define LENGTH_AT 56 /* of the last block: where its eight bytes of length begin */

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t word, unsigned bits)
{
    return word >> bits | word << (32 - bits);
}

static uint32_t read_word(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* The message schedule: the block's sixteen words, and 48 that are made of them. */
static void expand(const unsigned char *block, uint32_t *words)
{
    for (size_t i = 0; i < 16; i++)
        words[i] = read_word(block + 4 * i);
    for (size_t i = 16; i < ROUNDS; i++) {
        uint32_t early = words[i - 15], late = words[i - 2];
        words[i] = words[i - 16] + words[i - 7] + (turn(early, 7) ^ turn(early, 18) ^ early >> 3) +
                   (turn(late, 17) ^ turn(late, 19) ^ late >> 10);
    }
}

static void take_block(uint32_t *state, const unsigned char *block)
{
    uint32_t words[ROUNDS];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    expand(block, words);
    for (size_t i = 0; i < ROUNDS; i++) {
        uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
        uint32_t first =
            h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + round_constants[i] + words[i];
        uint32_t second = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + majority;
        h = g, g = f, f = e, e = d + first;
        d = c, c = b, b = a, a = first + second;
    }
    const uint32_t after[8] = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; i++)
        state[i] += after[i];
}

/* The state begins with the square roots of the first eight primes, as the constants do above. */
void sha256_begin(struct sha256 *hash)
{
    *hash = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                      0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *hash, const void *data, size_t length)
{
    const unsigned char *at = data;
    while (length) {
        size_t used = hash->length % sizeof(hash->block);
        size_t step = sizeof(hash->block) - used;
        step = step < length ? step : length;
        if (step == sizeof(hash->block)) {
            take_block(hash->state, at); /* whole ones need no copy */
        } else {
            memcpy(hash->block + used, at, step);
            if (used + step == sizeof(hash->block))
                take_block(hash->state, hash->block);
        }
        hash->length += step;
        at += step;
        length -= step;
    }
}

void sha256_end(struct sha256 *hash, unsigned char ret_digest[SHA256_BYTES])
{
    static const unsigned char padding[sizeof(hash->block)] = {0x80};
    unsigned char bits[8];
    uint64_t length = hash->length * 8;
    size_t used = hash->length % sizeof(hash->block);
    for (size_t i = 0; i < sizeof(bits); i++)
        bits[i] = (unsigned char)(length >> (56 - 8 * i));
    sha256_add(hash, padding, (used < LENGTH_AT ? LENGTH_AT : LENGTH_AT + 64) - used);
    sha256_add(hash, bits, sizeof(bits));
    for (size_t i = 0; i < SHA256_BYTES; i++)
        ret_digest[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_end_hex(struct sha256 *hash, char ret_text[SHA256_HEX_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[SHA256_BYTES];
    sha256_end(hash, digest);
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        ret_text[2 * i] = digits[digest[i] >> 4];
        ret_text[2 * i + 1] = digits[digest[i] & 15];
    }
    ret_text[SHA256_HEX_BYTES - 1] = '\0';
}
