/// What a language has to say: each text once, with placeholders in double braces (``PageText/placeholders``). Texts hold
/// none of the characters that HTML escapes.
struct LanguageTexts: Sendable {
    /// BCP 47.
    let tag: String
    /// As they stand in a date.
    let months: [String]
    let text: @Sendable (PageText) -> String
    let error: @Sendable (FormError) -> String
    let failure: @Sendable (FailurePage.Failure) -> FailureText
}

/// What happened, and what to do.
struct FailureText: Sendable {
    let heading: String
    let advice: String

    init(_ heading: String, _ advice: String) {
        self.heading = heading
        self.advice = advice
    }
}
