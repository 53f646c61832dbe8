import Accounts
import Primitives
import Texts

/// A mail that comes with the service: its sentences, from which plain text and HTML are made.
struct BuiltInMail: Sendable {
    let subject: String
    let greeting: String
    /// The paragraphs of the text. One that is nothing but `{{code}}` is shown large.
    let paragraphs: [String]
    /// The last paragraph: what to do if the recipient did not cause the mail.
    let warning: String

    /// The tags of the built-in languages, the default one first.
    static let languages = Language.allCases.map(\.rawValue)

    /// Made when it is mailed: twelve languages of every kind would cost each command and each start.
    static func localized(_ kind: Mail.Kind, in language: Language) -> LocalizedMail {
        BuiltInMail(kind, LanguageTexts.embedded(language).mails).localized(language, for: kind)
    }

    private init(_ kind: Mail.Kind, _ texts: [String: String]) {
        func text(_ name: String) -> String {
            // A fault of the files, as below.
            guard let text = texts[name] else { fatalError("there is no text \(name) of the built-in mails") }
            return text
        }
        subject = text("\(kind.rawValue).subject")
        greeting = text("greeting")
        paragraphs = text("\(kind.rawValue).text").split(separator: "\n\n").map { String($0) }
        warning = text("\(kind.rawValue).warning")
    }

    private func localized(_ language: Language, for kind: Mail.Kind) -> LocalizedMail {
        do {
            return LocalizedMail(
                subject: try MailTemplate(subject, allowed: kind.placeholders),
                text: try MailTemplate(text, allowed: kind.placeholders),
                html: try MailTemplate(html(in: language), allowed: kind.placeholders))
        } catch {
            // A fault of the files, which the build and the tests look for.
            fatalError("the built-in mail \(kind.rawValue) in \(language.rawValue) \(error.sentence)")
        }
    }

    private static let code = "{{code}}"

    /// With each name isolated, so that its direction doesn't reach the words around it.
    private static func isolatingNames(_ paragraph: String) -> String {
        [MailTemplate.Placeholder.service, .provider, .client].reduce(paragraph) { text, name in
            text.replacing("{{\(name.rawValue)}}", with: "<bdi>{{\(name.rawValue)}}</bdi>")
        }
    }

    private var text: String {
        let lines = paragraphs.map { $0 == BuiltInMail.code ? "    \($0)" : $0 }
        return ([greeting] + lines + [warning, "-- \n{{service}}"]).joined(separator: "\n\n") + "\n"
    }

    private func html(in language: Language) -> String {
        func paragraph(_ text: String, _ style: String) -> String {
            "<p style=\"\(style)\">\(BuiltInMail.isolatingNames(text.escapedForHTML))</p>"
        }
        let plain = "margin:0 0 16px"
        let large =
            "margin:24px 0;font:700 32px/1.2 ui-monospace,Menlo,Consolas,monospace;letter-spacing:0.15em;text-align:center"
        let small = "margin:24px 0 0;padding-top:16px;border-top:1px solid #d4d4d8;font-size:14px;color:#52525b"
        let body = ([greeting] + paragraphs).map { paragraph($0, $0 == BuiltInMail.code ? large : plain) }
        return """
            <!DOCTYPE html>
            <html lang="\(language.rawValue)" dir="\(language.isRightToLeft ? "rtl" : "ltr")">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(subject.escapedForHTML)</title>
            </head>
            <body style="margin:0;padding:24px;background:#f4f4f5">
            <div style="max-width:480px;margin:0 auto;padding:32px;border-radius:12px;background:#ffffff;\
            color:#18181b;font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif">
            \(paragraph("{{service}}", "margin:0 0 24px;font-weight:600"))
            \(body.joined(separator: "\n"))
            \(paragraph(warning, small))
            </div>
            </body>
            </html>

            """
    }
}
