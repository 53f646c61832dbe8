import COpenSSL

/// libcrypto as one thing of the process.
package enum OpenSSLLibrary {
    /// Leaves its memory to the system when the process ends. Has to come before anybody's first use of OpenSSL, libcurl
    /// and libpq included; later calls do nothing.
    ///
    /// By default libcrypto frees its locks in an `atexit` handler. A thread that ends a moment later, while the process
    /// is still on its way out, cleans up its own part of the library and dereferences them: a crash in place of
    /// an exit status (OPENSSL_init_crypto(3), OPENSSL_INIT_NO_ATEXIT).
    package static func disableAtExitCleanup() {
        _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }
}
