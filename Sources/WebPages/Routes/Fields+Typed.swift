import HTTPAPI
import HTTPServer
import Primitives

/// What people type into a form by hand, or paste there.
extension Fields {
    /// What was typed into a field to which white space means nothing, without that around it: keyboards add it, and it is
    /// pasted along, as are marks that are not shown.
    mutating func typed(_ name: String) -> String? {
        guard let text = optionalString(name, allowsControls: true)?.trimmed else { return nil }
        guard !text.utf8.contains(where: \.isASCIIControl) else {
            reject(name, .invalid)
            return nil
        }
        return text
    }

    /// The address that was typed; an empty one with an error recorded.
    mutating func typedEmail() -> String {
        if let email = typed("email") { return email }
        reject("email", .required)
        return ""
    }

    /// A password to set. One with a control character, as of a tab that was pasted along, could not be typed by hand: it is
    /// handed on as one that is too short, for which the form is shown again.
    mutating func newPassword(_ name: String) -> String? {
        let text = optionalString(name, maximumBytes: FieldLimit.newPassword, allowsControls: true)
        return text.map { $0.utf8.contains(where: \.isASCIIControl) ? " " : $0 }
    }
}

extension String {
    /// The text without white space and invisible marks, as those of direction, at either end.
    var trimmed: String {
        func isSpace(_ scalar: Unicode.Scalar) -> Bool {
            scalar.properties.isWhitespace || scalar.properties.generalCategory == .format
        }
        var scalars = unicodeScalars.drop(while: isSpace)
        while let last = scalars.last, isSpace(last) { scalars.removeLast() }
        return String(String.UnicodeScalarView(scalars))
    }
}
