import Mustache

/// From a page of the console to bytes: the templates, parsed once.
struct ConsoleRenderer: Sendable {
    /// What the layout shows of a session.
    struct Frame: Sendable {
        let keyName: String
        let links: [(label: String, path: String)]
        /// That of the page, or of the act.
        let path: String
        let signOut: FormTarget
    }

    let styleSheet = PageAsset(
        name: "console", kind: .css, bytes: Array(ConsoleStyle.text.utf8), directory: ConsolePath.assets)
    private let library = ConsoleTemplate.library()

    /// - Parameter frame: nil for the page of the sign-in.
    func html(_ page: ConsolePage, in frame: Frame?) -> [UInt8] {
        var context: [String: Any] = [
            "title": HTMLText(page.title), "styleSheet": HTMLText(styleSheet.path),
            "blocks": page.blocks.map(Self.value),
        ]
        context["notice"] = page.notice.map { ["text": HTMLText($0.text), "isError": $0.isError] as [String: Any] }
        context["refresh"] = page.refreshPath.map {
            ["seconds": HTMLText("\(page.refreshSeconds)"), "path": HTMLText($0)]
        }
        context["frame"] = frame.map { frame in
            [
                "keyName": HTMLText(frame.keyName).isolated, "signOut": frame.signOut.value,
                "links": frame.links.map { Self.value($0, at: frame.path) },
            ] as [String: Any]
        }
        guard let text = library.render(context, withTemplate: ConsoleTemplate.layout.rawValue) else {
            fatalError("the console has a layout")
        }
        return Array(text.utf8)
    }

    /// - Parameter path: of the page on which the link stands.
    private static func value(_ link: (label: String, path: String), at path: String) -> [String: Any] {
        var value: [String: Any] = ["label": HTMLText(link.label), "path": HTMLText(link.path)]
        // What is below a list belongs to it.
        if path == link.path {
            value["current"] = HTMLText("page")
        } else if path.hasPrefix(link.path + "/") {
            value["current"] = HTMLText("true")
        }
        return value
    }

    private static func value(_ block: ConsoleBlock) -> [String: Any] {
        switch block {
        case .heading(let text): ["block": ConsoleTemplate.heading.rawValue, "text": HTMLText(text)]
        case .paragraph(let cell): ["block": ConsoleTemplate.paragraph.rawValue, "text": cell.markup]
        case .facts(let facts):
            [
                "block": ConsoleTemplate.facts.rawValue,
                "facts": facts.map { ["label": HTMLText($0.label), "value": $0.value.markup] },
            ]
        case .table(let table): value(table)
        case .buttons(let cells): ["block": ConsoleTemplate.buttons.rawValue, "cells": cells.map(\.markup)]
        case .form(let form): value(form)
        case .chart(let chart): ["block": ConsoleTemplate.chart.rawValue, "svg": chart.svg]
        }
    }

    private static func value(_ table: ConsoleTable) -> [String: Any] {
        let labels = table.columns.map { HTMLText($0) }
        var value: [String: Any] = [
            "block": ConsoleTemplate.table.rawValue, "caption": HTMLText(table.caption), "columns": labels,
            "hasRows": !table.rows.isEmpty, "whenEmpty": HTMLText(table.whenEmpty), "isDense": table.isDense,
            "rows": table.rows.map { row in
                ["cells": zip(labels, row).map { ["label": $0, "value": $1.markup] }]
            },
        ]
        value["next"] = table.next.map { HTMLText($0) }
        return value
    }

    private static func value(_ form: ConsoleForm) -> [String: Any] {
        var value: [String: Any] = [
            "block": ConsoleTemplate.form.rawValue, "action": HTMLText(form.action),
            "method": HTMLText(form.isPost ? "post" : "get"), "button": HTMLText(form.button),
            "isDangerous": form.isDangerous, "isSearch": !form.isPost, "fields": form.fields.map(Self.value),
        ]
        value["csrf"] = form.csrf.map { HTMLText($0) }
        value["cancel"] = form.cancel.map { HTMLText($0) }
        return value
    }

    private static func value(_ field: ConsoleForm.Field) -> [String: Any] {
        var value: [String: Any] = [
            "name": HTMLText(field.name), "label": HTMLText(field.label), "value": HTMLText(field.value),
            "isRequired": field.isRequired, "isInvalid": field.isInvalid,
        ]
        value["hint"] = field.hint.map { HTMLText($0) }
        let describing = (field.isInvalid ? ["error"] : []) + (field.hint == nil ? [] : ["\(field.name)-hint"])
        if !describing.isEmpty { value["describedBy"] = HTMLText(describing.joined(separator: " ")) }
        switch field.kind {
        case .text(let maximumBytes):
            value["isText"] = true
            value["maximum"] = HTMLText("\(maximumBytes)")
        case .secret: value["isSecret"] = true
        case .search: value["isSearchBox"] = true
        case .checkbox:
            value["isCheckbox"] = true
            value["isChecked"] = field.value == "true"
        case .hidden: value["isHidden"] = true
        case .choice(let choices):
            value["isChoice"] = true
            value["choices"] = choices.map {
                ["value": HTMLText($0.value), "label": HTMLText($0.label), "isChosen": $0.value == field.value]
                    as [String: Any]
            }
        }
        return value
    }
}
