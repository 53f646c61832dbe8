/// All that printing, dumping and reflecting on a value shows.
func printed(_ value: Any) -> String {
    var text = "\(value) \(String(describing: value)) \(String(reflecting: value)) \([value]) \(Optional(value) as Any)"
    dump(value, to: &text)
    for child in Mirror(reflecting: value).children { text += printed(child.value) }
    return text
}
