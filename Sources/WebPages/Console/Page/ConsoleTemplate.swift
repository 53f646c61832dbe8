import Mustache

/// The templates of the console: the layout, and one for each kind of block.
enum ConsoleTemplate: String, CaseIterable {
    case layout
    case heading
    case paragraph
    case facts
    case table
    case buttons
    case form
    case field
    case fieldState
    case chart

    private var source: String {
        switch self {
        case .layout: Self.layoutSource
        case .heading: "<h2>{{{text}}}</h2>"
        case .paragraph: "<p>{{{text}}}</p>"
        case .facts:
            """
            <dl>{{#facts}}<div><dt>{{{label}}}</dt><dd>{{{value}}}</dd></div>
            {{/facts}}</dl>
            """
        case .table: Self.tableSource
        case .buttons: "<div class=\"buttons\">{{#cells}}{{{.}}}\n{{/cells}}</div>"
        case .form: Self.formSource
        case .field: Self.fieldSource
        case .fieldState:
            """
            {{#describedBy}} aria-describedby="{{{describedBy}}}"{{/describedBy}}\
            {{#isInvalid}} aria-invalid="true" autofocus{{/isInvalid}}
            """
        case .chart: "{{{svg}}}"
        }
    }

    static func library() -> MustacheLibrary { MustacheLibrary(ownSources: allCases.map { ($0.rawValue, $0.source) }) }

    private static let layoutSource = """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        {{#refresh}}
        <meta http-equiv="refresh" content="{{{seconds}}}; url={{{path}}}">
        {{/refresh}}
        <title>{{#notice}}{{#isError}}Error: {{/isError}}{{/notice}}{{{title}}} – Countersign console</title>
        <link rel="stylesheet" href="{{{styleSheet}}}">
        </head>
        <body>
        {{#frame}}
        <a class="skip" href="#main">Skip to the content</a>
        <header>
        <strong>Countersign</strong>
        <nav aria-label="Pages">
        {{#links}}
        <a href="{{{path}}}"{{#current}} aria-current="{{{.}}}"{{/current}}>{{{label}}}</a>
        {{/links}}
        </nav>
        <div class="session"><span>{{{keyName}}}</span>
        {{#signOut}}
        <form method="post" action="{{{action}}}"><input type="hidden" name="csrf" value="{{{csrf}}}">\
        <button>Sign out</button></form>
        {{/signOut}}
        </div>
        </header>
        {{/frame}}
        <main id="main">
        <h1>{{{title}}}</h1>
        {{#notice}}
        <p class="notice{{#isError}} error{{/isError}}"{{#isError}} id="error" role="alert"{{/isError}}\
        {{^isError}} role="status"{{/isError}}>{{{text}}}</p>
        {{/notice}}
        {{#blocks}}
        {{> *block}}
        {{/blocks}}
        </main>
        {{#frame}}
        <footer><p>Times are UTC.</p></footer>
        {{/frame}}
        </body>
        </html>

        """

    // The roles say what the elements are by themselves: on a narrow screen the style sheet takes the table apart.
    private static let tableSource = """
        {{#hasRows}}
        <table role="table"{{#isDense}} class="dense"{{/isDense}}>
        <caption>{{{caption}}}</caption>
        <thead role="rowgroup"><tr role="row">{{#columns}}<th role="columnheader" scope="col">{{{.}}}</th>{{/columns}}</tr>
        </thead>
        <tbody role="rowgroup">
        {{#rows}}
        <tr role="row">{{#cells}}<td role="cell" data-label="{{{label}}}"><div>{{{value}}}</div></td>{{/cells}}</tr>
        {{/rows}}
        </tbody>
        </table>
        {{/hasRows}}
        {{^hasRows}}
        <p class="empty">{{{whenEmpty}}}</p>
        {{/hasRows}}
        {{#next}}
        <p><a rel="next" href="{{{next}}}">Next</a></p>
        {{/next}}
        """

    private static let formSource = """
        <form class="form{{#isSearch}} search{{/isSearch}}" method="{{{method}}}" action="{{{action}}}"\
        {{#isSearch}} role="search"{{/isSearch}}>
        {{#csrf}}
        <input type="hidden" name="csrf" value="{{{csrf}}}">
        {{/csrf}}
        {{#fields}}
        {{> field}}
        {{/fields}}
        <button class="{{#isDangerous}}danger{{/isDangerous}}{{^isDangerous}}primary{{/isDangerous}}">{{{button}}}</button>
        </form>
        {{#cancel}}
        <form class="form" method="get" action="{{{cancel}}}"><button>Cancel</button></form>
        {{/cancel}}
        """

    private static let fieldSource = """
        {{#isHidden}}
        <input type="hidden" name="{{{name}}}" value="{{{value}}}">
        {{/isHidden}}
        {{#isText}}
        <div class="field"><label for="{{{name}}}">{{{label}}}</label>
        <input id="{{{name}}}" name="{{{name}}}" type="text" value="{{{value}}}" maxlength="{{{maximum}}}" autocomplete="off"\
        {{#isRequired}} required{{/isRequired}}{{> fieldState}}>
        {{#hint}}
        <p class="hint" id="{{{name}}}-hint">{{{hint}}}</p>
        {{/hint}}
        </div>
        {{/isText}}
        {{#isSecret}}
        <div class="field"><label for="{{{name}}}">{{{label}}}</label>
        <input id="{{{name}}}" name="{{{name}}}" type="password" autocomplete="off" spellcheck="false" required autofocus>
        </div>
        {{/isSecret}}
        {{#isSearchBox}}
        <div class="field"><label for="{{{name}}}">{{{label}}}</label>
        <input id="{{{name}}}" name="{{{name}}}" type="search" value="{{{value}}}" maxlength="1024" autocomplete="off" \
        spellcheck="false"{{> fieldState}}>
        {{#hint}}
        <p class="hint" id="{{{name}}}-hint">{{{hint}}}</p>
        {{/hint}}
        </div>
        {{/isSearchBox}}
        {{#isCheckbox}}
        <div class="field check"><input id="{{{name}}}" name="{{{name}}}" type="checkbox" value="true"\
        {{#isChecked}} checked{{/isChecked}}>
        <label for="{{{name}}}">{{{label}}}</label></div>
        {{/isCheckbox}}
        {{#isChoice}}
        <div class="field"><label for="{{{name}}}">{{{label}}}</label>
        <select id="{{{name}}}" name="{{{name}}}">
        {{#choices}}
        <option value="{{{value}}}"{{#isChosen}} selected{{/isChosen}}>{{{label}}}</option>
        {{/choices}}
        </select></div>
        {{/isChoice}}
        """
}
