/// One configuration key: its name, what its value looks like, its default, whether it may be shown, and when a change of it
/// takes effect.
struct Setting<Value: Sendable>: Sendable {
    let name: String
    let form: ValueForm<Value>
    /// As one would write it in the environment. Absent: the key has no value unless somebody sets it.
    let defaultText: String?
    let isSecret: Bool
    /// Whether a running service takes a new value from the file on SIGHUP; else it does at its next start.
    let reloads: Bool
    let summary: String

    init(
        _ name: String, _ form: ValueForm<Value>, default defaultText: String? = nil, secret isSecret: Bool = false,
        reloads: Bool = false, _ summary: String
    ) {
        self.name = name
        self.form = form
        self.defaultText = defaultText
        self.isSecret = isSecret
        self.reloads = reloads
        self.summary = summary
    }
}

/// A row of the table of keys, whatever the type of its value.
protocol SettingRow: Sendable {
    var name: String { get }
    var defaultText: String? { get }
    var isSecret: Bool { get }
    var reloads: Bool { get }
    var summary: String { get }
    var expectation: String { get }
    func accepts(_ raw: RawValue) -> Bool
}

extension Setting: SettingRow {
    var expectation: String { form.expectation }

    func accepts(_ raw: RawValue) -> Bool {
        form.parse(raw) != nil
    }
}
