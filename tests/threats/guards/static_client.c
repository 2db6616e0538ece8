/* SPDX-License-Identifier: Apache-2.0 */
/* A client that no preloaded library reaches: static_client tcp|udp HOST PORT. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int main(int argc, char **argv) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    if (argc != 4) return 2;
    int is_udp = !strcmp(argv[1], "udp");
    address.sin_port = htons((unsigned short)atoi(argv[3]));
    inet_pton(AF_INET, argv[2], &address.sin_addr);
    int sock = socket(AF_INET, is_udp ? SOCK_DGRAM : SOCK_STREAM, 0);
    if (sock < 0) return perror("socket"), 1;
    if (is_udp ? sendto(sock, "x", 1, 0, (struct sockaddr *)&address, sizeof address) != 1
               : connect(sock, (struct sockaddr *)&address, sizeof address))
        return perror("reach"), 1;
    return puts("reached"), 0;
}
