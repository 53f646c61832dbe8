#ifndef CCURL_SHIM_H
#define CCURL_SHIM_H

#include <curl/curl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

// CURLVERSION_NOW is a macro that Swift can't import.
static inline const char *ccurl_version(void) {
    return curl_version_info(CURLVERSION_NOW)->version;
}

// Swift doesn't import variadic functions: one inline function for each type of argument that we pass.

static inline CURLcode ccurl_easy_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_easy_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_easy_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_easy_set_url(CURL *easy, CURLU *value) {
    return curl_easy_setopt(easy, CURLOPT_CURLU, value);
}

static inline CURLcode ccurl_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

// Curl's write, header and read callbacks share this one C type.
typedef size_t (*ccurl_byte_callback)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode ccurl_easy_set_callback(CURL *easy, CURLoption option, ccurl_byte_callback value) {
    return curl_easy_setopt(easy, option, value);
}

typedef curl_socket_t (*ccurl_socket_callback)(void *context, curlsocktype purpose, struct curl_sockaddr *address);

static inline CURLcode ccurl_easy_set_socket_callback(CURL *easy, ccurl_socket_callback value) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, value);
}

static inline CURLcode ccurl_easy_set_progress_callback(CURL *easy, curl_xferinfo_callback value) {
    return curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, value);
}

// The address as 16 octets, IPv4 as the mapped part of IPv6; 0 for what is neither. `addr` is as long as `addrlen` says.
static inline int ccurl_octets(const struct curl_sockaddr *address, unsigned char *octets) {
    const struct sockaddr *any = &address->addr;
    if (address->family == AF_INET) {
        memset(octets, 0, 10);
        memset(octets + 10, 0xFF, 2);
        memcpy(octets + 12, &((const struct sockaddr_in *)any)->sin_addr, 4);
        return 1;
    }
    if (address->family == AF_INET6) {
        memcpy(octets, &((const struct sockaddr_in6 *)any)->sin6_addr, 16);
        return 1;
    }
    return 0;
}

static inline curl_socket_t ccurl_open_socket(const struct curl_sockaddr *address) {
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static inline CURLcode ccurl_easy_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_easy_get_socket(CURL *easy, curl_socket_t *value) {
    return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, value);
}

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

#endif
