import COpenSSL

/// Settings of libcrypto for the whole process.
package enum OpenSSLLibrary {
    /// The version of the library that is loaded, `3.0.17`.
    package static var version: String { unsafe String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }

    /// Makes libcrypto leave its memory to the system when the process ends. Must precede the first use of OpenSSL,
    /// that of libcurl and libpq included; later calls do nothing.
    ///
    /// By default libcrypto frees its locks in an `atexit` handler. A thread that ends a moment later, while the
    /// process is still exiting, cleans up its own part of the library and dereferences them: a crash in place of an
    /// exit status (OPENSSL_init_crypto(3), OPENSSL_INIT_NO_ATEXIT).
    package static func disableAtExitCleanup() { _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) }
}
