/// A page of the console: values, from which ``ConsoleRenderer`` makes HTML.
struct ConsolePage: Sendable {
    let title: String
    var notice: ConsoleNotice?
    var blocks: [ConsoleBlock] = []
    /// The address by which the menu says what it belongs to; its own if absent.
    var place: String?
    /// Where the page loads itself again, every ``refreshSeconds``, or goes on to.
    var refreshPath: String?
    var refreshSeconds = Self.followingSeconds

    static let followingSeconds = 15

    init(_ title: String, notice: ConsoleNotice? = nil, _ blocks: [ConsoleBlock] = []) {
        self.title = title
        self.notice = notice
        self.blocks = blocks
    }
}

/// A sentence at the head of a page.
struct ConsoleNotice: Sendable {
    let text: String
    let isError: Bool

    static func error(_ text: String) -> ConsoleNotice { ConsoleNotice(text: text, isError: true) }
    static func done(_ text: String) -> ConsoleNotice { ConsoleNotice(text: text, isError: false) }
}

enum ConsoleBlock: Sendable {
    case heading(String)
    case paragraph(ConsoleCell)
    case facts([ConsoleFact])
    case table(ConsoleTable)
    /// Buttons, each of which leads to a page.
    case buttons([ConsoleCell])
    case form(ConsoleForm)
    case chart(ConsoleChart)
}

struct ConsoleFact: Sendable {
    let label: String
    let value: ConsoleCell

    init(_ label: String, _ value: ConsoleCell) {
        self.label = label
        self.value = value
    }
}

struct ConsoleTable: Sendable {
    /// What it lists, for those who can't see it.
    let caption: String
    let columns: [String]
    let rows: [[ConsoleCell]]
    /// Said where there are no rows.
    var whenEmpty = "There are none."
    /// The next page of the list.
    var next: String?
    /// Whether each row is one line, for lists that are scanned.
    var isDense = false
}

/// A form; one that searches asks by GET.
struct ConsoleForm: Sendable {
    struct Field: Sendable {
        enum Kind: Sendable {
            case text(maximumBytes: Int)
            case secret
            case search
            case checkbox
            case hidden
            case choice([(value: String, label: String)])
        }

        let name: String
        let label: String
        let kind: Kind
        var value = ""
        var isRequired = false
        var hint: String?
        /// Whether the error at the head of the page is about it.
        var isInvalid = false
    }

    let action: String
    /// Nil for GET, and for the sign-in, which has no session yet.
    let csrf: String?
    var isPost = true
    let fields: [Field]
    let button: String
    var isDangerous = false
    /// Where *Cancel* leads.
    var cancel: String?
}

/// What is wrong with a form that is shown again.
struct ConsoleFault: Sendable {
    let sentence: String
    /// The field that it is about, by its name on the wire; nil for none.
    let field: String?
}

extension [ConsoleForm.Field] {
    /// The fields, of which a fault may be about one.
    func marked(by fault: ConsoleFault?) -> Self {
        map { field in
            var field = field
            field.isInvalid = field.name == fault?.field
            return field
        }
    }
}
