/* A load for benchmarks/serve.py: texts to POST /link of a service on this machine, over connections that are kept.
 *
 *     load PORT BODIES CLIENTS SECONDS ANSWERS
 *
 * BODIES has one JSON body a line. Each is sent once, in order, by whichever of CLIENTS connections is free; after
 * SECONDS no more are. ANSWERS gets one line a body that was sent:
 *
 *     number (from 0) <tab> status <tab> begun <tab> ended <tab> port of the connection <tab> answer
 *
 * in seconds since the start. The status is 0 where the connection broke; then the answer is "reset" or "closed", and
 * the client goes on over another connection. stdout gets the seconds of the clock and of the CPU that all took.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEAD = 256, EVENTS = 256, LONGEST_WAIT_MS = 90000 };

struct client {
    int socket, port;
    long body; /* -1: idle */
    double begun;
    char *answer;
    size_t size, room;
};

static struct sockaddr_in service = {.sin_family = AF_INET};
static int events;
static char **bodies;
static size_t *lengths;
static long count, sent, answered;
static double deadline;
static FILE *answers;

static void fail(const char *why) {
    fprintf(stderr, "load: %s (%s)\n", why, strerror(errno));
    exit(1);
}

static void *grown(void *old, size_t size) {
    void *memory = realloc(old, size);
    if (!memory) fail("no memory");
    return memory;
}

static double now(void) {
    static double start;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double seconds = t.tv_sec + t.tv_nsec / 1e9;
    if (!start) start = seconds;
    return seconds - start;
}

static void read_bodies(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) fail(path);
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    while ((length = getline(&line, &room, file)) > 0) {
        if (line[length - 1] == '\n') length--;
        if (count % 1024 == 0) {
            bodies = grown(bodies, (count + 1024) * sizeof *bodies);
            lengths = grown(lengths, (count + 1024) * sizeof *lengths);
        }
        bodies[count] = memcpy(grown(NULL, length + 1), line, length);
        lengths[count++] = length;
    }
    free(line);
    fclose(file);
}

static void open_connection(struct client *client) {
    struct sockaddr_in own;
    socklen_t size = sizeof own;
    int one = 1;
    client->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (client->socket < 0) fail("no socket");
    setsockopt(client->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(client->socket, (struct sockaddr *)&service, sizeof service)) fail("cannot connect");
    if (getsockname(client->socket, (struct sockaddr *)&own, &size)) fail("no port");
    client->port = ntohs(own.sin_port);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
    if (epoll_ctl(events, EPOLL_CTL_ADD, client->socket, &event)) fail("epoll");
}

static void ask_next(struct client *client) {
    client->body = -1;
    if (sent == count || now() >= deadline) return;
    client->body = sent++;
    client->size = 0;
    char head[HEAD];
    size_t length = lengths[client->body];
    int used = snprintf(head, sizeof head,
                        "POST /link HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        "Content-Length: %zu\r\n\r\n",
                        length);
    char *request = grown(NULL, used + length);
    memcpy(request, head, used);
    memcpy(request + used, bodies[client->body], length);
    client->begun = now();
    size_t done = 0;
    while (done < used + length) {
        ssize_t part = send(client->socket, request + done, used + length - done, MSG_NOSIGNAL);
        if (part <= 0) break; /* the answer will not come, and says why */
        done += part;
    }
    free(request);
}

static void note(struct client *client, int status, const char *answer, size_t size) {
    fprintf(answers, "%ld\t%d\t%.6f\t%.6f\t%d\t", client->body, status, client->begun, now(), client->port);
    fwrite(answer, 1, size, answers);
    fputc('\n', answers);
    answered++;
}

static void broken(struct client *client, const char *why) {
    if (client->body >= 0) note(client, 0, why, strlen(why));
    close(client->socket);
    if (sent == count || now() >= deadline) {
        client->body = -1;
        client->socket = -1;
        return;
    }
    open_connection(client);
    ask_next(client);
}

/* Whether the whole answer is there; if so, it is written down. */
static int is_whole(struct client *client) {
    client->answer[client->size] = 0;
    char *end = strstr(client->answer, "\r\n\r\n");
    if (!end) return 0;
    char *length = strcasestr(client->answer, "\r\ncontent-length:");
    if (!length || length > end) fail("an answer without a length");
    size_t head = end + 4 - client->answer, body = strtoul(length + 17, NULL, 10);
    if (client->size < head + body) return 0;
    note(client, atoi(client->answer + 9), client->answer + head, body);
    return 1;
}

static void hear(struct client *client) {
    for (;;) {
        if (client->room - client->size < 65536) {
            client->room += 1 << 20;
            client->answer = grown(client->answer, client->room);
        }
        ssize_t part = recv(client->socket, client->answer + client->size, client->room - client->size - 1, MSG_DONTWAIT);
        if (part < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (part <= 0) {
            broken(client, part ? "reset" : "closed");
            return;
        }
        client->size += part;
        if (client->body >= 0 && is_whole(client)) {
            ask_next(client);
            return;
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 6) fail("load PORT BODIES CLIENTS SECONDS ANSWERS");
    service.sin_port = htons(atoi(argv[1]));
    service.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    read_bodies(argv[2]);
    int clients = atoi(argv[3]);
    deadline = atof(argv[4]);
    answers = fopen(argv[5], "w");
    if (!answers) fail(argv[5]);
    setvbuf(answers, NULL, _IOFBF, 1 << 20);
    events = epoll_create1(0);
    struct client *all = calloc(clients, sizeof *all);
    if (!all) fail("no memory");
    now();
    for (int i = 0; i < clients; i++) {
        open_connection(&all[i]);
        ask_next(&all[i]);
    }
    while (answered < sent) {
        struct epoll_event ready[EVENTS];
        int number = epoll_wait(events, ready, EVENTS, LONGEST_WAIT_MS);
        if (number == 0) fail("no answer came");
        for (int i = 0; i < number; i++) hear(ready[i].data.ptr);
    }
    double seconds = now();
    if (fclose(answers)) fail("the answers cannot be written");
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("{\"seconds\": %.4f, \"cpu_seconds\": %.4f}\n", seconds,
           used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    return 0;
}
