import Configuration
import Foundation
import Synchronization

/// A YAML file of keys, nested or dotted.
struct ConfigurationFile: Sendable {
    let path: String
    /// The folder that it is in, absolute; nil for what is no file in a file system.
    let folder: String?
    /// The full names of all leaves, in the order of the file.
    let keys: [String]
    /// Whether only its owner may open it, or it is no file in a file system.
    let isSecret: Bool
    /// Nil when the file has nothing but comments.
    private let values: YAMLSnapshot?
    /// The words for null that stand in the file without quotes alone. The parser makes a text of each, quoted or not:
    /// of a word that is quoted somewhere nothing is known.
    private let nulls: Set<String>

    private static let maximumBytes = 1 << 20

    /// - Parameters:
    ///   - origin: where the path came from, for faults.
    ///   - isReload: refuses a pipe. It was consumed at the start, and opening it would block until another writer
    ///     opens it.
    init(path: String, origin: ConfigurationOrigin, isReload: Bool) throws(ConfigurationFaults) {
        func fault(_ sentence: String) -> ConfigurationFaults { Self.fault(path, origin, sentence) }
        // Opened first and examined by its descriptor: another file may take its name in between, and `/dev/fd/63` has
        // no other name. O_NONBLOCK keeps the open of a pipe from waiting for a writer, and changes nothing for a file.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | (isReload ? O_NONBLOCK : 0))
        guard descriptor >= 0 else { throw fault(errno == ENOENT ? "is no file" : "can't be read") }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw fault("can't be read") }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFIFO, S_IFCHR:
            guard !isReload else { throw fault("is no file, and can't be read a second time") }
        default: throw fault("is no file")
        }
        let folder: String? =
            status.st_mode & S_IFMT == S_IFREG
            ? Self.absolute(path).split(separator: "/").dropLast().map { "/\($0)" }.joined() : nil
        let isSecret =
            status.st_mode & S_IFMT != S_IFREG
            || ConfigurationReader.isSecret(mode: Int(status.st_mode), owner: status.st_uid)
        guard let data = try? handle.read(upToCount: Self.maximumBytes + 1) ?? Data() else {
            throw fault("can't be read")
        }
        guard data.count <= Self.maximumBytes else { throw fault("is larger than a configuration file can be") }
        try self.init(data, path: path, origin: origin, folder: folder, isSecret: isSecret)
    }

    /// What was read from a file.
    init(
        _ data: Data, path: String, origin: ConfigurationOrigin, folder: String? = nil, isSecret: Bool = true
    ) throws(ConfigurationFaults) {
        self.path = path
        self.folder = folder
        self.isSecret = isSecret
        guard !Self.isBlank(data) else {
            keys = []
            values = nil
            nulls = []
            return
        }
        // The parser asks for every leaf whether it is secret. This is how the names of the leaves become known.
        let leaves = Mutex<[String]>([])
        let options = YAMLSnapshot.ParsingOptions(
            secretsSpecifier: .dynamic { name, _ in
                leaves.withLock { $0.append(name) }
                return true
            })
        do {
            values = try YAMLSnapshot(data: data.bytes, providerName: "file", parsingOptions: options)
        } catch {
            // Only the first line of the parser's message: later ones quote the file.
            let reason = String(describing: error).prefix { !$0.isNewline }
            throw Self.fault(path, origin, "isn't a YAML mapping of keys to values (\(reason))")
        }
        keys = leaves.withLock { $0 }
        let text = String(decoding: data, as: UTF8.self)
        let words = ["null", "Null", "NULL", "~"]
        nulls = Set(words.filter { !text.contains("'\($0)'") && !text.contains("\"\($0)\"") })
    }

    private static func fault(
        _ path: String, _ origin: ConfigurationOrigin, _ sentence: String
    ) -> ConfigurationFaults {
        ConfigurationFaults(faults: [ConfigurationFault(key: absolute(path), origin: origin, sentence: sentence)])
    }

    func value(of name: String) -> RawValue? {
        let key = AbsoluteConfigKey(name.split(separator: ".").map(String.init))
        if case .string(let text)? = (try? values?.value(forKey: key, type: .string))?.value?.content {
            return nulls.contains(text) ? .null(item: nil) : .text(text)
        }
        if case .stringArray(let list)? = (try? values?.value(forKey: key, type: .stringArray))?.value?.content {
            let null = list.firstIndex { nulls.contains($0) }
            return null.map { RawValue.null(item: $0 + 1) } ?? .list(list)
        }
        return nil
    }

    /// A path from the root, for people and for files that are named relative to it.
    static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
    }

    private static func isBlank(_ data: Data) -> Bool {
        String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).allSatisfy { line in
            line.drop { $0 == " " }.first.map { $0 == "#" } ?? true
        }
    }
}
