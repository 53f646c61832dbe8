// The least that a verification can cost: OpenSSL called from C. The key is parsed once, the digest fetched once, the
// three parts of each token are decoded, the signature is verified. No JSON is read, no claim checked.
//
//     raw fresh|copied RS256|ES256 SECONDS DIRECTORY        prints verifications per second
//     raw sign fresh|copied SECONDS DIRECTORY               prints ES256 signatures per second
//
// fresh initialises the context for each token, as the manual shows it; copied copies one that was initialised once. A
// signature is of the first two parts of a token, and ends as the third.
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_TOKENS = 256, MAX_TOKEN = 4096, MAX_PART = 4096 };

static void die(const char *what) {
    fprintf(stderr, "raw: %s\n", what);
    exit(1);
}

static signed char digits[256];

static void make_digits(void) {
    const char *alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    memset(digits, -1, sizeof digits);
    for (int i = 0; i < 64; i++) digits[(unsigned char)alphabet[i]] = (signed char)i;
}

// Returns the number of octets, or -1.
static int decode(const unsigned char *text, size_t count, unsigned char *out) {
    const unsigned char *end = text + count;
    unsigned char *start = out;
    while (end - text >= 4) {
        int a = digits[text[0]], b = digits[text[1]], c = digits[text[2]], d = digits[text[3]];
        if ((a | b | c | d) < 0) return -1;
        unsigned bits = (unsigned)a << 18 | (unsigned)b << 12 | (unsigned)c << 6 | (unsigned)d;
        out[0] = (unsigned char)(bits >> 16);
        out[1] = (unsigned char)(bits >> 8);
        out[2] = (unsigned char)bits;
        out += 3;
        text += 4;
    }
    size_t rest = (size_t)(end - text);
    if (rest == 1) return -1;
    if (rest > 1) {
        int a = digits[text[0]], b = digits[text[1]], c = rest == 3 ? digits[text[2]] : 0;
        if ((a | b | c) < 0) return -1;
        unsigned bits = (unsigned)a << 18 | (unsigned)b << 12 | (unsigned)c << 6;
        *out++ = (unsigned char)(bits >> 16);
        if (rest == 3) *out++ = (unsigned char)(bits >> 8);
    }
    return (int)(out - start);
}

static unsigned char *integer(const unsigned char *octets, unsigned char *out) {
    int skip = 0;
    while (skip < 31 && octets[skip] == 0) skip++;
    int padding = octets[skip] >> 7;
    *out++ = 0x02;
    *out++ = (unsigned char)(32 - skip + padding);
    if (padding) *out++ = 0;
    memcpy(out, octets + skip, (size_t)(32 - skip));
    return out + 32 - skip;
}

// r || s to SEQUENCE { r INTEGER, s INTEGER }
static size_t der(const unsigned char *raw, unsigned char *out) {
    unsigned char *end = integer(raw + 32, integer(raw, out + 2));
    out[0] = 0x30;
    out[1] = (unsigned char)(end - out - 2);
    return (size_t)(end - out);
}

// The key file holds n and e, or x and y, in base64url.
static EVP_PKEY *read_key(const char *path, int is_rsa) {
    char first[2048], second[2048];
    unsigned char a[2048], b[2048], point[65];
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%2047s %2047s", first, second) != 2) die("no key file");
    fclose(file);
    int a_count = decode((unsigned char *)first, strlen(first), a);
    int b_count = decode((unsigned char *)second, strlen(second), b);
    if (a_count <= 0 || b_count <= 0) die("bad key file");

    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    BIGNUM *n = NULL, *e = NULL;
    if (is_rsa) {
        n = BN_bin2bn(a, a_count, NULL);
        e = BN_bin2bn(b, b_count, NULL);
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n);
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e);
    } else {
        if (a_count != 32 || b_count != 32) die("bad point");
        point[0] = 4;
        memcpy(point + 1, a, 32);
        memcpy(point + 33, b, 32);
        OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
        OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point);
    }
    OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, is_rsa ? "RSA" : "EC", NULL);
    EVP_PKEY *key = NULL;
    if (EVP_PKEY_fromdata_init(context) != 1 ||
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) != 1)
        die("bad key");
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(parameters);
    OSSL_PARAM_BLD_free(builder);
    BN_free(n);
    BN_free(e);
    return key;
}

static char tokens[MAX_TOKENS][MAX_TOKEN];
static size_t lengths[MAX_TOKENS];

static int read_tokens(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) die("no token file");
    int count = 0;
    while (count < MAX_TOKENS && fgets(tokens[count], MAX_TOKEN, file)) {
        lengths[count] = strcspn(tokens[count], "\n");
        count++;
    }
    fclose(file);
    if (!count) die("no tokens");
    return count;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct verifier {
    EVP_PKEY *key;
    EVP_MD *digest;
    EVP_MD_CTX *work;
    EVP_MD_CTX *prepared;  // NULL: initialise for each token
    int is_rsa;
};

static int prepare(const struct verifier *v) {
    if (v->prepared) return EVP_MD_CTX_copy_ex(v->work, v->prepared);
    return EVP_MD_CTX_reset(v->work) == 1 && EVP_DigestVerifyInit(v->work, NULL, v->digest, NULL, v->key) == 1;
}

