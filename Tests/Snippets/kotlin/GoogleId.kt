@file:Suppress("UNUSED_PARAMETER", "unused")

package com.google.android.libraries.identity.googleid

import android.os.Bundle
import androidx.credentials.Credential
import androidx.credentials.CredentialOption

class GetSignInWithGoogleOption private constructor() : CredentialOption() {
    class Builder(serverClientId: String) {
        fun setNonce(nonce: String?): Builder = this
        fun build(): GetSignInWithGoogleOption = GetSignInWithGoogleOption()
    }
}

class GoogleIdTokenCredential private constructor(val idToken: String) : Credential() {
    companion object {
        fun createFrom(data: Bundle): GoogleIdTokenCredential = TODO()
    }
}
