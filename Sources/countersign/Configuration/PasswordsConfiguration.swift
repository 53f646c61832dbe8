import Foundation
import SignIn

/// How passwords are checked that other systems hashed, and what all of it may take.
struct PasswordsConfiguration: Sendable {
    let memoryLimit: Int
    let foreign: ForeignPasswords

    init(from reader: inout ConfigurationReader) {
        memoryLimit = reader.value(Settings.Passwords.memoryLimit) << 20
        foreign = ForeignPasswords(firebase: ForeignPasswords.Firebase(from: &reader))
    }
}

extension ForeignPasswords.Firebase {
    /// Nil when no signer key is set, and after a fault.
    fileprivate init?(from reader: inout ConfigurationReader) {
        let separator = reader.value(Settings.Passwords.saltSeparator)
        let rounds = reader.value(Settings.Passwords.rounds)
        let memoryCost = reader.value(Settings.Passwords.memoryCost)
        let saltSeparator = Data(base64Encoded: separator).map { [UInt8]($0) }
        if saltSeparator.map({ $0.count > 16 }) ?? true {
            reader.refuse(Settings.Passwords.saltSeparator.name, "expects the base64 of at most 16 bytes")
        }
        guard let path = reader.optional(Settings.Passwords.signerKeyPath),
            let bytes = reader.secretFile(Settings.Passwords.signerKeyPath, path)
        else { return nil }
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard let key = Data(base64Encoded: text), key.count == Self.signerKeyByteCount else {
            reader.refuse(Settings.Passwords.signerKeyPath, path, "names a file that has no base64 of 64 bytes")
            return nil
        }
        guard let saltSeparator else { return nil }
        self.init(
            signerKey: [UInt8](key), saltSeparator: saltSeparator, rounds: UInt32(rounds),
            memoryCost: UInt64(memoryCost))
    }
}
