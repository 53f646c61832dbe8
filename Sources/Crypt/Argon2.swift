import Glibc

/// Argon2 (RFC 9106) by libargon2, which is opened when it is first asked for: OpenSSL has had it only since 3.2, and a
/// service whose people all have hashes of ours never needs it.
///
/// Sendable because the library is never closed, and its one function that is called keeps no state.
@safe
package struct Argon2: @unchecked Sendable {
    private typealias Hash =
        @convention(c) (
            UInt32, UInt32, UInt32, UnsafeRawPointer?, Int, UnsafeRawPointer?, Int, UnsafeMutableRawPointer?, Int,
            UnsafeMutablePointer<CChar>?, Int, Int32, UInt32
        ) -> Int32

    package enum Variant: Int32, Sendable {
        case i = 1
        case id = 2
    }

    private let function: Hash

    @unsafe
    private init(function: @escaping Hash) {
        unsafe self.function = function
    }

    /// `nil` where the library is not installed.
    package static let shared: Argon2? = {
        guard let library = unsafe dlopen("libargon2.so.1", RTLD_NOW | RTLD_LOCAL),
            let symbol = unsafe dlsym(library, "argon2_hash")
        else { return nil }
        return unsafe Argon2(function: unsafeBitCast(symbol, to: Hash.self))
    }()

    /// - Parameter count: octets of the key.
    /// - Returns: `nil` when there is no memory or no thread, or the library refuses the parameters.
    package func hash(
        _ password: [UInt8], salt: [UInt8], variant: Variant, version: UInt32, kibibytes: UInt32, passes: UInt32,
        lanes: UInt32, count: Int
    ) -> [UInt8]? {
        var key = [UInt8](repeating: 0, count: count)
        let status = unsafe function(
            passes, kibibytes, lanes, password, password.count, salt, salt.count, &key, count, nil, 0,
            variant.rawValue, version)
        return status == 0 ? key : nil
    }
}
