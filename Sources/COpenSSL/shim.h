// OpenSSL 3 for Swift: the headers, and one inline function for each macro that the importer cannot read.
#ifndef COUNTERSIGN_COPENSSL_SHIM_H
#define COUNTERSIGN_COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

// EVP_PKEY_PUBLIC_KEY is an OR of other macros.
static inline int countersign_EVP_PKEY_PUBLIC_KEY(void) { return EVP_PKEY_PUBLIC_KEY; }

// OPENSSL_free and OPENSSL_clear_free pass __FILE__ and __LINE__ along.
static inline void countersign_OPENSSL_free(void *pointer) { OPENSSL_free(pointer); }
static inline void countersign_OPENSSL_clear_free(void *pointer, size_t count) { OPENSSL_clear_free(pointer, count); }

// BIO_get_mem_data and BIO_pending are BIO_ctrl with casts.
static inline size_t countersign_BIO_pending(BIO *bio) { return BIO_ctrl_pending(bio); }
static inline size_t countersign_BIO_get_mem_data(BIO *bio, const char **data) {
    long count = BIO_get_mem_data(bio, (char **)data);
    return count > 0 ? (size_t)count : 0;
}

#endif
