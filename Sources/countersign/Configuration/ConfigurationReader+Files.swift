import Foundation
import Postgres

extension ConfigurationReader {
    private static let maximumSecretBytes = 65_536

    /// The bytes of a file that holds a secret; nil after a fault. Only its owner may read or write it: what a backup,
    /// another service or a colleague can read is no secret any more.
    mutating func secretFile(_ setting: Setting<String>, _ path: String) -> [UInt8]? {
        guard !path.isEmpty else { return nil }
        return content(of: setting) { reader in
            guard let file = RegularFile(path: path) else {
                reader.refuse(setting, path, Self.unopened)
                return nil
            }
            guard Self.isSecret(mode: file.mode, owner: file.owner) else {
                reader.refuse(setting, path, "names a file that others than its owner can open: \(Self.modeAdvice)")
                return nil
            }
            guard let content = file.content(upTo: Self.maximumSecretBytes + 1) else {
                reader.refuse(setting, path, "names a file that can't be read")
                return nil
            }
            guard content.bytes.count <= Self.maximumSecretBytes else {
                reader.refuse(setting, path, "names a file that is too large")
                return nil
            }
            return content
        }
    }

    /// What is wrong with a file that could not be opened just now.
    private static var unopened: String {
        [ENOENT, ENOTDIR, ELOOP, ENXIO].contains(errno) ? "names no file" : "names a file that can't be read"
    }

    /// Records a fault of each file that the connection string of a key names and that libpq would not take. It passes
    /// over most of them in silence, and over a password file that others can open with a line on standard error, where
    /// the log is.
    mutating func checkFiles(of setting: Setting<String>, _ url: String) {
        let written = sources.value(of: setting.name)?.raw.text.map(Database.Configuration.files(of:)) ?? []
        for (keyword, path) in Database.Configuration.files(of: url) {
            guard let flaw = Self.flaw(of: path, as: keyword) else { continue }
            let value = written.first { $0.keyword == keyword }?.path ?? path
            refuse(setting.name, "\(keyword) \(flaw) (\(Self.shown(value, naming: path)))")
        }
    }

    private static func flaw(of path: String, as keyword: String) -> String? {
        if keyword == "sslcrldir" {
            var status = stat()
            return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR ? nil : "names no folder"
        }
        guard let file = RegularFile(path: path, isLiteral: true) else { return unopened }
        return switch keyword {
        // Not for a group either, be the file root's.
        case "passfile" where file.mode & 0o077 != 0:
            "names a file that others than its owner can open: set its mode to 0600"
        case "sslkey" where !isSecret(mode: file.mode, owner: file.owner):
            "names a file that others than its owner can open: \(modeAdvice)"
        default: nil
        }
    }

    /// The bytes of a file that everybody may read; nil after a fault.
    mutating func file(_ setting: Setting<String>, _ path: String, maximumBytes: Int) -> [UInt8]? {
        guard !path.isEmpty else { return nil }
        return content(of: setting) { reader in
            guard let content = RegularFile(path: path)?.content(upTo: maximumBytes + 1) else {
                reader.refuse(setting, path, "names no file that can be read")
                return nil
            }
            guard content.bytes.count <= maximumBytes else {
                reader.refuse(setting, path, "names a file that is larger than \(maximumBytes / 1024) KiB")
                return nil
            }
            return content
        }
    }

    /// Records a fault of the file that a key names, and shows which one that is, or at least the folder.
    mutating func refuse(_ setting: Setting<String>, _ path: String, _ sentence: String) {
        let value = sources.value(of: setting.name)?.raw.text ?? path
        refuse(setting.name, "\(sentence) (\(Self.shown(value, naming: path)))")
    }

    private static func shown(_ value: String, naming path: String) -> String {
        let whole = ConfigurationFile.absolute(path)
        guard !isShowable(value, naming: path) else { return whole }
        let folder = value.contains("/") ? "" : "in \(whole.dropLast(value.count)): "
        return "\(folder)not shown, as it may be the secret itself"
    }

    /// What secrets begin with, of Google and of ours.
    private static let secretPrefixes = ["GOCSPX-", "whsec_", "whsk_", "csa_"]

    /// Whether the value of a key that names a file is a path beyond doubt: something is there, or it has a folder or an
    /// extension, and parts as paths have them. Any other is not shown: it may be the secret itself in place of its
    /// file's name, such as a line of the key ring.
    static func isShowable(_ value: String, naming path: String) -> Bool {
        if FileManager.default.fileExists(atPath: URL(filePath: path).path) { return true }
        let hasExtension = (1...8).contains(URL(filePath: value).pathExtension.utf8.count)
        guard value.contains("/") || hasExtension else { return false }
        return value.split(separator: "/").allSatisfy { part in
            part.utf8.count <= 48 && part.allSatisfy { $0.isLetter || $0.isNumber || "._-@~".contains($0) }
                && !secretPrefixes.contains { part.hasPrefix($0) }
        }
    }

    /// Whether only its owner may open the file. A file of root's may also be readable for a group: that is how
    /// systemd's `LoadCredential=`, Kubernetes' `fsGroup` and a package pass it to a service that isn't root. It is the
    /// same file when root looks at it.
    static func isSecret(mode: Int, owner: uid_t) -> Bool { mode & 0o077 == 0 || owner == 0 && mode & 0o037 == 0 }

    static let modeAdvice = "set its mode to 0600, or to 0640 if it is root's, for the group of the service"
}
