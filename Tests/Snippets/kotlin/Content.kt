@file:Suppress("UNUSED_PARAMETER", "unused")

package android.content

open class Context

class Intent {
    val action: String? = null
    val data: android.net.Uri? = null

    companion object {
        const val ACTION_VIEW = "android.intent.action.VIEW"
    }
}
