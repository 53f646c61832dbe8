import CCrypt
import Glibc

/// Argon2 (RFC 9106) by libargon2, which is opened when it is first asked for: OpenSSL has had it only since 3.2, and a
/// service whose people all have hashes of ours never needs it.
///
/// Sendable because the library is never closed, and its one function that is called keeps no state.
@safe
package struct Argon2: @unchecked Sendable {
    private typealias Function = @convention(c) (UnsafeMutablePointer<countersign_argon2_context>, UInt32) -> Int32

    package enum Variant: UInt32, Sendable {
        case i = 1
        case id = 2
    }

    private let function: Function

    @unsafe
    private init(function: @escaping Function) { unsafe self.function = function }

    /// `nil` where the library is not installed.
    package static let shared: Argon2? = {
        guard let library = unsafe dlopen("libargon2.so.1", RTLD_NOW | RTLD_LOCAL),
            let symbol = unsafe dlsym(library, "argon2_ctx")
        else { return nil }
        return unsafe Argon2(function: unsafeBitCast(symbol, to: Function.self))
    }()

    /// The lanes are filled one after the other: where the library can't start a thread for each it leaks the memory, and may
    /// crash the process.
    ///
    /// - Parameter count: octets of the key.
    /// - Returns: `nil` when there is no memory, or the library refuses the parameters.
    package func hash(
        _ password: [UInt8], salt: [UInt8], variant: Variant, version: UInt32, kibibytes: UInt32, passes: UInt32,
        lanes: UInt32, count: Int
    ) -> [UInt8]? {
        var key = [UInt8](repeating: 0, count: count)
        let status = unsafe key.withUnsafeMutableBytes { key in
            unsafe password.withUnsafeBytes { password in
                unsafe salt.withUnsafeBytes { salt in
                    var context = unsafe countersign_argon2_context()
                    unsafe context.out = key.baseAddress
                    unsafe context.outlen = UInt32(key.count)
                    unsafe context.pwd = password.baseAddress
                    unsafe context.pwdlen = UInt32(password.count)
                    unsafe context.salt = salt.baseAddress
                    unsafe context.saltlen = UInt32(salt.count)
                    unsafe context.t_cost = passes
                    unsafe context.m_cost = kibibytes
                    unsafe context.lanes = lanes
                    unsafe context.threads = 1
                    unsafe context.version = version
                    return unsafe function(&context, variant.rawValue)
                }
            }
        }
        return status == 0 ? key : nil
    }
}
