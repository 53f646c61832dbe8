/// How an operator's pages look (`pages.*`): a name, pictures, one colour and three links. No HTML and no style sheet
/// of theirs.
package struct PageTheme: Sendable {
    /// The service's name, at the head of every page.
    package let name: String
    package let accentColor: RGBColor?
    package let logo: PageAsset?
    /// Apple's logo in **black**, as Apple Design Resources have it: the button is white in both colour schemes then,
    /// because logo and title have to be of one colour (Human Interface Guidelines).
    package let appleLogo: PageAsset?
    package let privacyURL: String?
    package let termsURL: String?
    package let helpURL: String?

    package init(
        name: String, accentColor: RGBColor? = nil, logo: PageAsset? = nil, appleLogo: PageAsset? = nil,
        privacyURL: String? = nil, termsURL: String? = nil, helpURL: String? = nil
    ) {
        self.name = name
        self.accentColor = accentColor
        self.logo = logo
        self.appleLogo = appleLogo
        self.privacyURL = privacyURL
        self.termsURL = termsURL
        self.helpURL = helpURL
    }
}
