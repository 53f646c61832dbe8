import CCrypt
import Glibc

/// crypt(3) of libxcrypt: hashes of passwords in the forms of Unix.
package enum Crypt {
    /// The hash of a password, in the form that the setting has, which may be a whole hash.
    ///
    /// crypt(3) takes any setting that it doesn't know for one of DES: the caller lets in those that it means.
    ///
    /// - Parameter memoryBytes: what the setting takes. yescrypt says of any failure that the setting is wrong (EINVAL).
    /// - Returns: `nil` for a password that has a NUL or is too long (512 bytes), and for a setting that is refused.
    /// - Throws: when there is no memory.
    package static func hash(_ password: String, setting: String, memoryBytes: Int = 0) throws(OutOfMemory) -> String? {
        // The library reads up to the first NUL.
        guard !password.utf8.contains(0), !setting.utf8.contains(0) else { return nil }
        let data = UnsafeMutablePointer<crypt_data>.allocate(capacity: 1)
        unsafe data.initialize(to: crypt_data())
        defer {
            // It holds the password.
            unsafe countersign_wipe(data, MemoryLayout<crypt_data>.size)
            unsafe data.deallocate()
        }
        errno = 0
        let text = unsafe crypt_r(password, setting, data)
        let fault = errno
        if let text = unsafe text {
            let hash = unsafe String(cString: text)
            if !hash.hasPrefix("*") { return hash }
        }
        if fault == ENOMEM || fault == EINVAL && countersign_can_allocate(memoryBytes) == 0 { throw OutOfMemory() }
        return nil
    }

    package struct OutOfMemory: Error {}
}
