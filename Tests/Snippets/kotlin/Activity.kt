@file:Suppress("UNUSED_PARAMETER", "unused")

package androidx.activity

import android.content.Intent
import android.os.Bundle
import androidx.activity.result.ActivityResultCaller
import androidx.lifecycle.LifecycleOwner
import androidx.lifecycle.ViewModel

open class ComponentActivity : android.app.Activity(), LifecycleOwner, ActivityResultCaller {
    protected open fun onPostCreate(savedInstanceState: Bundle?) {}
    protected open fun onNewIntent(intent: Intent) {}
}

inline fun <reified VM : ViewModel> ComponentActivity.viewModels(): Lazy<VM> = TODO()
