/* SPDX-License-Identifier: Apache-2.0 */
/* How many connections a client has: by its address, by its uid on a unix socket. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "http/connection.h"

struct key {
    sa_family_t family;
    unsigned char bytes[16];
};

struct client {
    struct client *next;
    struct key key;
    uint64_t connections;
    size_t bucket;
};

static struct key key_of(const struct http_peer *peer, const void *address, size_t length)
{
    struct key key;
    memset(&key, 0, sizeof(key)); /* it is compared whole */
    key.family = AF_UNIX;
    if (peer->is_unix) {
        memcpy(key.bytes, &peer->uid, sizeof(peer->uid));
    } else if (length >= sizeof(struct sockaddr_in)) {
        key.family = ((const struct sockaddr *)address)->sa_family;
        if (key.family == AF_INET)
            memcpy(key.bytes, &((const struct sockaddr_in *)address)->sin_addr, 4);
        else if (key.family == AF_INET6)
            memcpy(key.bytes, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
    }
    return key;
}

static size_t bucket_of(const struct key *key, uint64_t seed)
{
    uint64_t hash = seed ^ key->family;
    for (size_t i = 0; i < sizeof(key->bytes); i++)
        hash = (hash ^ key->bytes[i]) * UINT64_C(0x100000001b3);
    return (size_t)((hash ^ hash >> 32) % CLIENT_BUCKETS);
}

struct client *client_join(struct http_server *server, const struct http_peer *peer,
                           const void *address, size_t length)
{
    struct key key = key_of(peer, address, length);
    size_t bucket = bucket_of(&key, server->id_seed);
    struct client *client = server->clients[bucket];
    while (client && memcmp(&client->key, &key, sizeof(key)) != 0)
        client = client->next;
    if (client && client->connections >= server->options.limits.connections_per_client)
        return NULL;
    if (!client) {
        client = calloc(1, sizeof(*client));
        if (!client)
            return NULL;
        *client = (struct client){server->clients[bucket], key, 0, bucket};
        server->clients[bucket] = client;
    }
    client->connections++;
    return client;
}

void client_leave(struct http_server *server, struct client *client)
{
    if (!client || --client->connections)
        return;
    struct client **place = &server->clients[client->bucket];
    while (*place != client)
        place = &(*place)->next;
    *place = client->next;
    free(client);
}
