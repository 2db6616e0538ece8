/* SPDX-License-Identifier: Apache-2.0
 *
 * The outer layer where the kernel offers none: a library that stands before libc's functions in every program that
 * is linked dynamically, and refuses connections past the proxy.
 *
 * - Rules come from $TRUEGREEN_GUARD/guard.conf, a word and its value a line, as for the audit hook; a file that
 *   cannot be read leaves nothing but local sockets.
 * - A port on which a program of the run listens (or that a datagram socket of it is bound to) is noted in
 *   $TRUEGREEN_GUARD/ports and may be connected to.
 * - Each refusal is a line in $TRUEGREEN_GUARD/attempts.jsonl.
 * - Not held: statically linked programs, system calls made without libc, programs that clear their environment.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define MOST 64
#define PATH_BYTES 512

static char folder[PATH_BYTES];
static int refuses = 1, own_loopback = 0, any_loopback = 0, ports[MOST], port_count = 0, daemon_count = 0;
static char daemons[MOST][PATH_BYTES];

static void rules(void) {
    const char *named = getenv("TRUEGREEN_GUARD");
    char path[PATH_BYTES + 16], line[PATH_BYTES + 16];
    if (!named || strlen(named) >= PATH_BYTES) return;
    strcpy(folder, named);
    snprintf(path, sizeof path, "%s/guard.conf", folder);
    FILE *file = fopen(path, "re");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (!strcmp(line, "mode watch")) refuses = 0;
        else if (!strcmp(line, "loopback own")) own_loopback = 1;
        else if (!strcmp(line, "loopback any")) any_loopback = 1;
        else if (!strncmp(line, "port ", 5) && port_count < MOST) ports[port_count++] = atoi(line + 5);
        else if (!strncmp(line, "daemon ", 7) && daemon_count < MOST && strlen(line + 7) < PATH_BYTES)
            strcpy(daemons[daemon_count++], line + 7);
    }
    fclose(file);
}

__attribute__((constructor)) static void start(void) { rules(); }

static void append(const char *name, const char *text) {
    char path[PATH_BYTES + 32];
    if (!folder[0]) return;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int handle = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (handle < 0) return;
    if (write(handle, text, strlen(text)) < 0) { /* the refusal stands; there is nobody to tell */
    }
    close(handle);
}

static void plain(const char *text, char *out, size_t room) {
    size_t used = 0;
    for (; *text && used + 1 < room; text++) {
        unsigned char c = (unsigned char)*text;
        out[used++] = (c < 0x20 || c > 0x7e || c == '"' || c == '\\') ? '?' : (char)c;
    }
    out[used] = 0;
}

static int refused(const char *what, const char *address) {
    char line[1024], program[64] = "", shown[320], name[64];
    int saved = errno, handle = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    if (handle >= 0) {
        ssize_t got = read(handle, program, sizeof program - 1);
        program[got > 0 ? got : 0] = 0;
        program[strcspn(program, "\n")] = 0;
        close(handle);
    }
    plain(address, shown, 200);
    plain(program, name, sizeof name);
    snprintf(line, sizeof line,
             "{\"layer\":\"preload\",\"what\":\"%s\",\"address\":\"%s\",\"program\":\"%s\",\"pid\":%d}\n", what, shown,
             name, (int)getpid());
    append("attempts.jsonl", line);
    errno = saved;
    return refuses;
}

static int noted(const char *kind, int port) {
    char path[PATH_BYTES + 16], line[64], wanted[64];
    int found = 0;
    snprintf(path, sizeof path, "%s/ports", folder);
    snprintf(wanted, sizeof wanted, "%s %d\n", kind, port);
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    while (!found && fgets(line, sizeof line, file)) found = !strcmp(line, wanted);
    fclose(file);
    return found;
}

/* Whether anybody on this machine listens at a port: where nobody does, the kernel refuses by itself. */
static int is_served(const char *kind, int port) {
    static const char *const tables[] = {"", "6"};
    char path[64], line[512];
    unsigned int found, state;
    int served = 0;
    for (int each = 0; each < 2 && !served; each++) {
        snprintf(path, sizeof path, "/proc/net/%s%s", kind, tables[each]);
        FILE *file = fopen(path, "re");
        if (!file) continue;
        while (!served && fgets(line, sizeof line, file))
            if (sscanf(line, "%*d: %*[0-9A-Fa-f]:%x %*s %x", &found, &state) == 2)
                served = (int)found == port && (!strcmp(kind, "udp") || state == 0x0A);
        fclose(file);
    }
    return served;
}

static const char *kind_of(int sock) {
    int type = 0;
    socklen_t size = sizeof type;
    return !getsockopt(sock, SOL_SOCKET, SO_TYPE, &type, &size) && type == SOCK_STREAM ? "tcp" : "udp";
}

static int is_loopback(const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        in_addr_t host = ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr);
        return host >> 24 == 127 || host == 0;
    }
    const struct in6_addr *host = &((const struct sockaddr_in6 *)address)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(host)) return host->s6_addr[12] == 127;
    return IN6_IS_ADDR_LOOPBACK(host) || IN6_IS_ADDR_UNSPECIFIED(host);
}

static int port_of(const struct sockaddr *address) {
    return ntohs(address->sa_family == AF_INET ? ((const struct sockaddr_in *)address)->sin_port
                                               : ((const struct sockaddr_in6 *)address)->sin6_port);
}

