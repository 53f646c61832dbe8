@file:Suppress("UNUSED_PARAMETER", "unused")

package androidx.browser.auth

import android.content.Intent
import android.net.Uri
import androidx.activity.result.ActivityResultCaller
import androidx.activity.result.ActivityResultLauncher

class AuthTabIntent private constructor() {
    class Builder {
        fun build(): AuthTabIntent = TODO()
    }

    class AuthResult(val resultCode: Int, val resultUri: Uri?)

    fun launch(launcher: ActivityResultLauncher<Intent>, url: Uri, redirectHost: String, redirectPath: String) {}

    companion object {
        const val RESULT_CANCELED = 0
        const val RESULT_OK = -1
        const val RESULT_VERIFICATION_FAILED = 2
        const val RESULT_VERIFICATION_TIMED_OUT = 3

        @JvmStatic fun registerActivityResultLauncher(
            caller: ActivityResultCaller, callback: (AuthResult) -> Unit,
        ): ActivityResultLauncher<Intent> = TODO()
    }
}
