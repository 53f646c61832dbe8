import Primitives

/// One configuration key: its name, what its value looks like, its default, whether it may be shown, and when a change of it
/// takes effect.
struct Setting<Value: Sendable>: Sendable {
    let name: String
    let form: ValueForm<Value>
    /// The default as it would be written in the environment. Nil: the key has no value unless it is set.
    let defaultText: String?
    /// A description of what applies when there is neither: another key's value, or that the key is required.
    let fallbackDescription: String?
    let isSecret: Bool
    /// Whether a running service takes a new value from the file on SIGHUP; else it does at its next start.
    let reloads: Bool
    /// The meaning of the key, in Markdown as `docs/configuration.md` has it.
    let meaning: String

    init(
        _ name: String, _ form: ValueForm<Value>, default defaultText: String? = nil,
        fallbackDescription: String? = nil, secret isSecret: Bool = false, reloads: Bool = false, _ meaning: String
    ) {
        self.name = name
        self.form = form
        self.defaultText = defaultText
        self.fallbackDescription = fallbackDescription
        self.isSecret = isSecret
        self.reloads = reloads
        self.meaning = meaning
    }
}

/// A row of the table of keys, whatever the type of its value.
protocol SettingRow: Sendable {
    var name: String { get }
    var defaultText: String? { get }
    var fallbackDescription: String? { get }
    var isSecret: Bool { get }
    /// Whether its value is the path of a file or a folder.
    var namesFile: Bool { get }
    /// Whether its value is the path of a secret.
    var namesSecret: Bool { get }
    var reloads: Bool { get }
    var meaning: String { get }
    var expectation: String { get }
    var isList: Bool { get }
    func accepts(_ raw: RawValue) -> Bool
    func sentence(refusing raw: RawValue) -> String
    /// The value of a text key with its relative paths counted from this folder.
    func located(_ text: String, in folder: String) -> String
}

extension Setting: SettingRow {
    var expectation: String { form.expectation }

    var namesFile: Bool { form.namesFile }

    var namesSecret: Bool { form.namesSecret }

    var isList: Bool { Value.self == [String].self }

    func accepts(_ raw: RawValue) -> Bool { parse(raw) != nil }

    /// Nil for a value that the key can't have.
    func parse(_ raw: RawValue) -> Value? { if case .null = raw { nil } else { form.parse(raw) } }

    /// The fault of a value that the key can't have.
    func sentence(refusing raw: RawValue) -> String {
        switch raw {
        case .null(item: nil): return "has no value: remove the key, or write the value in quotes"
        case .null(let item?): return "has no value as item \(item): remove it, or write it in quotes"
        case .text, .list: break
        }
        return "expects \(form.expectation)" + (form.flaw(raw).map { ": \($0)" } ?? "")
    }

    func located(_ text: String, in folder: String) -> String {
        (text as? Value).flatMap { form.located($0, folder) as? String } ?? text
    }
}

extension String {
    /// Whether it can name a team, a project, an app: it becomes a part of keys, of variables and of paths.
    var isKeyPart: Bool {
        guard let first = utf8.first, utf8.count <= 32, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first) else {
            return false
        }
        return utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0.isASCIIDigit }
    }

    /// Whether it is a domain name of two labels or more. Letters beyond ASCII may be in it, for Google doesn't say how it
    /// writes those.
    var isDomain: Bool {
        let labels = utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let hyphen = UInt8(ascii: "-")
        return labels.count >= 2
            && labels.allSatisfy { label in
                1...63 ~= label.count && label.first != hyphen && label.last != hyphen
                    && label.allSatisfy { $0.isASCIIAlphanumeric || $0 == hyphen || $0 >= 0x80 }
            }
    }
}

extension SettingRow {
    /// The meaning without the page's relative links, which lead nowhere outside of it.
    var plainMeaning: String { meaning.replacing(/\[([^\]]+)\]\([^)]+\)/) { $0.1 } }
}