static int verify(const struct verifier *v, const unsigned char *token, size_t count) {
    unsigned char header[MAX_PART], payload[MAX_PART], signature[MAX_PART], encoded[80];
    const unsigned char *first = memchr(token, '.', count);
    if (!first) return 0;
    const unsigned char *second = memchr(first + 1, '.', count - (size_t)(first + 1 - token));
    if (!second) return 0;
    if (decode(token, (size_t)(first - token), header) <= 0) return 0;
    if (decode(first + 1, (size_t)(second - first - 1), payload) <= 0) return 0;
    int signature_count = decode(second + 1, count - (size_t)(second + 1 - token), signature);
    if (signature_count <= 0) return 0;
    const unsigned char *spelled = signature;
    size_t spelled_count = (size_t)signature_count;
    if (!v->is_rsa) {
        if (signature_count != 64) return 0;
        spelled_count = der(signature, encoded);
        spelled = encoded;
    }
    return prepare(v) == 1 &&
           EVP_DigestVerify(v->work, spelled, spelled_count, token, (size_t)(second - token)) == 1;
}

// Part of a DER signature: an INTEGER to 32 octets.
static const unsigned char *coordinate(const unsigned char *integer, unsigned char *out) {
    int count = integer[1], skip = count > 32 ? count - 32 : 0;
    memset(out, 0, 32);
    memcpy(out + 32 - (count - skip), integer + 2 + skip, (size_t)(count - skip));
    return integer + 2 + count;
}

static void encode(const unsigned char *octets, int count, char *out) {
    static const char *alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (int i = 0; i < count; i += 3) {
        unsigned bits = (unsigned)octets[i] << 16;
        if (i + 1 < count) bits |= (unsigned)octets[i + 1] << 8;
        if (i + 2 < count) bits |= octets[i + 2];
        *out++ = alphabet[bits >> 18];
        *out++ = alphabet[bits >> 12 & 63];
        if (i + 1 < count) *out++ = alphabet[bits >> 6 & 63];
        if (i + 2 < count) *out++ = alphabet[bits & 63];
    }
    *out = 0;
}

static void sign(int is_copied, double limit, int count) {
    EVP_PKEY *key = EVP_EC_gen("P-256");
    EVP_MD *digest = EVP_MD_fetch(NULL, "SHA256", NULL);
    EVP_MD_CTX *work = EVP_MD_CTX_new(), *prepared = EVP_MD_CTX_new();
    if (!key || !digest || !work || !prepared || EVP_DigestSignInit(prepared, NULL, digest, NULL, key) != 1)
        die("no context");
    long done = 0;
    double start = seconds(), now = start;
    while (now - start < limit) {
        for (int i = 0; i < count; i++) {
            unsigned char der[80], raw[64];
            char text[88];
            size_t der_count = sizeof der;
            size_t message = (size_t)(strrchr(tokens[i], '.') - tokens[i]);
            int ready = is_copied ? EVP_MD_CTX_copy_ex(work, prepared)
                                  : EVP_MD_CTX_reset(work) == 1 && EVP_DigestSignInit(work, NULL, digest, NULL, key) == 1;
            if (ready != 1 || EVP_DigestSign(work, der, &der_count, (unsigned char *)tokens[i], message) != 1)
                die("no signature");
            coordinate(coordinate(der + 2, raw), raw + 32);
            encode(raw, sizeof raw, text);
        }
        done += count;
        now = seconds();
    }
    printf("%.0f\n", (double)done / (now - start));
    EVP_MD_CTX_free(prepared);
    EVP_MD_CTX_free(work);
    EVP_MD_free(digest);
    EVP_PKEY_free(key);
}

int main(int argc, char **argv) {
    if (argc == 5 && strcmp(argv[1], "sign") == 0) {
        char path[1024];
        snprintf(path, sizeof path, "%s/ES256.tokens", argv[4]);
        sign(strcmp(argv[2], "copied") == 0, atof(argv[3]), read_tokens(path));
        return 0;
    }
    if (argc != 5) die("usage: raw fresh|copied RS256|ES256 SECONDS DIRECTORY | raw sign fresh|copied SECONDS DIRECTORY");
    int is_copied = strcmp(argv[1], "copied") == 0;
    const char *algorithm = argv[2], *directory = argv[4];
    double limit = atof(argv[3]);
    char path[1024];
    make_digits();

    struct verifier v = {.is_rsa = strcmp(algorithm, "RS256") == 0};
    snprintf(path, sizeof path, "%s/%s.key", directory, algorithm);
    v.key = read_key(path, v.is_rsa);
    snprintf(path, sizeof path, "%s/%s.tokens", directory, algorithm);
    int count = read_tokens(path);
    v.digest = EVP_MD_fetch(NULL, "SHA256", NULL);
    v.work = EVP_MD_CTX_new();
    v.prepared = is_copied ? EVP_MD_CTX_new() : NULL;
    if (!v.digest || !v.work) die("no context");
    if (is_copied && (!v.prepared || EVP_DigestVerifyInit(v.prepared, NULL, v.digest, NULL, v.key) != 1))
        die("no context");

    long verified = 0;
    double start = seconds(), now = start;
    while (now - start < limit) {
        for (int i = 0; i < count; i++)
            if (!verify(&v, (unsigned char *)tokens[i], lengths[i])) die("a token does not hold");
        verified += count;
        now = seconds();
    }
    printf("%.0f\n", (double)verified / (now - start));
    EVP_MD_CTX_free(v.prepared);
    EVP_MD_CTX_free(v.work);
    EVP_MD_free(v.digest);
    EVP_PKEY_free(v.key);
    return 0;
}
