/* SPDX-License-Identifier: Apache-2.0 */
/* A client that no preloaded library reaches: static_client tcp|udp|uring HOST PORT. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Connect without the call connect: one entry of a ring of one. 0, or the error's number below zero. */
static int by_ring(int sock, struct sockaddr_in *address) {
    struct io_uring_params p = {0};
    int ring = (int)syscall(SYS_io_uring_setup, 1, &p);
    if (ring < 0) return -1;
    size_t ring_size = p.sq_off.array + p.sq_entries * sizeof(unsigned);
    size_t done_size = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
    if (done_size > ring_size) ring_size = done_size;
    char *rings = mmap(0, ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entry = mmap(0, sizeof *entry, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    if (rings == MAP_FAILED || entry == MAP_FAILED || !(p.features & IORING_FEAT_SINGLE_MMAP)) return -1;
    memset(entry, 0, sizeof *entry);
    entry->opcode = IORING_OP_CONNECT;
    entry->fd = sock;
    entry->addr = (unsigned long)address;
    entry->off = sizeof *address;
    *(unsigned *)(rings + p.sq_off.array) = 0;
    __atomic_store_n((unsigned *)(rings + p.sq_off.tail), 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) != 1) return -1;
    return ((struct io_uring_cqe *)(rings + p.cq_off.cqes))->res;
}

int main(int argc, char **argv) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    if (argc != 4) return 2;
    int is_udp = !strcmp(argv[1], "udp"), is_ring = !strcmp(argv[1], "uring");
    address.sin_port = htons((unsigned short)atoi(argv[3]));
    inet_pton(AF_INET, argv[2], &address.sin_addr);
    int sock = socket(AF_INET, is_udp ? SOCK_DGRAM : SOCK_STREAM, 0);
    if (sock < 0) return perror("socket"), 1;
    if (is_udp ? sendto(sock, "x", 1, 0, (struct sockaddr *)&address, sizeof address) != 1
        : is_ring ? by_ring(sock, &address)
               : connect(sock, (struct sockaddr *)&address, sizeof address))
        return perror("reach"), 1;
    return puts("reached"), 0;
}
