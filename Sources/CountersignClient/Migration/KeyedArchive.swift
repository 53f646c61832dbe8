import Foundation

/// An archive of `NSKeyedArchiver`: objects that refer to each other by their number, `$objects`, and one of them as
/// `root`.
struct KeyedArchive: Sendable {
    private let list: BinaryPropertyList
    private let objects: [Int]
    private let root: Int

    /// - Throws: `storage` for anything else.
    init(_ data: Data) throws(SessionError) {
        guard let list = BinaryPropertyList(data), let top = Self.members(list, list.top),
            top["$archiver"].flatMap({ list[$0] }) == .string("NSKeyedArchiver"),
            let objects = top["$objects"].flatMap({ list[$0] }), case .array(let objects) = objects,
            let root = top["$top"].flatMap({ Self.members(list, $0) })?["root"].flatMap({ list[$0] }),
            case .uid(let root) = root
        else { throw Self.unreadable }
        self.list = list
        self.objects = objects
        self.root = root
    }

    static let unreadable = SessionError.storage("the archive can't be read")

    /// The object that was archived.
    ///
    /// - Throws: `storage` for one of other classes.
    func root(_ classes: Set<String>) throws(SessionError) -> ArchivedObject {
        guard let object = try object(.uid(root), classes) else { throw Self.unreadable }
        return object
    }

    /// What a value stands for: an object of the archive where it is a UID.
    fileprivate func resolve(_ value: BinaryPropertyList.Object) throws(SessionError) -> BinaryPropertyList.Object {
        guard case .uid(let number) = value else { return value }
        // Number 0 is nil.
        if number == 0 { return .null }
        guard objects.indices.contains(number), let object = list[objects[number]] else { throw Self.unreadable }
        if case .uid = object { throw Self.unreadable }
        return object
    }

    /// An object of one of these classes; nil for nil.
    fileprivate func object(
        _ value: BinaryPropertyList.Object, _ classes: Set<String>
    ) throws(SessionError) -> ArchivedObject? {
        let resolved = try resolve(value)
        if resolved == .null { return nil }
        guard let members = members(resolved), let type = members["$class"].flatMap({ list[$0] }),
            let names = self.members(try resolve(type)), let name = names["$classname"].flatMap({ list[$0] }),
            case .string(let name) = name, classes.contains(name)
        else { throw Self.unreadable }
        return ArchivedObject(archive: self, members: members)
    }

    fileprivate func value(_ index: Int) throws(SessionError) -> BinaryPropertyList.Object {
        guard let value = list[index] else { throw Self.unreadable }
        return value
    }

    private func members(_ object: BinaryPropertyList.Object) -> [String: Int]? { Self.members(list, object) }

    private static func members(_ list: BinaryPropertyList, _ index: Int) -> [String: Int]? {
        list[index].flatMap { members(list, $0) }
    }

    private static func members(_ list: BinaryPropertyList, _ object: BinaryPropertyList.Object) -> [String: Int]? {
        guard case .dictionary(let keys, let values) = object else { return nil }
        var members: [String: Int] = [:]
        for (key, value) in zip(keys, values) {
            guard case .string(let name) = list[key] else { return nil }
            members[name] = value
        }
        return members
    }
}

/// An object of an archive, read by its keys. A key that is missing or nil is nil; one of another type makes the archive
/// one that can't be read.
struct ArchivedObject: Sendable {
    fileprivate let archive: KeyedArchive
    fileprivate let members: [String: Int]

    func object(_ key: String, _ classes: Set<String>) throws(SessionError) -> ArchivedObject? {
        guard let index = members[key] else { return nil }
        return try archive.object(try archive.value(index), classes)
    }

    /// nil when it is empty, too.
    func text(_ key: String) throws(SessionError) -> String? {
        switch try value(key) {
        case .null: return nil
        case .string(let text): return text.isEmpty ? nil : text
        default:
            guard let text = try object(key, ["NSMutableString", "NSString"]) else { return nil }
            // It holds characters. One that held a text could hold itself.
            switch try text.value("NS.string") {
            case .null: return nil
            case .string(let characters): return characters.isEmpty ? nil : characters
            default: throw KeyedArchive.unreadable
            }
        }
    }

    func bool(_ key: String) throws(SessionError) -> Bool {
        switch try value(key) {
        case .null: return false
        case .bool(let value): return value
        case .integer(let value): return value != 0
        default: throw KeyedArchive.unreadable
        }
    }

    /// In whole seconds, as they are stored.
    func date(_ key: String) throws(SessionError) -> Date? {
        guard let date = try object(key, ["NSDate"]) else { return nil }
        guard case .real(let seconds) = try date.value("NS.time") else { throw KeyedArchive.unreadable }
        return Timestamp.date(Timestamp.seconds(Date(timeIntervalSinceReferenceDate: seconds)))
    }

    func url(_ key: String, depth: Int = 0) throws(SessionError) -> URL? {
        guard let url = try object(key, ["NSURL"]) else { return nil }
        // A base may have a base; one that is its own has no end.
        guard depth < 4, let text = try url.text("NS.relative"),
            let absolute = URL(string: text, relativeTo: try url.url("NS.base", depth: depth + 1))
        else { throw KeyedArchive.unreadable }
        return absolute.absoluteURL
    }

    /// Whether there is anything but nil.
    func has(_ key: String) throws(SessionError) -> Bool { try value(key) != .null }

    private func value(_ key: String) throws(SessionError) -> BinaryPropertyList.Object {
        guard let index = members[key] else { return .null }
        return try archive.resolve(try archive.value(index))
    }
}
