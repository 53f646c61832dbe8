import Mustache

/// The layout, and the templates of the parts that pages share. Those of the pages are with each page's value. All are
/// compiled in, and parsed once at the start.
///
/// `{{text.NAME}}` is a ``PageText``, `{{{name}}}` an ``HTMLText``.
enum PageTemplate {
    /// The name of the layout.
    static let layout = "layout"

    /// By the name that other templates use.
    private static let parts: KeyValuePairs<String, String> = [
        layout: """
        <!DOCTYPE html>
        <html lang="{{{lang}}}" dir="{{{dir}}}">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        {{#refresh}}
        <meta http-equiv="refresh" content="0; url={{{uri}}}">
        {{/refresh}}
        <title>{{{title}}}</title>
        <link rel="stylesheet" href="{{{styleSheet}}}">
        {{#logo}}
        <link rel="icon" href="{{{logo}}}">
        {{/logo}}
        </head>
        <body>
        <header>{{#logo}}<img src="{{{logo}}}" alt="">{{/logo}}<span>{{{service}}}</span></header>
        <main>
        <h1>{{heading}}</h1>
        {{> *content}}
        </main>
        {{#hasFooter}}
        <footer>
        {{#help}}<a href="{{{help}}}">{{text.help}}</a>{{/help}}
        {{#privacy}}<a href="{{{privacy}}}">{{text.privacy}}</a>{{/privacy}}
        {{#terms}}<a href="{{{terms}}}">{{text.terms}}</a>{{/terms}}
        </footer>
        {{/hasFooter}}
        </body>
        </html>

        """,
        "csrf": """
        <input type="hidden" name="csrf" value="{{{csrf}}}">\
        {{#hidden}}<input type="hidden" name="{{{name}}}" value="{{{value}}}">{{/hidden}}
        """,
        "error": """
        {{#error}}<p class="error" id="error" role="alert">{{message}}</p>{{/error}}\
        {{#note}}<p class="notice" role="status">{{message}}</p>{{/note}}
        """,
        // `type=email` refuses addresses that a mail server takes (a local part beyond ASCII) and rewrites domains.
        "emailField": """
        <div class="field"><label for="email">{{text.email}}</label>
        <input id="email" name="email" type="text" inputmode="email" autocomplete="username" autocapitalize="none" \
        spellcheck="false" dir="ltr" required maxlength="254" value="{{{address}}}"{{#invalid.email}} \
        aria-invalid="true" aria-describedby="error"{{/invalid.email}}{{#focus.email}} autofocus{{/focus.email}}></div>
        """,
        "passwordField": """
        <div class="field"><label for="password">{{text.password}}</label>
        <input id="password" name="password" type="password" autocomplete="current-password" dir="ltr" required\
        {{#invalid.password}} aria-invalid="true" aria-describedby="error"{{/invalid.password}}\
        {{#focus.password}} autofocus{{/focus.password}}></div>
        """,
        // Whose password is set, for password managers: they pass over `type=hidden`, and take the text before a password for the
        // name of the account. Without a name it is not sent.
        "passwordOwner": """
        {{#address}}<input type="text" autocomplete="username" value="{{{address}}}" readonly hidden>{{/address}}
        """,
        "newPasswordField": """
        <div class="field"><label for="newPassword">{{text.newPasswordRequired}}</label>
        <input id="newPassword" name="newPassword" type="password" autocomplete="new-password" dir="ltr" required \
        aria-describedby="{{#invalid.password}}error {{/invalid.password}}password-hint"\
        {{#invalid.password}} aria-invalid="true"{{/invalid.password}}\
        {{#focus.password}} autofocus{{/focus.password}}>
        <p class="hint" id="password-hint">{{text.passwordRule}}</p></div>
        """,
        "displayNameField": """
        <div class="field"><label for="displayName">{{text.displayName}}</label>
        <input id="displayName" name="displayName" type="text" autocomplete="name" dir="auto" maxlength="100" \
        value="{{{displayName}}}"{{#invalid.displayName}} aria-invalid="true" aria-describedby="error"\
        {{/invalid.displayName}}{{#focus.displayName}} autofocus{{/focus.displayName}}></div>
        """,
        "codeSent": """
        {{#sent}}
        <p class="lead">{{text.codeLife}}</p>
        {{#isAgain}}
        <p class="notice" role="status">{{text.codeSentAgain}}</p>
        {{/isAgain}}
        {{/sent}}
        """,
        // Of the code that was mailed to the address.
        "codeField": """
        <input type="hidden" name="email" value="{{{address}}}">
        <div class="field"><label for="code">{{text.code}}</label>
        <input class="code" id="code" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" \
        spellcheck="false" dir="ltr" required maxlength="32"{{#typedCode}} value="{{{typedCode}}}"{{/typedCode}}\
        {{#invalid.code}} aria-invalid="true" aria-describedby="error"{{/invalid.code}}\
        {{#focus.code}} autofocus{{/focus.code}}></div>
        """,
        // Begins a form, which the page ends.
        "anotherCode": """
        <form class="last" method="post" action="{{{action}}}">{{> csrf}}
        <input type="hidden" name="email" value="{{{address}}}">
        <p class="hint">{{text.codeMissing}}</p>
        <button class="quiet" name="again" value="1">{{text.sendAnotherCode}}</button>
        """,
        "emailCodeButton": #"<button name="to" value="email" formnovalidate>{{text.emailMeACode}}</button>"#,
        "newHereButtons": """
        <button class="quiet" name="to" value="forgot" formnovalidate>{{text.forgot}}</button>
        {{#offersRegistration}}
        <button class="quiet" name="to" value="register" formnovalidate>{{text.register}}</button>
        {{/offersRegistration}}
        """,
        "createButton": """
        <button class="quiet" name="to" value="create" formnovalidate>{{text.createInstead}}</button>
        """,
        "holder": """
        {{#holder}}
        <div class="box">
        <p>{{text.holderExists}}</p>
        {{#hasIdentities}}
        <p>{{text.holderWays}}</p>
        <ul class="rows">
        {{#identities}}
        {{> heldIdentity}}
        {{/identities}}
        </ul>
        {{/hasIdentities}}
        {{#since}}<p class="detail">{{text.holderSince}}</p>{{/since}}
        </div>
        {{/holder}}
        """,
        "heldIdentity": """
        <li><span class="name">{{{provider}}}</span>\
        {{#maskedEmail}}<span class="detail">{{{maskedEmail}}}</span>{{/maskedEmail}}\
        {{#linked}}<span class="detail">{{text.linkedOn}}</span>{{/linked}}</li>
        """,
        "accountTitle": """
        <p>{{#displayName}}<span class="name">{{{displayName}}}</span>{{/displayName}}\
        {{#address}}<span class="detail">{{{address}}}</span>{{/address}}</p>
        """,
        "lead": #"{{#continuesToClient}}<p class="lead">{{text.continueToClient}}</p>{{/continuesToClient}}"#,
        "cancelLast": """
        {{#cancel}}
        <form class="last" method="post" action="{{{action}}}">{{> csrf}}<button class="quiet">{{text.cancel}}</button></form>
        {{/cancel}}
        """,
        "backToAccount": #"<p class="last"><a class="button quiet" href="{{{cancelLink}}}">{{text.cancel}}</a></p>"#,
        "otherAccount": """
        {{#isOtherAccount}}<p class="notice" role="status">{{text.otherAccount}}</p>{{/isOtherAccount}}
        """,
    ]

    /// All templates, each under its name.
    static func library() -> MustacheLibrary {
        let pages = Pages.all.map { (name: $0.templateName, text: $0.template) }
        return MustacheLibrary(ownSources: pages + parts.map { (name: $0.key, text: $0.value) })
    }
}

extension MustacheLibrary {
    init(ownSources sources: [(name: String, text: String)]) {
        do {
            let templates = try sources.map { ($0.name, try MustacheTemplate(string: $0.text)) }
            self.init(templates: Dictionary(uniqueKeysWithValues: templates))
        } catch {
            // A fault of this source, whatever the configuration says: the first start of any build finds it.
            fatalError("a template can't be parsed: \(error)")
        }
    }
}
