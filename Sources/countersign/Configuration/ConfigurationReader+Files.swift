import Foundation
import OpenSSL

extension ConfigurationReader {
    private static let maximumSecretBytes = 65_536

    /// The bytes of a file that holds a secret; nil after a fault. Only its owner may read or write it: what a backup,
    /// another service or a colleague can read is no secret any more.
    mutating func secretFile(_ setting: Setting<String>, _ path: String) -> [UInt8]? {
        guard !path.isEmpty else { return nil }
        guard let file = RegularFile(path: path) else {
            refuse(
                setting, path,
                [ENOENT, ENOTDIR, ELOOP, ENXIO].contains(errno) ? "names no file" : "names a file that can't be read")
            return nil
        }
        guard Self.isSecret(mode: file.mode, owner: file.owner, reader: geteuid()) else {
            refuse(setting, path, "names a file that others than its owner can open: set its mode to 0600")
            return nil
        }
        guard let bytes = file.read(upTo: Self.maximumSecretBytes + 1) else {
            refuse(setting, path, "names a file that can't be read")
            return nil
        }
        guard bytes.count <= Self.maximumSecretBytes else {
            refuse(setting, path, "names a file that is too large")
            return nil
        }
        fingerprints[setting.name] = SHA256.hash(bytes)
        return bytes
    }

    /// The bytes of a file that everybody may read; nil after a fault.
    mutating func file(_ setting: Setting<String>, _ path: String, maximumBytes: Int) -> [UInt8]? {
        guard !path.isEmpty else { return nil }
        guard let bytes = RegularFile(path: path)?.read(upTo: maximumBytes + 1) else {
            refuse(setting, path, "names no file that can be read")
            return nil
        }
        guard bytes.count <= maximumBytes else {
            refuse(setting, path, "names a file that is larger than \(maximumBytes / 1024) KiB")
            return nil
        }
        fingerprints[setting.name] = SHA256.hash(bytes)
        return bytes
    }

    /// Records a fault of the file that a key names, and shows which one that is.
    mutating func refuse(_ setting: Setting<String>, _ path: String, _ sentence: String) {
        refuse(setting.name, sentence + (Self.isShowable(path) ? " (\(ConfigurationFile.absolute(path)))" : ""))
    }

    /// Whether a text is a path beyond doubt. One that isn't is not shown: it may be the secret itself in place of
    /// its file's name, such as a line of the key ring.
    static func isShowable(_ path: String) -> Bool {
        path.split(separator: "/").allSatisfy { part in
            part.utf8.count <= 64 && part.allSatisfy { $0.isLetter || $0.isNumber || "._-@~".contains($0) }
        }
    }

    /// Whether only its owner may open the file. A file of root's may also be readable for a group: that is how
    /// systemd's `LoadCredential=` and Kubernetes' `fsGroup` pass it to a service that isn't root.
    static func isSecret(mode: Int, owner: uid_t, reader: uid_t) -> Bool {
        mode & 0o077 == 0 || owner == 0 && reader != 0 && mode & 0o037 == 0
    }
}
