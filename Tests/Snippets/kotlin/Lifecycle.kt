@file:Suppress("UNUSED_PARAMETER", "unused")

package androidx.lifecycle

import kotlinx.coroutines.CoroutineScope

interface LifecycleOwner

val LifecycleOwner.lifecycleScope: CoroutineScope get() = TODO()

abstract class ViewModel

class SavedStateHandle {
    operator fun <T> get(key: String): T? = TODO()
    operator fun <T> set(key: String, value: T?) {}
    fun <T> remove(key: String): T? = TODO()
}