/* Whether a call to this address must fail; sets errno. */
static int stops(const char *what, int sock, const struct sockaddr *address, socklen_t size) {
    char host[INET6_ADDRSTRLEN] = "", shown[PATH_BYTES];
    if (!address || size < (socklen_t)sizeof(sa_family_t)) return 0;
    if (address->sa_family == AF_UNIX) {
        const struct sockaddr_un *path = (const struct sockaddr_un *)address;
        char asked[sizeof path->sun_path + 1] = "", real[4096];
        size_t length = size > offsetof(struct sockaddr_un, sun_path) ? size - offsetof(struct sockaddr_un, sun_path) : 0;
        if (length > sizeof path->sun_path) length = sizeof path->sun_path;
        memcpy(asked, path->sun_path, length);
        if (!asked[0] || !realpath(asked, real)) return 0;
        for (int each = 0; each < daemon_count; each++)
            if (!strcmp(real, daemons[each]) && refused(what, real)) return errno = EACCES, 1;
        return 0;
    }
    if (address->sa_family != AF_INET && address->sa_family != AF_INET6) return 0;
    if (address->sa_family == AF_INET && size < (socklen_t)sizeof(struct sockaddr_in)) return 0;
    if (address->sa_family == AF_INET6 && size < (socklen_t)24) return 0;
    int port = port_of(address);
    if (is_loopback(address)) {
        if (any_loopback) return 0;
        for (int each = 0; each < port_count; each++)
            if (ports[each] == port) return 0;
        if (own_loopback && (noted(kind_of(sock), port) || !is_served(kind_of(sock), port))) return 0;
    }
    if (address->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, host, sizeof host);
    else
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, host, sizeof host);
    snprintf(shown, sizeof shown, strchr(host, ':') ? "[%s]:%d" : "%s:%d", host, port);
    return refused(what, shown) ? (errno = EACCES, 1) : 0;
}

static void note(int sock, int only_datagrams) {
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    char line[64];
    const char *kind = kind_of(sock);
    int saved = errno;
    if (!(only_datagrams && !strcmp(kind, "tcp")) && !getsockname(sock, (struct sockaddr *)&own, &size) &&
        (own.ss_family == AF_INET || own.ss_family == AF_INET6)) {
        snprintf(line, sizeof line, "%s %d\n", kind, port_of((struct sockaddr *)&own));
        append("ports", line);
    }
    errno = saved;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int connect(int sock, const struct sockaddr *address, socklen_t size) {
    if (stops("connect", sock, address, size)) return -1;
    return NEXT(connect)(sock, address, size);
}

ssize_t sendto(int sock, const void *data, size_t length, int flags, const struct sockaddr *address, socklen_t size) {
    if (stops("datagram", sock, address, size)) return -1;
    return NEXT(sendto)(sock, data, length, flags, address, size);
}

ssize_t sendmsg(int sock, const struct msghdr *message, int flags) {
    if (message && stops("datagram", sock, message->msg_name, message->msg_namelen)) return -1;
    return NEXT(sendmsg)(sock, message, flags);
}

int sendmmsg(int sock, struct mmsghdr *messages, unsigned int count, int flags) {
    for (unsigned int each = 0; messages && each < count; each++)
        if (stops("datagram", sock, messages[each].msg_hdr.msg_name, messages[each].msg_hdr.msg_namelen)) return -1;
    return NEXT(sendmmsg)(sock, messages, count, flags);
}

int listen(int sock, int backlog) {
    int done = NEXT(listen)(sock, backlog);
    if (!done) note(sock, 0);
    return done;
}

int bind(int sock, const struct sockaddr *address, socklen_t size) {
    int done = NEXT(bind)(sock, address, size);
    if (!done) note(sock, 1);
    return done;
}

static int is_local_name(const char *name) {
    struct in6_addr room;
    char own[256] = "";
    size_t length = name ? strlen(name) : 0;
    if (!length || inet_pton(AF_INET, name, &room) == 1 || strchr(name, ':')) return 1;
    if (!strcasecmp(name, "localhost") || (length > 10 && !strcasecmp(name + length - 10, ".localhost"))) return 1;
    return !strncasecmp(name, "ip6-lo", 6) || (!gethostname(own, sizeof own - 1) && !strcasecmp(name, own));
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    if (!is_local_name(name) && refused("lookup", name)) return EAI_FAIL;
    return NEXT(getaddrinfo)(name, service, hints, found);
}

struct hostent *gethostbyname(const char *name) {
    if (!is_local_name(name) && refused("lookup", name)) return h_errno = NO_RECOVERY, NULL;
    return NEXT(gethostbyname)(name);
}

struct hostent *gethostbyname2(const char *name, int family) {
    if (!is_local_name(name) && refused("lookup", name)) return h_errno = NO_RECOVERY, NULL;
    return NEXT(gethostbyname2)(name, family);
}

long syscall(long number, ...) {
    va_list list;
    long a[6];
    va_start(list, number);
    for (int each = 0; each < 6; each++) a[each] = va_arg(list, long);
    va_end(list);
#ifdef SYS_connect
    if (number == SYS_connect && stops("connect", (int)a[0], (const struct sockaddr *)a[1], (socklen_t)a[2])) return -1;
#endif
#ifdef SYS_sendto
    if (number == SYS_sendto && stops("datagram", (int)a[0], (const struct sockaddr *)a[4], (socklen_t)a[5])) return -1;
#endif
#ifdef SYS_sendmsg
    if (number == SYS_sendmsg && a[1]) {
        const struct msghdr *message = (const struct msghdr *)a[1];
        if (stops("datagram", (int)a[0], message->msg_name, message->msg_namelen)) return -1;
    }
#endif
    return ((long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"))(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
